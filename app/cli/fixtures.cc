// freshet record and replay: a table's changes, captured from a running daemon and run again deterministically.

#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/play.h"
#include "app/cli/progress.h"
#include "app/cli/refusal.h"
#include "app/cli/remote.h"
#include "app/cli/shipped.h"
#include "app/daemon/plan.h"
#include "base/out_file.h"
#include "base/plain_text.h"
#include "base/text_file.h"
#include "functions/replay_program.h"
#include "runtime/replay/replay.h"
#include "streams/fixture.h"

namespace freshet::cli {
namespace {

struct RecordOptions {
  std::string url = "http://127.0.0.1:7070";
  std::string credentials;
  std::string ca;
  std::string table = "QueueTable";
  std::string out = "-";
  double seconds = 0;
};

class Recording {
 public:
  Recording(const RecordOptions& options, std::ostream& out) : options_(options), out_(out) {}

  int run() {
    auto client = connect_to(options_.url, options_.credentials, options_.ca);
    if (!client) return say(client.error().message), kUsage;
    hear_interrupts();
    const auto started = std::chrono::steady_clock::now();
    std::string next;
    do {
      std::string target = "/record?table=" + path_segment(options_.table);
      if (!next.empty()) target += "&waitMs=500&from=" + next;
      const auto piece = (*client)->call("GET", target, "");
      if (!piece) {
        progress_.end();
        return unreachable(piece.error());
      }
      if (piece->status != 200) return refused(*piece);
      next = header(piece->headers, "X-Freshet-Next");
      if (next.empty()) return strange_answer(options_.url);
      out_ << piece->body << std::flush;
      if (!out_) return say(cannot_write(options_.out)), kFailed;
      count(piece->body);
    } while (!interrupted() && (options_.seconds <= 0 || std::chrono::steady_clock::now() - started <
                                                             std::chrono::duration<double>(options_.seconds)));
    progress_.end();
    std::cerr << lines_ << " lines recorded\n";
    return kDone;
  }

 private:
  int refused(const HttpResponse& answer) {
    progress_.end();
    const int status = report_refusal(answer, options_.credentials);
    if (status == kNotFound) std::cerr << "freshet record --table NAME records another one\n";
    return status;
  }
  void say(const std::string& what) {
    progress_.end();
    std::cerr << "freshet: " << plain_text(what) << '\n';
  }
  void count(const std::string& piece) {
    lines_ += static_cast<size_t>(std::count(piece.begin(), piece.end(), '\n'));
    progress_.show(std::to_string(lines_) + " lines");
  }

  const RecordOptions& options_;
  std::ostream& out_;
  size_t lines_ = 0;
  Progress progress_{"0 lines"};
};

int record(const RecordOptions& options) {
  if (options.out == "-") return Recording(options, std::cout).run();
  std::ofstream out(options.out, std::ios::binary);
  if (!out) {
    std::cerr << "freshet: " << plain_text(cannot_write(options.out)) << '\n';
    return kUsage;
  }
  return Recording(options, out).run();
}

struct FixtureReplay {
  std::string fixture;
  TemplateOptions deploy;
  std::string expect;
  ReplayOptions options;
  PlayOptions play;  // With a URL: into that daemon.
};

std::optional<std::string> read_file(const std::string& path) {
  auto text = read_text_file(path);
  if (text) return std::move(*text);
  std::cerr << "freshet: " << plain_text(text.error().message) << '\n';
  return std::nullopt;
}

// Prints each fault of the template `file` on its own line.
int wrong(const Error& error, const std::string& file) {
  std::cerr << "freshet: " << plain_lines(error.message, plain_text(file) + ":") << '\n';
  return kUsage;
}

int replay_fixture(const FixtureReplay& command) {
  const auto text = read_file(command.fixture);
  if (!text) return kUsage;
  const auto fixture = read_fixture(*text, command.fixture);
  if (!fixture) return wrong(fixture.error(), command.fixture);
  if (!command.play.url.empty()) return play_into(*fixture, command.play);
  const auto deployment = read_deployment(command.deploy);
  if (!deployment) return wrong(deployment.error(), command.deploy.path);
  auto settings = settings_of_queues(*deployment);
  if (!settings) return wrong(settings.error(), command.deploy.path);
  QueueReplayProgram program(std::move(*settings));
  ReplayOptions options = command.options;
  options.account = command.deploy.account;
  const std::string all = " of " + std::to_string(fixture->records.size()) + " records replayed";
  Progress progress("0" + all);
  options.on_record = [&](size_t number) {
    if (number % 100 == 0 || number == fixture->records.size()) progress.show(std::to_string(number) + all);
  };
  const auto output = replay(*fixture, *deployment, program, options);
  progress.end();
  if (!output) return wrong(fixture->in_file(output.error()), command.fixture);
  if (command.expect.empty()) {
    std::cout << *output;
    return kDone;
  }
  const auto expected = read_file(command.expect);
  if (!expected) return kUsage;
  const auto difference = first_difference(*expected, *output);
  if (!difference) return kDone;
  std::cerr << "freshet: the replay differs from " << plain_text(command.expect) << "\n"
            << plain_lines(difference->to_string()) << '\n';
  return kDifferent;
}

}  // namespace

void add_record(Command app, int& exit_status) {
  auto options = std::make_shared<RecordOptions>();
  const Command command = app.add_subcommand("record", "Record a table's changes as a fixture, until Ctrl-C");
  command.footer(
      "JSON Lines: a header, the table as it is, then every change with both images. A minute of it, replayed:\n"
      "  freshet record --seconds 60 --out changes.jsonl\n"
      "  freshet replay changes.jsonl --template config/lifo.yaml");
  command.add_option("--url", options->url, "Address of the daemon").envname("FRESHET_URL").capture_default_str();
  command
      .add_option("--credentials", options->credentials,
                  "File of the access key to sign requests with, if the daemon asks for signatures")
      .file()
      .envname("FRESHET_CREDENTIALS");
  command.add_option("--ca", options->ca, "PEM file of certificates to trust for https://, besides the system's")
      .file()
      .envname("FRESHET_CA");
  command.add_option("--table", options->table, "Name of the table, which needs a stream").capture_default_str();
  command.add_option("--out", options->out, "File to write; - for standard output").file().capture_default_str();
  command.add_option("--seconds", options->seconds, "Length of the recording in seconds").check(above_zero());
  command.accept_flag("--json", "No effect: a recording is JSON Lines");
  command.callback([options, &exit_status] { exit_status = record(*options); });
}

namespace {

void add_play_options(Command replay, PlayOptions& play) {
  const auto into =
      replay.add_option("--into", play.url, "Play into the daemon at this address instead").check(not_empty());
  replay.add_option("--speed", play.speed, "Recorded seconds that are played in a second")
      .check(above_zero())
      .needs(into)
      .capture_default_str();
  replay.add_option("--table", play.table, "The table or queue to play into, if not the fixture's")
      .check(not_empty())
      .needs(into);
  replay.add_option("--connections", play.connections, "Most calls in flight")
      .check(whole(1, 256))
      .needs(into)
      .capture_default_str();
  replay.get_option("--region").description("Region in ARNs; with --into the daemon's, for signatures");
  replay.add_option("--credentials", play.credentials, "With --into: file of the access key to sign with")
      .file()
      .envname("FRESHET_CREDENTIALS");
  replay.add_option("--ca", play.ca, "With --into: PEM file of certificates to trust, besides the system's")
      .file()
      .envname("FRESHET_CA");
  replay.add_flag("--json", play.json, "With --into: one JSON document. In simulated time it is JSON Lines anyway");
}

}  // namespace

void add_replay(Command app, int& exit_status) {
  auto command = std::make_shared<FixtureReplay>();
  command->deploy.path = shipped_path("config/lifo.yaml");
  const Command replay = app.add_subcommand(
      "replay", "Run recorded changes through the functions in simulated time, or play them into a daemon");
  replay.footer(
      "The same fixture, template and seed give the same output, byte for byte. Exit status 7: it differs from\n"
      "what --expect holds; the first different line is shown. A shipped one, printed; and one checked:\n"
      "  freshet replay streams/fixtures/burst.jsonl --set ProcessTasksFunction.TASK_RUNNER=fake\n"
      "  freshet replay changes.jsonl --expect changes.expected.jsonl\n"
      "Simulated time runs native functions only: programs (Runtime: nodejs, python, ...) are not run in it.\n"
      "With --into the fixture is played into a running daemon, which runs whatever it has, at its own pace:\n"
      "  freshet replay changes.jsonl --into http://127.0.0.1:7070 --speed 10\n"
      "Of a queue the creations of tasks are played, with deadlines, TTLs and delays as far ahead as they were; of\n"
      "another table every change, as PutItem and DeleteItem. No call is repeated: refusals are counted by their "
      "code,\n"
      "and so are calls whose outcome is unknown (exit status 6). After Ctrl-C nothing more is sent; the calls under "
      "way\n"
      "are waited for, at a second Ctrl-C they are not. docs/formats.md says more.");
  replay.add_option("fixture", command->fixture, "File written by freshet record, or by hand")
      .shipped_file()
      .required();
  replay
      .add_option("--template", command->deploy.path,
                  "Template that says which functions, topics and mappings there are")
      .shipped_file()
      .capture_default_str();
  add_deploy_options(replay, command->deploy);
  replay.add_option("--expect", command->expect, "Compare the output with this file instead of printing it")
      .shipped_file();
  replay.add_option("--seed", command->options.seed, "Seed of all that is random").check(seed()).capture_default_str();
  replay.add_flag("--inputs-only", command->options.inputs_only,
                  "Of a queue: apply only what came from outside, not the recorded processor's own moves");
  add_play_options(replay, command->play);
  replay.callback([command, &exit_status] {
    command->play.region = command->deploy.account.region;  // --region says both.
    exit_status = replay_fixture(*command);
  });
}

}  // namespace freshet::cli
