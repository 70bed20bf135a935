// A template's text as a deployment, or as what is wrong with it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/deploy/deployment.h"
#include "tests/sim/source_dir.h"

namespace freshet {

inline Result<Deployment> deploy(std::string text, std::vector<EnvironmentOverride> overrides = {},
                                 std::map<std::string, std::string> parameters = {}) {
  DeploymentInput input;
  input.source.file = "t.yaml";
  input.source.text = std::move(text);
  input.source.parameters = std::move(parameters);
  input.overrides = std::move(overrides);
  input.native_handlers = {"create_tasks", "process_tasks", "trigger"};
  return resolve_deployment(input);
}

inline std::string errors(std::string text, std::vector<EnvironmentOverride> overrides = {}) {
  auto out = deploy(std::move(text), std::move(overrides));
  return out ? "" : out.error().message;
}

inline std::vector<std::string> warnings(const Deployment& deployment) {
  std::vector<std::string> out;
  for (const Diagnostic& one : deployment.warnings) out.push_back(one.to_string());
  return out;
}

inline std::string shipped(const std::string& name) {
  std::ifstream in(source_dir() + "/config/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A table with a stream, a topic and a function, to which tests add. Lines 1 to 13.
inline const std::string kBase =
    "Resources:\n"
    "  Tab:\n"
    "    Type: AWS::DynamoDB::Table\n"
    "    Properties:\n"
    "      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n"
    "      KeySchema: [{AttributeName: id, KeyType: HASH}]\n"
    "      StreamSpecification: {StreamViewType: NEW_IMAGE}\n"
    "  Topic: {Type: AWS::SNS::Topic}\n"
    "  F:\n"
    "    Type: AWS::Serverless::Function\n"
    "    Properties:\n"
    "      Runtime: native\n"
    "      Handler: trigger\n";

}  // namespace freshet
