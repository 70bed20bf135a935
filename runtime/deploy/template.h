// A SAM or CloudFormation template with its parameters, conditions, mappings and intrinsic functions evaluated.
// deployment.h gives the resources their meaning.
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
  std::map<std::string, std::string> parameters;  // The given values; other parameters have their defaults.
  std::string account = "000000000000";
  std::string region = "us-east-1";
  std::string stack_name = "freshet";
};

struct Resource {
  std::string id;    // The logical id.
  std::string type;  // A type that find_resource_type() knows.
  std::string name;  // The physical name: the one in the template, else the logical id.
  int line = 0;
  Node properties;  // Plain values with Globals merged in.
  Node metadata;
};

struct Output {
  std::string name;
  std::string value;
  std::string description;
  bool operator==(const Output&) const = default;
};

struct Template {
  std::vector<Resource> resources;  // The resources whose condition holds, in the order of the file.
  std::vector<Output> outputs;
  bool cut = false;  // True if the budget was used up (reported): the template has gaps, so report nothing more about
                     // it.
};

// Reports errors, and parts without effect, in `diagnostics`; with errors the result is as complete as possible, so
// that one run can report them all.
Template resolve_template(const TemplateInput& input, Diagnostics& diagnostics);

}  // namespace freshet
