// Templates, YAML and JSON, from their text to what they deploy.
//
// An input is a template. The same text must give the same deployment or the same errors, and each error says where. A
// template with the word "Given" is handed a parameter of that name.
#include "runtime/deploy/deployment.h"
#include "tests/fuzz/target.h"

namespace freshet::fuzz {
namespace {

Result<Deployment> deployed(std::string_view text) {
  DeploymentInput input;
  input.source.file = "t.yaml";
  input.source.text = std::string(text);
  if (text.find("Given") != std::string_view::npos) input.source.parameters = {{"Given", "value"}};
  input.native_handlers = {"create_tasks", "process_tasks", "trigger"};
  return resolve_deployment(input);
}

void check_error(const std::string& message) {
  require(!message.empty(), "an error without a message");
  const std::string first(split(message, "\n").front());
  require(first.find("t.yaml") != std::string::npos || first.find("Given") != std::string::npos,
          "an error that names neither the file nor the parameter", message);
}

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet::fuzz;
  const auto one = deployed(as_text(data, size));
  const auto two = deployed(as_text(data, size));
  require(one.has_value() == two.has_value(), "deployed once and refused once");
  if (one) {
    require(one->tables == two->tables && one->functions == two->functions && one->topics == two->topics,
            "another deployment");
    require(one->warnings.size() == two->warnings.size(), "other warnings");
  } else {
    show(one.error().message);
    require(one.error().message == two.error().message, "another error", one.error().message);
    check_error(one.error().message);
  }
  return 0;
}
