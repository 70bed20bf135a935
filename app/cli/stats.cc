// freshet stats: the books of a running daemon's queue.
#include "app/cli/stats_page.h"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/remote.h"

namespace freshet::cli {
namespace {

struct StatsOptions {
  Remote remote;
  double watch = 0;
};

// Over the page before, line by line: a screen that is wiped first flickers. What is below the last line of the
// terminal is left out: a terminal that scrolls loses the beginning.
void print_over(const std::string& page, const Screen& screen) {
  std::cout << "\033[H";
  size_t rows = 1;
  for (size_t at = 0; at < page.size() && rows < screen.height; ++rows) {
    const size_t end = page.find('\n', at);
    std::cout << page.substr(at, end - at) << "\033[K\n";
    at = end + 1;
  }
  std::cout << "\033[J";
}

int stats(const StatsOptions& options) {
  const Screen screen = screen_of(STDOUT_FILENO);
  Session session(options.remote);
  Json before;
  std::chrono::steady_clock::time_point asked_before;
  if (options.watch > 0 && screen.terminal && !options.remote.json) std::cout << "\033[2J";
  for (;;) {
    const auto asked = std::chrono::steady_clock::now();
    Json answer = session.call("GET", "/stats");
    if (answer.is_null()) return session.exit_status();
    if (options.remote.json) {
      std::cout << answer.dump() << '\n';
    } else if (!screen.terminal) {
      std::cout << stats_lines(answer);
    } else if (options.watch <= 0) {
      std::cout << stats_page(answer, screen);
    } else {
      const double seconds = std::chrono::duration<double>(asked - asked_before).count();
      print_over(
          before.is_null() ? stats_page(answer, screen) : stats_page(answer, screen, StatsBefore{before, seconds}),
          screen_of(STDOUT_FILENO));
    }
    std::cout << std::flush;
    if (options.watch <= 0) return kDone;
    if (!std::cout) return kFailed;
    before = std::move(answer);
    asked_before = asked;
    std::this_thread::sleep_for(seconds_of(options.watch));
  }
}

}  // namespace

void add_stats(Command app, int& exit_status) {
  auto options = std::make_shared<StatsOptions>();
  const Command command =
      app.add_subcommand("stats", "Show how many tasks are in each state, their moves, sheds and ages");
  options->remote.add_options(command);
  command.footer(
      "Live, with rates; and the number of tasks that wait, for a script:\n"
      "  freshet stats --watch 1\n"
      "  freshet stats --json | jq .depth.PENDING");
  command.add_option("--watch", options->watch, "Repeat the output, with this many seconds between, until Ctrl-C")
      .check(above_zero());
  command.callback([options, &exit_status] { exit_status = stats(*options); });
}

}  // namespace freshet::cli
