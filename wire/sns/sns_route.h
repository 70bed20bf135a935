// Amazon SNS in its query protocol: POST / with a form-encoded body (Action=..., Version=2010-03-31), answers in XML.
//
// GET /?Action=ConfirmSubscription&TopicArn=...&Token=... is the request by which a subscribed endpoint confirms, and
// GET /?Action=Unsubscribe&SubscriptionArn=...&Token=... the one by which it ends the subscription later; they need no
// signature, because the token is the proof. No other action is served by GET.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/runtime.h"

namespace freshet {

struct SnsOptions {
  bool tls = false;   // True if clients reach the server by https.
  uint64_t seed = 0;  // Seeds the request ids.
};

// True if the request is one of the query protocol, whatever its action.
bool is_query_request(const HttpRequest& request);

// The runtime outlives the route.
std::unique_ptr<Route> make_sns_route(Runtime& runtime, SnsOptions options = {});

}  // namespace freshet
