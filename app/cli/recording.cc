// freshet recording save: what the daemon's flight recorder has of a queue, as a fixture for `freshet simulate`.
// docs/simulate.md, "The flight recorder".
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/recording_fetch.h"
#include "app/cli/remote.h"
#include "app/cli/subcommands.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "base/out_file.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

constexpr std::chrono::hours kLongest{24 * 366};

struct RecordingOptions {
  Remote remote;
  std::string file;
  std::string last;  // A duration with its unit; empty: all there is.
};

int say(const std::string& what, int status) {
  std::cerr << "freshet: " << plain_text(what) << '\n';
  return status;
}

int save(const RecordingOptions& options) {
  std::optional<milliseconds> last;
  if (!options.last.empty()) last = *parse_duration(options.last, milliseconds(1), kLongest);
  Session session(options.remote);
  session.find_queue();
  int status = kDone;
  const auto flight = fetch_recording(options.remote, session.queue(), last, status);
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
  if (options.remote.json && options.file != "-") {
    const Json saved{
        {"queue", flight->queue()}, {"from", epoch_ms(start)}, {"to", epoch_ms(flight->to())}, {"changes", records}};
    std::cout << saved.dump() << '\n';
  }
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
  const Command command = commands.begin("save", "Save it as a file that freshet simulate, whatif and ui read", save,
                                         "QueueTable", "/queues/", "Name of the queue; a daemon's only one needs none");
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
