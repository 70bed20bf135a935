#include "tests/sim/fleet/exams.h"

#include <optional>
#include <utility>

#include "tests/sim/fleet/change_clients.h"

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;

constexpr milliseconds kTakeOver{4'000};
constexpr milliseconds kHandOver{500};
constexpr milliseconds kLook{10};  // Between two looks.
constexpr milliseconds kLongest{20'000};
constexpr milliseconds kSettled{6'000};  // All members are up and have their share.

std::string passed_ms(nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms";
}

// The owner of a queue, and the port of another member.
struct Pair {
  FleetNode* owner = nullptr;
  uint16_t other = 0;
  std::string queue;
};

Pair draw_owner(Exam& exam) {
  const auto& queues = exam.stage.plan.queues;
  Pair out;
  out.queue = queues[exam.random.below(queues.size())];
  const std::string unit = "queue/" + out.queue;
  out.owner = exam.cluster.member_named(exam.cluster.units().owner(unit));
  exam.stage.verdict.insist(out.owner != nullptr, "nobody serves a queue", unit);
  if (!out.owner) return out;
  for (size_t i = 0; i < exam.cluster.members(); ++i) {
    if (&exam.cluster.member(i) != out.owner) out.other = exam.cluster.ports()[i];
  }
  return out;
}

// How long it takes from `began` until each queue is served, as that member's answers say.
Async<void> judge_served(Exam& exam, BootTime began, uint16_t port, milliseconds most, const char* promise) {
  for (const std::string& queue : exam.stage.plan.queues) {
    for (;;) {
      if (exam.stage.verdict.is_broken()) co_return;
      std::string path = "/queues/" + queue + "/stats";
      const Reply reply = co_await exam.stage.caller.get(port, std::move(path), kTakeOver);
      const nanoseconds passed = reply.sent - began;
      if (reply.ok()) {
        exam.stage.verdict.insist(passed <= most + kLook, promise, queue + " is served after " + passed_ms(passed));
        break;
      }
      if (passed > kLongest) co_return exam.stage.verdict.broken(promise, queue + " is not served");
      co_await sleep_for(exam.stage.caller.scheduler(), kLook);
    }
  }
}

// A create is answered at once, whoever serves the queue at the moment.
Async<void> judge_create(Exam& exam, Pair pair) {
  FleetStage& stage = exam.stage;
  std::string id = "exam-" + pair.queue;
  stage.ledger.create_sent(pair.queue, id, stage.caller.now());
  std::string path = "/queues/" + pair.queue + "/tasks";
  Json body = {{"taskId", id}, {"payload", 1}};
  const Reply reply = co_await stage.caller.post(pair.other, std::move(path), std::move(body), kTakeOver);
  stage.verdict.insist(reply.ok(), "a create is refused during a takeover", id + ": " + std::to_string(reply.status));
  if (reply.ok()) stage.ledger.created(id, reply.answered);
}

}  // namespace

// A member that joined a moment ago creates nothing before its clock has been compared.
Async<void> kill_owner(Exam& exam) {
  co_await sleep_for(exam.stage.caller.scheduler(), kSettled);
  const Pair pair = draw_owner(exam);
  if (!pair.owner) co_return;
  exam.cluster.kill_member(*pair.owner, milliseconds(8'000));
  const BootTime killed = exam.stage.caller.now();
  co_await judge_create(exam, pair);
  co_await judge_served(exam, killed, pair.other, kTakeOver, "a dead member's queue is served too late");
  co_await sleep_for(exam.stage.caller.scheduler(), milliseconds(8'000) + kSettled);
}

Async<void> restart_owner(Exam& exam) {
  const Pair pair = draw_owner(exam);
  if (!pair.owner || exam.stage.verdict.is_broken()) co_return;
  const milliseconds away(static_cast<int64_t>(exam.random.below(static_cast<uint64_t>(kFleetLease.count()))));
  exam.cluster.kill_member(*pair.owner, away);
  const BootTime killed = exam.stage.caller.now();
  co_await judge_served(exam, killed, pair.other, kTakeOver, "a restarted member's queue is served too late");
  co_await sleep_for(exam.stage.caller.scheduler(), kFleetLease + kSettled);
}

Async<void> stop_owner(Exam& exam) {
  const Pair pair = draw_owner(exam);
  if (!pair.owner || exam.stage.verdict.is_broken()) co_return;
  exam.cluster.stop_member(*pair.owner, milliseconds(1'000));
  const BootTime stopped = exam.stage.caller.now();
  co_await judge_served(exam, stopped, pair.other, kHandOver, "a stopping member's queue is served too late");
  co_await sleep_for(exam.stage.caller.scheduler(), milliseconds(7'000) + kSettled);
}

namespace {

// A member that does not lead.
Async<std::optional<size_t>> find_follower(Exam& exam) {
  for (size_t i = 0; i < exam.cluster.members(); ++i) {
    std::string path = "/fleet";
    const Reply reply = co_await exam.stage.caller.get(exam.cluster.ports()[i], std::move(path), kTakeOver);
    const bool follows = reply.ok() && text_in(reply.body, "member") != text_in(reply.body, "leader");
    if (follows) co_return i;
  }
  co_return std::nullopt;
}

Async<std::string> state_of(Exam& exam, uint16_t port) {
  std::string path = "/fleet";
  const Reply reply = co_await exam.stage.caller.get(port, std::move(path), kTakeOver);
  co_return text_in(reply.body, "state");
}

}  // namespace

Async<void> restart_with_wrong_clock(Exam& exam) {
  const auto found = co_await find_follower(exam);
  if (!found || exam.stage.verdict.is_broken()) co_return;
  FleetNode& node = exam.cluster.member(*found);
  const uint16_t port = exam.cluster.ports()[*found];
  const milliseconds off(2'500 + static_cast<int64_t>(exam.random.below(20'000)));
  exam.cluster.restart_with_clock(node, exam.random.below(2) == 0 ? off : -off);
  co_await sleep_for(exam.stage.caller.scheduler(), kSettled);
  const std::string state = co_await state_of(exam, port);
  exam.stage.verdict.insist(state == "clock-off", "a wrong clock is not noticed", node.name() + " is " + state);
  for (const std::string& queue : exam.stage.plan.queues) {
    exam.stage.verdict.insist(exam.cluster.units().owner("queue/" + queue) != node.name(),
                              "a member whose clock is off serves a queue", queue);
  }
  node.world().node_clock().set_off(milliseconds(0));
  co_await sleep_for(exam.stage.caller.scheduler(), kSettled);
  const std::string later = co_await state_of(exam, port);
  exam.stage.verdict.insist(later == "joined", "a clock that is right again is not noticed",
                            node.name() + " is " + later);
}

Async<void> watch_schedule(Exam& exam) {
  if (!exam.stage.plan.has_schedule || exam.stage.verdict.is_broken()) co_return;
  const std::vector<BootTime>& all = exam.cluster.scheduled();
  // An event that was in work when its member was killed runs again.
  const auto times = exam.cluster.now().time_since_epoch() / kSchedulePeriod + 2;
  exam.stage.verdict.insist(all.size() <= static_cast<uint64_t>(times) + exam.cluster.lives(),
                            "a schedule fires more often than it is due", std::to_string(all.size()) + " times");
  co_await sleep_for(exam.stage.caller.scheduler(), kSettled);
  const size_t before = all.size();
  co_await sleep_for(exam.stage.caller.scheduler(), kSchedulePeriod * 5 / 2);
  exam.stage.verdict.insist(all.size() >= before + 2, "a schedule does not fire although nothing is wrong",
                            std::to_string(all.size() - before) + " times");
  for (size_t i = before + 1; i < all.size(); ++i) {
    exam.stage.verdict.insist(all[i] - all[i - 1] >= kSchedulePeriod / 2, "a schedule fires twice at one time",
                              passed_ms(all[i] - all[i - 1]) + " after it fired");
  }
}

namespace {

constexpr milliseconds kDelivered{
    2'500};                             // A shard is looked at once a second; programs start, and the clock is coarse.
constexpr milliseconds kStored{2'000};  // The position is stored a second later at most.

// One change, which is to be delivered within that time, and once.
Async<void> judge_change(Exam& exam, milliseconds most, const char* promise) {
  FleetStage& stage = exam.stage;
  const uint64_t before = stage.changes.deliveries();
  std::string item = "exam";
  co_await change_item(stage, exam.random, std::move(item));
  const BootTime written = exam.cluster.now();
  while (!stage.changes.unprocessed().empty() && !stage.verdict.is_broken()) {
    const nanoseconds passed = exam.cluster.now() - written;
    if (passed > most)
      co_return stage.verdict.broken(promise, stage.changes.unprocessed() + " after " + passed_ms(passed));
    co_await sleep_for(stage.caller.scheduler(), kLook);
  }
  co_await sleep_for(stage.caller.scheduler(), kStored);
  stage.verdict.insist(stage.changes.deliveries() == before + 1, "a change comes twice although nothing is wrong",
                       std::to_string(stage.changes.deliveries() - before) + " deliveries");
}

// The member gets SIGTERM while the function is at work on a change, which it finishes.
Async<void> stop_at_work(Exam& exam, FleetNode& owner) {
  FleetStage& stage = exam.stage;
  const uint64_t before = stage.changes.deliveries();
  std::string item = "exam";
  co_await change_item(stage, exam.random, std::move(item));
  const BootTime written = exam.cluster.now();
  while (stage.changes.deliveries() == before && !stage.verdict.is_broken()) {
    const nanoseconds passed = exam.cluster.now() - written;
    if (passed > kDelivered) co_return stage.verdict.broken("a change does not come", passed_ms(passed));
    co_await sleep_for(stage.caller.scheduler(), milliseconds(1));
  }
  exam.cluster.stop_member(owner, milliseconds(1'000));
  while (!stage.changes.unprocessed().empty() && !stage.verdict.is_broken()) {
    co_await sleep_for(stage.caller.scheduler(), kLook);
  }
  co_await sleep_for(stage.caller.scheduler(), kHandOver + kDelivered);
  stage.verdict.insist(stage.changes.deliveries() == before + 1, "a change comes twice after a stop",
                       std::to_string(stage.changes.deliveries() - before) + " deliveries");
}

}  // namespace

Async<void> watch_mapping(Exam& exam) {
  if (!exam.stage.plan.has_mapping || exam.stage.verdict.is_broken()) co_return;
  co_await sleep_for(exam.stage.caller.scheduler(), kSettled);
  co_await judge_change(exam, kDelivered, "a change is delivered too late although nothing is wrong");
  FleetNode* owner = exam.cluster.member_named(exam.cluster.units().owner(kMappingUnit));
  exam.stage.verdict.insist(owner != nullptr, "nobody runs the mapping", kMappingUnit);
  if (!owner || exam.stage.verdict.is_broken()) co_return;
  if (exam.random.below(2) == 0) {
    exam.cluster.kill_member(*owner, milliseconds(8'000));
    co_await judge_change(exam, kTakeOver + kDelivered, "a mapping is taken over too late");
  } else {
    co_await stop_at_work(exam, *owner);
    co_await judge_change(exam, kHandOver + kDelivered, "a mapping is handed over too late");
  }
  co_await sleep_for(exam.stage.caller.scheduler(), milliseconds(8'000) + kSettled);
}

namespace {

constexpr milliseconds kEventRuns{5'000};        // A program starts for it.
constexpr milliseconds kEventTakenOver{12'000};  // Others look for the dead once a second, and then move events.
constexpr int kExamEvents = 4;

// Sends events to a member, and kills it at once if it is to die. Each accepted one runs by `most`.
Async<void> judge_events(Exam& exam, size_t member, bool dies, milliseconds most) {
  FleetStage& stage = exam.stage;
  std::vector<std::string> ids;
  for (int i = 0; i < kExamEvents; ++i) {
    ids.push_back((dies ? "last-" : "exam-") + std::to_string(i));
    co_await send_event(stage, ids.back(), stage.ports[member]);
  }
  if (dies) exam.cluster.kill_member(exam.cluster.member(member), milliseconds(20'000));
  const BootTime sent = exam.cluster.now();
  while (!stage.events.unrun().empty() && !stage.verdict.is_broken()) {
    const nanoseconds passed = exam.cluster.now() - sent;
    if (passed > most) co_return stage.verdict.broken("an event runs too late", stage.events.unrun());
    co_await sleep_for(stage.caller.scheduler(), kLook);
  }
  co_await sleep_for(stage.caller.scheduler(), most);
  for (const std::string& id : ids) {
    const size_t starts = stage.events.starts(id);
    stage.verdict.insist(starts <= (dies ? 2u : 1u), "an event runs twice although nothing is wrong",
                         id + " has run " + std::to_string(starts) + " times");
  }
}

}  // namespace

Async<void> watch_events(Exam& exam) {
  if (!exam.stage.plan.has_events || exam.stage.verdict.is_broken()) co_return;
  co_await sleep_for(exam.stage.caller.scheduler(), kSettled);
  const size_t member = exam.random.below(exam.cluster.members());
  co_await judge_events(exam, member, false, kEventRuns);
  if (!exam.stage.verdict.is_broken()) co_await judge_events(exam, member, true, kEventTakenOver);
  co_await sleep_for(exam.stage.caller.scheduler(), milliseconds(20'000) + kSettled);
}

}  // namespace freshet::fleet_sim
