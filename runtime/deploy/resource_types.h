// What `Ref` and `GetAtt` of each resource type stand for, and which types there are.
// Source: AWS CloudFormation User Guide and AWS SAM Developer Guide, "Return values" of each type.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace freshet {

struct ResourceType {
  enum class Support { kFull, kNoEffect };
  std::string_view type;
  std::string_view name_property;  // Empty: it cannot be named.
  // Patterns with {name}, {region}, {account}.
  std::string_view ref;
  std::vector<std::pair<std::string_view, std::string_view>> attributes;
  Support support = Support::kFull;
  std::string_view why = {};  // Of kNoEffect.
};

// Null for a type that is not known here.
const ResourceType* find_resource_type(std::string_view type);

// The types that a deployment acts on, for messages.
std::vector<std::string> supported_types();

}  // namespace freshet
