// freshet ui: a saved recording in the dashboard, without a daemon. docs/dashboard.md, "A recording from a file".
#include <signal.h>

#include <filesystem>
#include <iostream>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/daemon/signals.h"
#include "app/daemon/whatif_route.h"
#include "app/lab/flight.h"
#include "app/saved/file_route.h"
#include "app/spawner/spawner.h"
#include "app/ui/page_route.h"
#include "base/plain_text.h"
#include "base/text_file.h"
#include "runtime/loop/loop.h"
#include "wire/http/io_waiter.h"
#include "wire/http/server.h"

namespace freshet::cli {
namespace {

struct UiOptions {
  std::string file;
  int port = 0;
};

int say(const Error& error) {
  std::cerr << "freshet: " << plain_text(error.message) << '\n';
  return error.code == ErrorCode::kIo ? kFailed : kUsage;
}

std::vector<std::unique_ptr<Route>> routes_of(const std::shared_ptr<const saved::SavedRecording>& recording,
                                              const std::string& file, Comparisons& comparisons, Loop& loop,
                                              Spawner& spawner) {
  std::vector<std::unique_ptr<Route>> out;
  out.push_back(ui::make_page_route(ui::PageOf::kFile));
  out.push_back(make_whatif_route(saved::make_recording_file_route(recording, file), comparisons, loop, spawner));
  out.push_back(saved::make_recording_file_route(recording, file));
  return out;
}

// Serves until a signal comes.
Result<void> serve(const std::shared_ptr<const saved::SavedRecording>& recording, const UiOptions& options) {
  Signals signals;
  signal(SIGPIPE, SIG_IGN);
  auto process = SpawnerProcess::start();  // While there is one thread.
  if (!process) return fail(process.error());
  SystemClock clock;
  IoWaiter waiter(clock);
  Loop loop(clock, waiter);
  const auto spawner = make_spawner(*process, loop, loop);
  auto io = IoThread::start(clock);
  if (!io) return fail(io.error());
  auto listener = HttpListener::bind("127.0.0.1", static_cast<uint16_t>(options.port));
  if (!listener) {
    return fail(listener.error().code, listener.error().message + " (--port chooses another one, and 0 a free one)");
  }
  const DurableFunction nothing = []() -> Async<Result<void>> { return Result<void>(); };
  const std::string name = std::filesystem::path(options.file).filename();
  Comparisons comparisons;
  auto server = HttpServer::start({}, std::move(*listener), routes_of(recording, name, comparisons, loop, *spawner),
                                  {io->get()}, clock, loop, loop, nothing);
  if (!server) return fail(server.error());
  waiter.attach(**io, loop);
  signals.watch(
      [&loop] {
        loop.stop();
        return true;
      },
      [] {});
  std::cout << "http://127.0.0.1:" << (*server)->port() << "/ui/" << std::endl;
  std::cerr << "Open this address in a browser. Ctrl-C ends it.\n";
  loop.run();
  signals.forget();
  return {};
}

int run_ui(const UiOptions& options) {
  auto text = read_text_file(options.file, lab::kMostRecordingBytes);
  if (!text) return say(text.error());
  auto recording = saved::read_saved_recording(*text, options.file);
  if (!recording) return say(recording.error());
  std::string().swap(*text);
  const auto served = serve(std::make_shared<const saved::SavedRecording>(std::move(*recording)), options);
  return served ? kDone : say(served.error());
}

}  // namespace

void add_ui(Command app, int& exit_status) {
  auto options = std::make_shared<UiOptions>();
  const Command command = app.add_subcommand("ui", "Show a saved recording in a browser, without a daemon");
  command.footer(
      "Serves the dashboard's view of a recording on 127.0.0.1 and prints its address, until Ctrl-C. The file is one "
      "of\n"
      "freshet recording save or freshet record, or what the dashboard's button Export saved.\n"
      "  freshet recording save trouble.jsonl --queue QueueTable\n"
      "  freshet ui trouble.jsonl");
  command.add_option("file", options->file, "The saved recording").file().required();
  command.add_option("--port", options->port, "Port to listen on; 0: a free one")
      .check(whole(0, 65'535))
      .capture_default_str();
  command.callback([options, &exit_status] { exit_status = run_ui(*options); });
}

}  // namespace freshet::cli
