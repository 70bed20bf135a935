#include "runtime/recorder/event_codec.h"

#include <algorithm>
#include <cstring>

namespace freshet {
namespace {

// A move's first byte is 10 times the state before, plus the state after.
constexpr unsigned char kStages = 10;
constexpr unsigned char kLimits = 200;
constexpr unsigned char kCount = 201;
constexpr unsigned char kClockStep = 202;

char* put(char* out, uint64_t value) {
  return put_number(out, value);
}

int64_t unfolded(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

char* put(char* out, milliseconds time) {
  return put(out, folded(time.count()));
}

char* put(char* out, double value) {
  std::memcpy(out, &value, sizeof value);
  return out + sizeof value;
}

char* put(char* out, std::string_view name) {
  const size_t size = std::min(name.size(), kMostNameBytes);
  out = put(out, size);
  std::memcpy(out, name.data(), size);
  return out + size;
}

uint64_t take(std::string_view& in) {
  uint64_t value = 0;
  size_t used = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(in[used++]);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  in.remove_prefix(used);
  return value;
}

int64_t take_signed(std::string_view& in) {
  return unfolded(take(in));
}

milliseconds take_time(std::string_view& in) {
  return milliseconds(take_signed(in));
}

double take_double(std::string_view& in) {
  double value = 0;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return value;
}

std::string_view take_name(std::string_view& in) {
  const size_t size = take(in);
  const std::string_view name = in.substr(0, size);
  in.remove_prefix(size);
  return name;
}

char* begin(char* out, CodecPlace& place, unsigned char what, int64_t at_ms) {
  const int64_t now = std::max(at_ms, place.at_ms);
  *out++ = static_cast<char>(what);
  out = put(out, static_cast<uint64_t>(now - place.at_ms));
  place.at_ms = now;
  return out;
}

char* put_about(char* out, const RecordedTask& task) {
  const unsigned flags = (task.due_in ? kAboutDue : 0u) | (task.due_by_ttl ? kAboutDueByTtl : 0u) |
                         (task.group.empty() ? 0u : kAboutGroup) | (task.key.empty() ? 0u : kAboutKey) |
                         (task.priority != 0 ? kAboutPriority : 0u) | (task.age ? kAboutAge : 0u) |
                         (task.delay ? kAboutDelay : 0u) | (task.replaces ? kAboutReplaces : 0u) |
                         (task.max_attempts != 0 ? kAboutMaxAttempts : 0u) | (task.cost ? kAboutCost : 0u);
  out = put(out, uint64_t{flags});
  if (task.due_in) out = put(out, *task.due_in);
  if (flags & kAboutGroup) out = put(out, task.group);
  if (flags & kAboutKey) out = put(out, task.key);
  if (flags & kAboutPriority) out = put(out, folded(task.priority));
  if (task.age) out = put(out, *task.age);
  if (task.delay) out = put(out, *task.delay);
  if (flags & kAboutMaxAttempts) out = put(out, folded(task.max_attempts));
  return task.cost ? put(out, *task.cost) : out;
}

RecordedTask take_about(std::string_view& in) {
  const uint64_t flags = take(in);
  RecordedTask task;
  task.due_by_ttl = flags & kAboutDueByTtl;
  task.replaces = flags & kAboutReplaces;
  if (flags & kAboutDue) task.due_in = take_time(in);
  if (flags & kAboutGroup) task.group = take_name(in);
  if (flags & kAboutKey) task.key = take_name(in);
  if (flags & kAboutPriority) task.priority = static_cast<int>(take_signed(in));
  if (flags & kAboutAge) task.age = take_time(in);
  if (flags & kAboutDelay) task.delay = take_time(in);
  if (flags & kAboutMaxAttempts) task.max_attempts = static_cast<int>(take_signed(in));
  if (flags & kAboutCost) task.cost = take_double(in);
  return task;
}

RecordedMove take_move(std::string_view& in, CodecPlace& place, unsigned char what) {
  RecordedMove move;
  move.from = static_cast<TaskStage>(what / kStages);
  move.to = static_cast<TaskStage>(what % kStages);
  place.task += static_cast<uint64_t>(take_signed(in));
  move.task = place.task;
  const auto flags = static_cast<unsigned char>(in.front());
  in.remove_prefix(1);
  move.pulled = flags & kMovePulled;
  move.given_back = flags & kMoveGivenBack;
  move.by_ttl = flags & kMoveByTtl;
  move.replaced = flags & kMoveReplaced;
  move.because = static_cast<ShedBecause>(flags >> kMoveBecauseShift);
  if (flags & kMoveAbout) move.about = take_about(in);
  if (flags & kMoveCost) move.cost = take_double(in);
  return move;
}

}  // namespace

char* encode(char* out, CodecPlace& place, int64_t at_ms, const RecordedMove& move, const RecordedTask* about) {
  const unsigned flags = (about != nullptr ? kMoveAbout : 0u) | (move.pulled ? kMovePulled : 0u) |
                         (move.given_back ? kMoveGivenBack : 0u) | (move.by_ttl ? kMoveByTtl : 0u) |
                         (move.replaced ? kMoveReplaced : 0u) | (move.cost ? kMoveCost : 0u) |
                         (static_cast<unsigned>(move.because) << kMoveBecauseShift);
  out = encode_plain(out, place, at_ms, move.from, move.to, flags, move.task);
  if (about != nullptr) out = put_about(out, *about);
  return move.cost ? put(out, *move.cost) : out;
}

char* encode(char* out, CodecPlace& place, int64_t at_ms, const RecordedLimits& limits) {
  out = put(begin(out, place, kLimits, at_ms), limits.rate_limit);
  return put(out, limits.concurrency);
}

char* encode(char* out, CodecPlace& place, int64_t at_ms, const RecordedCount& count) {
  out = put(begin(out, place, kCount, at_ms), static_cast<uint64_t>(count.flow));
  return put(out, count.count);
}

char* encode_step(char* out, CodecPlace& place, int64_t at_ms, milliseconds step) {
  return put(begin(out, place, kClockStep, at_ms), step);
}

RecordedEvent decode(std::string_view& in, CodecPlace& place) {
  RecordedEvent event;
  const auto what = static_cast<unsigned char>(in.front());
  in.remove_prefix(1);
  place.at_ms += static_cast<int64_t>(take(in));
  event.at = BootTime(milliseconds(place.at_ms));
  if (what == kLimits) {
    event.kind = RecordedEvent::Kind::kLimits;
    event.limits.rate_limit = take_double(in);
    event.limits.concurrency = take(in);
  } else if (what == kCount) {
    event.kind = RecordedEvent::Kind::kCount;
    event.count.flow = static_cast<QueueFlow>(take(in));
    event.count.count = take(in);
  } else if (what == kClockStep) {
    event.kind = RecordedEvent::Kind::kClockStep;
    event.step = take_time(in);
  } else {
    event.move = take_move(in, place, what);
  }
  return event;
}

}  // namespace freshet
