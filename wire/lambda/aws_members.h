// Reads members of requests of the Lambda API; messages about wrong types have AWS's words.
#pragma once

#include "runtime/api/json_members.h"

namespace freshet::lambda {

class AwsMembers : public JsonMembers {
 public:
  AwsMembers(const JsonView& object, std::initializer_list<std::string_view> known)
      : JsonMembers(object, known, Words::kAws) {}
};

}  // namespace freshet::lambda
