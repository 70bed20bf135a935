// A flight recording as a fixture.
#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>

#include "app/lab/flight.h"
#include "functions/queue/attributes.h"
#include "functions/queue/holder.h"

namespace freshet::lab {
namespace {

int64_t ms_of(BootTime at) {
  return std::chrono::floor<milliseconds>(at.time_since_epoch()).count();
}

// A task as far as a recording knows it.
struct KnownTask {
  TaskStage stage = TaskStage::kNone;
  int64_t created_ms = 0;
  std::optional<int64_t> due_ms;
  std::optional<int64_t> not_before_ms;
  std::string group;
  std::string key;
  bool replaces = false;
  int priority = 0;
  int max_attempts = 0;
  std::optional<double> cost;
  int64_t attempt = 0;
  bool pulled = false;
  int life = 1;        // A task that came again after its end has several.
  bool shown = false;  // The fixture has it.
};

void learn_about(KnownTask& task, const RecordedTask& about, BootTime at) {
  task.created_ms = ms_of(at) - about.age.value_or(milliseconds(0)).count();
  if (about.due_in) task.due_ms = ms_of(at) + about.due_in->count();
  if (about.delay) task.not_before_ms = ms_of(at) + about.delay->count();
  task.group = about.group;
  task.key = about.key;
  task.replaces = about.replaces;
  task.priority = about.priority;
  task.max_attempts = about.max_attempts;
  task.cost = about.cost;
}

Value value_of_cost(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", number);
  const auto read = Decimal::parse(text);
  return read ? Value(*read) : Value::number(1);
}

ItemRef image_of_known(uint64_t number, const KnownTask& task, const RecordedMove* move) {
  Item item;
  std::string id = "t" + std::to_string(number);
  if (task.life > 1) id += "-" + std::to_string(task.life);
  item.set(attribute::kId, Value(std::move(id)));
  item.set(attribute::kStatus, Value(kTaskStageNames[static_cast<size_t>(task.stage)]));
  item.set(attribute::kCreated, Value::number(task.created_ms));
  if (task.due_ms) item.set(attribute::kDeadline, Value::number(std::max<int64_t>(*task.due_ms, 1)));
  if (task.stage == TaskStage::kDelayed) {
    item.set(attribute::kNotBefore, Value::number(task.not_before_ms.value_or(task.created_ms)));
  }
  if (!task.group.empty()) item.set(attribute::kGroup, Value(task.group));
  if (!task.key.empty()) item.set(attribute::kKey, Value(task.key));
  if (task.replaces) item.set(attribute::kReplace, Value::boolean(true));
  if (task.priority != 0) item.set(attribute::kPriority, Value::number(task.priority));
  if (task.max_attempts != 0) item.set(attribute::kMaxAttempts, Value::number(task.max_attempts));
  if (task.attempt > 0) item.set(attribute::kAttempt, Value::number(task.attempt));
  if (task.stage == TaskStage::kTaken) {
    item.set(attribute::kTakenBy, Value(task.pulled ? std::string_view("worker") : kProcessorOwner));
  }
  const auto cost = move != nullptr && move->cost ? move->cost : task.cost;
  if (cost) item.set(attribute::kCost, value_of_cost(*cost));
  if (move != nullptr && move->replaced) item.set(attribute::kReplacedBy, Value("newer"));
  if (move != nullptr && move->because != ShedBecause::kUnknown) {
    item.set(attribute::kShedReason, Value(kShedBecauseNames[static_cast<size_t>(move->because)]));
  }
  return ItemRef::encode(item);
}

}  // namespace

// Receives the parts of a fixture, in their order.
class FixtureSink {
 public:
  virtual ~FixtureSink() = default;
  virtual void header(FixtureHeader header) = 0;
  virtual void item(const ItemRef& item) = 0;
  virtual void record(ChangeRecord record) = 0;
  virtual void policy(const FixturePolicy& change) = 0;
  virtual void pause(const FixturePause& pause) = 0;
  virtual bool goes_on() const { return true; }
};

namespace {

class LineSink final : public FixtureSink {
 public:
  LineSink(std::string table, const std::function<bool(const std::string&)>& write)
      : table_(std::move(table)), write_(write) {}
  void header(FixtureHeader header) override { write(header_line(header)); }
  void item(const ItemRef& item) override { write(snapshot_line(item)); }
  void record(ChangeRecord record) override { write(record_line(record, table_, {})); }
  void policy(const FixturePolicy& change) override { write(policy_line(change)); }
  void pause(const FixturePause& pause) override { write(pause_line(pause)); }
  bool goes_on() const override { return goes_on_; }

 private:
  void write(const std::string& line) { goes_on_ = goes_on_ && write_(line); }

  const std::string table_;
  const std::function<bool(const std::string&)>& write_;
  bool goes_on_ = true;
};

class MemorySink final : public FixtureSink {
 public:
  void header(FixtureHeader header) override { fixture.header = std::move(header); }
  void item(const ItemRef& item) override { fixture.snapshot.push_back(item.decode()); }
  void record(ChangeRecord record) override { fixture.records.push_back(std::move(record)); }
  void policy(const FixturePolicy& change) override { fixture.policy_changes.push_back(change); }
  void pause(const FixturePause& pause) override { fixture.pauses.push_back(pause); }

  Fixture fixture;
};

}  // namespace

class FixtureWriter {
 public:
  FixtureWriter(const Flight& flight, WallTime start, FixtureSink& sink)
      : flight_(flight), start_(start), sink_(sink) {}

  uint64_t run() {
    find_older_tasks();
    flight_.book_->find(kQueueName)->read({}, SIZE_MAX, [this](const RecordedEvent& event) {
      if (!begun_ && ms_of(event.at) >= epoch_ms(start_)) begin();
      if (event.kind == RecordedEvent::Kind::kMove && ms_of(event.at) <= epoch_ms(flight_.to_)) {
        apply(event.move, event.at);
      }
      return sink_.goes_on();
    });
    if (!begun_) begin();
    for (const FixturePolicy& change : flight_.changes_) {
      if (change.at > start_) sink_.policy(change);
    }
    return sequence_;
  }

  static constexpr std::string_view kQueueName = "queue";

 private:
  // Tasks that were there before the first event: those that an event names, and those that still wait.
  void find_older_tasks() {
    std::unordered_set<uint64_t> seen;
    uint64_t newest = 0;  // The last task that came.
    flight_.book_->find(kQueueName)->read({}, SIZE_MAX, [&](const RecordedEvent& event) {
      const RecordedMove& move = event.move;
      if (event.kind != RecordedEvent::Kind::kMove) return true;
      if (move.from == TaskStage::kNone) newest = std::max(newest, move.task);
      if (!seen.insert(move.task).second) return true;
      if (is_waiting(move.from) && move.about) add_older(move.task, move.from, *move.about, event.at);
      return true;
    });
    for (const auto& waiting : flight_.waiting_) {
      // Tasks are numbered as they come. The clock, which may have been set, does not tell which came after the end.
      if (seen.contains(waiting.task) || (newest > 0 && waiting.task > newest)) continue;
      RecordedTask about = waiting.about;
      about.group = waiting.group;
      about.key = waiting.key;
      add_older(waiting.task, waiting.stage, about, waiting.at);
    }
  }

  void add_older(uint64_t number, TaskStage stage, const RecordedTask& about, BootTime at) {
    KnownTask task;
    task.stage = stage;
    learn_about(task, about, at);
    // It was there, whatever a clock showed that was set back later.
    task.created_ms = std::min(task.created_ms, epoch_ms(flight_.from_));
    known_[number] = std::move(task);
  }

  void begin() {
    begun_ = true;
    FixtureHeader header;
    header.table = flight_.queue_;
    header.keys.partition = {std::string(attribute::kId), Type::kString};
    header.start = start_;
    header.note = "of the flight recorder";
    header.policy = flight_.policy_;
    for (const FixturePolicy& change : flight_.changes_) {
      if (change.at <= start_) header.policy = change.policy;
    }
    std::vector<FixturePause> pauses = pauses_at_start();
    for (const FixturePause& pause : flight_.pauses_) {
      if (pause.at > start_) pauses.push_back(pause);
    }
    header.has_pauses = !pauses.empty();
    sink_.header(std::move(header));
    for (const FixturePause& pause : pauses) sink_.pause(pause);
    std::vector<uint64_t> waiting;
    for (auto& [number, task] : known_) {
      task.shown = is_waiting(task.stage);
      if (task.shown) waiting.push_back(number);
    }
    std::sort(waiting.begin(), waiting.end());
    for (const uint64_t number : waiting) sink_.item(image_of_known(number, known_[number], nullptr));
  }

  std::vector<FixturePause> pauses_at_start() const {
    std::map<std::pair<std::string, std::string>, FixturePause> there;
    for (const FixturePause& pause : flight_.pauses_) {
      if (pause.at > start_) continue;
      if (pause.paused) {
        there[{pause.of, pause.name}] = {start_, true, pause.of, pause.name};
      } else {
        there.erase({pause.of, pause.name});
      }
    }
    std::vector<FixturePause> out;
    for (auto& [part, pause] : there) out.push_back(std::move(pause));
    return out;
  }

  void apply(const RecordedMove& move, BootTime at) {
    const auto there = known_.find(move.task);
    const bool comes = !is_living(move.from) && is_living(move.to);
    if (comes || (there == known_.end() && is_waiting(move.to) && move.about)) return come(move, at);
    if (there == known_.end()) return;
    KnownTask& task = there->second;
    const ItemRef before = task.shown && begun_ ? image_of_known(move.task, task, nullptr) : ItemRef();
    task.stage = move.to;
    if (move.to == TaskStage::kTaken) {
      ++task.attempt;
      task.pulled = move.pulled;
    }
    if (move.given_back) task.attempt = std::max<int64_t>(task.attempt - 1, 0);
    if (move.to == TaskStage::kDelayed && move.about && move.about->delay) {
      task.not_before_ms = ms_of(at) + move.about->delay->count();
    }
    if (task.shown && begun_) {
      // A client may write a status that is none; the simulated queue does not have the task any more either.
      const bool goes = move.to == TaskStage::kNone || move.to == TaskStage::kOther;
      add(goes ? ChangeRecord::Kind::kRemove : ChangeRecord::Kind::kModify, at, before,
          goes ? ItemRef() : image_of_known(move.task, task, &move), move.by_ttl);
    } else if (begun_ && is_waiting(move.to)) {
      show(move.task, task, at);
    }
    if (!is_living(move.to)) known_.erase(there);
  }

  void come(const RecordedMove& move, BootTime at) {
    KnownTask& task = known_[move.task];
    task = {};
    task.stage = move.to;
    if (move.about) learn_about(task, *move.about, at);
    // One that came again after its end, or was in work at the beginning.
    if (move.from != TaskStage::kNone) task.life = ++lives_.try_emplace(move.task, 1).first->second;
    if (begun_) show(move.task, task, at);
  }

  void show(uint64_t number, KnownTask& task, BootTime at) {
    task.shown = true;
    add(ChangeRecord::Kind::kInsert, at, {}, image_of_known(number, task, nullptr), false);
  }

  void add(ChangeRecord::Kind kind, BootTime at, ItemRef before, ItemRef after, bool by_ttl) {
    ChangeRecord record;
    record.sequence = ++sequence_;
    record.kind = kind;
    record.at = WallTime(milliseconds(ms_of(at)));
    record.by_ttl = by_ttl;
    const ItemRef& any = after ? after : before;
    record.keys.set(attribute::kId, any.find(attribute::kId)->decode());
    record.before = std::move(before);
    record.after = std::move(after);
    sink_.record(std::move(record));
  }

  const Flight& flight_;
  const WallTime start_;
  FixtureSink& sink_;
  std::unordered_map<uint64_t, KnownTask> known_;
  std::unordered_map<uint64_t, int> lives_;
  uint64_t sequence_ = 0;
  bool begun_ = false;
};

uint64_t Flight::write_fixture(WallTime start, const std::function<bool(const std::string& line)>& write) const {
  LineSink sink(queue_, write);
  return FixtureWriter(*this, start, sink).run();
}

Fixture Flight::fixture(WallTime start) const {
  MemorySink sink;
  FixtureWriter(*this, start, sink).run();
  return std::move(sink.fixture);
}

}  // namespace freshet::lab
