#include "runtime/trace/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "runtime/invoke/trace.h"

namespace freshet {

Tracer::~Tracer() {
  scheduler_.cancel(timer_);
}

int64_t Tracer::now_ns() {
  constexpr int64_t kStep = 50'000'000;  // The wall clock was set.
  const int64_t wall = epoch_ms(scheduler_.clock().wall()) * 1'000'000;
  const BootTime boot = scheduler_.clock().boot();
  const int64_t now = anchor_ns_ + (boot - anchor_).count();
  if (std::abs(now - wall) < kStep) return now;
  anchor_ns_ = wall;
  anchor_ = boot;
  return wall;
}

Span Tracer::begin(std::string name, const std::string& header) {
  const TraceHeader caller = parse_trace(trace_of(header, scheduler_.clock().wall(), random_));
  const bool has_parent = !parse_trace(header).parent.empty();
  Span span;
  span.trace_id = trace_id_of_root(caller.root);
  span.span_id = fmt::format("{:016x}", random_.next());
  if (has_parent) span.parent_id = caller.parent;
  span.name = std::move(name);
  span.start_ns = now_ns();
  return span;
}

std::string Tracer::header_of(const Span& span) {
  return fmt::format("Root=1-{}-{};Parent={};Sampled=1", std::string_view(span.trace_id).substr(0, 8),
                     std::string_view(span.trace_id).substr(8), span.span_id);
}

void Tracer::finish(Span span) {
  if (span.end_ns == 0) span.end_ns = std::max(span.start_ns, now_ns());
  if (waiting_.size() >= kMostWaiting) {
    ++dropped_;
    return;
  }
  ++recorded_;
  waiting_.push_back(std::move(span));
  if (timer_ == 0) timer_ = scheduler_.call_after(kInterval, [this] { hand_on(); });
}

// A batch a step: what it costs to write them bounds the turn.
void Tracer::hand_on() {
  timer_ = 0;
  const size_t count = std::min(waiting_.size(), kBatch);
  std::vector<Span> batch(std::make_move_iterator(waiting_.begin()),
                          std::make_move_iterator(waiting_.begin() + static_cast<ptrdiff_t>(count)));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
  for (const auto& sink : sinks_) sink->take(batch);
  if (!waiting_.empty()) timer_ = scheduler_.call_after(milliseconds(1), [this] { hand_on(); });
}

bool Tracer::idle() const {
  return std::all_of(sinks_.begin(), sinks_.end(), [](const auto& sink) { return sink->idle(); });
}

void Tracer::end() {
  flush();
  sinks_.clear();
}

void Tracer::flush() {
  while (!waiting_.empty()) {
    scheduler_.cancel(timer_);
    hand_on();
  }
  scheduler_.cancel(std::exchange(timer_, 0));
  for (const auto& sink : sinks_) sink->close();
}

}  // namespace freshet
