// Prints a hash of what a queue does with the random work of each seed, for whoever changes the queue without changing
// its decisions: build it before and after, and compare.
//
//   build/release/tests/queue_trace [FIRST [COUNT [--trace]]]     seeds from FIRST (1) on, COUNT (100) of them
//
// A seed draws the queue's settings and two hundred steps: creates (with keys, groups, priorities, delays, deadlines,
// costs), takes that wait or do not, settlements of all kinds, cancels, redrives, pauses, changes of the policy,
// clients that write or delete by themselves, time that passes, wall clocks that step, full stores, and restarts. The
// steps of a round run side by side. Even seeds have a store that answers late and out of step. The hash covers each
// answer, each item of the table after each round, the books, the counts, and, of the late store, how often it was
// called.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "functions/queue/attributes.h"
#include "tests/functions/world.h"

namespace freshet {
namespace {

class Trace {
 public:
  Trace(uint64_t seed, bool print)
      : late_(seed % 2 == 0), print_(print), random_(seed * 7919 + 1), world_(late_, seed), settings_(draw_settings()) {
    queue_ = &world_.start(settings_);
  }

  uint64_t run() {
    for (int round = 0; round < 60; ++round) {
      const size_t side_by_side = 1 + random_.below(5);
      for (size_t i = 0; i < side_by_side; ++i) step();
      world_.pass(milliseconds(random_.below(4) == 0 ? random_.below(3'000) : random_.below(40)));
      if (random_.below(40) == 0) restart();
      note_state();
    }
    pending_.clear();
    world_.refuse_edits(false);
    for (int i = 0; i < 20; ++i) world_.pass(milliseconds(1'000));
    note_state();
    const auto stats = world_.wait(queue_->stats());
    if (stats) {
      for (const auto& [reason, count] : stats->shed) note("shed " + reason + " " + std::to_string(count));
      for (const auto& [arrow, count] : stats->flow) note(arrow + " " + std::to_string(count));
    }
    note("calls " + std::to_string(world_.store_calls()));
    return hash_;
  }

 private:
  QueueSettings draw_settings() {
    QueueSettings out;
    out.lease = milliseconds(500 + random_.below(3'000));
    out.max_attempts = static_cast<int>(1 + random_.below(4));
    out.backoff = {milliseconds(random_.below(500)), milliseconds(2'000), 2, 0.5};
    out.order = static_cast<Order>(random_.below(4));
    out.retry_failures = random_.below(5) != 0;
    if (random_.below(3) == 0) out.deadline_margin = static_cast<DeadlineMargin>(random_.below(3));
    if (random_.below(4) == 0) out.default_ttl = milliseconds(2'000 + random_.below(20'000));
    if (random_.below(4) == 0) out.default_deadline = milliseconds(500 + random_.below(8'000));
    if (random_.below(3) == 0) {
      out.limits.by_key = random_.below(2) == 0;
      if (random_.below(2) == 0) out.limits.concurrency = static_cast<int>(1 + random_.below(3));
      if (random_.below(2) == 0) out.limits.rate = 1 + static_cast<double>(random_.below(10));
      out.limits.counts_cost = out.limits.rate > 0 && random_.below(2) == 0;
      out.limits.learnt = out.limits.rate == 0 && random_.below(4) == 0;
    }
    if (random_.below(4) == 0) out.work.rate_limit = 2 + static_cast<double>(random_.below(20));
    if (random_.below(6) == 0) out.work.rate_adaptive = true;
    if (random_.below(4) == 0) out.admission.max_waiting = 5 + random_.below(40);
    if (random_.below(6) == 0) out.admission.max_waiting_bytes = 1'000 + random_.below(10'000);
    out.admission.refuse_late = random_.below(4) == 0;
    out.start_topic = random_.below(2) == 0 ? "topic" : "";
    return out;
  }

  void restart() {
    note("restart");
    pending_.clear();
    queue_ = &world_.start(settings_);
  }

  void step() {
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return create();
      case 4:
      case 5:
      case 6:
      case 7:
        return take();
      case 8:
      case 9:
      case 10:
      case 11:
        return settle();
      case 12:
        return meddle();
      case 13:
        return operate();
      case 14:
        return rarely();
      default:
        return world_.pass(milliseconds(random_.below(200)));
    }
  }

  std::string any_id() { return "t" + std::to_string(random_.below(std::max<uint64_t>(tasks_, 1))); }
  std::string any_group() { return random_.below(2) == 0 ? "" : "g" + std::to_string(random_.below(3)); }
  std::string any_key() { return random_.below(2) == 0 ? "" : "k" + std::to_string(random_.below(4)); }

  void create() {
    std::vector<NewTask> tasks(1 + random_.below(4));
    for (auto& task : tasks) {
      task.id = random_.below(20) == 0 ? any_id() : "t" + std::to_string(tasks_++);
      task.payload = Value("p");
      if (random_.below(6) == 0) task.delay = milliseconds(random_.below(3'000));
      if (random_.below(5) == 0) task.deadline = world_.clock.wall() + milliseconds(random_.below(6'000));
      if (random_.below(9) == 0) task.ttl = milliseconds(1'000 + random_.below(9'000));
      if (with_keys_) task.key = any_key();
      if (!task.key.empty()) task.replace = random_.below(2) == 0;
      if (with_lanes_ && random_.below(3) == 0) task.priority = static_cast<int>(random_.below(3)) - 1;
      if (with_lanes_) task.group = any_group();
      if (random_.below(5) == 0) task.cost = static_cast<double>(1 + random_.below(4));
      if (random_.below(9) == 0) task.max_attempts = static_cast<int>(1 + random_.below(3));
    }
    start(create_all(std::move(tasks)));
  }
  Async<void> create_all(std::vector<NewTask> tasks) {
    auto made = co_await queue_->create(std::move(tasks));
    for (const auto& task : made) {
      note(task ? "created " + task->id + (task->created ? "" : " before") : "refused " + task.error().message);
    }
  }

  void take() {
    TakeInput input;
    input.max = static_cast<int>(1 + random_.below(6));
    if (random_.below(3) == 0) input.wait = milliseconds(random_.below(1'000));
    if (random_.below(5) == 0) input.lease = milliseconds(100 + random_.below(2'000));
    input.starts_later = random_.below(4) == 0;
    start(take_some(std::move(input)));
  }
  Async<void> take_some(TakeInput input) {
    auto taken = co_await queue_->take(std::move(input));
    if (!taken) note("not taken " + taken.error().message);
    if (!taken) co_return;
    for (auto& task : *taken) {
      note("taken " + std::string(text_of(task.task, attribute::kId)) + " " + task.lease);
      held_.push_back(std::move(task));
    }
  }

  void settle() {
    if (held_.empty()) return;
    std::vector<Settlement> all;
    for (size_t i = 0; i < 1 + random_.below(3) && !held_.empty(); ++i) {
      const size_t at = random_.below(held_.size());
      Settlement one = settlement(static_cast<Settlement::Kind>(random_.below(4)), held_[at]);
      one.begun = one.kind != Settlement::Kind::kRelease || random_.below(2) == 0;
      if (one.kind == Settlement::Kind::kFail) one.final = random_.below(4) == 0;
      if (one.kind != Settlement::Kind::kHeartbeat && random_.below(4) == 0) {
        one.cost = static_cast<double>(1 + random_.below(5));
      }
      if (one.kind == Settlement::Kind::kRelease && random_.below(3) == 0) one.delay = milliseconds(random_.below(900));
      const bool keeps = one.kind == Settlement::Kind::kHeartbeat || random_.below(10) == 0;
      if (!keeps) held_.erase(held_.begin() + static_cast<ptrdiff_t>(at));
      all.push_back(std::move(one));
    }
    start(settle_all(std::move(all)));
  }
  Async<void> settle_all(std::vector<Settlement> all) {
    auto settled = co_await queue_->settle(std::move(all));
    for (const auto& task : settled) {
      note(task ? "settled " + std::string(text_of(*task, attribute::kStatus)) : "not settled " + task.error().message);
    }
  }

  // As clients do.
  void meddle() {
    if (random_.below(3) == 0) {
      DeleteItemInput gone;
      gone.table = "QueueTable";
      gone.key.set(attribute::kId, Value(any_id()));
      (void)world_.wait(world_.store->delete_item(std::move(gone)));
      return;
    }
    Item item;
    item.set(attribute::kId, Value(random_.below(3) == 0 ? any_id() : "t" + std::to_string(tasks_++)));
    constexpr std::array kStates = {state::kPending, state::kPending, state::kTaken, state::kDelayed, state::kSuccess};
    item.set(attribute::kStatus, Value(kStates[random_.below(kStates.size())]));
    const int64_t ahead = random_.below(8) == 0 ? 6'000 : 0;
    item.set(attribute::kCreated, Value::number(world_.now_ms() + ahead - static_cast<int64_t>(random_.below(2'000))));
    if (random_.below(3) == 0) item.set(attribute::kNotBefore, Value::number(world_.now_ms() + 500));
    if (random_.below(3) == 0) item.set(attribute::kDeadline, Value::number(world_.now_ms() + 2'000));
    if (with_keys_ && random_.below(2) == 0) item.set(attribute::kKey, Value("k1"));
    if (with_lanes_ && random_.below(2) == 0) item.set(attribute::kGroup, Value("g1"));
    if (random_.below(5) == 0) item.set(attribute::kReplace, Value::boolean(true));
    world_.put(std::move(item));
  }

  void operate() {
    switch (random_.below(5)) {
      case 0:
        return start(cancel(any_id()));
      case 1:
        return start(redrive());
      case 2:
        return start(pause());
      case 3:
        return start(explain(any_id()));
      default:
        return start(resume());
    }
  }
  Async<void> cancel(std::string id) {
    std::vector<std::string> one{std::move(id)};
    auto done = co_await queue_->cancel(std::move(one));
    note(done[0] ? "cancelled" : "not cancelled " + done[0].error().message);
  }
  Async<void> redrive() {
    RedriveInput input;
    input.state = state::kDead;
    input.limit = 5;
    auto done = co_await queue_->redrive(std::move(input));
    note(done ? "redriven " + std::to_string(*done) : done.error().message);
  }
  Async<void> pause() {
    PauseInput input;
    input.of = random_.below(4) == 0 ? Pause::Of::kQueue : Pause::Of::kGroup;
    if (input.of == Pause::Of::kGroup) input.name = "g" + std::to_string(random_.below(3));
    input.lasts = milliseconds(1'000 + random_.below(2'000));
    Actor actor;
    auto done = co_await queue_->pause(std::move(input), std::move(actor));
    note(done ? "paused" : done.error().message);
  }
  Async<void> resume() {
    Actor actor;
    std::string name = "g1";
    auto done = co_await queue_->resume(Pause::Of::kGroup, std::move(name), std::move(actor));
    note(done ? "resumed" : done.error().message);
  }
  Async<void> explain(std::string id) {
    auto out = co_await queue_->explain(std::move(id));
    std::string all = out ? "explained" : out.error().message;
    if (out) {
      for (const auto& reason : out->why) all += " " + reason.code;
    }
    note(all);
  }

  void rarely() {
    switch (random_.below(6)) {
      case 0:
        with_lanes_ = true;
        return;
      case 1:
        with_keys_ = true;
        return;
      case 2:
        return world_.clock.step_wall(milliseconds(static_cast<int64_t>(random_.below(8'000)) - 4'000));
      case 3:
        return world_.refuse_edits(random_.below(2) == 0, random_.below(3));
      case 4:
        settings_ = draw_settings();
        return queue_->set_settings(settings_);
      default:
        return world_.clock.step_wall(milliseconds(random_.below(3) * 100'000));
    }
  }

  void start(Async<void> work) { pending_.spawn(std::move(work)); }

  void note_state() {
    ScanInput scan;
    scan.table = "QueueTable";
    auto page = world_.wait(world_.store->scan(std::move(scan)));
    if (page) {
      std::map<std::string, std::string> items;
      for (const auto& item : page->items)
        items[std::string(text_of(item, attribute::kId))] = std::string(item.encoded());
      for (const auto& [id, bytes] : items) mix(bytes);
    }
    std::string counts = "state";
    for (const auto& [status, count] : world_.books().stock) counts += " " + status + "=" + std::to_string(count);
    counts += " held=" + std::to_string(queue_->held()) + " started=" + std::to_string(world_.topics.published.size());
    counts += " unserved=" + std::to_string(queue_->unserved());
    counts +=
        " refused=" + std::to_string(queue_->refusals().tasks + queue_->refusals().bytes + queue_->refusals().late);
    note(counts);
  }
  void note(const std::string& what) {
    if (print_) std::printf("%lld %s\n", static_cast<long long>(world_.now_ms()), what.c_str());
    mix(what);
    mix(std::to_string(world_.now_ms()));
  }
  // FNV-1a.
  void mix(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1'099'511'628'211u;
  }

  const bool late_;
  const bool print_;
  Random random_;
  QueueWorld world_;
  QueueSettings settings_;
  Queue* queue_ = nullptr;
  uint64_t tasks_ = 0;
  bool with_lanes_ = false;
  bool with_keys_ = false;
  std::vector<TakenTask> held_;
  uint64_t hash_ = 14'695'981'039'346'656'037u;
  Scope pending_;  // Last: what runs here uses all of the above.
};

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  const bool print = argc > 3 && std::strcmp(argv[3], "--trace") == 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    freshet::Trace trace(seed, print);
    std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(trace.run()));
    std::fflush(stdout);
  }
  return 0;
}
