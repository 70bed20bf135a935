// freshet recording save: what the daemon's flight recorder has of a queue, as a fixture for `freshet simulate`.
// docs/simulate.md, "The flight recorder".
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/cli/refusal.h"
#include "app/cli/remote.h"
#include "app/cli/subcommands.h"
#include "app/lab/flight.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "base/out_file.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

constexpr std::chrono::hours kLongest{24 * 366};
// Moves of tasks that are older than half a minute say what decides about the task, so this much before the start is
// enough to know all tasks that are there at the start.
constexpr milliseconds kBefore{60'000};
constexpr int kConflictStatus = 409;

struct RecordingOptions {
  Remote remote;
  std::string file;
  std::string last;  // A duration with its unit; empty: all there is.
};

int say(const std::string& what, int status) {
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
    if (!client) return status = say(client.error().message, kUsage), std::nullopt;
    for (int tries = 1;; ++tries) {
      lab::Flight flight;
      Progress progress("0 events");
      const Outcome outcome = fetch(**client, flight, progress, tries == kMostTries, status);
      progress.end();
      if (outcome == Outcome::kFailed) return std::nullopt;
      if (outcome == Outcome::kWhole) return flight;
      from_ = epoch_ms(flight.from() + (flight.to() - flight.from()) / kSkipped);
      say("the daemon forgot the oldest events while they were fetched: trying again with those since " +
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
        return status = tell_refusal(*answer, remote_.credentials), Outcome::kFailed;
      }
      if (auto added = flight.add(answer->body); !added) {
        progress.end();
        return status = say("the daemon's recording cannot be read: " + added.error().message, kFailed),
               Outcome::kFailed;
      }
      place = std::string(header(answer->headers, "X-Freshet-Next"));
      progress.show(std::to_string(flight.events()) + " events");
    } while (!place.empty());
    return Outcome::kWhole;
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

int save(const RecordingOptions& options) {
  std::optional<milliseconds> last;
  if (!options.last.empty()) last = *parse_duration(options.last, milliseconds(1), kLongest);
  Session session(options.remote);
  session.find_queue();
  int status = kDone;
  const auto flight = Fetch(options.remote, session.queue(), last).run(status);
  if (!flight) return status;
  std::ofstream file;
  if (options.file != "-") {
    file.open(options.file, std::ios::binary);
    if (!file) return say(cannot_write(options.file), kUsage);
  }
  std::ostream& out = options.file == "-" ? std::cout : file;
  const WallTime start = last ? std::max(flight->from(), flight->to() - *last) : flight->from();
  const uint64_t records = flight->write_fixture(start, [&](const std::string& line) {
    out << line;
    return out.good();
  });
  out.flush();
  if (!out) return say(cannot_write(options.file), kFailed);
  std::cerr << fmt::format("{:.1f} s of {} saved: {} changes since {}\n",
                           std::chrono::duration<double>(flight->to() - start).count(), plain_text(flight->queue()),
                           records, iso8601(start));
  if (last && start > flight->to() - *last) {
    std::cerr << "The recording does not go back further: it keeps an hour at most, and what fits into "
                 "--recording-bytes\n";
  }
  return kDone;
}

}  // namespace

void add_recording(Command app, int& exit_status) {
  const Command parent = app.add_subcommand("recording", "The flight recorder's last hour of a queue");
  Subcommands<RecordingOptions> commands(parent, exit_status);
  parent.require_subcommand();
  parent.footer(
      "The daemon records by itself when tasks come, start and end, without their payloads. So after trouble:\n"
      "  freshet recording save trouble.jsonl --queue emails --last 10m\n"
      "  freshet simulate trouble.jsonl --set RATE_LIMIT=15");
  const Command command = commands.begin("save", "Save it as a file that freshet simulate reads", save, "QueueTable",
                                         "/queues/", "Name of the queue");
  RecordingOptions& options = commands.options();
  command.add_option("file", options.file, "File to write; - for standard output").file().required();
  command
      .add_option("--last", options.last,
                  "How much of it to save, up to now, like 10m [default: all there is, an hour at most]")
      .check(duration(milliseconds(1), kLongest));
  commands.examples(
      "freshet recording save trouble.jsonl --queue QueueTable --last 10m\n"
      "freshet simulate trouble.jsonl --set RATE_LIMIT=15");
}

}  // namespace freshet::cli
