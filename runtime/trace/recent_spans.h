// The newest spans, in memory, for people who ask what an attempt on a task did. Loop thread.
//
// It keeps at most kMostSpans spans and about kMostBytes; older ones make room.
#pragma once

#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

#include "runtime/trace/span.h"

namespace freshet {

class RecentSpans final : public SpanSink {
 public:
  static constexpr size_t kMostSpans = 10'000;
  static constexpr size_t kMostBytes = 8u << 20;

  void take(const std::vector<Span>& spans) override;
  void close() override {}

  // The attempts on the task and all spans below them, ordered by their start. At most the newest `most` are given;
  // `more` says if others were left out.
  struct OfTask {
    std::vector<Span> spans;
    bool more = false;
  };
  OfTask of_task(std::string_view queue, std::string_view task, size_t most) const;

  size_t count() const { return spans_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  std::deque<Span> spans_;  // In the order in which they ended.
  size_t bytes_ = 0;
};

}  // namespace freshet
