// Event patterns: the JSON language of filter policies (topics) and filter criteria (event source mappings).
//
//   {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"priority": {"N": [{"prefix": "1"}]}}}}
//
// Every named field must match; a list is an "or" of matchers: a plain value (equal), {"prefix": s}, {"suffix": s},
// {"equals-ignore-case": s}, {"wildcard": "a*z"} (\* is a star itself), {"anything-but": value, list, or one of the
// former}, {"numeric": ["<", 5, ">=", 1]}, {"cidr": "10.0.0.0/24"} (IPv4 and IPv6), {"exists": bool}. {"prefix":
// {"equals-ignore-case": s}} and the same of suffix. {"$or": [pattern, ...]} may be beside other fields. If the event
// has a list, one matching element is enough. Sources: Amazon EventBridge User Guide, "Comparison operators"; Amazon
// SNS Developer Guide, "Subscription filter policies". Numbers are exact.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "tables/value/value.h"

namespace freshet {

// The values that `numeric` accepts: numbers, or also text that is a number, like the numbers of items in a stream's
// records.
enum class PatternNumbers { kNumbers, kAlsoInText };

// The work that matching may still do. A step is one field or value of the event that a matcher looks at, or 16 to 64
// bytes of text that it reads. Plain values are looked up: a list of them costs one step.
class MatchWork {
 public:
  MatchWork() = default;  // No bound.
  explicit MatchWork(size_t most) : left_(most) {}
  // Returns false if less is left; then nothing is left.
  bool take(size_t steps) {
    if (steps > left_) return spent_ = true, left_ = 0, false;
    left_ -= steps;
    return true;
  }
  bool spent() const { return spent_; }
  size_t left() const { return left_; }

 private:
  size_t left_ = std::numeric_limits<size_t>::max();
  bool spent_ = false;
};

// The bound for one pattern and one event: some 50 ms.
inline constexpr size_t kMaxMatchWork = 4'000'000;

// A value type (copies share what is immutable).
class Pattern {
 public:
  // kValidation that names the field and the fault; unknown operators are named.
  static Result<Pattern> parse(std::string_view json, PatternNumbers numbers = PatternNumbers::kNumbers);

  // `event` is plain data: strings, numbers, booleans, null, lists and maps.
  bool matches(const Map& event) const;
  // The same with a bound: the result has no meaning once the work is used up.
  bool matches(const Map& event, MatchWork& work) const;
  // True if the answer can depend on that field of the event.
  bool looks_at(std::string_view top_level_field) const;

  struct Node;

 private:
  explicit Pattern(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace freshet
