// NextToken: the position at which a SELECT continues. It is valid only for the same statement with the same
// parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tables/value/value.h"

namespace freshet::dynamodb {

struct StatementPosition {
  uint64_t step = 0;  // The step of the plan.
  Item start_key;     // The position in that step; empty for its beginning.
};

// Identifies a statement and its parameters.
std::string statement_fingerprint(std::string_view text, const std::vector<Value>& parameters);

std::string write_token(const std::string& fingerprint, const StatementPosition& position);
// kValidation for an invalid token, and for one of another statement. Tokens come from outside: the position may be one
// that the statement does not have.
Result<StatementPosition> read_token(std::string_view token, const std::string& fingerprint);

}  // namespace freshet::dynamodb
