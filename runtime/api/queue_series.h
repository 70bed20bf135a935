// The history of a queue in memory: the last hour by the second, the last 24 hours by the minute. It is made from
// readings of counters that a queue has anyway, so it costs nothing per task. Pure state with an explicit now; loop
// thread.
//
// The history begins when the daemon starts. After a day its size no longer grows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "runtime/api/queue_views.h"

namespace freshet {

// The events of one step, and the state of the queue at its end.
struct SeriesPoint {
  std::array<uint32_t, kQueueFlows> flows{};
  uint32_t pickups = 0;
  float pickup_seconds = 0;
  uint32_t pending = 0;
  uint32_t delayed = 0;
  uint32_t in_work = 0;
  uint32_t concurrency = 0;
  float newest_age_ms = 0;
  float oldest_age_ms = 0;
  float rate_limit = 0;
  bool known = false;  // False: nobody read the queue in that step. Its events count for the next one.
};

enum class SeriesStep { kSecond, kMinute };
constexpr milliseconds length_of(SeriesStep step) {
  return milliseconds(step == SeriesStep::kSecond ? 1'000 : 60'000);
}

struct SeriesSlice {
  SeriesStep step = SeriesStep::kSecond;
  int64_t first = 0;  // The number of the first point: whole steps of the boot clock.
  std::vector<SeriesPoint> points;
};

class QueueSeries {
 public:
  static constexpr size_t kSeconds = 3'600;
  static constexpr size_t kMinutes = 1'440;

  QueueSeries();
  QueueSeries(const QueueSeries&) = delete;
  QueueSeries& operator=(const QueueSeries&) = delete;

  // Records the state of the queue just after the end of a second. A second reading within the same second, or one of
  // an earlier time, is ignored. A count that has fallen (the table was made again) starts from 0.
  void add(const QueueReading& reading, BootTime now);
  // The newest points, at most `points`, oldest first. The last minute is the current one.
  SeriesSlice last(SeriesStep step, size_t points) const;

 private:
  // A ring of points without gaps: a step without a reading has an unknown point.
  struct Ring {
    std::vector<SeriesPoint> points{};
    size_t capacity = 0;
    int64_t next = 0;     // The number of the next point.
    uint64_t pushed = 0;  // Points ever: the next one goes to the place `pushed` % `capacity`.
    size_t count = 0;     // The number of valid points.

    void put(int64_t number, const SeriesPoint& point);
    void push(const SeriesPoint& point);
    // `number` counts from the newest point, which is number 1.
    const SeriesPoint& from_end(size_t number) const { return points[(pushed - number) % capacity]; }
  };

  Ring seconds_;
  Ring minutes_;
  SeriesPoint minute_;
  int64_t minute_number_ = 0;
  QueueReading before_;
  bool begun_ = false;
  int64_t last_ = 0;  // The second that was added last.
};

class SeriesBook {
 public:
  static constexpr size_t kMostQueues = 64;  // Further ones have no history.

  // The queues to read, in the order of `living`, which has the name of every queue once: those that have a place, and
  // others while there are places. The history of a queue that is gone stays until another queue needs its place.
  std::vector<std::string> choose(const std::vector<std::string>& living);
  void add(const std::string& queue, const QueueReading& reading, BootTime now);
  // Null if the queue has no history.
  const QueueSeries* find(std::string_view queue) const;

 private:
  void free_places(const std::vector<std::string>& living, size_t wanted);

  std::map<std::string, std::unique_ptr<QueueSeries>, std::less<>> queues_;
};

}  // namespace freshet
