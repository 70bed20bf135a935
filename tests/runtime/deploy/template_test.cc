#include "runtime/deploy/template.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

struct Resolved {
  Template value;
  std::vector<Diagnostic> warnings;
  std::string errors;  // A line each.
};

Resolved resolve(std::string text, std::map<std::string, std::string> parameters = {}) {
  TemplateInput input;
  input.file = "t.yaml";
  input.text = std::move(text);
  input.parameters = std::move(parameters);
  Diagnostics diagnostics(input.file);
  Resolved out;
  out.value = resolve_template(input, diagnostics);
  out.warnings = diagnostics.sorted_warnings();
  out.errors = diagnostics.failed() ? diagnostics.to_error().message : "";
  return out;
}

// The value of a template's Output `X`, which is in line 2; everything else follows it.
std::string value_of(const std::string& value, const std::string& rest = "",
                     std::map<std::string, std::string> parameters = {}) {
  static const std::string kResources =
      "Resources:\n"
      "  T: {Type: AWS::DynamoDB::Table, Properties: {TableName: !Sub '${AWS::StackName}-tasks'}}\n"
      "  Topic: {Type: AWS::SNS::Topic}\n"
      "  Fn: {Type: AWS::Serverless::Function, Properties: {}}\n";
  Resolved out = resolve("Outputs:\n  X: {Value: " + value + "}\n" + kResources + rest, std::move(parameters));
  if (!out.errors.empty()) return out.errors;
  return out.value.outputs.empty() ? "no output" : out.value.outputs.front().value;
}

const std::string kMore =
    "Parameters:\n"
    "  Name: {Type: String, Default: blue}\n"
    "  Count: {Type: Number, Default: 3}\n"
    "  Many: {Type: CommaDelimitedList, Default: 'a, b,c'}\n"
    "Mappings:\n"
    "  Sizes: {blue: {small: '1', list: [p, q]}, red: {small: '2'}}\n"
    "Conditions:\n"
    "  IsBlue: !Equals [!Ref Name, blue]\n"
    "  IsThree: !Equals [!Ref Count, '3']\n"
    "  Both: !And [!Condition IsBlue, Condition: IsThree]\n"
    "  Neither: !Not [!Or [!Condition IsBlue, !Condition IsThree]]\n";

TEST(Template, IntrinsicFunctions) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"!Ref Name", "blue"},
      {"{Ref: Count}", "3"},
      {"!Ref AWS::Region", "us-east-1"},
      {"!Ref AWS::AccountId", "000000000000"},
      {"!Ref T", "freshet-tasks"},
      {"!Ref Topic", "arn:aws:sns:us-east-1:000000000000:Topic"},
      {"!Ref Fn", "Fn"},
      {"!GetAtt T.Arn", "arn:aws:dynamodb:us-east-1:000000000000:table/freshet-tasks"},
      {"!GetAtt T.StreamArn", "arn:aws:dynamodb:us-east-1:000000000000:table/freshet-tasks/stream/latest"},
      {"{'Fn::GetAtt': [Fn, Arn]}", "arn:aws:lambda:us-east-1:000000000000:function:Fn"},
      {"{'Fn::GetAtt': Topic.TopicName}", "Topic"},
      {"!GetAtt FnRole.Arn", "arn:aws:iam::000000000000:role/FnRole"},
      {"!Sub 'a-${Name}-${T}-${T.Arn}-${!Name}'",
       "a-blue-freshet-tasks-arn:aws:dynamodb:us-east-1:000000000000:table/freshet-tasks-${Name}"},
      {"!Sub ['${A}${Name}', {A: !Ref Count}]", "3blue"},
      {"!Sub ''", ""},
      {"!Join [':', [a, !Ref Name, '1']]", "a:blue:1"},
      {"!Join [',', !Ref Many]", "a,b,c"},
      {"!Join ['', []]", ""},
      {"!Select [1, !Split ['.', x.y.z]]", "y"},
      {"!Select [0, [p, q]]", "p"},
      {"!Join ['-', !Split [',', ',a,']]", "-a-"},
      {"!FindInMap [Sizes, !Ref Name, small]", "1"},
      {"!Join ['', !FindInMap [Sizes, blue, list]]", "pq"},
      {"!If [IsBlue, yes it is, no]", "yes it is"},
      {"!If [Both, 1, 2]", "1"},
      {"!If [Neither, 1, 2]", "2"},
      {"!Join [',', [a, !If [Neither, b, !Ref 'AWS::NoValue'], c]]", "a,c"},
      {"!Base64 hello", "aGVsbG8="},
      {"!Base64 hi", "aGk="},
      {"!Base64 abc", "YWJj"},
      {"!FindInMap [Sizes, green, small, {DefaultValue: !Ref Name}]", "blue"},
      {"!FindInMap [Sizes, blue, small, {DefaultValue: 7}]", "1"},
      {"!Join [',', !GetAZs '']", "us-east-1a,us-east-1b,us-east-1c"},
      {"!Select [0, !GetAZs eu-north-1]", "eu-north-1a"},
      {"!Length [a, !Ref Name]", "2"},
      {"!Length {Ref: Many}", "3"},
      {"!ToJsonString {a: !Ref Name, b: [1, '1']}", R"({"a":"blue","b":[1,"1"]})"},
      {"{a: !Ref Name, b: [1, true, '1', null], c: !Ref Count}", R"({"a":"blue","b":[1,true,"1",null],"c":3})"},
  };
  for (const auto& [value, expected] : table) EXPECT_EQ(value_of(value, kMore), expected) << value;
}

TEST(Template, WrongReferencesAreNamedWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"!Ref Nam",
       "t.yaml:2: Outputs.X: Ref to 'Nam', which is neither a parameter nor a resource (did you mean 'Name'?)"},
      {"!Ref AWS::Nothing", "t.yaml:2: Outputs.X: AWS::Nothing is unknown"},
      {"!Ref [a]", "t.yaml:2: Outputs.X: Ref needs a name, not a list"},
      {"!GetAtt T.Arm", "t.yaml:2: Outputs.X: AWS::DynamoDB::Table has no attribute 'Arm' (it has Arn, StreamArn)"},
      {"!GetAtt Nope.Arn", "t.yaml:2: Outputs.X: GetAtt of 'Nope', which is no resource"},
      {"!GetAtt Nope", "t.yaml:2: !GetAtt needs Resource.Attribute, not 'Nope'"},
      {"!Sub '${Nam}'", "t.yaml:2: Outputs.X: Ref to 'Nam'"},
      {"!Sub '${Name'", "t.yaml:2: Outputs.X: Fn::Sub: '${' without '}'"},
      {"!Sub [1]", "t.yaml:2: Outputs.X: expected Fn::Sub: text, or [text, {Name: value}]"},
      {"!Sub '${Many}'", "t.yaml:2: Outputs.X: ${Many} in Fn::Sub is no text"},
      {"!Join [x]", "t.yaml:2: Outputs.X: expected Fn::Join: [delimiter, [text, ...]]"},
      {"!Join [x, [{a: b}]]", "t.yaml:2: Outputs.X: Fn::Join of a map"},
      {"!Select [3, [a]]", "t.yaml:2: Outputs.X: Fn::Select: index 3 of a list of 1 (the first is 0)"},
      {"!Select [-1, [a]]", "t.yaml:2: Outputs.X: Fn::Select: index -1"},
      {"!Split ['', a]", "t.yaml:2: Outputs.X: Fn::Split: the delimiter is empty"},
      {"!FindInMap [Sizes, green, small]", "t.yaml:2: Outputs.X: Fn::FindInMap: there is no 'Sizes.green' in Mappings"},
      {"!If [Blue, 1, 2]", "t.yaml:2: Outputs.X: there is no condition 'Blue'"},
      {"!If [IsBlue, 1]", "t.yaml:2: Outputs.X: expected Fn::If: [condition, value if true, value if false]"},
      {"!FindInMap [Sizes, green, small, other]", "t.yaml:2: Outputs.X: expected Fn::FindInMap: [map, first key"},
      {"!GetAZs [a]", "t.yaml:2: Outputs.X: the region of Fn::GetAZs must be text, not a list"},
      {"!Length x", "t.yaml:2: Outputs.X: Fn::Length needs a list, not 'x'"},
      {"!ToJsonString x", "t.yaml:2: Outputs.X: Fn::ToJsonString needs a map or a list, not 'x'"},
      {"!ImportValue x", "t.yaml:2: Outputs.X: Fn::ImportValue is not supported here"},
      {"{'Fn::Sub': a, b: c}", "t.yaml:2: Outputs.X: Fn::Sub must stand alone in its map"},
      {"!Refer x", "t.yaml:2: the tag !Refer is unknown"},
  };
  for (const auto& [value, expected] : table) {
    EXPECT_EQ(value_of(value, kMore).substr(0, expected.size()), expected) << value;
  }
}

TEST(Template, DocumentsThatCannotBeRead) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "[";
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'i'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += std::string(i ? "," : "") + "*" + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "t.yaml:1: the file is empty"},
      {" \n\n", "t.yaml:1: the file is empty"},
      {"# only a comment\n", "t.yaml:1: the file is empty"},
      {"- a\n", "t.yaml:1: expected a map, found a list"},
      {"hello", "t.yaml:1: this is no template: one is YAML or JSON with a section Resources"},
      {"a: 1\nb: [1\nc: 2\n",
       "t.yaml:2: the [ of this line is not closed: a ] is missing, or a comma between two values, before what line 3 "
       "goes on with"},
      {"a: [x, y", "t.yaml:1: the [ of this line is not closed: the file ends before its ]"},
      {"a:\n  b: [x, y\n# end\n", "t.yaml:2: the [ of this line is not closed: the file ends before its ]"},
      {"a: {b: 1\n", "t.yaml:1: the { of this line is not closed: the file ends before its }"},
      {"{\"a\": 1 \"b\": 2}",
       "t.yaml:1: the { of this line is not closed: a } is missing, or a comma between two values"},
      {"a: [x, {y: 1]\nb: 1\n",
       "t.yaml:1: the brackets do not match here: the one that was opened last is closed first"},
      {"a: 1\nb: [x]]\n", "t.yaml:2: nothing has opened the ] or } that stands here: take it out"},
      {"a: \"x\nb: 1\n", "t.yaml:1: the quotation mark that begins in this line is not closed"},
      {"a: 1\nb: 'it''s\n", "t.yaml:2: the quotation mark that begins in this line is not closed"},
      {"a: 'x\nb: 'y'\n",
       "t.yaml:2: something follows the text in quotes that begins in line 1: is its quotation mark where it should "
       "be?"},
      {"a: \"x\" y\n", "t.yaml:1: something follows the text in quotes that begins in line 1"},
      {"a: @x\n", "t.yaml:1: '@' cannot stand here: put text that has such a character into quotes"},
      {"a: *.txt\n", "t.yaml:1: "},
      {"a:\n  b: 1\n c: 2\n",
       "t.yaml:3: this line fits none of the lines before it: names of one map begin in the same"},
      {"a:\n  - x\n y\n", "t.yaml:3: this line fits none of the lines before it"},
      {"a:\n  b:\n\tc: 1\n", "t.yaml:3: the line begins with a tab: write blanks, as YAML knows no others"},
      {"a:\n\tb: 1\n", "t.yaml:2: the line begins with a tab: write blanks, as YAML knows no others"},
      {"a: b: c\n", "t.yaml:1: a ':' cannot stand here: put text with ': ' in it into quotes"},
      {"Resources: {}\nResources: {}\n", "t.yaml:2: 'Resources' stands here twice"},
      {"a: {b: 1, b: 2}\n", "t.yaml:1: 'b' stands here twice"},
      {"a: &x {b: 1}\nc:\n  <<: *x\n", "t.yaml:3: merge keys (<<) are not supported"},
      {"a: {b: cron(0 0 ? * 2 *)}\n",
       "t.yaml:1: the { of this line is not closed: a } is missing, or a comma between two values (between { } or [ ], "
       "text with a ? needs quotes)"},
      {"a: *x\n", "t.yaml:1: "},
      {"a: &x [*x]\n", "t.yaml:1: the alias stands inside what it names"},
      {"a: !!binary aGk=\n", "t.yaml:1: the tag !!binary is not supported"},
      {"? [a]\n: b\n", "t.yaml:1: a name must be text, not a list"},
      {"a: 1\n---\nb: 1\n", "t.yaml:3: a second document begins; expected one"},
      {"a: \xff\n", "t.yaml:1: not UTF-8 text"},
      {"a: 1\nb: \x01\n", "t.yaml:2: not UTF-8 text"},
      {deep, "t.yaml:1: nested deeper than 48"},
      {bomb, "t.yaml:5: more than 50000 values"},
      {std::string((1u << 20) + 1, '#'), "t.yaml:1: the file has 1048577 bytes, more than 1048576"},
      {"{\"a\": 1,\n \"b\": }", "t.yaml:"},
      {"{\"a\": \"\\ud800\"}", "t.yaml:1: "},
  };
  for (const auto& [text, expected] : table) {
    EXPECT_EQ(resolve(text).errors.substr(0, expected.size()), expected) << text.substr(0, 100);
  }
}

TEST(Template, JsonIsReadWithTabsAndEscapes) {
  Resolved out = resolve(
      "{\n\t\"Resources\":{\t},\n\t\"Outputs\" :{\"X\":{\"Value\":{\"Fn::Join\":[\"\\/\",\n"
      "\t[\"\\u00e9\",\"\\ud83d\\ude00\",\"\\\"q\\\\\",\"#no: comment\"]]}}}}");
  EXPECT_EQ(out.errors, "");
  ASSERT_EQ(out.value.outputs.size(), 1u);
  EXPECT_EQ(out.value.outputs[0].value, "\xC3\xA9/\xF0\x9F\x98\x80/\"q\\/#no: comment");
}

TEST(Template, AliasesAreExpanded) {
  Resolved out = resolve("Resources: {}\nOutputs:\n  A: {Value: &v [1, two]}\n  B: {Value: *v}\n");
  EXPECT_EQ(out.errors, "");
  EXPECT_EQ(out.value.outputs.at(1).value, R"([1,"two"])");
}

TEST(Template, ParametersAreCheckedAgainstTheirRules) {
  const std::string text =
      "Resources: {}\n"
      "Parameters:\n"
      "  Color: {Type: String, AllowedValues: [red, blue]}\n"
      "  Size: {Type: Number, MinValue: 1, MaxValue: 10, Default: 3}\n"
      "  Word: {Type: String, MinLength: 2, MaxLength: 4, Default: abc}\n"
      "Outputs:\n"
      "  X: {Value: !Sub '${Color} ${Size} ${Word}'}\n";
  auto value = [&](std::map<std::string, std::string> given) {
    Resolved out = resolve(text, std::move(given));
    return out.errors.empty() ? out.value.outputs.at(0).value : out.errors;
  };
  EXPECT_EQ(value({{"Color", "red"}}), "red 3 abc");
  EXPECT_EQ(value({{"Color", "blue"}, {"Size", "10"}, {"Word", "xy"}}), "blue 10 xy");
  EXPECT_EQ(value({}),
            "t.yaml:3: Parameters.Color: has no default and no value was given; give one with --parameter Color=VALUE");
  EXPECT_EQ(value({{"Color", "green"}}), "t.yaml:3: Parameters.Color: the value 'green' is not one of red, blue");
  EXPECT_EQ(value({{"Color", "red"}, {"Size", "11"}}), "t.yaml:4: Parameters.Size: the value '11' is more than 10");
  EXPECT_EQ(value({{"Color", "red"}, {"Size", "0.5"}}), "t.yaml:4: Parameters.Size: the value '0.5' is less than 1");
  EXPECT_EQ(value({{"Color", "red"}, {"Size", "many"}}), "t.yaml:4: Parameters.Size: the value 'many' is not a number");
  EXPECT_EQ(value({{"Color", "red"}, {"Word", "a"}}), "t.yaml:5: Parameters.Word: the value 'a' is shorter than 2");
  EXPECT_EQ(
      value({{"Color", "red"}, {"Colour", "red"}}),
      "t.yaml:3: Parameters: a value was given for 'Colour', which the template does not have (did you mean 'Color'?)");
  EXPECT_EQ(resolve("Resources: {}\nParameters:\n  P: {Type: Text, Default: x}\n").errors,
            "t.yaml:3: Parameters.P.Type: 'Text' is not one of String, Number, List<Number>, CommaDelimitedList");
}

TEST(Template, ConditionsDecideWhichResourcesAreThere) {
  const std::string text =
      "Parameters:\n"
      "  On: {Type: String, Default: 'true'}\n"
      "Conditions:\n"
      "  IsOn: !Equals [!Ref On, true]\n"
      "Resources:\n"
      "  A: {Type: AWS::SNS::Topic, Condition: IsOn}\n"
      "  B: {Type: AWS::SNS::Topic, Properties: {DisplayName: !If [IsOn, !Ref A, none]}}\n";
  EXPECT_EQ(resolve(text).value.resources.size(), 2u);
  Resolved off = resolve(text, {{"On", "false"}});
  EXPECT_EQ(off.errors, "");
  ASSERT_EQ(off.value.resources.size(), 1u);
  EXPECT_EQ(off.value.resources[0].properties.find("DisplayName")->text, "none");
  EXPECT_EQ(resolve(text + "Outputs: {X: {Value: !Ref A}}\n", {{"On", "no"}}).errors,
            "t.yaml:8: Outputs.X: 'A' is not there: its condition is false");
  EXPECT_EQ(resolve(text + "  C: {Type: AWS::SNS::Topic, Condition: IsOm}\n").errors,
            "t.yaml:8: C.Condition: there is no condition 'IsOm' (did you mean 'IsOn'?)");
}

TEST(Template, CyclesAreFound) {
  EXPECT_EQ(resolve("Conditions:\n  A: !Not [!Condition B]\n  B: !Condition A\nResources: {}\n").errors,
            "t.yaml:2: Conditions.A: the condition depends on itself");
  EXPECT_EQ(resolve("Resources:\n"
                    "  A: {Type: AWS::SNS::Topic, Properties: {TopicName: !GetAtt B.TopicName}}\n"
                    "  B: {Type: AWS::SNS::Topic, Properties: {TopicName: !Sub 'x${A}'}}\n")
                .errors,
            "t.yaml:2: A: its name depends on itself: A -> B -> A");
  EXPECT_EQ(resolve("Resources:\n"
                    "  Before: {Type: AWS::SNS::Topic, DependsOn: A}\n"
                    "  A: {Type: AWS::SNS::Topic, DependsOn: [Last, B]}\n"
                    "  B: {Type: AWS::SNS::Topic, DependsOn: C}\n"
                    "  C: {Type: AWS::SNS::Topic, DependsOn: A}\n"
                    "  Last: {Type: AWS::SNS::Topic}\n")
                .errors,
            "t.yaml:3: A.DependsOn: resources depend on each other: A -> B -> C -> A");
  EXPECT_EQ(resolve("Resources:\n"
                    "  A: {Type: AWS::SNS::Topic, DependsOn: [B, C]}\n"
                    "  B: {Type: AWS::SNS::Topic, DependsOn: C}\n"
                    "  C: {Type: AWS::SNS::Topic}\n")
                .errors,
            "");
  EXPECT_NE(resolve("Resources:\n  A: {Type: AWS::SNS::Topic, DependsOn: A}\n").errors.find("A -> A"),
            std::string::npos);
  // Names that double at each step stay bounded.
  std::string doubling = "Resources:\n  T0: {Type: AWS::SNS::Topic, Properties: {TopicName: 0123456789}}\n";
  for (int i = 1; i < 40; ++i) {
    std::string before = "${T" + std::to_string(i - 1) + ".TopicName}";
    doubling += "  T" + std::to_string(i) + ": {Type: AWS::SNS::Topic, Properties: {TopicName: !Sub '" + before +
                before + "'}}\n";
  }
  EXPECT_NE(resolve(doubling).errors.find("Fn::Sub makes more than 64 KB of text"), std::string::npos);
}

std::string times(size_t count, const std::string& text) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i ? ", " : "") + text;
  return out;
}

// None of these has 100 KB; worked out, each would have hundreds of megabytes.
TEST(Template, SmallTemplatesThatComeToAGreatDealAreRefused) {
  const std::string topic = "Resources: {T: {Type: 'AWS::SNS::Topic'}}\n";
  const std::string commas(20'000, ',');
  const std::string many = "Parameters: {Many: {Type: CommaDelimitedList, Default: '" + commas + "'}}\n";
  std::string anchors = "Metadata: ";
  for (int i = 0; i < 40; ++i) anchors += "[&a" + std::to_string(i) + " ";
  anchors += "[" + times(20'000, "x") + "]" + std::string(40, ']') + "\n";
  std::string globals = "Globals: {Function: {Environment: {Variables: {";
  for (int i = 0; i < 1000; ++i) globals += "A" + std::to_string(i) + ": &a x, ";
  globals += "}}}}\nResources:\n";
  for (int i = 0; i < 400; ++i) globals += "  F" + std::to_string(i) + ": {Type: 'AWS::Serverless::Function'}\n";
  const std::vector<std::pair<std::string, std::string>> table{
      {"aliases", "Metadata: {a: &a '" + std::string(40'000, 'x') + "', list: [" + times(8'000, "*a") + "]}\n" + topic},
      {"anchors", anchors + topic},
      {"splits", "Parameters: {P: {Type: String, Default: '" + commas + "'}}\n" + topic +
                     "Outputs: {X: {Value: !Length [" + times(1'000, "!Split [',', !Ref P]") + "]}}\n"},
      {"lists", many + topic + "Outputs: {X: {Value: [" + times(1'000, "!Ref Many") + "]}}\n"},
      {"a parameter", many + topic},
      {"maps", "Mappings: {M: {a: {b: [" + times(20'000, "x") + "]}}}\n" + topic + "Outputs: {X: {Value: [" +
                   times(1'000, "!FindInMap [M, a, b]") + "]}}\n"},
      {"texts", "Parameters: {P: {Type: String, Default: '" + std::string(60'000, 'x') + "'}}\n" + topic +
                    "Outputs: {X: {Value: [" + times(1'000, "!Sub 'y${P}'") + "]}}\n"},
      {"globals", globals},
  };
  for (const auto& [what, text] : table) {
    EXPECT_LT(text.size(), 110'000u) << what;
    const std::string errors =
        resolve(text, what == "a parameter" ? std::map<std::string, std::string>{{"Many", std::string(400'000, ',')}}
                                            : std::map<std::string, std::string>{})
            .errors;
    EXPECT_NE(errors.find("the template has more than 250000 values or 16 MiB of text"), std::string::npos)
        << what << ": " << errors.substr(0, 300);
  }
}

TEST(Template, ADocumentOfTheLargestSizeFits) {
  std::string text = "Resources:\n  T:\n    Type: AWS::SNS::Topic\n    Properties:\n      Tags: [" +
                     times(49'900, "'12345678901234'") + "]\n";
  ASSERT_GT(text.size(), 890'000u);
  EXPECT_EQ(resolve(text).errors, "");
}

// The stack is bounded, too.
TEST(Template, NamesAndConditionsThatLeadFromOneToTheNextHaveABound) {
  const auto names = [](int count) {
    std::string text = "Resources:\n";
    for (int i = 0; i < count; ++i) {
      const std::string name = i + 1 < count ? "!Ref T" + std::to_string(i + 1) : "last";
      text += " T" + std::to_string(i) + ": {Type: 'AWS::Serverless::SimpleTable', Properties: {TableName: " + name +
              "}}\n";
    }
    return text;
  };
  const auto conditions = [](int count) {
    std::string text = "Resources: {T: {Type: 'AWS::SNS::Topic'}}\nConditions:\n";
    for (int i = 0; i < count; ++i) {
      const auto name = [](int number) { return "C" + std::to_string(100'000 + number); };
      text +=
          " " + name(i) + ": " + (i + 1 < count ? "!Not [!Condition " + name(i + 1) + "]" : "!Equals [a, a]") + "\n";
    }
    return text;
  };
  EXPECT_EQ(resolve(names(50)).errors, "");
  EXPECT_EQ(resolve(conditions(50)).errors, "");
  for (const std::string& text : {names(6'000), conditions(11'000)}) {
    EXPECT_NE(resolve(text).errors.find("names and conditions lead from one to the next, more than 250 levels deep"),
              std::string::npos);
  }
}

TEST(Template, LongTextIsCutInMessages) {
  const std::string name(100'000, 'x');
  const std::string errors = resolve("Resources:\n  T:\n    Type: AWS::SNS::Topic\n    ? " + name + "\n    : {? " +
                                     name + " : 1}\n    Properties: {TopicName: !Ref " + name + "y, A: !Sub '${" +
                                     name + "}', B: {? " + name + " : {? 'Fn::" + name + "' : 1}}}\n")
                                 .errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 3) << "four faults";
  EXPECT_LT(errors.size(), 10'000u);
}

TEST(Template, ManyFaultsStayBounded) {
  std::string text = "Resources:\n";
  for (int i = 0; i < 3000; ++i) {
    std::string id = "T" + std::to_string(100000 + i);
    text += "  " + id + ": {Type: AWS::SNS::Topic, Properties: {TopicName: !Ref X" + id + "}}\n";
  }
  std::string errors = resolve(text).errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 500);
  EXPECT_NE(errors.find("t.yaml: and more"), std::string::npos);
}

TEST(Template, GlobalsAreMergedAsSamDoes) {
  Resolved out = resolve(
      "Globals:\n"
      "  Function:\n"
      "    Timeout: 7\n"
      "    Environment: {Variables: {A: 1, B: 2}}\n"
      "    Layers: [one]\n"
      "Resources:\n"
      "  F:\n"
      "    Type: AWS::Serverless::Function\n"
      "    Properties:\n"
      "      Environment: {Variables: {B: 3, C: 4}}\n"
      "      Layers: [two]\n"
      "  G: {Type: AWS::Serverless::Function}\n"
      "  H: {Type: AWS::Lambda::Function, Properties: {Timeout: 1}}\n");
  EXPECT_EQ(out.errors, "");
  EXPECT_EQ(to_json(out.value.resources.at(0).properties),
            R"({"Environment":{"Variables":{"B":3,"C":4,"A":1}},"Layers":["one","two"],"Timeout":7})");
  EXPECT_EQ(out.value.resources.at(1).properties.find("Timeout")->text, "7");
  EXPECT_EQ(to_json(out.value.resources.at(2).properties), R"({"Timeout":1})");
}

TEST(Template, WhatIsNotSupportedIsNamed) {
  Resolved out = resolve(
      "AWSTemplateFormatVersion: '2010-09-09'\n"
      "Transform: [AWS::Serverless-2016-10-31]\n"
      "Rules: {}\n"
      "Resources:\n"
      "  Role: {Type: AWS::IAM::Role}\n"
      "  Bucket: {Type: AWS::S3::Bucket}\n"
      "  Topic: {Type: AWS::SNS::Topic, DeletionPolicy: Retain, DependsOn: [Role]}\n");
  EXPECT_EQ(out.errors, "");
  std::vector<std::string> warnings;
  for (const Diagnostic& one : out.warnings) warnings.push_back(one.to_string());
  EXPECT_EQ(warnings, (std::vector<std::string>{
                          "t.yaml:3: Rules: has no effect here: rules about parameters are not checked",
                          "t.yaml:5: Role.Type: AWS::IAM::Role has no effect here: access is not checked by role",
                          "t.yaml:6: Bucket.Type: the type AWS::S3::Bucket is not supported: the resource is left out, "
                          "and references to it are errors",
                          "t.yaml:7: Topic.DeletionPolicy: has no effect here: a deployment never deletes a table or "
                          "its items"}));
  EXPECT_EQ(out.value.resources.size(), 1u);
}

TEST(Template, WrongSectionsAndResources) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"Description: x\n", "t.yaml:1: there is no section Resources"},
      {"Resource: {}\nResources: {}\n", "t.yaml:1: Resource: not known here (did you mean 'Resources'?)"},
      {"AWSTemplateFormatVersion: '2011'\nResources: {}\n", "t.yaml:1: AWSTemplateFormatVersion: '2011' is unknown"},
      {"Transform: AWS::Macro\nResources: {}\n", "t.yaml:1: Transform: 'AWS::Macro' is not supported"},
      {"Resources: [a]\n", "t.yaml:1: Resources: expected a map, found a list"},
      {"Resources:\n  A:\n", "t.yaml:2: A: the resource is empty"},
      {"Resources:\n  A: {}\n", "t.yaml:2: A: Type is missing"},
      {"Resources:\n  A: {Type: AWS::SNS::Topi}\n",
       "t.yaml:2: A.Type: the type AWS::SNS::Topi is not supported (did you mean 'AWS::SNS::Topic'?)"},
      {"Resources:\n  a-b: {Type: AWS::SNS::Topic}\n", "t.yaml:2: a-b: a logical id consists of letters and digits"},
      {"Resources:\n  A: {Type: AWS::SNS::Topic, DependsOn: B}\n", "t.yaml:2: A.DependsOn: 'B' is no resource"},
      {"Resources:\n  A: {Type: AWS::SNS::Topic, Propertys: {}}\n",
       "t.yaml:2: A.Propertys: not known here (did you mean 'Properties'?)"},
      {"Resources:\n  A: {Type: AWS::S3::Bucket}\nOutputs:\n  X: {Value: !Ref A}\n",
       "t.yaml:4: Outputs.X: 'A' is a AWS::S3::Bucket, which is not supported here"},
      {"Resources: {}\nOutputs:\n  X: {Description: d}\n", "t.yaml:3: Outputs.X: Value is missing"},
  };
  for (const auto& [text, expected] : table) {
    EXPECT_EQ(resolve(text).errors.substr(0, expected.size()), expected) << text;
  }
}

}  // namespace
}  // namespace freshet
