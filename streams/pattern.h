// Event patterns: the JSON language of filter policies (topics) and filter criteria (event source mappings).
//
//   {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"priority": {"N": [{"prefix": "1"}]}}}}
//
// Every named field must match; a list is an "or" of matchers: a plain value (equal), {"prefix": s}, {"suffix": s},
// {"equals-ignore-case": s}, {"wildcard": "a*z"} (\* is a star itself), {"anything-but": value, list, or one of the
// former}, {"numeric": ["<", 5, ">=", 1]}, {"cidr": "10.0.0.0/24"} (IPv4 and IPv6), {"exists": bool}. {"prefix":
// {"equals-ignore-case": s}} and the same of suffix. {"$or": [pattern, ...]} stands beside other fields. Of a list in
// the event, one element is enough. Sources: Amazon EventBridge User Guide, "Comparison operators"; Amazon SNS
// Developer Guide, "Subscription filter policies". Numbers are exact.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "tables/value/value.h"

namespace freshet {

// What numeric looks at: numbers, or also text that is a number, as an item's numbers are in a stream's records.
enum class PatternNumbers { kNumbers, kAlsoInText };

// A value type (copies share what is immutable).
class Pattern {
 public:
  // kValidation saying at which field what is wrong; unknown operators are named.
  static Result<Pattern> parse(std::string_view json, PatternNumbers numbers = PatternNumbers::kNumbers);

  // `event` is plain data: strings, numbers, booleans, null, lists and maps.
  bool matches(const Map& event) const;
  // Whether the answer can depend on that field of the event.
  bool looks_at(std::string_view top_level_field) const;

  struct Node;

 private:
  explicit Pattern(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace freshet
