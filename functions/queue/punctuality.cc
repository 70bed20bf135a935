#include "functions/queue/punctuality.h"

namespace freshet {

namespace {

int64_t second_of(BootTime now) {
  return std::chrono::floor<seconds>(now.time_since_epoch()).count();
}

void count(InTimeCounts& counts, TaskEnd how, uint64_t tasks) {
  switch (how) {
    case TaskEnd::kNoDeadline:
      counts.no_deadline += tasks;
      [[fallthrough]];
    case TaskEnd::kInTime:
      counts.in_time += tasks;
      break;
    case TaskEnd::kLate:
      counts.late += tasks;
      break;
    case TaskEnd::kFailed:
      counts.failed += tasks;
      break;
    case TaskEnd::kShed:
      counts.shed += tasks;
      break;
  }
}

void add(InTimeCounts& sum, const InTimeCounts& more) {
  sum.in_time += more.in_time;
  sum.no_deadline += more.no_deadline;
  sum.late += more.late;
  sum.failed += more.failed;
  sum.shed += more.shed;
  sum.refused += more.refused;
  sum.calls += more.calls;
  sum.wasted += more.wasted;
}

}  // namespace

// A second's place in the ring is that of the one a minute before.
InTimeCounts& Punctuality::of_second(BootTime now) {
  const int64_t number = second_of(now);
  Second& second = seconds_[static_cast<size_t>(number % kWindow)];
  if (second.number != number) second = Second{number, {}};
  return second.counts;
}

void Punctuality::ended(TaskEnd how, BootTime now, uint64_t tasks) {
  ends_[static_cast<size_t>(how)] += tasks;
  count(total_, how, tasks);
  count(of_second(now), how, tasks);
}

void Punctuality::put_back(TaskEnd how) {
  count(put_back_, how, 1);
}

void Punctuality::refused(uint64_t tasks, BootTime now) {
  total_.refused += tasks;
  of_second(now).refused += tasks;
}

void Punctuality::called(BootTime now) {
  ++total_.calls;
  ++of_second(now).calls;
}

void Punctuality::wasted(WastedCall why, BootTime now) {
  ++wastes_[static_cast<size_t>(why)];
  ++total_.wasted;
  ++of_second(now).wasted;
}

InTimeStats Punctuality::stats(BootTime now) const {
  InTimeStats out;
  out.since_start = total_;
  out.put_back = put_back_;
  out.last_minute = counts_after(now - std::chrono::seconds(kWindow), now);
  return out;
}

InTimeCounts Punctuality::counts_after(BootTime since, BootTime now) const {
  const int64_t last = second_of(now);
  const int64_t before = std::max(second_of(since), last - kWindow);
  InTimeCounts out;
  for (const Second& second : seconds_) {
    if (second.number > before && second.number <= last) add(out, second.counts);
  }
  return out;
}

}  // namespace freshet
