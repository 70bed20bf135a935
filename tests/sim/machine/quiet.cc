#include "tests/sim/machine/quiet.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tests/sim/held_memory.h"
#include "tests/sim/machine/items_read.h"
#include "tests/sim/machine/run_options.h"

namespace freshet::sim {

namespace {

using Json = nlohmann::json;

constexpr milliseconds kAfterTheLast{6'000};  // No client asked for an answer later than that.
constexpr milliseconds kQuiet{600'000};       // Connections, processes and caches that nobody uses have gone by then.
constexpr int kLongestVisit = 120;            // Seconds.
constexpr int kRounds = 60;
constexpr int kMostTimes = 4;
constexpr size_t kMostTimers = 25;
// At rest a daemon has the open segment, perhaps one that is read, and the connection that asks for its figures.
constexpr int64_t kMostFiles = 4;
constexpr int64_t kMostConnections = 4;
constexpr int64_t kMostGrowth = 12 << 10;  // Two hundred bytes a round.

struct HeldAtRest {
  int64_t timers = 0;
  int64_t connections = 0;
  int64_t files = 0;
  int64_t memory = 0;  // Without what the store and the disk say they hold.
  // This part of `memory` may grow: the allocator rounds large blocks of the store and the disk up, by a quarter at
  // most, and the daemon keeps the newest lines of its log.
  int64_t excused = 0;
};

struct Figures {
  double store = -1;
  double requests = -1;
};

double figure(const std::string& page, const std::string& name) {
  const size_t at = page.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
}

Async<void> read_figures(Stage& stage, Figures& into) {
  const Reply page = co_await stage.caller.get("/metrics", kPatience);
  into.store = figure(page.text, "freshet_store_memory_bytes");
  into.requests = figure(page.text, "freshet_http_requests_in_flight");
}

// A task from its creation to its removal by a worker.
Async<void> do_one_task(Stage& stage, std::string id) {
  Json task = {{"taskId", id}, {"payload", {{"n", 1}}}};
  const Reply made = co_await stage.caller.queue("tasks", std::move(task), kPatience);
  (void)made;
  Json take = {{"max", 1}, {"leaseMs", 20'000}, {"waitMs", 1'000}, {"owner", "quiet"}};
  const Reply taken = co_await stage.caller.queue("take", std::move(take), kPatience);
  if (taken.kind == Reply::Kind::kDone && !taken.body["tasks"].empty()) {
    const Json& held = taken.body["tasks"][0];
    Json one = {{"taskId", text_of(held, "taskId")}, {"lease", text_of(held, "lease")}, {"outcome", "complete"}};
    Json settle = {{"settle", Json::array({one})}};
    const Reply settled = co_await stage.caller.queue("settle", std::move(settle), kPatience);
    (void)settled;
  }
  Json gone = {{"TableName", "QueueTable"}, {"Key", {{"taskId", {{"S", id}}}}}};
  const Reply removed = co_await stage.caller.store("DeleteItem", std::move(gone), kPatience);
  (void)removed;
}

// Calls that leave nothing behind: answers, refusals, and takes whose client hangs up while they wait.
Async<void> ask(Stage& stage, int number) {
  Json take = {{"max", 1}, {"leaseMs", 1'000}, {"waitMs", 20'000}, {"owner", "hasty"}};
  const Reply hung_up = co_await stage.caller.queue("take", std::move(take), milliseconds(100));
  (void)hung_up;
  Json foreign = {{"settle", Json::array({{{"taskId", "nobody's"}, {"lease", "none"}, {"outcome", "complete"}}})}};
  const Reply refused = co_await stage.caller.queue("settle", std::move(foreign), kPatience);
  (void)refused;
  const Reply stats = co_await stage.caller.get("/queues/QueueTable/stats", kPatience);
  (void)stats;
  const Reply list = co_await stage.caller.get("/queues/QueueTable/tasks?limit=5&state=SUCCESS", kPatience);
  (void)list;
  const std::string id = "quiet-" + std::to_string(number % 4);
  Json item = {{"TableName", kItemsTable}, {"Item", {{"id", {{"S", id}}}}}};
  const Reply put = co_await stage.caller.store("PutItem", std::move(item), kPatience);
  (void)put;
  Json key = {{"TableName", kItemsTable}, {"Key", {{"id", {{"S", id}}}}}};
  const Reply removed = co_await stage.caller.store("DeleteItem", std::move(key), kPatience);
  (void)removed;
}

Async<void> come_and_go(Stage& stage, bool with_tasks, bool& gone) {
  for (int i = 0; i < kRounds && !stage.verdict.is_broken(); ++i) {
    if (with_tasks) co_await do_one_task(stage, "quiet-" + std::to_string(i));
    co_await ask(stage, i);
  }
  gone = true;
}

// Soon after the last client.
void judge_timers(QuietWorld& quiet) {
  quiet.pass(kAfterTheLast);
  const size_t timers = quiet.daemon.timers();
  quiet.stage.caller.trace().note("   soon after the last client: " + std::to_string(timers) + " timers");
  quiet.stage.verdict.expect(timers <= kMostTimers, "timers of work that is over are left", std::to_string(timers));
}

HeldAtRest count(QuietWorld& quiet) {
  Figures figures;
  {
    Scope asking;
    asking.spawn(read_figures(quiet.stage, figures));
    quiet.pass(milliseconds(1'000));
  }
  Verdict& verdict = quiet.stage.verdict;
  verdict.expect(figures.requests <= 1, "a request of nobody is in flight", std::to_string(figures.requests));
  HeldAtRest held;
  held.timers = static_cast<int64_t>(quiet.daemon.timers());
  held.connections = static_cast<int64_t>(quiet.world.sim_network().connections());
  held.files = static_cast<int64_t>(quiet.world.sim_files().open_files());
  const int64_t data = static_cast<int64_t>(figures.store) + static_cast<int64_t>(quiet.world.sim_files().held_bytes());
  verdict.expect(held.connections <= kMostConnections, "connections that nobody uses are open",
                 std::to_string(held.connections) + "\n" + quiet.world.sim_network().describe_connections());
  verdict.expect(held.files <= kMostFiles, "files that nobody uses are open", std::to_string(held.files));
  held.memory = held_memory() - data;
  held.excused = data / 4 + 2 * static_cast<int64_t>(quiet.stage.caller.trace().logged_bytes());
  quiet.stage.caller.trace().note("   at rest: " + std::to_string(held.timers) + " timers, " +
                                  std::to_string(held.connections) + " connections, " + std::to_string(held.files) +
                                  " files");
  return held;
}

// Clients come, and go.
HeldAtRest hold_after(QuietWorld& quiet) {
  Scope clients;
  bool gone = false;
  clients.spawn(come_and_go(quiet.stage, !has_runner(quiet.stage.plan), gone));
  for (int i = 0; i < kLongestVisit && !gone; ++i) quiet.pass(seconds(1));
  clients.clear();
  judge_timers(quiet);
  quiet.pass(kQuiet);
  return count(quiet);
}

// Names the figures that have grown; "" if none has.
std::string grown(const HeldAtRest& before, const HeldAtRest& after) {
  const auto text = [](const char* what, int64_t from, int64_t to) {
    return std::string(what) + " " + std::to_string(from) + ", and then " + std::to_string(to);
  };
  if (after.timers > before.timers) return text("timers", before.timers, after.timers);
  if (after.connections > before.connections) return text("connections", before.connections, after.connections);
  if (after.files > before.files) return text("open files", before.files, after.files);
  const int64_t most = kMostGrowth + std::max<int64_t>(0, after.excused - before.excused);
  if (sees_held_memory() && after.memory >= before.memory + most) {
    return text("memory", before.memory, after.memory);
  }
  return "";
}

}  // namespace

// Some buffers are made when they are first needed: what grows each time is held for nobody.
void judge_quiet(QuietWorld quiet) {
  Stage& stage = quiet.stage;
  judge_timers(quiet);
  HeldAtRest before = hold_after(quiet);
  std::string more;
  for (int times = 0; times < kMostTimes && !stage.verdict.is_broken(); ++times) {
    const HeldAtRest after = hold_after(quiet);
    more = grown(before, after);
    if (more.empty()) break;
    before = after;
  }
  stage.verdict.expect(more.empty(), "a daemon at rest holds more and more", more);
  stage.caller.trace().saw("nothing is held at rest");
}

}  // namespace freshet::sim
