#include "runtime/api/queue_series.h"

#include <algorithm>
#include <limits>
#include <set>

namespace freshet {

namespace {

template <class Number>
uint32_t narrow(Number value) {
  constexpr auto kMost = std::numeric_limits<uint32_t>::max();
  return value >= static_cast<Number>(kMost) ? kMost : static_cast<uint32_t>(value);
}

uint64_t risen(uint64_t now, uint64_t before) {
  return now > before ? now - before : 0;
}

SeriesPoint point_of(const QueueReading& now, const QueueReading& before) {
  SeriesPoint out;
  for (size_t i = 0; i < kQueueFlows; ++i) out.flows[i] = narrow(risen(now.flows[i], before.flows[i]));
  out.pickups = narrow(risen(now.pickups, before.pickups));
  out.pickup_seconds = static_cast<float>(std::max(0.0, now.pickup_seconds - before.pickup_seconds));
  out.pending = narrow(now.pending);
  out.delayed = narrow(now.delayed);
  out.in_work = narrow(now.in_work);
  out.concurrency = narrow(now.concurrency);
  out.newest_age_ms = static_cast<float>(now.newest_age.count());
  out.oldest_age_ms = static_cast<float>(now.oldest_age.count());
  out.rate_limit = static_cast<float>(now.rate_limit);
  out.known = true;
  return out;
}

// Extends `sum` by `more`, which comes after it.
void go_on(SeriesPoint& sum, const SeriesPoint& more) {
  SeriesPoint out = more;
  for (size_t i = 0; i < kQueueFlows; ++i) out.flows[i] = narrow(uint64_t{sum.flows[i]} + more.flows[i]);
  out.pickups = narrow(uint64_t{sum.pickups} + more.pickups);
  out.pickup_seconds = sum.pickup_seconds + more.pickup_seconds;
  sum = out;
}

}  // namespace

void QueueSeries::Ring::push(const SeriesPoint& point) {
  if (points.size() < capacity) {
    points.push_back(point);
  } else {
    points[pushed % capacity] = point;
  }
  ++pushed;
  ++next;
  count = std::min(count + 1, capacity);
}

void QueueSeries::Ring::put(int64_t number, const SeriesPoint& point) {
  // After a long pause, no point of the ring is recent enough.
  if (count == 0 || number - next >= static_cast<int64_t>(capacity)) {
    next = number;
    count = 0;
  }
  while (next < number) push(SeriesPoint{});
  push(point);
}

QueueSeries::QueueSeries() {
  // Memory is taken as the ring fills up: the system gives a page when it is first written to.
  seconds_.capacity = kSeconds;
  seconds_.points.reserve(kSeconds);
  minutes_.capacity = kMinutes;
  minutes_.points.reserve(kMinutes);
}

void QueueSeries::add(const QueueReading& reading, BootTime now) {
  const int64_t second = std::chrono::floor<seconds>(now.time_since_epoch()).count() - 1;
  if (!begun_) {
    begun_ = true;
    before_ = reading;
    last_ = second;
    return;
  }
  if (second <= last_) return;
  const SeriesPoint point = point_of(reading, before_);
  seconds_.put(second, point);
  const int64_t minute = second / 60;
  if (minute_.known && minute != minute_number_) {
    minutes_.put(minute_number_, minute_);
    minute_ = SeriesPoint{};
  }
  minute_number_ = minute;
  go_on(minute_, point);
  before_ = reading;
  last_ = second;
}

SeriesSlice QueueSeries::last(SeriesStep step, size_t points) const {
  SeriesSlice out;
  out.step = step;
  const Ring& ring = step == SeriesStep::kSecond ? seconds_ : minutes_;
  const bool goes_on = step == SeriesStep::kMinute && minute_.known && points > 0;
  const size_t gap = goes_on && ring.count > 0 ? static_cast<size_t>(minute_number_ - ring.next) : 0;
  const size_t after = goes_on ? gap + 1 : 0;
  const size_t from_ring = points > after ? std::min(ring.count, points - after) : 0;
  out.first = from_ring > 0 || !goes_on ? ring.next - static_cast<int64_t>(from_ring) : minute_number_;
  for (size_t i = from_ring; i > 0; --i) {
    out.points.push_back(ring.from_end(i));
  }
  if (!goes_on) return out;
  if (from_ring > 0) out.points.resize(out.points.size() + gap);
  out.points.push_back(minute_);
  return out;
}

std::vector<std::string> SeriesBook::choose(const std::vector<std::string>& living) {
  const auto is_new = [this](const std::string& name) { return !queues_.contains(name); };
  const auto wanted = static_cast<size_t>(std::ranges::count_if(living, is_new));
  if (queues_.size() + wanted > kMostQueues) free_places(living, queues_.size() + wanted - kMostQueues);
  size_t places = kMostQueues - queues_.size();
  std::vector<std::string> out;
  for (const std::string& name : living) {
    if (is_new(name) && places == 0) continue;
    if (is_new(name)) --places;
    out.push_back(name);
  }
  return out;
}

void SeriesBook::free_places(const std::vector<std::string>& living, size_t wanted) {
  const std::set<std::string_view> alive(living.begin(), living.end());
  for (auto at = queues_.begin(); at != queues_.end() && wanted > 0;) {
    if (alive.contains(at->first)) {
      ++at;
      continue;
    }
    at = queues_.erase(at);
    --wanted;
  }
}

void SeriesBook::add(const std::string& queue, const QueueReading& reading, BootTime now) {
  auto found = queues_.find(queue);
  if (found == queues_.end()) {
    if (queues_.size() >= kMostQueues) return;
    found = queues_.emplace(queue, std::make_unique<QueueSeries>()).first;
  }
  found->second->add(reading, now);
}

const QueueSeries* SeriesBook::find(std::string_view queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? nullptr : found->second.get();
}

}  // namespace freshet
