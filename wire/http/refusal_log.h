// Logs each request that was refused or failed, with its id. One object per I/O thread; that thread
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
  std::string_view body;       // The body of the response: JSON or XML with the error's code and message.
  std::string_view code = {};  // The code in the response's headers, for the Lambda API; empty: the body has it.
};

// REQUEST_REFUSED (info) for 4xx, REQUEST_FAILED (warn) for 5xx. A condition that does not hold is no fault: its line
// is `debug`. Lines are limited so that nobody can fill the disk: for each of the two, kBurst lines at once and kEach
// per second; `leftOut` of the next line counts the requests without a line.
class RefusalLog {
 public:
  static constexpr uint32_t kBurst = 100;
  static constexpr milliseconds kEach{500};

  // The clock outlives it.
  RefusalLog(EventLog log, const Clock& clock) : log_(log), clock_(clock) {}
  void log(const RefusedRequest& request);

 private:
  struct Bucket {
    uint32_t left = kBurst;  // Lines that may be written now.
    BootTime filled{};       // The time up to which `left` is computed.
    uint64_t left_out = 0;
  };
  void fill(Bucket& bucket) const;

  const EventLog log_;
  const Clock& clock_;
  Bucket refused_;
  Bucket failed_;
};

}  // namespace freshet::http_server
