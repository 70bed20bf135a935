// Decides which requests are let in. Nothing of a body has been decompressed or parsed.
#pragma once

#include <memory>

#include "runtime/ports.h"

namespace freshet {

// Immutable; any thread.
class RequestGate {
 public:
  virtual ~RequestGate() = default;
  // What the head of a request that is still arriving is refused for already, so that nobody fills the room for bodies
  // with what cannot be let in. Null says nothing yet; the whole request is asked about later.
  virtual std::unique_ptr<HttpResponse> head_refusal(const HttpRequest& head) const = 0;
  // Null to let the request in, else its answer. It has come as a whole, within the bounds for bodies; the body is as
  // it came: compressed, if it was.
  virtual std::unique_ptr<HttpResponse> refusal(const HttpRequest& request) const = 0;
};

}  // namespace freshet
