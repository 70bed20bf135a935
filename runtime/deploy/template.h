// A SAM or CloudFormation template with its parameters, conditions, mappings and intrinsic functions worked out.
// What the resources then mean is deployment.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/deploy/diagnostics.h"
#include "runtime/deploy/node.h"

namespace freshet {

struct TemplateInput {
  std::string file;  // For messages.
  std::string text;
  std::map<std::string, std::string> parameters;  // Given values; the others have their defaults.
  std::string account = "000000000000";
  std::string region = "us-east-1";
  std::string stack_name = "freshet";
};

struct Resource {
  std::string id;    // Logical.
  std::string type;  // One that find_resource_type knows.
  std::string name;  // Physical: what the template names it, else the logical id.
  int line = 0;
  Node properties;  // Plain values; Globals merged in.
  Node metadata;
};

struct Output {
  std::string name;
  std::string value;
  std::string description;
  bool operator==(const Output&) const = default;
};

struct Template {
  std::vector<Resource> resources;  // Those whose condition holds, in the order of the file.
  std::vector<Output> outputs;
  bool cut = false;  // The budget was used up (reported): the template has gaps, so report nothing more about it.
};

// Everything that is wrong or without effect is in `diagnostics`; with errors the result is as complete as can be, so
// that one run can report them all.
Template resolve_template(const TemplateInput& input, Diagnostics& diagnostics);

}  // namespace freshet
