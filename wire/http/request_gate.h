// Decides which requests are accepted, before any body is decompressed or parsed.
#pragma once

#include <memory>

#include "runtime/ports.h"

namespace freshet {

// Any thread.
class RequestGate {
 public:
  virtual ~RequestGate() = default;
  // Refuses a request by its head while the body is still arriving, so that requests that will be refused cannot fill
  // the room for bodies. Null: undecided; admit() is called for the complete request later.
  virtual std::unique_ptr<HttpResponse> head_refusal(const HttpRequest& head) const = 0;
  // Returns null to accept the request, else the response that refuses it. The request is complete, within the bounds
  // for bodies; a compressed body is still compressed. An accepted request has one Authorization header, of the gate,
  // which names the key that was checked (wire/auth/session_cookie.h). Call it once for each request.
  virtual std::unique_ptr<HttpResponse> admit(HttpRequest& request) const = 0;
};

}  // namespace freshet
