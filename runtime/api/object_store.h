// Puts files that must outlive this machine into buckets of the S3 protocol. wire/ implements it, tests fake
// it.
#pragma once

#include <string>

#include "base/async.h"
#include "base/clock.h"
#include "base/result.h"

namespace freshet {

struct ObjectTarget {
  std::string endpoint;  // A URL without a path; empty: there is none.
  std::string bucket;
  std::string region = "us-east-1";
  std::string access_key_id;
  std::string secret_access_key;
  milliseconds timeout{60'000};  // The timeout of one request.
  bool operator==(const ObjectTarget&) const = default;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  // Puts an object, or replaces it. After an error the object may or may not exist; putting it again is safe. `key` has
  // nothing but letters, digits and ._/- in it. Loop thread; outlives its Asyncs.
  virtual Async<Result<void>> put(ObjectTarget target, std::string key, std::string body) = 0;
};

}  // namespace freshet
