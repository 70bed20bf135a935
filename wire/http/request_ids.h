// The ids of requests, which responses and the log contain. A response of an AWS protocol also has a checksum.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/ports.h"

namespace freshet {

// The number of a request, for its id. Distinct for distinct connections and requests of them, up to chance.
uint64_t request_number_of(uint64_t seed, uint64_t connection, uint64_t request);
// 52 capital letters and digits, like the service's request ids. Different numbers give different ids.
std::string protocol_request_id(uint64_t number);
// 16 hexadecimal digits.
std::array<char, 16> own_request_id(uint64_t number);
// True if a client's X-Request-Id is used: 1 to 128 letters, digits and any of -_.:/+=@
bool is_good_request_id(std::string_view id);

// Any thread.
class RequestIds {
 public:
  explicit RequestIds(uint64_t seed) : seed_(seed) {}
  std::string next();  // As protocol_request_id().

 private:
  const uint64_t seed_;
  std::atomic<uint64_t> count_{0};
};

// Adds x-amzn-RequestId and x-amz-crc32. SDKs check the sum of the bytes on the wire, compressed or not, so this is the
// last change of a response.
void seal_answer(HttpResponse& response, RequestIds& ids);
void seal_answer(HttpResponse& response, std::string id);

}  // namespace freshet
