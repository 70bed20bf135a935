#include "tests/sim/fleet/write_exams.h"

#include <array>
#include <optional>
#include <utility>

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;
using Fault = EngineFaults::Fault;

constexpr milliseconds kLongPatience{20'000};
constexpr milliseconds kWorkersRest{2'000};  // By then they have nothing in hand.
constexpr milliseconds kLease{15'000};
constexpr std::array kFaults = {Fault::kErrorBefore, Fault::kErrorAfter, Fault::kLost, Fault::kLate};

// The task of an exam, and the claim on it.
struct Held {
  std::string queue;
  std::string id;
  std::string lease;
  Take take;
};

uint16_t any_port(Exam& exam) {
  const auto& ports = exam.stage.ports;
  return ports[exam.random.below(ports.size())];
}

milliseconds draw_ms(Exam& exam, int64_t least, int64_t most) {
  return milliseconds(least + static_cast<int64_t>(exam.random.below(static_cast<uint64_t>(most - least + 1))));
}

void plan_fault(Exam& exam, const std::string& queue, Fault fault, milliseconds late_by) {
  exam.cluster.engine_faults().plan_next_write(queue, fault, late_by);
}

void plan_any_fault(Exam& exam, const std::string& queue) {
  const Fault fault = kFaults[exam.random.below(kFaults.size())];
  plan_fault(exam, queue, fault, draw_ms(exam, 0, EngineFaults::kLongestDelay.count()));
}

Async<Held> create(Exam& exam, std::string id) {
  FleetStage& stage = exam.stage;
  Held held;
  held.queue = stage.plan.queues[exam.random.below(stage.plan.queues.size())];
  held.id = std::move(id);
  stage.ledger.create_sent(held.queue, held.id, stage.caller.now());
  std::string path = "/queues/" + held.queue + "/tasks";
  Json body = {{"taskId", held.id}, {"payload", 1}};
  const uint16_t port = any_port(exam);
  const Reply reply = co_await stage.caller.post(port, std::move(path), std::move(body), kLongPatience);
  stage.verdict.insist(reply.ok(), "a create is refused although nothing is wrong", held.id);
  if (reply.ok()) stage.ledger.created(held.id, reply.answered);
  co_return held;
}

// It is the only task that waits there. False if it is not given out: then `promise` is broken.
Async<bool> take(Exam& exam, Held& held, milliseconds lease, milliseconds wait, const char* promise) {
  FleetStage& stage = exam.stage;
  std::string path = "/queues/" + held.queue + "/take";
  Json body = {{"max", 1}, {"leaseMs", lease.count()}, {"waitMs", wait.count()}};
  const uint16_t port = any_port(exam);
  const Reply reply = co_await stage.caller.post(port, std::move(path), std::move(body), kLongPatience);
  const bool is_given = reply.ok() && reply.body["tasks"].size() == 1;
  stage.verdict.insist(is_given, promise, held.id + ": " + std::to_string(reply.status) + " " + reply.body.dump());
  if (!is_given) co_return false;
  const Json& task = reply.body["tasks"][0];
  held.lease = text_in(task, "lease");
  held.take = {held.queue, reply.sent, reply.answered, lease};
  stage.ledger.taken(text_in(task, "taskId"), held.lease, held.take);
  co_return !stage.verdict.is_broken();
}

// The error's name; empty if it was done.
Async<std::string> settle(Exam& exam, const Held& held, const char* outcome) {
  FleetStage& stage = exam.stage;
  Json one = {{"taskId", held.id}, {"lease", held.lease}, {"outcome", outcome}};
  Json body = {{"settle", Json::array({std::move(one)})}};
  std::string path = "/queues/" + held.queue + "/settle";
  const bool completes = std::string_view(outcome) == "complete";
  const uint16_t port = any_port(exam);
  stage.ledger.settle_sent(held.id, held.lease, stage.caller.now());
  const Reply reply = co_await stage.caller.post(port, std::move(path), std::move(body), kLongPatience);
  if (!reply.ok()) co_return std::to_string(reply.status);
  const Json& settled = reply.body["settled"][0];
  if (settled.is_object() && settled.contains("error")) co_return text_in(settled["error"], "code");
  stage.ledger.settled(held.id, held.lease, completes);
  co_return std::string();
}

Async<std::string> status_of(Exam& exam, const Held& held) {
  Json input = {{"TableName", held.queue}, {"ConsistentRead", true}, {"Key", {{"taskId", {{"S", held.id}}}}}};
  const Reply reply = co_await exam.stage.caller.store(exam.stage.engine, "GetItem", std::move(input), kLongPatience);
  co_return reply.ok() ? reply.body.value("/Item/taskStatus/S"_json_pointer, "") : std::string();
}

Async<bool> complete(Exam& exam, const Held& held, const char* promise) {
  const std::string error = co_await settle(exam, held, "complete");
  const std::string status = co_await status_of(exam, held);
  exam.stage.verdict.insist(error.empty() && status == "SUCCESS", promise, held.id + ": " + error + ", " + status);
  co_return !exam.stage.verdict.is_broken();
}

constexpr const char* kNotGiven = "a task is not given out although nothing is wrong";
constexpr const char* kNotDone = "a settlement is not done although nothing is wrong";

Async<void> lose_answers(Exam& exam) {
  Held held = co_await create(exam, "exam-no-answer");
  if (exam.stage.verdict.is_broken()) co_return;
  plan_any_fault(exam, held.queue);
  const bool is_given = co_await take(exam, held, kLease, milliseconds(0),
                                      "a claim whose answer from the engine is missing does not reach its taker");
  if (!is_given) co_return;
  plan_any_fault(exam, held.queue);
  co_await complete(exam, held, "a settlement whose answer from the engine is missing is not found out");
}

Async<void> delay_claim(Exam& exam) {
  Held held = co_await create(exam, "exam-late-claim");
  if (exam.stage.verdict.is_broken()) co_return;
  // It is as new once more: the number of its attempts is that before the claim.
  for (const bool is_late : {false, true}) {
    if (is_late) plan_fault(exam, held.queue, Fault::kLate, draw_ms(exam, 4'000, 6'000));
    const bool is_given = co_await take(exam, held, kLease, milliseconds(0), kNotGiven);
    if (!is_given) co_return;
    const std::string error = co_await settle(exam, held, "release");
    exam.stage.verdict.insist(error.empty(), kNotDone, held.id + ": " + error);
    if (exam.stage.verdict.is_broken()) co_return;
  }
  co_await sleep_for(exam.stage.caller.scheduler(), milliseconds(4'000));
  const bool is_given =
      co_await take(exam, held, kLease, milliseconds(0), "a late claim takes a task that was given back");
  if (is_given) co_await complete(exam, held, kNotDone);
}

Async<void> delay_settlement(Exam& exam) {
  Held held = co_await create(exam, "exam-late-settlement");
  if (exam.stage.verdict.is_broken()) co_return;
  const milliseconds lease = draw_ms(exam, 2'300, 2'800);
  const bool is_given = co_await take(exam, held, lease, milliseconds(0), kNotGiven);
  if (!is_given) co_return;
  plan_fault(exam, held.queue, Fault::kLate, draw_ms(exam, 4'000, 6'000));
  const std::string error = co_await settle(exam, held, "complete");
  const std::string status = co_await status_of(exam, held);
  exam.stage.verdict.insist(!error.empty() || status == "SUCCESS", "a settlement counts as done that was not done",
                            held.id + " is " + status);
  if (exam.stage.verdict.is_broken() || status == "SUCCESS") co_return;
  const bool again =
      co_await take(exam, held, kLease, milliseconds(5'000), "a task whose lease has ended is not given out");
  if (again) co_await complete(exam, held, kNotDone);
}

}  // namespace

Async<void> fail_writes(Exam& exam) {
  if (exam.stage.verdict.is_broken()) co_return;
  exam.stage.resting = true;
  co_await sleep_for(exam.stage.caller.scheduler(), kWorkersRest);
  co_await lose_answers(exam);
  if (!exam.stage.verdict.is_broken()) co_await delay_claim(exam);
  if (!exam.stage.verdict.is_broken()) co_await delay_settlement(exam);
  exam.stage.resting = false;
}

}  // namespace freshet::fleet_sim
