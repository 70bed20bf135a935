// The parts that a function has beside its definition: the aliases that point to its versions, the resource policies,
// and the number of the last published version. One item of the system table for each function (docs/formats.md). Value
// types.
//
// The rules are those of the service (Lambda Developer Guide, "Lambda function versions" and "Lambda function
// aliases"): a published version never changes, its number is never used again, and an alias points to one version or
// shares its invocations between two.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/invoke/function.h"
#include "tables/value/value.h"

namespace freshet {

inline constexpr std::string_view kQualifiersKind = "qualifiers";

struct FunctionAlias {
  std::string version;  // "3", or "$LATEST".
  std::string description;
  std::map<std::string, double> weights;  // Version -> share of the invocations (0 to 1); the rest goes to `version`.
  AsyncConfig async;                      // The settings for events of the alias.
  int64_t async_modified_ms = 0;          // Wall time of the last change of `async`; 0: never.
  int64_t modified_ms = 0;                // Wall time of the last change of the rest.
  bool operator==(const FunctionAlias&) const = default;
};

struct PolicyStatement {
  std::string id;
  std::string json;  // The statement as a JSON object.
  bool operator==(const PolicyStatement&) const = default;
};

struct FunctionQualifiers {
  std::string function;                                          // The function's plain name.
  uint64_t last_version = 0;                                     // 0: no version was published.
  std::map<std::string, FunctionAlias> aliases;                  // By name.
  std::map<std::string, std::vector<PolicyStatement>> policies;  // By qualifier; "" means the function itself.
  bool operator==(const FunctionQualifiers&) const = default;
};

Item to_item(const FunctionQualifiers& qualifiers);
// Members that are missing or have another type keep their defaults.
FunctionQualifiers qualifiers_of(const Item& item);

}  // namespace freshet
