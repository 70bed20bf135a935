#include "functions/queue/flight_recorder.h"

#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/holder.h"
#include "functions/queue/policy/expiry.h"
#include "tables/value/attribute_walk.h"

namespace freshet {
namespace {

// The time between two marks. A task counts as old after one to two of these times. The recorder ticks each second, so
// the second mark comes before kOldAfter has passed.
constexpr milliseconds kRecorderMark = FlightRecorder::kOldAfter / 2 - std::chrono::seconds(2);

int64_t int_in_value(std::string_view value, int64_t fallback) {
  const ValueView view(value);
  return view.type() == Type::kNumber ? view.number().floor_int64() : fallback;
}

constexpr int64_t kSurelySeconds = 10'000'000'000;
constexpr uint32_t kLookEach = 16;                  // One end in this many is searched for a cost.
constexpr uint32_t kStartEach = 64;                 // One start in this many is searched for its holder.
constexpr int64_t kMostTime = int64_t{1} << 52;     // A client may have written any number.
constexpr int64_t kMostCreated = int64_t{1} << 42;  // The boot clock has nanoseconds.

std::string_view text_in_value(std::string_view value, size_t most) {
  const ValueView view(value);
  if (view.type() != Type::kString || view.bytes().size() > most) return {};
  return view.bytes();
}

std::optional<double> known_cost(const ItemRef& task) {
  const double cost = cost_of(task, -1);
  return cost >= 0 ? std::optional(cost) : std::nullopt;
}

ShedBecause because_of(const ItemRef& task) {
  const auto reason = text_of(task, attribute::kShedReason);
  const auto known = std::find(kShedBecauseNames.begin(), kShedBecauseNames.end(), reason);
  return known == kShedBecauseNames.end() ? ShedBecause::kUnknown
                                          : static_cast<ShedBecause>(known - kShedBecauseNames.begin());
}

// True if the claim's attempt was taken back. The bytes compare as the numbers do.
bool is_given_back(const ItemRef& before, const ItemRef& after) {
  const auto was = before.find(attribute::kAttempt);
  const auto is = after.find(attribute::kAttempt);
  return was && (!is || is->key_bytes() < was->key_bytes());
}

}  // namespace

inline int64_t FlightRecorder::LastNumber::read(std::string_view from) {
  if (!encoding::is_same_name(encoded.data(), encoded.size(), from.data(), from.size())) {
    encoded = from;
    value = int_in_value(from, 0);
  }
  return value;
}

FlightRecorder::FlightRecorder(const Clock& clock, TaskQueues& queues, size_t most_bytes)
    : clock_(clock),
      queues_(queues),
      began_(clock.boot()),
      book_(most_bytes, kMostAge + kKeptBeyond),
      marked_(clock.boot()) {
  book_.tick(clock.wall(), clock.boot());
}

void FlightRecorder::find_source(const StatusMove& move) {
  const auto [place, added] = tables_.try_emplace(move.table);
  // A table has books before its queue is open.
  if (added || place->second.recording == nullptr) begin_source(move, place->second);
  last_table_ = move.table;
  last_ = &place->second;
}

// A table that was deleted and created again is another one: its tasks are not those of the recording so far.
void FlightRecorder::begin_source(const StatusMove& move, Source& source) {
  const auto queue = queues_.find(move.name);
  if (queue == nullptr) return;
  source.queue = queue;
  QueueRecording& recording = book_.of(move.name);
  const auto [known, first] = recorded_.try_emplace(&recording, move.table);
  if (known->second > move.table) return;  // The move belongs to the table that is gone.
  source.recording = &recording;
  if (first || known->second == move.table) return;
  tables_.erase(known->second);
  known->second = move.table;
  recording.begin_anew(clock_.boot());
}

// The queue may have been closed since, and may have been opened again.
bool FlightRecorder::ttl_in_milliseconds(Source& source, const StatusMove& move) const {
  auto queue = source.queue.lock();
  if (queue == nullptr) source.queue = queue = queues_.find(move.name);
  return queue != nullptr && queue->ttl_in_milliseconds();
}

// The time is that of the batch, so the clock is read once for all changes of one.
void FlightRecorder::moved(const StatusMove& move) {
  if (move.table != last_table_ || last_->recording == nullptr) find_source(move);
  Source& source = *last_;
  if (source.recording == nullptr) return;
  if (move.at != last_wall_) {
    last_wall_ = move.at;
    now_ms_ = std::chrono::floor<milliseconds>(clock_.boot().time_since_epoch()).count();
  }
  const TaskStage from = stage_of(move.from);
  const TaskStage to = stage_of(move.to);
  const uint64_t task = (move.after ? move.after : move.before).creation();
  // Most moves are starts of tasks that have not waited for long, ends of tasks without a cost, and plain arrivals.
  if (from == TaskStage::kPending && to == TaskStage::kTaken && task > old_ && task > source.old) {
    if (source.starts++ % kStartEach == 0) look_at_start(source, move.after);
    source.recording->add_plain(from, to, source.pulled ? kMovePulled : 0u, task, now_ms_);
  } else if (from == TaskStage::kTaken && to == TaskStage::kSuccess && !source.has_costs &&
             source.ends++ % kLookEach != 0) {
    source.recording->add_plain(from, to, 0, task, now_ms_);
  } else if (from == TaskStage::kNone && to == TaskStage::kPending && source.old != UINT64_MAX &&
             come_plainly(source, move, task)) {
    seen_ = std::max(seen_, task);
  } else {
    add(source, move, from, to, task);
  }
}

// False, and nothing is noted, if the task has more than a TTL and a deadline.
bool FlightRecorder::come_plainly(Source& source, const StatusMove& move, uint64_t task) {
  std::string_view ttl;
  std::string_view deadline;
  bool has_more = false;
  each_attribute(move.after, [&](std::string_view name, std::string_view value) {
    switch (name.size()) {
      case attribute::kTtl.size():
        if (name == attribute::kTtl) ttl = value;
        has_more |= name == attribute::kKey;
        break;
      case attribute::kCost.size():
        has_more |= name == attribute::kCost;
        break;
      case attribute::kGroup.size():
        has_more |= name == attribute::kGroup;
        break;
      case attribute::kReplace.size():
        has_more |= name == attribute::kReplace;
        break;
      case attribute::kDeadline.size():
        if (name == attribute::kDeadline) deadline = value;
        has_more |= name == attribute::kPriority;
        break;
      case attribute::kMaxAttempts.size():
        has_more |= name == attribute::kMaxAttempts;
        break;
      default:
        break;
    }
  });
  if (has_more) return false;
  std::optional<int64_t> due;
  bool by_ttl = false;
  const int64_t now = epoch_ms(move.at);
  if (!ttl.empty()) {
    const int64_t end = ttl_.read(ttl);
    if (end <= 0 || end >= kSurelySeconds) return false;
    due = end * 1'000 - now;
    by_ttl = true;
  }
  const int64_t end = deadline.empty() ? 0 : deadline_.read(deadline);
  if (end > kMostTime) return false;
  if (end > 0 && (!due || end - now < *due)) {
    due = end - now;
    by_ttl = false;
  }
  source.recording->add_arrival(TaskStage::kPending, task, due, by_ttl, now_ms_);
  return true;
}

void FlightRecorder::look_at_start(Source& source, const ItemRef& task) {
  source.pulled = text_of(task, attribute::kTakenBy) != kProcessorOwner;
}

// Records any move.
void FlightRecorder::add(Source& source, const StatusMove& move, TaskStage from, TaskStage to, uint64_t task) {
  const ItemRef& any = move.after ? move.after : move.before;
  RecordedMove out;
  out.task = task;
  out.from = from;
  out.to = to;
  out.by_ttl = move.by_ttl;
  seen_ = std::max(seen_, task);
  if (!begun_ && from == TaskStage::kNone) {
    begun_ = true;
    old_ = newest_ = task - 1;
  }
  if (source.old == UINT64_MAX && from == TaskStage::kNone) source.old = task - 1;
  if (!is_living(from) && is_living(to)) return come(source, move, out);
  std::optional<RecordedTask> described;
  if (to == TaskStage::kDelayed ||
      ((task <= old_ || task <= source.old) && (is_waiting(from) || (from == TaskStage::kTaken && is_waiting(to))))) {
    const bool waited = is_waiting(from) && to != TaskStage::kDelayed;
    described =
        about(waited ? move.before : move.after, waited ? from : to, move.at, false, ttl_in_milliseconds(source, move));
    source.has_costs = source.has_costs || described->cost;
  }
  if (to == TaskStage::kTaken) {
    if (source.starts++ % kStartEach == 0) look_at_start(source, any);
    out.pulled = source.pulled;
  } else if (from == TaskStage::kTaken && move.after) {
    out.given_back = is_waiting(to) && is_given_back(move.before, move.after);
    out.cost = known_cost(move.after);
    source.has_costs = source.has_costs || out.cost;
  }
  if (to == TaskStage::kShed) out.because = because_of(any);
  if (to == TaskStage::kCancelled) out.replaced = has(any, attribute::kReplacedBy);
  source.recording->add(out, described ? &*described : nullptr, now_ms_);
}

void FlightRecorder::come(Source& source, const StatusMove& move, RecordedMove& out) {
  if (out.to == TaskStage::kTaken) {
    if (source.starts++ % kStartEach == 0) look_at_start(source, move.after);
    out.pulled = source.pulled;
  }
  const RecordedTask task = about(move.after, out.to, move.at, true, ttl_in_milliseconds(source, move));
  source.has_costs = source.has_costs || task.cost;
  source.recording->add(out, &task, now_ms_);
}

FlightRecorder::Decisive FlightRecorder::decisive(const ItemRef& task) {
  Decisive out;
  each_attribute(task, [&out](std::string_view name, std::string_view value) {
    switch (name.size()) {
      case attribute::kTtl.size():
        static_assert(attribute::kTtl.size() == attribute::kKey.size());
        if (name == attribute::kTtl) out.ttl = value;
        if (name == attribute::kKey) out.key = value;
        break;
      case attribute::kCost.size():
        if (name == attribute::kCost) out.cost = value;
        break;
      case attribute::kGroup.size():
        if (name == attribute::kGroup) out.group = value;
        break;
      case attribute::kReplace.size():
        if (name == attribute::kReplace) out.replace = value;
        break;
      case attribute::kDeadline.size():
        static_assert(attribute::kDeadline.size() == attribute::kPriority.size());
        if (name == attribute::kDeadline) out.deadline = value;
        if (name == attribute::kPriority) out.priority = value;
        break;
      case attribute::kNotBefore.size():
        if (name == attribute::kNotBefore) out.not_before = value;
        break;
      case attribute::kCreated.size():
        static_assert(attribute::kCreated.size() == attribute::kMaxAttempts.size());
        if (name == attribute::kCreated) out.created = value;
        if (name == attribute::kMaxAttempts) out.max_attempts = value;
        break;
      default:
        break;
    }
  });
  return out;
}

RecordedTask FlightRecorder::about(const ItemRef& task, TaskStage stage, WallTime now, bool just_came,
                                   bool ttl_in_milliseconds) const {
  const Decisive has = decisive(task);
  const auto until = [now](int64_t ms) { return milliseconds(std::clamp(ms, -kMostTime, kMostTime) - epoch_ms(now)); };
  RecordedTask out;
  if (!has.ttl.empty()) {
    const int64_t ttl = ttl_.read(has.ttl);
    const auto end = ttl > 0 && ttl < kSurelySeconds ? std::optional(TtlEnd{WallTime(seconds(ttl)), false})
                                                     : ttl_end(task, ttl_in_milliseconds);
    if (end) {
      out.due_in = end->at - now;
      out.due_by_ttl = true;
    }
  }
  if (const int64_t deadline = has.deadline.empty() ? 0 : deadline_.read(has.deadline); deadline > 0) {
    if (!out.due_in || until(deadline) < *out.due_in) {
      out.due_in = until(deadline);
      out.due_by_ttl = false;
    }
  }
  if (!has.group.empty()) out.group = text_in_value(has.group, kMostNameBytes);
  if (!has.key.empty()) out.key = text_in_value(has.key, kMostNameBytes);
  if (!has.replace.empty()) out.replaces = comes_to_replace(task);
  if (!has.priority.empty()) {
    out.priority = static_cast<int>(std::clamp<int64_t>(int_in_value(has.priority, 0), -100, 100));
  }
  if (!has.max_attempts.empty()) {
    out.max_attempts = static_cast<int>(std::clamp<int64_t>(int_in_value(has.max_attempts, 0), 0, 1'000));
  }
  if (!has.cost.empty()) out.cost = known_cost(task);
  if (stage == TaskStage::kDelayed && !has.not_before.empty()) {
    out.delay = until(int_in_value(has.not_before, epoch_ms(now)));
  }
  if (!just_came && !has.created.empty()) {
    const int64_t created = std::clamp<int64_t>(int_in_value(has.created, epoch_ms(now)), 0, kMostCreated);
    // The clock may have been set since.
    const BootTime now_boot = clock_.boot();
    out.age = std::chrono::floor<milliseconds>(now_boot - book_.boot_of(WallTime(milliseconds(created)), now_boot));
  }
  return out;
}

FlightRecorder::Extent FlightRecorder::extent_of(std::string_view queue) const {
  const QueueRecording* recording = book_.find(queue);
  if (recording == nullptr) return {began_, false};
  Extent out{recording->began().value_or(began_), false};
  // A younger task that came before the oldest event has no move that describes it.
  if (const auto until = recording->forgotten_until()) {
    out = {std::max<BootTime>(out.from, *until + kOldAfter), true};
  }
  return out;
}

void FlightRecorder::tick() {
  const BootTime now = clock_.boot();
  book_.tick(clock_.wall(), now);
  std::erase_if(tables_, [](const auto& entry) { return entry.second.recording == nullptr; });
  std::erase_if(known_, [this](const auto& entry) { return queues_.find(entry.first) == nullptr; });
  last_table_ = 0;
  if (now - marked_ >= kRecorderMark) {
    marked_ = now;
    old_ = newest_;
    // Before the first creation, all tasks are older than this daemon.
    if (begun_) newest_ = seen_;
  }
}

void FlightRecorder::read(const std::string& queue, const QueueReading& reading) {
  Known& known = known_[queue];
  const QueueReading& before = known.reading;
  const BootTime now = clock_.boot();
  QueueRecording& recording = book_.of(queue);
  const bool limited = reading.rate_limit != before.rate_limit || reading.concurrency != before.concurrency;
  if (limited) recording.add(RecordedLimits{reading.rate_limit, reading.concurrency}, now);
  for (const QueueFlow flow : {QueueFlow::kRefusedFull, QueueFlow::kRefusedBytes, QueueFlow::kRefusedLate,
                               QueueFlow::kRefusedPassed, QueueFlow::kRefusedLanes, QueueFlow::kDownstreamRefusals}) {
    const auto at = static_cast<size_t>(flow);
    if (!known.begun || reading.flows[at] <= before.flows[at]) continue;
    recording.add(RecordedCount{flow, reading.flows[at] - before.flows[at]}, now);
  }
  known = {reading, true};
}

}  // namespace freshet
