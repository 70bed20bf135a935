// What every answer of an AWS protocol carries: an id of its own, and a checksum.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/ports.h"

namespace freshet {

// Any thread.
class RequestIds {
 public:
  explicit RequestIds(uint64_t seed) : seed_(seed) {}
  // 52 capital letters and digits, as the service's request ids look.
  std::string next();

 private:
  const uint64_t seed_;
  std::atomic<uint64_t> count_{0};
};

// Adds x-amzn-RequestId and x-amz-crc32: SDKs check the sum of what comes over the wire, compressed or not, so this is
// the last that is done to an answer.
void seal_answer(HttpResponse& response, RequestIds& ids);
void seal_answer(HttpResponse& response, std::string id);

}  // namespace freshet
