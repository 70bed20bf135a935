// One step of a trace. A value type.
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
  std::string kind = "invocation";  // The kind of step: "invocation", "segment" or "subsegment".
  int64_t start_ns = 0;             // Since the epoch.
  int64_t end_ns = 0;
  std::string error;                                            // Empty if it succeeded.
  std::vector<std::pair<std::string, std::string>> attributes;  // Named by the conventions of OpenTelemetry.
};

// Takes spans; loop thread. Drops and counts those that it cannot take.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void take(const std::vector<Span>& spans) = 0;
  virtual void close() = 0;                   // Sends everything that it holds now, as far as possible.
  virtual bool idle() const { return true; }  // True if nothing is being sent any more.
};

}  // namespace freshet
