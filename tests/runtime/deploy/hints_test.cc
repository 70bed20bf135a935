// The hints for a template's author.
#include "tests/runtime/deploy/deployment_text.h"

namespace freshet {
namespace {

const std::string kFunction = "Resources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties:\n";

// Whole messages: nothing stands behind the fault that is there.
TEST(Hints, AnUnknownRuntimeIsOneFault) {
  EXPECT_EQ(errors(kFunction + "      Runtime: java21\n      Handler: a.b\n      CodeUri: ./none\n"
                               "      MemorySize: 512\n      Tracing: Active\n"),
            "t.yaml:5: F.Properties.Runtime: function F: Runtime java21: there are native, http, nodejs*, python3* and "
            "provided* (any other language: provided.al2023, with a program 'bootstrap' in the folder of the code)");
  EXPECT_EQ(errors(kFunction + "      Handler: a.b\n      CodeUri: ./none\n      MemorySize: 512\n"),
            "t.yaml:5: F.Properties: function F: Runtime is missing; there are native (with the name of a built-in "
            "handler), http (with the URL of an endpoint), nodejs*, python3* and provided*");
}

TEST(Hints, CodeInTheTemplateSaysWhereItBelongs) {
  EXPECT_EQ(errors(kFunction + "      Runtime: nodejs20.x\n      Handler: src/index.handler\n"
                               "      InlineCode: 'exports.handler = async () => 1'\n"),
            "t.yaml:7: F.Properties.InlineCode: code in the template is not supported: put it into ./F/src/index.js "
            "beside the template and write CodeUri: ./F");
  const std::string plain =
      "Resources:\n  G:\n    Type: AWS::Lambda::Function\n    Properties:\n      Runtime: python3.11\n"
      "      Handler: app.main\n      Code: ";
  EXPECT_EQ(errors(plain + "{ZipFile: 'def main(e, c): pass'}\n"),
            "t.yaml:7: G.Properties.Code: code in the template is not supported: put it into ./G/app.py beside the "
            "template and write Code: ./G");
  EXPECT_EQ(
      errors(plain + "{S3Bucket: b, S3Key: k}\n"),
      "t.yaml:7: G.Properties.Code: code in S3 or an image cannot be had here: name a folder beside the template");
}

TEST(Hints, TracingSaysWhichOptionKeepsTraces) {
  const std::string text =
      "Resources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties:\n      Runtime: native\n"
      "      Handler: trigger\n      Tracing: Active\n  G:\n    Type: AWS::Lambda::Function\n    Properties:\n"
      "      Runtime: native\n      Handler: trigger\n      TracingConfig: {Mode: Active}\n  T:\n"
      "    Type: AWS::SNS::Topic\n    Properties: {TracingConfig: Active}\n";
  const std::string says =
      ": traces are kept only by a daemon that is told where: start it with --trace-file FILE, --chrome-trace FILE or "
      "--trace-endpoint URL (docs/traces.md)";
  const auto out = deploy(text);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(warnings(*out), (std::vector<std::string>{"t.yaml:7: F.Properties.Tracing" + says,
                                                      "t.yaml:13: G.Properties.TracingConfig" + says,
                                                      "t.yaml:16: T.Properties.TracingConfig" + says}));
  DeploymentInput input;
  input.source.file = "t.yaml";
  input.source.text = text;
  input.traces_kept = true;
  const auto kept = resolve_deployment(input);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(warnings(*kept), std::vector<std::string>{});
  const auto off = deploy(
      "Resources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties: {Runtime: native, Handler: trigger, "
      "Tracing: PassThrough}\n");
  ASSERT_TRUE(off) << off.error().message;
  EXPECT_EQ(warnings(*off), std::vector<std::string>{});
}

TEST(Hints, NamesThatDoNotResolveAreNoDuplicates) {
  const std::string told = errors(
      "Resources:\n  A: {Type: AWS::SNS::Topic, Properties: {TopicName: !Ref Nothing}}\n"
      "  B: {Type: AWS::SNS::Topic, Properties: {TopicName: !Ref Nothing}}\n"
      "  T: {Type: AWS::Serverless::SimpleTable, Properties: {TableName: !Ref Nothing}}\n"
      "  U: {Type: AWS::Serverless::SimpleTable, Properties: {TableName: !Ref Nothing}}\n");
  EXPECT_EQ(told.find("is there already"), std::string::npos) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 3) << told;
}

}  // namespace
}  // namespace freshet
