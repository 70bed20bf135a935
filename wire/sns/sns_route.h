// Amazon SNS in its query protocol: POST / with a form-encoded body (Action=..., Version=2010-03-31), answers in XML.
//
// GET /?Action=ConfirmSubscription&TopicArn=...&Token=... is what a subscribed endpoint is asked to visit, and
// GET /?Action=Unsubscribe&SubscriptionArn=...&Token=... what it may visit later; they need no signature, as the token
// is the proof. No other action is served by GET.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/runtime.h"

namespace freshet {

struct SnsOptions {
  bool tls = false;   // Whether clients reach the server by https.
  uint64_t seed = 0;  // Of request ids.
};

// Whether a request is one of the query protocol, whatever its action.
bool is_query_request(const HttpRequest& request);

// The runtime outlives the route.
std::unique_ptr<Route> make_sns_route(Runtime& runtime, SnsOptions options = {});

}  // namespace freshet
