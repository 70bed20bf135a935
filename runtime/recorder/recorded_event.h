// One event of a queue's flight recorder (recording_book.h). It has no payload, no result, no error and no task id: a
// task has a number, which is the same in all its events. Values; any thread.
//
// Times are on the boot clock, in whole milliseconds. Deadlines, delays and ages are relative to the event, so that a
// step of the wall clock changes nothing in a recording.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/clock.h"
#include "runtime/api/queue_views.h"

namespace freshet {

// The state of a task. kNone: the task does not exist. kOther: an unknown state, which only a client can write.
enum class TaskStage : uint8_t {
  kNone,
  kPending,
  kDelayed,
  kTaken,
  kSuccess,
  kFailure,
  kDead,
  kShed,
  kCancelled,
  kOther
};
inline constexpr std::array<std::string_view, 10> kTaskStageNames = {
    "", "PENDING", "DELAYED", "TAKEN", "SUCCESS", "FAILURE", "DEAD", "SHED", "CANCELLED", "OTHER"};

// The first and the last four bytes of a name of 4 to 8 bytes: names of one length differ in them.
constexpr uint64_t ends_of_name(std::string_view name) {
  static_assert(std::endian::native == std::endian::little);
  if (!std::is_constant_evaluated()) {
    uint32_t first = 0;
    uint32_t last = 0;
    std::memcpy(&first, name.data(), 4);
    std::memcpy(&last, name.data() + name.size() - 4, 4);
    return first | (uint64_t{last} << 32);
  }
  uint64_t out = 0;
  for (size_t i = 0; i < 4; ++i) {
    out |= uint64_t{static_cast<unsigned char>(name[i])} << (8 * i);
    out |= uint64_t{static_cast<unsigned char>(name[name.size() - 4 + i])} << (32 + 8 * i);
  }
  return out;
}

// Called twice for each change of a task, so it compares words.
inline TaskStage stage_of(std::string_view state) {
  constexpr auto named = [](TaskStage stage) { return ends_of_name(kTaskStageNames[static_cast<size_t>(stage)]); };
  if (state.size() == 7) {
    const uint64_t ends = ends_of_name(state);
    if (ends == named(TaskStage::kPending)) return TaskStage::kPending;
    if (ends == named(TaskStage::kSuccess)) return TaskStage::kSuccess;
    if (ends == named(TaskStage::kDelayed)) return TaskStage::kDelayed;
    return ends == named(TaskStage::kFailure) ? TaskStage::kFailure : TaskStage::kOther;
  }
  if (state.size() == 5) return ends_of_name(state) == named(TaskStage::kTaken) ? TaskStage::kTaken : TaskStage::kOther;
  if (state.empty()) return TaskStage::kNone;
  if (state.size() == 4) {
    const uint64_t ends = ends_of_name(state);
    if (ends == named(TaskStage::kShed)) return TaskStage::kShed;
    return ends == named(TaskStage::kDead) ? TaskStage::kDead : TaskStage::kOther;
  }
  return state == kTaskStageNames[static_cast<size_t>(TaskStage::kCancelled)] ? TaskStage::kCancelled
                                                                              : TaskStage::kOther;
}
inline bool is_waiting(TaskStage stage) {
  return stage == TaskStage::kPending || stage == TaskStage::kDelayed;
}
inline bool is_living(TaskStage stage) {
  return is_waiting(stage) || stage == TaskStage::kTaken;
}

enum class ShedBecause : uint8_t { kUnknown, kTtl, kDeadline, kMargin };
inline constexpr std::array<std::string_view, 4> kShedBecauseNames = {"", "ttl", "deadline", "deadline-margin"};

// The properties of a task that decide how a queue treats it.
struct RecordedTask {
  std::optional<milliseconds>
      due_in;               // The time until its deadline, or its TTL if that is earlier. Negative: it has passed.
  bool due_by_ttl = false;  // True if that is its TTL.
  std::optional<milliseconds> delay;  // For a DELAYED task: the time until it is due.
  std::optional<milliseconds> age;    // The time since its creation. Empty: it was created just now.
  std::string_view group;
  std::string_view key;
  bool replaces = false;  // True: it replaces waiting tasks with its key.
  int priority = 0;
  int max_attempts = 0;        // 0: the queue's default.
  std::optional<double> cost;  // Empty: the queue's default.
};

// A task changed from one state to another.
struct RecordedMove {
  uint64_t task = 0;
  TaskStage from = TaskStage::kNone;
  TaskStage to = TaskStage::kNone;
  // At TAKEN: a pull worker took the task, not the daemon's processor. The recorder checks only some starts, and
  // assumes the last result for the others.
  bool pulled = false;
  // From TAKEN: the attempt does not count, because the worker or the downstream refused the task.
  bool given_back = false;
  bool by_ttl = false;    // The TTL sweep removed the task.
  bool replaced = false;  // At CANCELLED: a newer task with its key replaced it.
  ShedBecause because = ShedBecause::kUnknown;
  std::optional<double> cost;  // From TAKEN: the actual cost, if the task has a cost.
  // Set when the task arrives, when it is delayed, and in moves of tasks that have waited for long.
  std::optional<RecordedTask> about;
};

// The limits of the queue that apply from now on, set or learnt. 0: there is none.
struct RecordedLimits {
  double rate_limit = 0;  // Tasks per second.
  uint64_t concurrency = 0;
};

// The number of such events in the last second.
struct RecordedCount {
  QueueFlow flow = QueueFlow::kOffered;
  uint64_t count = 0;
};

struct RecordedEvent {
  enum class Kind : uint8_t { kMove, kLimits, kCount, kClockStep };
  Kind kind = Kind::kMove;
  BootTime at{};
  RecordedMove move;      // Views into the recording: valid until the next event is added.
  RecordedLimits limits;  // The members are set according to the kind.
  RecordedCount count;
  milliseconds step{0};  // The wall clock was set forward by this much.
};

}  // namespace freshet
