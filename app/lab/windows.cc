#include "app/lab/windows.h"

#include <algorithm>
#include <utility>

namespace freshet::lab {
namespace {

// A share of tasks whose deadline is farther away than the play goes is not worth the time.
constexpr double kPatient = 0.99;
constexpr nanoseconds kLeastLead = seconds(5);
constexpr nanoseconds kPiece = seconds(1);  // Arrivals are resampled in pieces of this length.
constexpr int64_t kPiecesAround = 5;
constexpr size_t kCallsInBlock = 10;

constexpr nanoseconds kWaitsNot = nanoseconds::min();

// The index of the first arrival at or after that time.
size_t first_from(const std::vector<Arrival>& arrivals, nanoseconds at) {
  const auto first = std::lower_bound(arrivals.begin(), arrivals.end(), at,
                                      [](const Arrival& arrival, nanoseconds bound) { return arrival.at < bound; });
  return static_cast<size_t>(first - arrivals.begin());
}

// Those that began while the window is played.
auto calls_between(const std::vector<TraceCall>& calls, const Window& window) {
  const auto began_before = [](const TraceCall& call, nanoseconds at) { return call.began < at; };
  const auto first = std::lower_bound(calls.begin(), calls.end(), window.begins, began_before);
  return std::pair{first, std::lower_bound(first, calls.end(), window.ends, began_before)};
}

// The most calls that were under way at once.
int most_calls_at_once(const std::vector<TraceCall>& calls) {
  std::vector<std::pair<nanoseconds, int>> steps;
  for (const TraceCall& call : calls) {
    steps.emplace_back(call.began, 1);
    steps.emplace_back(call.began + call.took, -1);
  }
  std::sort(steps.begin(), steps.end());
  int now = 0;
  int most = 0;
  for (const auto& [at, step] : steps) most = std::max(most, now += step);
  return most;
}

int64_t around(int64_t index, int64_t reach, int64_t end, Random& random) {
  const int64_t least = std::max<int64_t>(0, index - reach);
  const int64_t most = std::min(end - 1, index + reach);
  return least + static_cast<int64_t>(random.below(static_cast<uint64_t>(most - least + 1)));
}

void resample_arrivals(const WindowLoad& window, Random& random, Trace& out) {
  const Trace& trace = window.load.trace;
  const auto add = [&](size_t number, nanoseconds at) {
    Arrival arrival = trace.arrivals[number];
    const nanoseconds patience = milliseconds(arrival.deadline_ms) - arrival.at;
    arrival.deadline_ms = deadline_ms(at, patience);
    arrival.at = at;
    out.arrivals.push_back(arrival);
    out.tasks.push_back(trace.tasks[number]);
  };
  for (size_t i = 0; i < window.waiting; ++i) add(i, trace.arrivals[i].at);
  const int64_t pieces = window.load.length / kPiece + 1;
  const int64_t whole_pieces = std::max<int64_t>(1, window.load.length / kPiece);
  const auto begin = trace.arrivals.begin() + static_cast<ptrdiff_t>(window.waiting);
  const auto first_at = [&](nanoseconds at) {
    return std::lower_bound(begin, trace.arrivals.end(), at,
                            [](const Arrival& arrival, nanoseconds bound) { return arrival.at < bound; });
  };
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t from = around(std::min(piece, whole_pieces - 1), kPiecesAround, whole_pieces, random);
    const nanoseconds moved = (piece - from) * kPiece;
    for (auto one = first_at(from * kPiece); one != trace.arrivals.end() && one->at < (from + 1) * kPiece; ++one) {
      if (one->at + moved < window.load.length) {
        add(static_cast<size_t>(one - trace.arrivals.begin()), one->at + moved);
      }
    }
  }
}

void resample_calls(const Trace& trace, Random& random, Trace& out) {
  const auto calls = static_cast<int64_t>(trace.services.size());
  const int64_t reach = std::max<int64_t>(calls / 8, 2 * static_cast<int64_t>(kCallsInBlock));
  for (int64_t i = 0; i < calls;) {
    const auto last = std::max<int64_t>(1, calls - static_cast<int64_t>(kCallsInBlock) + 1);
    int64_t from = around(std::min(i, last - 1), reach, last, random);
    for (size_t k = 0; k < kCallsInBlock && i < calls; ++k, ++i) {
      const auto call = static_cast<size_t>(from++);
      out.services.push_back(trace.services[call]);
      out.failed.push_back(trace.failed[call]);
      out.refused.push_back(trace.refused[call]);
      out.cost_ratios.push_back(trace.cost_ratios[call]);
    }
  }
}

}  // namespace

nanoseconds patience_of(const Recording& recording) {
  std::vector<nanoseconds> patience;
  for (const Arrival& arrival : recording.trace.arrivals) {
    if (arrival.at > nanoseconds(0)) patience.push_back(milliseconds(arrival.deadline_ms) - arrival.at);
  }
  if (patience.empty()) return kLeastLead;
  const auto place = patience.begin() + static_cast<ptrdiff_t>(kPatient * static_cast<double>(patience.size() - 1));
  std::nth_element(patience.begin(), place, patience.end());
  return std::max(*place, nanoseconds(0));
}

std::vector<Window> windows_of(const Recording& recording, nanoseconds length, nanoseconds last) {
  const nanoseconds end = recording.length;
  const nanoseconds patience = patience_of(recording);
  const nanoseconds after = std::chrono::floor<milliseconds>(std::min({patience, length, end / 4}));
  const nanoseconds to = end - after;
  const nanoseconds range = std::min(to, last);
  length = std::max<nanoseconds>(milliseconds(1), std::min(length, range));
  const nanoseconds before =
      std::chrono::floor<milliseconds>(std::clamp(patience, std::min(kLeastLead, length), length));
  std::vector<Window> out;
  for (nanoseconds from = to - range / length * length; from + length <= to; from += length) {
    Window window;
    window.from = from;
    window.to = from + length;
    window.begins = std::max(nanoseconds(0), from - before);
    window.ends = std::min(end, window.to + after);
    out.push_back(window);
  }
  return out;
}

WindowCutter::WindowCutter(const Recording& recording, std::vector<Window> windows)
    : recording_(recording), windows_(std::move(windows)) {
  count_waiting();
}

void WindowCutter::count_waiting() {
  std::vector<bool> waits(recording_.trace.arrivals.size());
  size_t count = 0;
  auto next = recording_.waits.begin();
  for (const Window& window : windows_) {
    for (; next != recording_.waits.end() && next->at < window.begins; ++next) {
      if (waits[next->task] == next->waits) continue;
      waits[next->task] = next->waits;
      count += next->waits ? 1 : -1;
    }
    waiting_.push_back(count);
  }
}

std::vector<WindowCutter::Waiting> WindowCutter::waiting_at(nanoseconds begins) const {
  std::vector<nanoseconds> due(recording_.trace.arrivals.size(), kWaitsNot);
  for (const TraceWait& wait : recording_.waits) {
    if (wait.at >= begins) break;
    due[wait.task] = wait.waits ? wait.due : kWaitsNot;
  }
  std::vector<Waiting> out;
  for (size_t task = 0; task < due.size(); ++task) {
    if (due[task] != kWaitsNot) out.push_back({task, due[task]});
  }
  return out;
}

size_t WindowCutter::size_of(size_t index) const {
  const Window& window = windows_[index];
  const auto& arrivals = recording_.trace.arrivals;
  return waiting_[index] + first_from(arrivals, window.ends) - first_from(arrivals, window.begins);
}

size_t WindowCutter::counted(size_t index) const {
  const Window& window = windows_[index];
  const auto& arrivals = recording_.trace.arrivals;
  const size_t first = std::max(first_from(arrivals, window.from), recording_.waiting);
  return std::max(first_from(arrivals, window.to), first) - first;
}

bool WindowCutter::has_calls(size_t index) const {
  const auto [first, last] = calls_between(recording_.calls, windows_[index]);
  return std::any_of(first, last, [](const TraceCall& call) { return !call.refused; });
}

WindowLoad WindowCutter::cut(size_t index) const {
  const Window& window = windows_[index];
  WindowLoad out;
  out.from = window.from - window.begins;
  out.to = window.to - window.begins;
  out.load.start = recording_.start + std::chrono::floor<milliseconds>(window.begins);
  out.load.length = window.ends - window.begins;
  out.load.real = recording_.real;
  out.load.trace.default_cost = recording_.trace.default_cost;
  add_arrivals(out, window);
  add_calls(out, window);
  add_policy(out, window);
  return out;
}

void WindowCutter::add_arrivals(WindowLoad& out, const Window& window) const {
  const std::vector<Waiting> waiting = waiting_at(window.begins);
  const Trace& trace = recording_.trace;
  const auto add = [&](size_t number, nanoseconds at) -> TraceTask& {
    Arrival arrival;
    arrival.at = at - window.begins;
    const nanoseconds due = milliseconds(trace.arrivals[number].deadline_ms);
    arrival.deadline_ms = std::chrono::floor<milliseconds>(due - window.begins).count();
    out.load.trace.arrivals.push_back(arrival);
    return out.load.trace.tasks.emplace_back(trace.tasks[number]);
  };
  for (const Waiting& one : waiting) {
    TraceTask& task = add(one.task, window.begins);
    task.delay.reset();
    if (one.due > window.begins) task.delay = std::chrono::ceil<milliseconds>(one.due - window.begins);
  }
  out.waiting = waiting.size();
  for (size_t number = first_from(trace.arrivals, window.begins); number < trace.arrivals.size(); ++number) {
    const Arrival& arrival = trace.arrivals[number];
    if (arrival.at >= window.ends) break;
    add(number, arrival.at);
    if (number < recording_.waiting) ++out.waiting;
    if (number < recording_.waiting || arrival.at < window.from || arrival.at >= window.to) continue;
    const nanoseconds done = recording_.done[number];
    ++out.tasks;
    out.in_time += done != kNeverDone && done <= window.ends && done <= milliseconds(arrival.deadline_ms);
  }
}

void WindowCutter::add_calls(WindowLoad& out, const Window& window) const {
  const auto [first, last] = calls_between(recording_.calls, window);
  Trace& trace = out.load.trace;
  out.load.calls.assign(first, last);
  for (const TraceCall& call : out.load.calls) {
    // A pull worker that gives tasks back has no limiter that refuses them.
    if (call.refused && recording_.real.pulled > 0) continue;
    trace.services.push_back(call.took);
    trace.failed.push_back(call.failed);
    trace.refused.push_back(call.refused);
    trace.cost_ratios.push_back(call.cost_ratio);
  }
  out.load.real.most_in_work = most_calls_at_once(out.load.calls);
}

void WindowCutter::add_policy(WindowLoad& out, const Window& window) const {
  out.load.policy = recording_.policy;
  for (const PolicyStep& step : recording_.policy_changes) {
    if (step.at <= window.begins) {
      out.load.policy = step.policy;
    } else if (step.at < window.ends) {
      out.load.policy_changes.push_back({step.at - window.begins, step.policy});
    }
  }
}

WindowLoad resampled(const WindowLoad& window, Random& random) {
  WindowLoad out;
  out.load.start = window.load.start;
  out.load.length = window.load.length;
  out.load.real = window.load.real;
  out.load.policy = window.load.policy;
  out.load.policy_changes = window.load.policy_changes;
  out.load.trace.default_cost = window.load.trace.default_cost;
  out.waiting = window.waiting;
  out.from = window.from;
  out.to = window.to;
  resample_arrivals(window, random, out.load.trace);
  resample_calls(window.load.trace, random, out.load.trace);
  for (size_t i = out.waiting; i < out.load.trace.arrivals.size(); ++i) {
    out.tasks += out.counts(out.load.trace.arrivals[i].at);
  }
  return out;
}

}  // namespace freshet::lab
