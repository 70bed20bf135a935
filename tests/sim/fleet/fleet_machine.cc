#include "tests/sim/fleet/fleet_machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "tests/sim/fleet/change_clients.h"
#include "tests/sim/fleet/changes_judge.h"
#include "tests/sim/fleet/cluster.h"
#include "tests/sim/fleet/counts_judge.h"
#include "tests/sim/fleet/exams.h"
#include "tests/sim/fleet/fleet_clients.h"
#include "tests/sim/fleet/policy_clients.h"
#include "tests/sim/fleet/policy_exams.h"
#include "tests/sim/fleet/run_exams.h"
#include "tests/sim/fleet/run_programs.h"
#include "tests/sim/fleet/topic_clients.h"
#include "tests/sim/fleet/topic_exams.h"
#include "tests/sim/fleet/write_exams.h"
#include "tests/sim/machine/points.h"
#include "tests/sim/machine/quick_json.h"
#include "wire/http/client.h"

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;

constexpr milliseconds kLongestRest{180'000};
constexpr milliseconds kRecount{700'000};  // Owners count their tables every ten minutes.
constexpr milliseconds kLongestHealing{30'000};
constexpr milliseconds kJudgePatience{3'000};
constexpr milliseconds kLookAtLimit{50};

// To within one.
bool are_shares_equal(const std::map<std::string, std::string>& owners, size_t members) {
  std::map<std::string, size_t> shares;
  for (const auto& [unit, owner] : owners) ++shares[owner];
  const size_t least = owners.size() / members;
  return std::all_of(shares.begin(), shares.end(), [&](const auto& share) {
    return share.second >= least && share.second <= (owners.size() + members - 1) / members;
  });
}

class FleetMachine {
 public:
  FleetMachine(const FleetRunPlan& plan, const FleetRunOptions& run)
      : plan_(plan),
        trace_(run.print),
        random_(plan.seed * 7'919 + 17),
        cluster_(plan, trace_, verdict_, ledger_),
        http_(make_http_client({}, {&cluster_.outside_io()}, cluster_.clock(), cluster_.outside(), cluster_.outside())),
        caller_(*http_, cluster_.outside(), trace_),
        stage_{caller_, plan_,     verdict_,          ledger_,     changes_,         events_,
               topic_,  policies_, cluster_.shards(), kEnginePort, cluster_.ports(), calm_} {
    cluster_.prepare = [this](FleetNode& member) { play_programs(member); };
    cluster_.cut_off = [this](const std::string& node, milliseconds time) {
      topic_.shaken(cluster_.now(), cluster_.now() + time, node);
      policies_.shaken(cluster_.now(), cluster_.now() + time);
    };
    cluster_.life_ended = [this](const std::string& node) { topic_.life_ended(node); };
    for (int i = 0; plan.has_topic && i < plan.subscribers; ++i) topic_.subscribed(kSubscribers[i]);
  }
  ~FleetMachine() { cluster_.kill_all(); }  // Its programs use the client.

  FleetRunResult run() {
    sim::take_reached();
    sim::make_common(std::nullopt);
    trace_.note(to_string(plan_));
    cluster_.begin();
    begin_clients();
    cluster_.go_for(milliseconds(4'000));
    cluster_.begin_faults();
    cluster_.go_for(plan_.length);
    if (goes_on()) come_to_rest();
    FleetRunResult result;
    result.holds = !verdict_.is_broken();
    result.promise = verdict_.promise();
    result.what = verdict_.what();
    result.steps = cluster_.steps();
    result.lives = cluster_.lives();
    result.operations = stage_.operations;
    result.hash = trace_.hash();
    result.seen = trace_.seen();
    for (const auto& [point, times] : sim::take_reached()) result.seen["point " + point] += times;
    result.seen["order checks"] += ledger_.order_checks();
    if (cluster_.runs().checks() > 0) result.seen["limit checks through a change of owner"] += cluster_.runs().checks();
    if (policies_.checks() > 0) result.seen["policy checks"] += policies_.checks();
    result.operations += programs_.begun();
    result.last = trace_.last();
    return result;
  }

 private:
  bool goes_on() const { return cluster_.goes_on(); }
  Random fork() { return Random(random_.next()); }

  // The function that gets the changes of a table is served by programs.
  void play_programs(FleetNode& member) {
    sim::ProgramPlay& play = member.world().programs();
    play.random = Random(plan_.seed * 31 + member.world().seed());
    play.outside = &cluster_.outside();
    play.http = http_.get();
    play.calm = [this] { return calm_; };
    play.saw = [this](const std::string& what) { trace_.saw(what); };
    play.started = [this, name = member.name()](const std::string& input) {
      ++stage_.operations;
      const auto event = sim::parse_json(input);
      if (const std::string id = text_in(event, "event"); !id.empty()) return events_.started(id);
      if (topic_.started(name, event, cluster_.now())) return trace_.saw("a message begins");
      changes_.started(name, event, cluster_.now());
    };
    play.answers = [this, name = member.name()](const std::string& input, const std::string&) {
      const auto event = sim::parse_json(input);
      if (TopicJudge::is_message(event)) return topic_.done(name, event);
      if (text_in(event, "event").empty()) changes_.done(event);
    };
    play.lost_event = [this, name = member.name()] {
      topic_.lost_event(name, cluster_.now());
      events_.lost_event();
    };
    play.runs = [this, name = member.name()](ProcessSpec spec, Scheduler& scheduler) {
      return programs_.run(name, std::move(spec), scheduler);
    };
  }

  void begin_clients() {
    clients_.spawn(make_tables(stage_));
    if (plan_.has_mapping) {
      clients_.spawn(change_items(stage_, Random(plan_.seed * 17 + 3)));
      clients_.spawn(watch_positions(stage_, Random(plan_.seed * 19 + 3)));
    }
    if (plan_.has_runs) {
      clients_.spawn(create_runs(stage_, Random(plan_.seed * 29 + 3)));
      clients_.spawn(watch_limit());
    }
    for (int i = 0; plan_.has_topic && i < plan_.publishers; ++i) {
      clients_.spawn(
          publish_messages(stage_, Random(plan_.seed * 41 + 3 + static_cast<uint64_t>(i)), "g" + std::to_string(i)));
    }
    if (plan_.has_policies) {
      clients_.spawn(change_policies(stage_, Random(plan_.seed * 43 + 3)));
      clients_.spawn(read_policies(stage_, Random(plan_.seed * 47 + 3)));
    }
    if (plan_.has_events) clients_.spawn(send_events(stage_, Random(plan_.seed * 23 + 3)));
    for (int i = 0; i < plan_.creators; ++i) clients_.spawn(create_tasks(stage_, fork(), "c" + std::to_string(i)));
    for (int i = 0; i < plan_.putters; ++i) clients_.spawn(put_tasks(stage_, fork(), "p" + std::to_string(i)));
    for (int i = 0; i < plan_.workers; ++i) clients_.spawn(work_on_tasks(stage_, fork(), "w" + std::to_string(i)));
    clients_.spawn(look_around(stage_, fork()));
    clients_.spawn(watch_plan(stage_, fork()));
  }

  // Faults end, and everything must be done within a time.
  void come_to_rest() {
    cluster_.end_faults();
    calm_ = true;
    for (int i = 0; i < 3; ++i) clients_.spawn(work_on_tasks(stage_, fork(), "last" + std::to_string(i)));
    bool rested = false;
    Scope judging;
    judging.spawn(judge(rested));
    const auto is_over = [&rested] { return rested; };
    const bool over = cluster_.go_until(is_over, kLongestRest + kRecount);
    if (goes_on() && !over) verdict_.broken("it does not come to rest", unrested_);
    if (!goes_on()) return;
    judge_order();
  }

  void judge_order() {
    std::map<std::string, StoredTask> all;
    for (const auto& [queue, items] : items_) all.insert(items.begin(), items.end());
    for (const auto& [id, item] : items_[kRunQueue]) {
      verdict_.expect(item.status == "SUCCESS" && cluster_.runs().is_done(id), "a task of programs is not done at rest",
                      id + ": " + item.status);
    }
    ledger_.judge_end(all);
    ledger_.judge_order(all, [this](const std::string& queue, BootTime from, BootTime to) {
      // Until all members have read who serves a queue now, one of them may write a new task itself. The owner finds
      // it later (docs/fleet.md, "Creates during a takeover").
      const BootTime known = from - kFleetLease / 3;
      return cluster_.units().one_owner("queue/" + queue, known, to) && cluster_.was_calm(from, to);
    });
  }

  Async<void> watch_limit() {
    while (!verdict_.is_broken()) {
      cluster_.runs().look(cluster_.now());
      co_await sleep_for(cluster_.outside(), kLookAtLimit);
    }
  }

  Async<void> judge(bool& rested) {
    const BootTime began = cluster_.now();
    for (;;) {
      co_await pause_for(stage_, judge_random_, milliseconds(300), milliseconds(900));
      if (verdict_.is_broken()) co_return;
      if (stage_.creators == 0) {
        const bool done = co_await is_done();
        if (done) break;
      }
      if (cluster_.now() - began > kLongestRest) co_return verdict_.broken("tasks are not done", unrested_);
    }
    for (;;) {
      const bool equal = co_await are_books_right();
      if (equal || verdict_.is_broken()) break;
      trace_.saw("books wait for a count");
      co_await pause_for(stage_, judge_random_, milliseconds(10'000), milliseconds(20'000));
    }
    co_await judge_members();
    Exam exam{stage_, cluster_, judge_random_};
    co_await kill_owner(exam);
    // Tasks were created meanwhile.
    while (!verdict_.is_broken()) {
      const bool done = co_await is_done();
      if (done) break;
      co_await pause_for(stage_, judge_random_, milliseconds(200), milliseconds(600));
    }
    co_await stop_owner(exam);
    co_await restart_with_wrong_clock(exam);
    co_await restart_owner(exam);
    co_await watch_schedule(exam);
    co_await watch_mapping(exam);
    co_await watch_events(exam);
    co_await watch_topic(exam);
    co_await watch_policies(exam);
    co_await watch_runs(exam, programs_);
    co_await fail_writes(exam);
    const bool still = co_await is_done();
    if (!still && !verdict_.is_broken()) co_return verdict_.broken("a task comes back", unrested_);
    rested = true;
  }

  // Every task has ended, in the engine, and every change is processed.
  Async<bool> is_done() {
    unrested_ = changes_.unprocessed();
    if (unrested_.empty() && plan_.has_counts) unrested_ = co_await miscounted(stage_);
    if (unrested_.empty()) unrested_ = events_.unrun();
    if (unrested_.empty()) unrested_ = topic_.undelivered();
    if (!unrested_.empty()) co_return false;
    items_.clear();
    for (const std::string& queue : plan_.judged_queues()) {
      const bool scanned = co_await scan_table(stage_, queue, items_[queue]);
      if (!scanned) {
        unrested_ = "no scan of " + queue;
        co_return false;
      }
      for (const auto& [id, item] : items_[queue]) {
        if (item.status != "PENDING" && item.status != "TAKEN" && item.status != "DELAYED") continue;
        unrested_ = id + " of " + queue + " is " + item.status;
        co_return false;
      }
    }
    co_return true;
  }

  Async<bool> are_books_right() {
    for (const std::string& queue : plan_.judged_queues()) {
      std::map<std::string, int64_t> counted;
      for (const auto& [id, item] : items_[queue]) ++counted[item.status];
      std::string path = "/queues/" + queue + "/stats";
      const uint16_t port = stage_.ports[judge_random_.below(stage_.ports.size())];
      const Reply reply = co_await caller_.get(port, std::move(path), kJudgePatience);
      if (!reply.ok()) {
        unrested_ = "no stats of " + queue + ": " + std::to_string(reply.status);
        co_return false;
      }
      std::map<std::string, int64_t> told;
      for (const auto& [state, count] : reply.body["depth"].items()) {
        if (count.get<int64_t>() != 0) told[state] = count.get<int64_t>();
      }
      if (told == counted) continue;
      unrested_ = "the books of " + queue + " do not equal a scan: " + reply.body["depth"].dump();
      co_return false;
    }
    co_return true;
  }

  // The reason why a member does not play its part in the fleet; empty if there is none.
  Async<std::string> trouble_of(uint16_t port, std::map<std::string, std::string>& owners) {
    std::string ready = "/readyz";
    const Reply is_ready = co_await caller_.get(port, std::move(ready), kJudgePatience);
    const std::string who = std::to_string(port);
    if (is_ready.status != 200) co_return who + " is not ready: " + std::to_string(is_ready.status);
    std::string path = "/fleet";
    const Reply fleet = co_await caller_.get(port, std::move(path), kJudgePatience);
    if (!fleet.ok() || text_in(fleet.body, "state") != "joined") co_return who + " has not joined";
    for (const Json& unit : fleet.body["units"]) {
      const auto [owner, is_new] = owners.emplace(text_in(unit, "unit"), text_in(unit, "owner"));
      if (owner->second != text_in(unit, "owner")) co_return "members do not agree on " + owner->first;
    }
    co_return std::string();
  }

  Async<std::string> trouble_of_members() {
    std::map<std::string, std::string> owners;
    for (const uint16_t port : stage_.ports) {
      std::string trouble = co_await trouble_of(port, owners);
      if (!trouble.empty()) co_return trouble;
    }
    for (const std::string& queue : plan_.judged_queues()) {
      if (!owners.contains("queue/" + queue)) co_return queue + " has no owner";
      if (cluster_.units().owner("queue/" + queue).empty()) co_return "nobody serves " + queue;
    }
    if (!are_shares_equal(owners, stage_.ports.size())) co_return std::string("members have not equally many queues");
    co_return std::string();
  }

  Async<void> judge_members() {
    const BootTime began = cluster_.now();
    while (!verdict_.is_broken()) {
      const std::string trouble = co_await trouble_of_members();
      if (trouble.empty()) co_return;
      verdict_.insist(cluster_.now() - began < kLongestHealing, "the fleet is not whole although nothing is wrong",
                      trouble);
      co_await pause_for(stage_, judge_random_, milliseconds(200), milliseconds(600));
    }
  }

  const FleetRunPlan& plan_;
  sim::Trace trace_;
  Random random_;
  sim::Verdict verdict_;
  Ledger ledger_{verdict_};
  bool calm_ = false;
  Cluster cluster_;
  RunPrograms programs_{cluster_.runs(), cluster_.clock(), trace_, Random(plan_.seed * 37 + 5),
                        calm_,           plan_.run_timeout};
  std::unique_ptr<HttpClient> http_;
  FleetCaller caller_;
  ChangesJudge changes_{verdict_, cluster_.units()};
  EventsJudge events_{verdict_};
  TopicJudge topic_{verdict_, cluster_.units()};
  PolicyJudge policies_{verdict_};
  FleetStage stage_;
  Random judge_random_{random_.next()};
  std::map<std::string, std::map<std::string, StoredTask>> items_;  // By queue, as scanned last.
  std::string unrested_;
  Scope clients_;
};

}  // namespace

FleetRunResult run_fleet(const FleetRunPlan& plan, const FleetRunOptions& options) {
  return FleetMachine(plan, options).run();
}

}  // namespace freshet::fleet_sim
