// A line of the log for each request that was refused or failed, with its id. One for each I/O thread; that thread
// only.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"

namespace freshet::http_server {

// One such request. Refers to the caller's texts.
struct RefusedRequest {
  std::string_view id;
  std::string_view what;  // "POST /queues/Q/tasks"; empty if that could not be read.
  int status = 0;
  std::string_view body;       // Of the answer: JSON or XML with the error's code and message.
  std::string_view code = {};  // Of the answer's headers, where the Lambda API has it; empty: the body has it.
};

// REQUEST_REFUSED (info) for 4xx, REQUEST_FAILED (warn) for 5xx. A condition that does not hold is an answer and no
// fault: such a line is `debug`. Nobody can fill the disk: after kBurst lines at once there are kEach a second of each
// of the two, and `leftOut` of the next line counts those between that have none.
class RefusalLog {
 public:
  static constexpr uint32_t kBurst = 100;
  static constexpr milliseconds kEach{500};

  // The clock outlives it.
  RefusalLog(EventLog log, const Clock& clock) : log_(log), clock_(clock) {}
  void tell(const RefusedRequest& request);

 private:
  struct Bucket {
    uint32_t left = kBurst;  // Lines.
    BootTime filled{};       // Up to when `left` counts.
    uint64_t left_out = 0;
  };
  void fill(Bucket& bucket) const;

  const EventLog log_;
  const Clock& clock_;
  Bucket refused_;
  Bucket failed_;
};

}  // namespace freshet::http_server
