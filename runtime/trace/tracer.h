// Passes the daemon's spans, in batches, to the sinks that keep them. Loop thread.
//
// Bounds: kMostWaiting spans wait for the next batch, which is passed on every kInterval; more are dropped and counted.
// Each text of a span (name, error, an attribute's value) is cut at kMostText bytes, because programs send them, too.
// The ids of the last kMostKnown traces are known.
#pragma once

#include <absl/container/flat_hash_set.h>
#include <absl/numeric/int128.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/scheduler.h"
#include "base/trace_links.h"
#include "runtime/trace/span.h"

namespace freshet {

class Tracer {
 public:
  static constexpr size_t kMostWaiting = 10'000;
  static constexpr milliseconds kInterval{500};
  static constexpr size_t kBatch = 500;
  static constexpr size_t kMostKnown = 65'536;
  static constexpr size_t kMostText = 1'000;

  Tracer(Scheduler& scheduler, Random& random) : scheduler_(scheduler), random_(random) {}
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();

  void add_sink(std::unique_ptr<SpanSink> sink) { sinks_.push_back(std::move(sink)); }
  // A span that begins now, as the child of what the header names: "Root=1-...;Parent=...;Sampled=1".
  Span begin(std::string name, const std::string& header);
  // The header that its children get.
  static std::string header_of(const Span& span);
  // The part of a text that a span keeps.
  static std::string_view kept_of(std::string_view text);
  // Ends the span now, unless it has an end already.
  void finish(Span span);
  // True if a span of that trace began here. The ids are long random numbers, so only a program that was given one has
  // it.
  bool knows(const std::string& trace_id) const;
  // Takes spans that were made elsewhere: those of known traces, or all if `trusted`. Returns how many were refused.
  size_t finish_foreign(std::vector<Span> spans, bool trusted);
  void flush();       // Passes on everything that waits, and flushes the sinks.
  bool idle() const;  // True if all sinks have passed on their spans.
  void end();         // As flush(), and removes the sinks. Call it before the objects that they use are destroyed.

  TraceLinks& links() { return links_; }
  uint64_t dropped() const { return dropped_; }
  uint64_t recorded() const { return recorded_; }

 private:
  void hand_on();
  int64_t now_ns();

  Scheduler& scheduler_;
  Random& random_;
  void learn(const std::string& trace_id);

  TraceLinks links_;
  absl::flat_hash_set<absl::uint128> known_;
  std::deque<absl::uint128> known_in_order_;  // The oldest first.
  std::vector<std::unique_ptr<SpanSink>> sinks_;
  std::vector<Span> waiting_;
  // The wall time at a boot time: with a finer resolution than the wall clock's, and without its jumps.
  int64_t anchor_ns_ = 0;
  BootTime anchor_{};
  TimerId timer_ = 0;
  uint64_t dropped_ = 0;
  uint64_t recorded_ = 0;
};

}  // namespace freshet
