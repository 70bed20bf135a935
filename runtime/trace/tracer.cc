#include "runtime/trace/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "runtime/invoke/trace.h"

namespace freshet {

namespace {
// Parses 32 hex digits.
absl::uint128 number_of(std::string_view digits) {
  uint64_t halves[2] = {0, 0};
  for (size_t i = 0; i < 2 && digits.size() == 32; ++i) {
    std::from_chars(digits.data() + 16 * i, digits.data() + 16 * (i + 1), halves[i], 16);
  }
  return absl::MakeUint128(halves[0], halves[1]);
}

void cut(std::string& text) {
  const size_t kept = Tracer::kept_of(text).size();
  if (kept == text.size()) return;
  text.resize(kept);
  text.shrink_to_fit();
}
}  // namespace

// Cuts between whole characters only.
std::string_view Tracer::kept_of(std::string_view text) {
  if (text.size() <= kMostText) return text;
  size_t end = kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

Tracer::~Tracer() {
  scheduler_.cancel(timer_);
}

int64_t Tracer::now_ns() {
  constexpr int64_t kStep = 50'000'000;  // A larger difference means that the wall clock was set.
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
  learn(span.trace_id);
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
  cut(span.name);
  cut(span.error);
  for (auto& [name, value] : span.attributes) cut(value);
  waiting_.push_back(std::move(span));
  if (timer_ == 0) timer_ = scheduler_.call_after(kInterval, [this] { hand_on(); });
}

void Tracer::learn(const std::string& trace_id) {
  const absl::uint128 id = number_of(trace_id);
  if (!known_.insert(id).second) return;
  known_in_order_.push_back(id);
  if (known_in_order_.size() <= kMostKnown) return;
  known_.erase(known_in_order_.front());
  known_in_order_.pop_front();
}

bool Tracer::knows(const std::string& trace_id) const {
  return known_.contains(number_of(trace_id));
}

size_t Tracer::finish_foreign(std::vector<Span> spans, bool trusted) {
  size_t refused = 0;
  for (Span& span : spans) {
    if (trusted || knows(span.trace_id)) {
      finish(std::move(span));
    } else {
      ++refused;
    }
  }
  return refused;
}

// Passes on one batch per step, so that writing it bounds the turn.
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
