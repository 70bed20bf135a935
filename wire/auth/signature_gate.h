// Accepts requests that are signed with a configured access key. Requests of the DynamoDB protocols must be signed for
// them and for this region, as must those of SNS; those of other routes may name any region and service. A key whose
// role is too little for the request is refused (wire/auth/roles.h). A session cookie of a browser stands for the key
// that began the session (wire/auth/session_check.h).
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "wire/auth/credentials.h"
#include "wire/auth/session_check.h"
#include "wire/http/request_gate.h"

namespace freshet {

struct SignatureGateOptions {
  Credentials credentials;
  std::string region = "us-east-1";
  // True: GET /metrics and GET /queues/NAME/backlog need no signature, as health and readiness need none.
  bool open_metrics = false;
  uint64_t seed = 0;  // Seeds the request ids.
  SessionCheckOptions sessions = {};
};

// The clock outlives the gate.
std::unique_ptr<RequestGate> make_signature_gate(SignatureGateOptions options, const Clock& clock);

}  // namespace freshet
