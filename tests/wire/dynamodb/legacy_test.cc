#include <gmock/gmock.h>

#include "tests/wire/dynamodb/protocol_fixture.h"

namespace freshet {
namespace {

using testing::HasSubstr;

class LegacyTest : public DynamoDbTest {
 protected:
  LegacyTest() {
    make_tasks();
    put(R"({"id":{"S":"a"},"n":{"N":"5"},"s":{"S":"hello"},"tags":{"SS":["x","y"]}})");
  }
  void put(const std::string& item) { ok("PutItem", R"({"TableName":"Tasks","Item":)" + item + "}"); }
  // The result of a put of item "a" under that Expected: accepted, or the error.
  std::string expect(const std::string& expected, const std::string& more = {}) {
    const HttpResponse response =
        send("DeleteItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"Expected":{)" + expected + "}" + more + "}");
    if (response.status == 200) {
      put(R"({"id":{"S":"a"},"n":{"N":"5"},"s":{"S":"hello"},"tags":{"SS":["x","y"]}})");
      return "yes";
    }
    if (response.body.find("ConditionalCheckFailed") != std::string::npos) return "no";
    return response.body.substr(response.body.find("\"message\":") + 11);
  }
  static std::string compared(const std::string& attribute, const std::string& op, const std::string& values) {
    return "\"" + attribute + R"(":{"ComparisonOperator":")" + op + R"(","AttributeValueList":[)" + values + "]}";
  }
  std::string update(const std::string& updates) {
    ok("UpdateItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"AttributeUpdates":{)" + updates + "}}");
    return ok("GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}}})");
  }
  std::string update_refused(const std::string& updates) {
    return error("UpdateItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"AttributeUpdates":{)" + updates + "}}");
  }
};

TEST_F(LegacyTest, EveryOperatorOfExpected) {
  EXPECT_EQ(expect(R"("n":{"Value":{"N":"5"}})"), "yes");
  EXPECT_EQ(expect(R"("n":{"Value":{"N":"6"}})"), "no");
  EXPECT_EQ(expect(R"("none":{"Exists":false})"), "yes");
  EXPECT_EQ(expect(R"("n":{"Exists":false})"), "no");
  EXPECT_EQ(expect(R"("n":{"Exists":true,"Value":{"N":"5"}})"), "yes");
  struct Case {
    const char* attribute;
    const char* op;
    const char* values;
    const char* answer;
  };
  for (const Case& c : std::initializer_list<Case>{{"n", "EQ", R"({"N":"5"})", "yes"},
                                                   {"n", "NE", R"({"N":"5"})", "no"},
                                                   {"none", "NE", R"({"N":"5"})", "yes"},
                                                   {"n", "LT", R"({"N":"6"})", "yes"},
                                                   {"n", "LE", R"({"N":"4"})", "no"},
                                                   {"n", "GT", R"({"N":"4"})", "yes"},
                                                   {"n", "GE", R"({"N":"6"})", "no"},
                                                   {"n", "BETWEEN", R"({"N":"1"},{"N":"9"})", "yes"},
                                                   {"n", "IN", R"({"N":"1"},{"N":"5"})", "yes"},
                                                   {"n", "IN", R"({"N":"1"})", "no"},
                                                   {"none", "NULL", "", "yes"},
                                                   {"n", "NULL", "", "no"},
                                                   {"n", "NOT_NULL", "", "yes"},
                                                   {"s", "CONTAINS", R"({"S":"ell"})", "yes"},
                                                   {"tags", "CONTAINS", R"({"S":"x"})", "yes"},
                                                   {"tags", "NOT_CONTAINS", R"({"S":"x"})", "no"},
                                                   {"tags", "NOT_CONTAINS", R"({"S":"z"})", "yes"},
                                                   {"none", "NOT_CONTAINS", R"({"S":"z"})", "no"},
                                                   {"s", "BEGINS_WITH", R"({"S":"he"})", "yes"},
                                                   {"s", "BEGINS_WITH", R"({"S":"el"})", "no"}}) {
    EXPECT_EQ(expect(compared(c.attribute, c.op, c.values)), c.answer) << c.attribute << " " << c.op << " " << c.values;
  }
  const std::string both = compared("n", "EQ", R"({"N":"5"})") + "," + compared("s", "EQ", R"({"S":"other"})");
  EXPECT_EQ(expect(both), "no");
  EXPECT_EQ(expect(both, R"(,"ConditionalOperator":"OR")"), "yes");
}

TEST_F(LegacyTest, ExpectedIsChecked) {
  const std::string wrong = "One or more parameter values were invalid: ";
  EXPECT_THAT(expect(R"("n":{})"), HasSubstr(wrong + "Value must be provided when Exists is null for Attribute: n"));
  EXPECT_THAT(expect(R"("n":{"Exists":true})"), HasSubstr(wrong + "Value must be provided when Exists is true for"));
  EXPECT_THAT(expect(R"("n":{"Exists":false,"Value":{"N":"1"}})"),
              HasSubstr(wrong + "Value cannot be used when Exists is false for Attribute: n"));
  EXPECT_THAT(expect(R"("n":{"Exists":false,"ComparisonOperator":"NULL"})"),
              HasSubstr(wrong + "Exists and ComparisonOperator cannot be used together for Attribute: n"));
  EXPECT_THAT(expect(R"("n":{"Value":{"N":"1"},"AttributeValueList":[{"N":"1"}],"ComparisonOperator":"EQ"})"),
              HasSubstr(wrong + "Value and AttributeValueList cannot be used together for Attribute: n"));
  EXPECT_THAT(expect(R"("n":{"AttributeValueList":[{"N":"1"}]})"),
              HasSubstr(wrong + "AttributeValueList can only be used with a ComparisonOperator for Attribute: n"));
  EXPECT_THAT(expect(compared("n", "EQ", "")),
              HasSubstr(wrong + "Invalid number of argument(s) for the EQ ComparisonOperator"));
  EXPECT_THAT(expect(compared("n", "LT", R"({"SS":["a"]})")),
              HasSubstr(wrong + "ComparisonOperator LT is not valid for SS AttributeValue type"));
  EXPECT_THAT(expect(compared("n", "IN", R"({"S":"a"},{"N":"1"})")),
              HasSubstr(wrong + "AttributeValues inside AttributeValueList must be of same type"));
  EXPECT_THAT(expect(compared("n", "BETWEEN", R"({"N":"2"},{"N":"1"})")),
              HasSubstr("lower bound is greater than the upper bound"));
  EXPECT_THAT(expect(R"("n":{"Value":{"N":"5"}})", R"(,"ConditionalOperator":"AND")"),
              HasSubstr("ConditionalOperator can only be used when Filter or Expected has two or more elements"));
  EXPECT_THAT(expect(compared("n", "LIKE", "")),
              HasSubstr("Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, "
                        "NE, LE, BEGINS_WITH, GE, CONTAINS]"));
}

TEST_F(LegacyTest, AttributeUpdates) {
  EXPECT_EQ(
      update(R"("n":{"Action":"ADD","Value":{"N":"2"}},"s":{"Action":"DELETE"},)"
             R"("tags":{"Action":"DELETE","Value":{"SS":["x"]}},"new":{"Value":{"S":"put"}},)"
             R"("list":{"Action":"ADD","Value":{"L":[{"S":"one"}]}})"),
      R"({"Item":{"id":{"S":"a"},"list":{"L":[{"S":"one"}]},"n":{"N":"7"},"new":{"S":"put"},"tags":{"SS":["y"]}}})");
  EXPECT_THAT(
      update(R"("list":{"Action":"ADD","Value":{"L":[{"S":"two"}]}},"tags":{"Action":"ADD","Value":{"SS":["z"]}})"),
      HasSubstr(R"("list":{"L":[{"S":"one"},{"S":"two"}]})"));
  const std::string invalid = "One or more parameter values were invalid: ";
  const std::string wrong = "ValidationException: " + invalid;
  EXPECT_EQ(update_refused(R"("n":{"Action":"PUT"})"),
            wrong + "Only DELETE action is allowed when no attribute value is specified");
  EXPECT_EQ(update_refused(R"("n":{"Action":"ADD","Value":{"S":"x"}})"),
            wrong + "ADD action is not supported for the type S");
  EXPECT_EQ(update_refused(R"("n":{"Action":"DELETE","Value":{"N":"1"}})"),
            wrong + "DELETE action with value is not supported for the type N");
  EXPECT_EQ(update_refused(R"("id":{"Value":{"S":"b"}})"),
            "ValidationException: " + invalid + "Cannot update attribute id. This attribute is part of the key");
  EXPECT_EQ(ok("UpdateItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"AttributeUpdates":{"n":{"Action":"ADD",
                "Value":{"N":"1"}}},"Expected":{"n":{"Value":{"N":"7"}}},"ReturnValues":"UPDATED_NEW"})"),
            R"({"Attributes":{"n":{"N":"8"}}})");
}

TEST_F(LegacyTest, QueriesScansAndProjections) {
  put(R"({"id":{"S":"b"},"state":{"S":"open"},"at":{"N":"1"},"a.b":{"S":"dotted"}})");
  put(R"({"id":{"S":"c"},"state":{"S":"open"},"at":{"N":"2"}})");
  const std::string by_state = R"({"TableName":"Tasks","IndexName":"by-state","KeyConditions":{)";
  const std::string open = compared("state", "EQ", R"({"S":"open"})");
  EXPECT_THAT(
      ok("Query", by_state + open + "," + compared("at", "GT", R"({"N":"1"})") + R"(},"AttributesToGet":["id"]})"),
      HasSubstr(R"({"Items":[{"id":{"S":"c"}}],"Count":1)"));
  EXPECT_THAT(
      ok("Query", by_state + open + R"(},"QueryFilter":{)" + compared("id", "BEGINS_WITH", R"({"S":"b"})") + "}}"),
      HasSubstr(R"("Count":1,"ScannedCount":2)"));
  EXPECT_EQ(error("Query", by_state + open + "," + compared("at", "NE", R"({"N":"1"})") + "}}"),
            "ValidationException: Attempted conditional constraint is not an indexable operation");
  EXPECT_EQ(error("Query", by_state + "}}"), "ValidationException: Conditions can be of length 1 or 2 only");
  EXPECT_THAT(ok("Scan", R"({"TableName":"Tasks","Select":"COUNT","ConditionalOperator":"OR","ScanFilter":{)" +
                             compared("at", "EQ", R"({"N":"2"})") + "," + compared("n", "NOT_NULL", "") + "}}"),
              HasSubstr(R"("Count":2)"));
  EXPECT_EQ(ok("GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":"b"}},"AttributesToGet":["a.b","none"]})"),
            R"({"Item":{"a.b":{"S":"dotted"}}})");
  EXPECT_EQ(error("GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":"b"}},"AttributesToGet":["x","x"]})"),
            "ValidationException: One or more parameter values were invalid: Duplicate value in attribute name: x");
  EXPECT_THAT(ok("BatchGetItem", R"({"RequestItems":{"Tasks":{"Keys":[{"id":{"S":"b"}}],"AttributesToGet":["at"]}}})"),
              HasSubstr(R"({"Tasks":[{"at":{"N":"1"}}]})"));
}

TEST_F(LegacyTest, BothKindsDoNotMix) {
  const std::string mixed =
      "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {";
  const std::string both = "ValidationException: " + mixed;
  EXPECT_EQ(error("UpdateItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"UpdateExpression":"REMOVE n",
                "AttributeUpdates":{"n":{"Action":"DELETE"}},"Expected":{"n":{"Exists":false}}})"),
            "ValidationException: " + mixed + "AttributeUpdates, Expected} Expression parameters: {UpdateExpression}");
  EXPECT_EQ(error("Query", R"({"TableName":"Tasks","KeyConditionExpression":"id = :a","AttributesToGet":["id"],
                "ExpressionAttributeValues":{":a":{"S":"a"}}})"),
            both + "AttributesToGet} Expression parameters: {KeyConditionExpression}");
  EXPECT_THAT(ok("Query", R"({"TableName":"Tasks","KeyConditions":{"id":{"ComparisonOperator":"EQ",
                "AttributeValueList":[{"S":"a"}]}},"FilterExpression":"#n0 = :v0","ProjectionExpression":"#n0",
                "ExpressionAttributeNames":{"#n0":"s"},"ExpressionAttributeValues":{":v0":{"S":"hello"}}})"),
              HasSubstr(R"({"Items":[{"s":{"S":"hello"}}])"))
      << "but old key conditions may stand beside expressions";
  EXPECT_EQ(error("GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"AttributesToGet":["id"],
                "ExpressionAttributeNames":{"#a":"id"}})"),
            "ValidationException: ExpressionAttributeNames can only be specified when using expressions");
}

}  // namespace
}  // namespace freshet
