// Decides which requests are let in. Each has come as a whole, within the bounds for bodies; nothing of the body has
// been decompressed or parsed.
#pragma once

#include <memory>

#include "runtime/ports.h"

namespace freshet {

// Immutable; any thread.
class RequestGate {
 public:
  virtual ~RequestGate() = default;
  // Null to let the request in, else its answer. The body is as it came: compressed, if it was.
  virtual std::unique_ptr<HttpResponse> refusal(const HttpRequest& request) const = 0;
};

}  // namespace freshet
