// The resource types that are known, and the values that `Ref` and `GetAtt` have for each. Source: AWS CloudFormation
// User Guide and AWS SAM Developer Guide, "Return values" of each type.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace freshet {

struct ResourceType {
  enum class Support { kFull, kNoEffect };
  std::string_view type;
  std::string_view name_property;  // Empty: the type cannot be named.
  // Patterns with {name}, {region}, {account}.
  std::string_view ref;
  std::vector<std::pair<std::string_view, std::string_view>> attributes;
  Support support = Support::kFull;
  std::string_view why = {};  // The reason, for kNoEffect.
};

// Null for an unknown type.
const ResourceType* find_resource_type(std::string_view type);

// The types that a deployment supports, for messages.
std::vector<std::string> supported_types();

}  // namespace freshet
