// The protocols of Amazon DynamoDB and DynamoDB Streams (AWS JSON 1.0) on POST /, as their SDKs speak them. Does not
// check signatures: a server that is open beyond loopback checks credentials before.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "runtime/ports.h"
#include "tables/tables.h"

namespace freshet {

struct DynamoDbOptions {
  std::string region = "us-east-1";
  std::string account = "000000000000";
  uint64_t seed = 0;  // Seeds the request ids.
};

// Serves POST / with an X-Amz-Target of DynamoDB, or with none and its content type. Store and clock outlive the route.
std::unique_ptr<Route> make_dynamodb_route(Tables& tables, const Clock& clock, DynamoDbOptions options = {});

}  // namespace freshet
