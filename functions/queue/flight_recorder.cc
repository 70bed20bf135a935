#include "functions/queue/flight_recorder.h"

#include <algorithm>
#include <array>

#include "functions/queue/attributes.h"
#include "functions/queue/holder.h"
#include "functions/queue/policy/expiry.h"

namespace freshet {
namespace {

// Between two marks, so that a task is old after one to two of them.
constexpr milliseconds kRecorderMark = FlightRecorder::kOldAfter / 2;

// The names of the properties, sorted; the slots are their places.
namespace slot {
enum Slot : size_t { kCost, kDeadline, kGroup, kKey, kMaxAttempts, kNotBefore, kPriority, kReplace, kCreated, kTtl };
inline constexpr size_t kAll = 10;
}  // namespace slot

NameSlots recorded_names() {
  std::vector<std::string> names;
  for (const auto name :
       {attribute::kCost, attribute::kDeadline, attribute::kGroup, attribute::kKey, attribute::kMaxAttempts,
        attribute::kNotBefore, attribute::kPriority, attribute::kReplace, attribute::kCreated, attribute::kTtl}) {
    names.emplace_back(name);
  }
  return NameSlots(std::move(names));
}

int64_t int_in_value(std::string_view value, int64_t fallback) {
  const ValueView view(value);
  return view.type() == Type::kNumber ? view.number().floor_int64() : fallback;
}

constexpr int64_t kSurelySeconds = 10'000'000'000;
constexpr uint32_t kLookEach = 16;

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

FlightRecorder::FlightRecorder(const Clock& clock, TaskQueues& queues, size_t most_bytes)
    : clock_(clock), queues_(queues), book_(most_bytes), names_(recorded_names()), marked_(clock.boot()) {
  book_.tick(clock.wall(), clock.boot());
}

FlightRecorder::Source& FlightRecorder::source_of(const StatusMove& move) {
  if (move.table == last_table_) return *last_;
  const auto [place, added] = tables_.try_emplace(move.table);
  if (added && queues_.find(move.name) != nullptr) place->second.recording = &book_.of(move.name);
  last_table_ = move.table;
  last_ = &place->second;
  return *last_;
}

void FlightRecorder::moved(const StatusMove& move) {
  Source& source = source_of(move);
  if (source.recording == nullptr) return;
  if (move.at != last_wall_) {
    last_wall_ = move.at;
    now_ = clock_.boot();
  }
  const ItemRef& any = move.after ? move.after : move.before;
  RecordedMove out;
  out.task = any.creation();
  out.from = stage_of(move.from);
  out.to = stage_of(move.to);
  out.by_ttl = move.by_ttl;
  seen_ = std::max(seen_, out.task);
  const bool comes = !is_living(out.from) && is_living(out.to);
  if (!begun_ && out.from == TaskStage::kNone) {
    begun_ = true;
    old_ = newest_ = out.task - 1;
  }
  if (comes) {
    out.about = about(any, out.to, move.at, true);
  } else if (out.to == TaskStage::kDelayed ||
             (out.task <= old_ && (is_waiting(out.from) || (out.from == TaskStage::kTaken && is_waiting(out.to))))) {
    const bool waited = is_waiting(out.from) && out.to != TaskStage::kDelayed;
    out.about = about(waited ? move.before : move.after, waited ? out.from : out.to, move.at, false);
  }
  if (out.to == TaskStage::kTaken) {
    if (source.starts++ % kLookEach == 0) source.pulled = text_of(any, attribute::kTakenBy) != kProcessorOwner;
    out.pulled = source.pulled;
  } else if (out.from == TaskStage::kTaken && move.after) {
    out.given_back = is_waiting(out.to) && is_given_back(move.before, move.after);
    if (source.has_costs || source.ends++ % kLookEach == 0) out.cost = known_cost(move.after);
    source.has_costs = source.has_costs || out.cost;
  }
  if (out.to == TaskStage::kShed) out.because = because_of(any);
  if (out.to == TaskStage::kCancelled) out.replaced = has(any, attribute::kReplacedBy);
  source.has_costs = source.has_costs || (out.about && out.about->cost);
  source.recording->add(out, now_);
}

int64_t FlightRecorder::read(LastNumber& last, std::string_view encoded) {
  if (last.encoded != encoded) last = {std::string(encoded), int_in_value(encoded, 0)};
  return last.value;
}

RecordedTask FlightRecorder::about(const ItemRef& task, TaskStage stage, WallTime now, bool just_came) const {
  std::array<std::string_view, slot::kAll> values;
  const uint64_t there = names_.pick(task, values.data());
  const auto has = [there](slot::Slot one) { return (there >> one & 1) != 0; };
  const auto until = [now](int64_t ms) { return milliseconds(ms - epoch_ms(now)); };
  RecordedTask out;
  if (has(slot::kTtl)) {
    const int64_t ttl = read(ttl_, values[slot::kTtl]);
    const auto end =
        ttl > 0 && ttl < kSurelySeconds ? std::optional(TtlEnd{WallTime(seconds(ttl)), false}) : ttl_end(task, false);
    if (end) {
      out.due_in = end->at - now;
      out.due_by_ttl = true;
    }
  }
  if (const int64_t deadline = has(slot::kDeadline) ? read(deadline_, values[slot::kDeadline]) : 0; deadline > 0) {
    if (!out.due_in || until(deadline) < *out.due_in) {
      out.due_in = until(deadline);
      out.due_by_ttl = false;
    }
  }
  if (has(slot::kGroup)) out.group = text_in_value(values[slot::kGroup], kMostNameBytes);
  if (has(slot::kKey)) out.key = text_in_value(values[slot::kKey], kMostNameBytes);
  if (has(slot::kReplace)) out.replaces = comes_to_replace(task);
  if (has(slot::kPriority))
    out.priority = static_cast<int>(std::clamp<int64_t>(int_in_value(values[slot::kPriority], 0), -100, 100));
  if (has(slot::kMaxAttempts)) {
    out.max_attempts = static_cast<int>(std::clamp<int64_t>(int_in_value(values[slot::kMaxAttempts], 0), 0, 1'000));
  }
  if (has(slot::kCost)) out.cost = known_cost(task);
  if (stage == TaskStage::kDelayed && has(slot::kNotBefore))
    out.delay = until(int_in_value(values[slot::kNotBefore], epoch_ms(now)));
  if (!just_came && has(slot::kCreated)) out.age = -until(int_in_value(values[slot::kCreated], epoch_ms(now)));
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
    // Before the first creation, moves tell nothing about which tasks are young: all are older than this daemon.
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
