// A publish to a FIFO topic as a request of the query protocol, for the daemons of a fleet: one passes it on to
// another. Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/ports.h"
#include "streams/arn.h"
#include "streams/topic_message.h"
#include "streams/topics.h"

namespace freshet {

// The name of the FIFO topic that the request publishes to (Publish, PublishBatch); empty if it does something else.
std::string published_fifo_topic(const HttpRequest& request);

// A Publish with this content. The request has no host and no signature yet.
HttpRequest publish_request(const Account& account, std::string_view topic, const PublishInput& input,
                            const MessageByProtocol& by_protocol);
// The answer to it. Errors: those of a topic, by the status; kUnknownOutcome for a status above 500 that is not 503.
Result<Published> published_in(const HttpResponse& answer);

// The protocol's answer for an error.
HttpResponse query_refusal(const Error& error, std::string request_id);

}  // namespace freshet
