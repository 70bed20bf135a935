// Where definitions that clients make or change are written: to the system table, and in a fleet to the store that its
// daemons share, before that.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

// The function, topic, subscription or event source mapping that a change is about. A function's versions, aliases and
// policies are its own.
struct DefinitionName {
  std::string kind;  // "function", "topic", "subscription" or "mapping".
  std::string name;  // A function's plain name, a topic's name, a subscription's ARN, a mapping's id.
  auto operator<=>(const DefinitionName&) const = default;
};

inline DefinitionName topic_named(std::string name) {
  return {"topic", std::move(name)};
}
inline DefinitionName subscription_named(std::string arn) {
  return {"subscription", std::move(arn)};
}

inline DefinitionName function_by_name(std::string plain_name) {
  return {"function", std::move(plain_name)};
}
inline DefinitionName mapping_by_id(std::string id) {
  return {"mapping", std::move(id)};
}

// Loop thread. It outlives those who have it.
class DefinitionWriter {
 public:
  virtual ~DefinitionWriter() = default;
  // Writes items of the system table, as write_together() does. An error: the caller changes nothing in memory.
  virtual Async<Result<void>> write(DefinitionName what, std::vector<WriteInput> writes) = 0;
};

// The member of an item of the system table that is a copy of a fleet's, or was one when its daemon left the fleet.
inline constexpr std::string_view kSharedMark = "shared";

// Writes items of the system table, as write_together() does, without a fleet. Items keep that mark.
Async<Result<void>> write_alone(Tables& tables, std::vector<WriteInput> writes);

}  // namespace freshet
