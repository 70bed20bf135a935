// freshet cancel, redrive: changing a running daemon's queue.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <thread>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/cli/remote.h"

namespace freshet::cli {
namespace {

struct ChangeOptions {
  Remote remote;
  std::vector<std::string> ids;
  std::string state = "DEAD";
  uint32_t limit = 1000;
  std::vector<std::string> where;
  double rate = 0;
};

constexpr size_t kMost = 1000;  // Tasks of one request.

// The part of the ids that goes into the request that begins with the one at `from`.
std::vector<std::string> request_of(const std::vector<std::string>& ids, size_t from, size_t most = kMost) {
  const auto first = ids.begin() + static_cast<ptrdiff_t>(from);
  return {first, first + static_cast<ptrdiff_t>(std::min(most, ids.size() - from))};
}

int cancel(const ChangeOptions& options) {
  Session session(options.remote);
  int status = kDone;
  for (size_t from = 0; from < options.ids.size(); from += kMost) {
    const Json answer = session.call("POST", "/cancel", Json{{"taskIds", request_of(options.ids, from)}});
    if (answer.is_null()) return session.exit_status();
    for (const auto& result : answer.at("results")) {
      if (options.remote.json) std::cout << result.dump() << '\n';
      if (result.contains("error")) {
        status = exit_status_of(result["error"].value("code", ""));
        if (!options.remote.json) std::cerr << "freshet: " << result["error"].value("message", "") << '\n';
      } else if (!options.remote.json) {
        std::cout << result.value("taskId", "") << ' ' << result.value("taskStatus", "") << '\n';
      }
    }
  }
  return status;
}

// NAME=VALUE each.
std::optional<Json> conditions(const std::vector<std::string>& where) {
  Json out = Json::object();
  for (const auto& text : where) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      std::cerr << "freshet: --where '" << text
                << "' must be NAME=VALUE: an attribute of the task and what it must be\n";
      return std::nullopt;
    }
    out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

// Waits until so many at that rate have had their time.
void keep_pace(std::chrono::steady_clock::time_point begun, uint64_t done, double rate) {
  if (rate <= 0) return;
  std::this_thread::sleep_until(begun + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                            std::chrono::duration<double>(static_cast<double>(done) / rate)));
}

// In requests of a bounded size, so that it can be told how far it is. Without ids: fewer than asked for are all.
int redrive(const ChangeOptions& options) {
  const auto where = conditions(options.where);
  if (!where) return kUsage;
  Session session(options.remote);
  const auto begun = std::chrono::steady_clock::now();
  // At a rate: ten times a second, or one by one.
  const auto most = options.rate > 0 ? std::clamp<uint64_t>(static_cast<uint64_t>(options.rate / 10), 1, kMost) : kMost;
  Progress progress;
  uint64_t redriven = 0;
  size_t named = 0;
  for (uint64_t left = options.limit; left > 0;) {
    const uint64_t ask = std::min<uint64_t>(left, most);
    Json request{{"state", options.state}, {"limit", ask}};
    if (!where->empty()) request["where"] = *where;
    if (!options.ids.empty()) request["taskIds"] = request_of(options.ids, named, most);
    const Json answer = session.call("POST", "/redrive", request);
    if (answer.is_null()) {
      progress.clear();
      if (redriven > 0) std::cerr << "freshet: " << redriven << " had gone back to PENDING before that\n";
      return session.exit_status();
    }
    const uint64_t moved = answer.value("redriven", uint64_t{0});
    redriven += moved;
    left -= std::min(left, moved);
    named += most;
    if (options.ids.empty() ? moved < ask : named >= options.ids.size()) break;
    progress.show(std::to_string(redriven) + " back to PENDING");
    keep_pace(begun, redriven, options.rate);
  }
  progress.clear();
  if (options.remote.json) {
    std::cout << Json{{"redriven", redriven}}.dump() << '\n';
  } else {
    std::cout << redriven << " back to PENDING\n";
  }
  return kDone;
}

}  // namespace

void add_cancel(Command app, int& exit_status) {
  auto options = std::make_shared<ChangeOptions>();
  const Command command =
      app.add_subcommand("cancel", "Cancel tasks that wait; one that runs is told at its next heartbeat");
  options->remote.add_options(command);
  command.footer(
      "freshet get ID tells what became of one that ran. Two tasks; and all that wait:\n"
      "  freshet cancel order-17 order-18\n"
      "  freshet list --limit 100000 --json | jq -r .taskId | xargs -r freshet cancel");
  command.add_option("ids", options->ids, "Task ids").required();
  command.callback([options, &exit_status] { exit_status = cancel(*options); });
}

void add_redrive(Command app, int& exit_status) {
  auto options = std::make_shared<ChangeOptions>();
  const Command command = app.add_subcommand("redrive", "Put dead, failed, cancelled or shed tasks back to PENDING");
  options->remote.add_options(command);
  command.footer(
      "After the cause is mended: all that are dead; those of one group, fifty a second; two that were cancelled:\n"
      "  freshet redrive --limit 100000\n"
      "  freshet redrive --limit 100000 --where group=eu --rate 50\n"
      "  freshet redrive --state CANCELLED order-17 order-18");
  command.add_option("ids", options->ids, "Task ids; none: all of that state");
  command.add_option("--state", options->state, "DEAD, FAILURE, CANCELLED or SHED").capture_default_str();
  command.add_option("--limit", options->limit, "At most so many").check(whole(1, 4'294'967'295)).capture_default_str();
  command.add_option("--where", options->where, "Only tasks with that attribute: NAME=VALUE, once for each");
  command.add_option("--rate", options->rate, "At most so many a second, which leaves room for new ones")
      .check(above_zero());
  command.callback([options, &exit_status] { exit_status = redrive(*options); });
}

}  // namespace freshet::cli
