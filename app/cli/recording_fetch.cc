#include "app/cli/recording_fetch.h"

#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/cli/refusal.h"
#include "base/log.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

// Moves of tasks that are older than half a minute say what decides about the task, so this much before the start is
// enough to know all tasks that are there at the start.
constexpr milliseconds kBefore{60'000};
constexpr int kConflictStatus = 409;

int fetch_fault(const std::string& what, int status) {
  std::cerr << "freshet: " << plain_text(what) << '\n';
  return status;
}

// Fetches the recording, answer by answer. Where memory is short, the daemon may forget events while they are fetched:
// then it begins again, with a later start.
class Fetch {
 public:
  Fetch(const Remote& remote, std::string queue, std::optional<milliseconds> last)
      : remote_(remote), queue_(std::move(queue)), last_(last) {}

  std::optional<lab::Flight> run(int& status) {
    auto client = connect_to(remote_.url, remote_.credentials, remote_.ca);
    if (!client) return status = fetch_fault(client.error().message, kUsage), std::nullopt;
    for (int tries = 1;; ++tries) {
      lab::Flight flight;
      Progress progress("0 events");
      const Outcome outcome = fetch(**client, flight, progress, tries == kMostTries, status);
      progress.end();
      if (outcome == Outcome::kFailed) return std::nullopt;
      if (outcome == Outcome::kWhole) return flight;
      from_ = epoch_ms(flight.from() + (flight.to() - flight.from()) / kSkipped);
      fetch_fault("the daemon forgot the oldest events while they were fetched: trying again with those since " +
                      iso8601(WallTime(milliseconds(*from_))),
                  kDone);
    }
  }

 private:
  static constexpr int kMostTries = 6;
  static constexpr int kSkipped = 4;  // Each try leaves out that part of the time before.
  enum class Outcome { kWhole, kTorn, kFailed };

  Outcome fetch(BlockingClient& client, lab::Flight& flight, Progress& progress, bool is_last, int& status) {
    std::string place;
    do {
      const auto answer = client.call("GET", target(place), "");
      if (!answer) return progress.end(), status = unreachable(answer.error()), Outcome::kFailed;
      if (answer->status == kConflictStatus && !place.empty() && !is_last) return Outcome::kTorn;
      if (answer->status != 200) {
        progress.end();
        return status = report_refusal(*answer, remote_.credentials), Outcome::kFailed;
      }
      if (auto added = flight.add(answer->body); !added) {
        progress.end();
        return status = fetch_fault("the daemon's recording cannot be read: " + added.error().message, kFailed),
               Outcome::kFailed;
      }
      place = std::string(header(answer->headers, "X-Freshet-Next"));
      progress.show(std::to_string(flight.events()) + " events");
    } while (!place.empty());
    if (flight.has_head()) return Outcome::kWhole;
    progress.end();
    return status = fetch_fault("the daemon's recording cannot be read: the answer is empty", kFailed),
           Outcome::kFailed;
  }

  std::string target(const std::string& place) const {
    std::string out = "/queues/" + path_segment(queue_) + "/recording";
    if (!place.empty()) return out + "?place=" + path_segment(place);
    if (from_) return out + "?from=" + std::to_string(*from_);
    return last_ ? out + "?from=-" + std::to_string((*last_ + kBefore).count()) : out;
  }

  const Remote& remote_;
  const std::string queue_;
  const std::optional<milliseconds> last_;
  std::optional<int64_t> from_;  // Epoch milliseconds; set after a try that did not succeed.
};

}  // namespace

std::optional<lab::Flight> fetch_recording(const Remote& remote, const std::string& queue,
                                           std::optional<milliseconds> last, int& status) {
  return Fetch(remote, queue, last).run(status);
}

}  // namespace freshet::cli
