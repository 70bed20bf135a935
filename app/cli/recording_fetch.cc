#include "app/cli/recording_fetch.h"

#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/cli/refusal.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

// Moves of tasks that are older than half a minute say what decides about the task, so this much before the start is
// enough to know all tasks that are there at the start.
constexpr milliseconds kBefore{60'000};

int fetch_fault(const std::string& what, int status) {
  std::cerr << "freshet: " << plain_text(what) << '\n';
  return status;
}

// Fetches the recording, answer by answer.
class Fetch {
 public:
  Fetch(const Remote& remote, std::string queue, std::optional<milliseconds> last)
      : remote_(remote), queue_(std::move(queue)), last_(last) {}

  std::optional<lab::Flight> run(int& status) {
    auto client = connect_to(remote_.url, remote_.credentials, remote_.ca);
    if (!client) return status = fetch_fault(client.error().message, kUsage), std::nullopt;
    Progress progress("0 events");
    std::optional<lab::Flight> flight(std::in_place);
    std::string place;
    do {
      const auto answer = (*client)->call("GET", target(place), "");
      if (!answer || answer->status != 200) progress.end();
      if (!answer) return status = unreachable(answer.error()), std::nullopt;
      if (answer->status != 200) return status = tell_refusal(*answer, remote_.credentials), std::nullopt;
      if (auto added = flight->add(answer->body); !added) {
        progress.end();
        return status = fetch_fault("the daemon's recording cannot be read: " + added.error().message, kFailed),
               std::nullopt;
      }
      place = std::string(header(answer->headers, "X-Freshet-Next"));
      progress.show(std::to_string(flight->events()) + " events");
    } while (!place.empty());
    progress.end();
    return flight;
  }

 private:
  std::string target(const std::string& place) const {
    std::string out = "/queues/" + path_segment(queue_) + "/recording";
    if (!place.empty()) return out + "?place=" + path_segment(place);
    return last_ ? out + "?from=-" + std::to_string((*last_ + kBefore).count()) : out;
  }

  const Remote& remote_;
  const std::string queue_;
  const std::optional<milliseconds> last_;
};

}  // namespace

std::optional<lab::Flight> fetch_recording(const Remote& remote, const std::string& queue,
                                           std::optional<milliseconds> last, int& status) {
  return Fetch(remote, queue, last).run(status);
}

}  // namespace freshet::cli
