// One step of a trace, as it is handed to whoever keeps traces. A value type.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace freshet {

struct Span {
  std::string trace_id;   // 32 hex digits.
  std::string span_id;    // 16 hex digits.
  std::string parent_id;  // The same, or empty.
  std::string name;
  std::string kind = "invocation";  // What it is a step of; "invocation", "segment" or "subsegment".
  int64_t start_ns = 0;             // Since the epoch.
  int64_t end_ns = 0;
  std::string error;                                            // Empty if it went well.
  std::vector<std::pair<std::string, std::string>> attributes;  // Names of the field's conventions.
};

// Takes spans; loop thread. What it cannot take it drops and counts.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void take(const std::vector<Span>& spans) = 0;
  virtual void close() = 0;                   // What it holds goes out now, as far as it can.
  virtual bool idle() const { return true; }  // Nothing is on its way any more.
};

}  // namespace freshet
