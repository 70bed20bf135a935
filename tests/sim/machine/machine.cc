#include "tests/sim/machine/machine.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "app/daemon/plan.h"
#include "base/check.h"
#include "runtime/loop/turn_watch.h"
#include "tests/sim/machine/cast.h"
#include "tests/sim/machine/disk_faults.h"
#include "tests/sim/machine/drift.h"
#include "tests/sim/machine/handlers.h"
#include "tests/sim/machine/points.h"
#include "tests/sim/machine/progress.h"
#include "tests/sim/machine/quiet.h"
#include "tests/sim/machine/released.h"
#include "tests/sim/machine/run_options.h"
#include "tests/sim/machine/second_daemon.h"
#include "wire/http/client.h"

namespace freshet::sim {

namespace {

constexpr WallTime kStart{milliseconds(1'800'000'000'000)};
constexpr milliseconds kLongestRest{3'600'000};
constexpr milliseconds kLongTurn{20'000};    // Real time.
constexpr milliseconds kTurnBudget{10'000};  // In the processor's time.
constexpr uint64_t kMostSteps = 5'000'000;
constexpr size_t kMostSpares = 40;

// How a life ends.
enum class Ending { kKill, kPower, kDrain };

class Machine {
 public:
  Machine(const Plan& plan, const RunOptions& run)
      : plan_(plan),
        run_(run),
        trace_(run.print),
        random_(plan.seed * 7919 + 17),
        world_(plan.seed, kStart, trace_),
        options_(options_of(plan)),
        outside_(world_.clock(), outside_waiter_),
        outside_io_(*IoThread::without_thread(world_.clock(), world_.network())),
        http_(make_http_client({}, {outside_io_.get()}, world_.clock(), outside_, outside_)),
        caller_(*http_, outside_, trace_, verdict_) {
    trace_.set_clock(world_.clock());
    if (plan.has("slow-sync")) world_.set_longest_sync(milliseconds(300));
    if (plan.has("late-answers")) world_.answer_late(latest_answer_of(plan));
    if (plan.has("upgrade")) load_released_data(world_.sim_files(), options_.data, tasks_);
    play_programs(world_.programs(), stage_, *http_);
    if (plan.has("slow-network")) world_.sim_network().set_delay(milliseconds(1), milliseconds(400));
  }

  RunResult run() {
    take_reached();
    make_common(plan_.has("often") ? std::optional(plan_.seed + 93) : std::nullopt);
    trace_.note(to_string(plan_));
    begin_clients();
    const auto last = static_cast<uint64_t>(plan_.lives);
    for (uint64_t life = 1; life <= last && goes_on() && !disk_is_lost_; ++life) live(life == last);
    RunResult result;
    result.holds = !verdict_.is_broken();
    result.promise = verdict_.promise();
    result.what = verdict_.what();
    result.steps = steps_;
    result.lives = lives_;
    result.operations = stage_.operations;
    result.hash = trace_.hash();
    result.seen = trace_.seen();
    for (const auto& [point, times] : take_reached()) result.seen["point " + point] += times;
    result.last = trace_.last();
    return result;
  }

 private:
  bool goes_on() const { return !verdict_.is_broken() && (run_.until == 0 || steps_ < run_.until); }
  BootTime now() const { return world_.clock().boot(); }
  Random fork() { return Random(random_.next()); }

  void begin_clients() {
    if (plan_.has("http-runner")) {
      auto handlers = serve_handlers(stage_, handler_random_, world_.network(), *outside_io_, outside_, outside_);
      FRESHET_CHECK(handlers.has_value(), "nobody else has the port of the handlers");
      handlers_ = std::move(*handlers);
    }
    if (plan_.has("repeats")) caller_.repeat_some(fork(), clients_);
    set_expectations(stage_);
    sim::begin_clients(stage_, fork_, clients_, stream_);
  }

  // A daemon from its start to its end.
  void live(bool is_last) {
    ++lives_;
    calm_ = is_last;
    if (is_last) end_faults();
    if (!is_last && plan_.has("wrong-start") && random_.below(3) == 0) {
      set_wall(milliseconds(static_cast<int64_t>(random_.below(7'200'000))));
      fault("wrong-start");
    }
    if (!is_last && plan_.has("bit-rot") && !misdirected_ && random_.below(2) == 0) rot();
    const bool dies_early = !is_last && plan_.has("start-crash") && random_.below(plan_.has("no-syncs") ? 2 : 3) == 0;
    if (dies_early) die_in_start();
    const bool was_misdirected = std::exchange(misdirected_, false);
    const uint64_t cuts = cuts_seen();
    const bool opened = start_daemon(was_misdirected);
    disk_is_lost_ = was_misdirected;
    if (!opened) {
      if (is_last && !disk_is_lost_) verdict_.broken("the store does not open again", opening_error_);
      take_down(dies_early ? draw_crash() : Ending::kKill);
      return;
    }
    if (was_misdirected) {
      // The write that the disk misdirected was acknowledged: the start says so, or all that can be read is right.
      if (cuts_seen() == cuts) read_damaged();
      if (goes_on()) take_down(Ending::kKill);
      return;
    }
    if (!is_last && plan_.has("early-stop") && random_.below(3) == 0) return stop_early();
    const auto length = static_cast<uint64_t>(plan_.longest_life.count());
    const BootTime end = now() + milliseconds(is_last ? 0 : static_cast<int64_t>(100 + random_.below(length)));
    if (is_last && plan_.has("full-at-last")) fill_disk_for_a_while();
    plan_next_fault();
    while (goes_on() && now() < end && !daemon_->loop().stopped()) step();
    if (is_last) come_to_rest();
    if (!goes_on()) return;
    end_life(is_last ? Ending::kDrain : draw_ending());
  }

  uint64_t cuts_seen() const {
    const auto found = trace_.seen().find("log LOG_CUT");
    return found == trace_.seen().end() ? 0 : found->second;
  }

  // All lives have the same options: only the first one reads the template.
  DaemonPlan plan_life() {
    auto plan = daemon_plan_ ? plan_again(*daemon_plan_, options_) : plan_daemon(options_);
    FRESHET_CHECK(plan.has_value(), plan.error().message.c_str());
    if (daemon_plan_) return std::move(*plan);
    daemon_plan_ = std::move(*plan);
    return plan_life();
  }

  // `is_bad`: the disk has put something elsewhere.
  bool start_daemon(bool is_bad) {
    auto plan = plan_life();
    trace_.note("== life " + std::to_string(lives_));
    disk_fails_in_life_ = false;
    judges_.life_begins(now());
    world_.programs().daemon_ends = false;
    stage_.last_fault = now();
    progress_.life_begins(now());
    daemon_ = make_daemon(world_, options_, std::move(plan));
    // Real time: a turn that does not end would hang the run.
    const auto look_at = [seed = plan_.seed](const SlowTurn& turn) {
      if (turn.computed < kTurnBudget) return;
      std::fprintf(stderr, "seed %llu:\n", static_cast<unsigned long long>(seed));
      abort_for(turn);
    };
    turns_.emplace(daemon_->loop(), kLongTurn, look_at, &real_clock_);
    if (auto opened = daemon_->open(); !opened) {
      opening_error_ = opened.error().message;
      trace_.note("the start is refused: " + opening_error_);
      trace_.saw("start refused");
      if (is_bad) {
        trace_.saw("misdirected refused");
        verdict_.expect(opening_error_.find(options_.data) != std::string::npos,
                        "damage is refused without naming the file", opening_error_);
        return false;
      }
      verdict_.insist(disk_may_be_bad(), "a start is refused without a reason", opening_error_);
      return false;
    }
    daemon_->begin();
    return true;
  }

  // Calls that fail do so for as long as the daemon lives; a full disk stays full.
  bool disk_may_be_bad() { return plan_.has("disk-full") || disk_fails_in_life_ || world_.sim_files().crashed(); }

  // A bit of a segment that is not the last one is another. The start must say so, and it is then right again. (In the
  // last one, what is behind the last known sync cannot be told from a torn write.)
  void rot() {
    SimFiles& files = world_.sim_files();
    const auto bit = draw_bit(files, random_, options_.data);
    if (!bit) return;
    fault("bit-rot");
    trace_.note("   " + bit->path + ", offset " + std::to_string(bit->at));
    files.set_content(bit->path, bit->after);
    {
      auto daemon = make_daemon(world_, options_, plan_life());
      const auto opened = daemon->open();
      trace_.saw(opened ? "bit-rot harmless" : "bit-rot refused");
      verdict_.expect(opened || opened.error().message.find(bit->path) != std::string::npos,
                      "damage is refused without naming the file", opened ? "" : opened.error().message);
      files.crash_at(files.calls());
      world_.forget_io();
    }
    files.restart_process();
    files.set_content(bit->path, bit->before);
  }

  void die_in_start() {
    fault("start-crash");
    crash_in_start(world_.sim_files(), random_, plan_.has("no-syncs"));
  }

  Ending draw_crash() { return plan_.has("power") && random_.below(2) == 0 ? Ending::kPower : Ending::kKill; }

  // SIGTERM at any moment of the start.
  void stop_early() {
    // In turns of the daemon: how many steps the clients take meanwhile depends on where their objects lie.
    const uint64_t last_turn = daemon_turns_ + random_.below(random_.below(2) == 0 ? 8 : 60);
    while (daemon_turns_ < last_turn && goes_on() && !daemon_->loop().stopped()) step();
    if (goes_on() && !daemon_->loop().stopped()) {
      trace_.saw("stopped early");
      drain();
      verdict_.insist(disk_may_be_bad() || daemon_->exit_status() == 0, "a stop during the start is no good end",
                      "exit " + std::to_string(daemon_->exit_status()));
    }
    if (goes_on()) take_down(Ending::kDrain);
  }

  // The last fault: once the daemon works, no space is left for a while, and then there is room again. Work must go on.
  void fill_disk_for_a_while() {
    calm_ = false;
    go_on_for(seconds(3));
    fault("full-at-last");
    fill_disk(world_.sim_files(), plan_.seed % 4 != 0);
    go_on_for(milliseconds(5'000 + static_cast<int64_t>(random_.below(20'000))));
    empty_disk(world_.sim_files());
    stage_.last_fault = now();
    calm_ = true;
  }

  // The disk puts a write of the log elsewhere; the daemon dies a little later.
  void misdirect() {
    SimFiles& files = world_.sim_files();
    files.misdirect_write(1 + random_.below(6));
    const BootTime until = now() + seconds(3);
    while (goes_on() && !files.misdirected() && !daemon_->loop().stopped() && now() < until) step();
    files.misdirect_write(0);
    if (!files.misdirected()) return;
    fault("misdirected");
    misdirected_ = true;
    go_on_for(milliseconds(static_cast<int64_t>(random_.below(1'500))));
  }

  void read_damaged() {
    bool done = false;
    const auto read = [this, &done]() -> Async<void> {
      co_await read_all_items(stage_);
      done = true;
    };
    Scope reading;
    reading.spawn(read());
    const BootTime until = now() + seconds(60);
    while (goes_on() && !done && !daemon_->loop().stopped() && now() < until) step();
    trace_.saw(done ? "misdirected harmless" : "misdirected ends the daemon");
  }

  Ending draw_ending() {
    std::vector<Ending> endings;
    if (plan_.has("kill")) endings.push_back(Ending::kKill);
    if (plan_.has("power")) endings.push_back(Ending::kPower);
    if (plan_.has("drain")) endings.push_back(Ending::kDrain);
    return endings.empty() ? Ending::kDrain : endings[random_.below(endings.size())];
  }

  // The life ends within a call of the disk: one of the next, or one near a rare kind of call.
  void die_at_a_call() {
    SimFiles& files = world_.sim_files();
    crash_at_a_call(files, random_);
    const BootTime until = now() + seconds(2);
    while (goes_on() && !files.crashed() && !daemon_->loop().stopped() && now() < until) step();
    files.on_call(nullptr);
    if (files.crashed()) fault("at-call");
  }

  void end_life(Ending ending) {
    if (daemon_->loop().stopped()) {
      trace_.saw("stopped by itself");
      trace_.note("the daemon has ended by itself with " + std::to_string(daemon_->exit_status()));
    } else if (plan_.has("misdirected") && random_.below(3) == 0) {
      misdirect();
      if (goes_on()) take_down(Ending::kKill);
      return;
    } else if (ending == Ending::kDrain) {
      drain();
    } else if (plan_.has("at-call") && random_.below(4) != 0) {
      die_at_a_call();
    }
    if (goes_on()) take_down(ending);
  }

  void drain() {
    fault("drain");
    world_.programs().daemon_ends = true;
    daemon_->loop().post([this] { daemon_->stop(); });
    // Its own deadline and the last sync; and turns enough to see them, as the machine may have paused.
    const BootTime deadline = now() + milliseconds(options_.drain_ms) + seconds(30);
    uint64_t steps_after = 0;
    while (goes_on() && !daemon_->loop().stopped() && steps_after < 20'000) {
      step();
      if (now() >= deadline) ++steps_after;
    }
    if (goes_on()) {
      verdict_.insist(daemon_->loop().stopped(), "a stop takes longer than it may", "SIGTERM did not end the daemon");
    }
  }

  // SIGKILL, or the end of a process that has stopped anyway; then, perhaps, what a power cut leaves of the disk.
  void take_down(Ending ending) {
    SimFiles& files = world_.sim_files();
    const bool power = ending == Ending::kPower;
    fault(power ? "power" : "kill");
    world_.programs().daemon_ends = true;
    files.on_call(nullptr);
    files.crash_at(files.calls());  // Nothing that its destruction does reaches the disk.
    if (power) world_.sim_network().freeze_some(1000);
    world_.forget_io();
    turns_.reset();
    daemon_.reset();
    if (power) {
      files.restart();
      if (plan_.has("no-syncs")) verdict_.end_of_data();
    } else {
      files.restart_process();
    }
    disturbed();
    pass(milliseconds(static_cast<int64_t>(random_.below(random_.below(4) == 0 ? 30'000 : 500))));
  }

  // Faults end, and everything must be done within a time.
  void come_to_rest() {
    // A limiter refuses most of what comes together, and asks for seconds each time: thousands of tasks take hours.
    const int hours = plan_.has("limiter") ? 12 : 1;
    const BootTime deadline = now() + hours * kLongestRest + stepped_back_;
    Scope judging;
    bool rested = false;
    judging.spawn(judge(rested));
    while (goes_on() && !rested && now() < deadline) {
      if (daemon_->loop().stopped()) {
        const auto& why = daemon_->refusal();
        return verdict_.broken("the daemon ends without a fault", "exit " + std::to_string(daemon_->exit_status()) +
                                                                      (why ? ": " + why->message : std::string()));
      }
      step();
    }
    if (goes_on() && !rested) verdict_.broken("it does not come to rest", "long after the last fault");
    if (!goes_on() || !plan_.has("quiet-end") || verdict_.data_is_lost()) return;
    clients_.clear();
    stream_.clear();
    judge_quiet({stage_, world_, daemon_->loop(), [this](milliseconds time) { go_on_for(time); }});
  }

  Async<void> judge(bool& rested) {
    Random random = fork();
    const bool has_data = !verdict_.data_is_lost();
    if (has_data) co_await judge_data(random);
    Reply ready = co_await ask_if_ready(stage_, random);
    while (!has_data && ready.status != 200) {  // It may have begun just now.
      co_await rest(stage_, random, milliseconds(100), milliseconds(1'000));
      ready = co_await ask_if_ready(stage_, random);
    }
    verdict_.insist(ready.status == 200, "it is not ready although nothing is wrong", std::to_string(ready.status));
    rested = true;
  }

  Async<void> judge_data(Random& random) {
    milliseconds pause(500);
    while (!verdict_.is_broken()) {
      co_await rest(stage_, random, pause, 2 * pause);
      pause = std::min<milliseconds>(pause + pause / 4, milliseconds(15'000));
      const bool done = co_await judge_rest(stage_);
      if (!done) continue;
      const bool others = co_await judge_others(stage_);
      if (others) break;
    }
    co_await read_all_items(stage_);
    stage_.all_is_read = true;
    while (stream_.size() > 0 && !verdict_.is_broken()) {
      co_await rest(stage_, random, milliseconds(100), milliseconds(500));
    }
    if (plan_.has("stream")) items_.stream_is_over();
    // As much as the log's reserve, and not ever more.
    const size_t spares = spares_in(world_.sim_files(), options_.data);
    verdict_.expect(spares < kMostSpares, "the log keeps ever more space", std::to_string(spares) + " spares");
  }

  void go_on_for(milliseconds time) {
    const BootTime end = now() + time;
    while (goes_on() && !daemon_->loop().stopped() && now() < end) step();
  }

  // Everything that is to be done at this moment, or a jump to the next one.
  void step() {
    ++steps_;
    if (steps_ > kMostSteps) return verdict_.broken("it goes on for ever", "no end after millions of steps");
    SimNetwork& network = world_.sim_network();
    network.run_due();
    bool worked = turn_outside();
    worked = turn_daemon() || worked;
    if (now() >= next_fault_) {
      make_fault();
      return plan_next_fault();
    }
    if (worked || network.has_ready_sockets()) return;
    BootTime next = std::min({network.next_event(), outside_.next_deadline(), outside_io_->next_due(),
                              daemon_->loop().next_deadline(), next_fault_});
    if (world_.io() != nullptr) next = std::min(next, world_.io()->next_due());
    if (next == BootTime::max()) return verdict_.broken("nothing will ever happen", "no timer is set");
    if (next <= now()) {
      // Somebody wants a turn for something that it then does not do.
      verdict_.insist(++idle_turns_ < 10'000, "it spins without progress", "turns at one moment");
      pass(std::chrono::microseconds(1));
      return;
    }
    idle_turns_ = 0;
    pass(next - now());
  }

  bool turn_outside() {
    bool worked = false;
    if (world_.sim_network().has_ready_sockets() || outside_io_->next_due() <= now()) {
      outside_io_->turn(BootTime{});
      worked = true;
    }
    if (outside_.ready()) {
      outside_.turn();
      worked = true;
    }
    return worked;
  }

  bool turn_daemon() {
    if (daemon_->loop().stopped()) return false;
    bool worked = false;
    IoThread* io = world_.io();
    if (io != nullptr && (world_.sim_network().has_ready_sockets() || io->next_due() <= now())) {
      io->turn(BootTime{});
      worked = true;
    }
    if (daemon_->loop().ready()) {
      daemon_->loop().turn();
      worked = true;
      verdict_.insist(progress_.made(now(), daemon_->loop().stats().works), "it spins without progress",
                      "turns or works within two seconds");
      // Work takes time.
      pass(std::chrono::microseconds(1 + random_.below(40)));
    }
    if (worked) ++daemon_turns_;
    return worked;
  }

  void plan_next_fault() {
    if (calm_ || faults_per_second_ == 0) {
      next_fault_ = BootTime::max();
      return;
    }
    const double mean = 1000.0 / static_cast<double>(faults_per_second_);
    const auto wait = static_cast<int64_t>(mean * 2e6 * random_.unit()) + 1;
    next_fault_ = now() + std::chrono::microseconds(wait);
  }

  void pass(nanoseconds time) {
    world_.sim_clock().advance(time);
    const milliseconds by = drift_.pass(now(), time);
    if (by == milliseconds(0)) return;
    world_.sim_clock().step_wall(by);
    judges_.wall.drifted(now(), by);
  }

  void set_wall(milliseconds by) {
    world_.sim_clock().step_wall(by);
    judges_.clock_stepped(by, now());
    disturbed();
  }

  // The wall clock was set, or a life ended.
  void disturbed() {
    tasks_.disturbed(now());
    judges_.filtered.disturbed(now());
  }

  void fault(const std::string& name) {
    stage_.last_fault = now();
    trace_.saw("fault " + name);
    trace_.note("!! " + name);
  }

  void end_faults() {
    world_.sim_network().refuse_connections(0);
    world_.sim_network().set_delay(std::chrono::microseconds(20), std::chrono::microseconds(200));
    world_.sim_files().set_disk_bytes(std::numeric_limits<uint64_t>::max());
    world_.set_longest_sync(milliseconds(3));
    drift_.end();
    next_fault_ = BootTime::max();
  }

  // One of the faults that the plan has, the more often the more of it there are.
  void make_fault() {
    uint64_t drawn = random_.below(static_cast<uint64_t>(faults_per_second_));
    for (const char* name : kFaults) {
      const auto share = static_cast<uint64_t>(plan_.how_many(name));
      if (drawn < share) return make_fault(name);
      drawn -= share;
    }
  }

  void make_fault(const std::string& name) {
    fault(name);
    if (disturb_disk(world_.sim_files(), random_, trace_, name)) {
      disk_fails_in_life_ = true;
      return;
    }
    if (name == "cut") world_.sim_network().cut_some(100 + random_.below(900));
    if (name == "freeze") world_.sim_network().freeze_some(100 + random_.below(900));
    if (name == "refuse") world_.sim_network().refuse_connections(random_.below(2) == 0 ? 0 : random_.below(1000));
    if (name == "second-daemon") start_second_daemon(world_, options_, verdict_, trace_);
    if (name == "wall-drift") drift_.begin(random_, now());
    if (name == "slow-turn") pass(milliseconds(static_cast<int64_t>(random_.below(900))));
    if (name == "pause") {
      const WallTime began = world_.sim_clock().wall();
      pass(milliseconds(static_cast<int64_t>(random_.below(120'000))));
      tasks_.machine_paused(began, world_.sim_clock().wall());
    }
    if (name == "wall-step") {
      const auto far = static_cast<int64_t>(random_.below(random_.below(2) == 0 ? 50'000 : 5'000'000));
      const bool back = random_.below(2) == 0;
      if (back) stepped_back_ += milliseconds(far);  // A task that is delayed to a time waits for it.
      set_wall(milliseconds(back ? -far : far));
      // A daemon sees the drift since it looked last together with the step.
      if (back || milliseconds(far) <= seconds(61) + judges_.wall.strayed(now() - seconds(200), now())) return;
      tasks_.clock_is_doubted();
    }
  }

  static constexpr const char* kFaults[] = {"sync-fails",    "write-fails",  "calls-fail", "disk-full", "cut",
                                            "freeze",        "refuse",       "wall-step",  "pause",     "slow-turn",
                                            "second-daemon", "disk-refuses", "wall-drift"};

  const Plan& plan_;
  const RunOptions& run_;
  Trace trace_;
  Random random_;
  Random handler_random_{random_.next()};
  SimWorld world_;
  const DaemonOptions options_;
  Verdict verdict_;
  Judges judges_{verdict_, kStart};
  ItemsJudge& items_ = judges_.items;
  TasksJudge& tasks_ = judges_.tasks;
  const std::function<Random()> fork_ = [this] { return fork(); };
  bool calm_ = false;
  // The clients' side.
  SimWaiter outside_waiter_{world_.sim_clock()};
  Loop outside_;
  std::unique_ptr<IoThread> outside_io_;
  std::unique_ptr<HttpClient> http_;
  Caller caller_;
  Stage stage_{caller_, plan_, judges_, verdict_, calm_, runner_of(plan_)};
  std::unique_ptr<HttpServer> handlers_;
  Scope clients_;
  Scope stream_;
  // The daemon's.
  SystemClock real_clock_;                 // For the watch below, and for nothing else.
  std::optional<DaemonPlan> daemon_plan_;  // Without a daemon of its own.
  std::unique_ptr<Daemon> daemon_;
  std::optional<TurnWatch> turns_;
  std::string opening_error_;
  bool misdirected_ = false;   // In the life before.
  bool disk_is_lost_ = false;  // Nothing can be judged any more.
  bool disk_fails_in_life_ = false;
  const int64_t faults_per_second_ = [this] {
    int64_t all = 0;
    for (const char* name : kFaults) all += plan_.how_many(name);
    return all;
  }();
  BootTime next_fault_ = BootTime::max();
  Drift drift_;
  uint64_t lives_ = 0;
  uint64_t steps_ = 0;
  uint64_t daemon_turns_ = 0;
  uint64_t idle_turns_ = 0;
  Progress progress_;
  milliseconds stepped_back_{0};
};

}  // namespace

RunResult run_machine(const Plan& plan, const RunOptions& options) {
  return Machine(plan, options).run();
}

}  // namespace freshet::sim
