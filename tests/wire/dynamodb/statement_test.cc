#include "tests/wire/dynamodb/protocol_fixture.h"

namespace freshet {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += (c == '"' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  return out + '"';
}

class StatementTest : public DynamoDbTest {
 protected:
  StatementTest() {
    ok("CreateTable", R"({"TableName":"Pairs","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},
                              {"AttributeName":"q","AttributeType":"S"}],
      "KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
      "GlobalSecondaryIndexes":[{"IndexName":"by-q","Projection":{"ProjectionType":"KEYS_ONLY"},
        "KeySchema":[{"AttributeName":"q","KeyType":"HASH"}]}]})");
  }
  // A statement's request; `more` are further members, each with a comma before.
  static std::string request(const std::string& statement, const std::string& more = {}) {
    return R"({"Statement":)" + quoted(statement) + more + "}";
  }
  std::string run(const std::string& statement, const std::string& more = {}) {
    return ok("ExecuteStatement", request(statement, more));
  }
  std::string refused(const std::string& statement, const std::string& more = {}) {
    return error("ExecuteStatement", request(statement, more));
  }
  // The requests of several, as BatchExecuteStatement and ExecuteTransaction have them.
  static std::string several(const std::string& member, const std::vector<std::string>& requests,
                             const std::string& more = {}) {
    std::string list;
    for (const auto& one : requests) list += (list.empty() ? "" : ",") + one;
    return "{\"" + member + "\":[" + list + "]" + more + "}";
  }
  std::string batch(const std::vector<std::string>& requests, const std::string& more = {}) {
    return ok("BatchExecuteStatement", several("Statements", requests, more));
  }
  std::string transact(const std::vector<std::string>& requests, const std::string& more = {}) {
    return ok("ExecuteTransaction", several("TransactStatements", requests, more));
  }
  std::string cancelled(const std::vector<std::string>& requests) {
    const HttpResponse response = send("ExecuteTransaction", several("TransactStatements", requests));
    EXPECT_EQ(response.status, 400);
    const size_t from = response.body.find("\"Message\"");
    return from == std::string::npos ? response.body : response.body.substr(from);
  }
  void fill() {
    for (const char* p : {"a", "b"}) {
      for (int s = 1; s <= 3; ++s) {
        run("INSERT INTO Pairs VALUE {'p':'" + std::string(p) + "','s':" + std::to_string(s) + "}");
      }
    }
  }
  // The sort keys of a SELECT in their order, page by page: "1 2|3".
  std::string keys(const std::string& statement, int limit = 0) {
    std::string out;
    std::string more = limit == 0 ? "" : ",\"Limit\":" + std::to_string(limit);
    std::string token;
    do {
      JsonDocument document;
      const auto answer =
          document.parse(run(statement, more + (token.empty() ? "" : ",\"NextToken\":\"" + token + "\"")));
      if (!answer) return "no answer";
      if (!token.empty()) out += '|';
      for (const JsonView item : *answer->find("Items")) {
        out += (out.empty() || out.ends_with('|') ? "" : " ") + std::string(*(*item.find("s")).string_or("N"));
      }
      token = std::string(*answer->string_or("NextToken"));
    } while (!token.empty());
    return out;
  }
};

constexpr const char* kMalformed = "ValidationException: Statement wasn't well formed, can't be processed: ";

TEST_F(StatementTest, WritesAndReads) {
  EXPECT_EQ(run("INSERT INTO \"Pairs\" VALUE {'p':'a','s':1,'m':{'k':[1,2]},'n':?}", R"(,"Parameters":[{"N":"5"}])"),
            R"({"Items":[]})");
  EXPECT_EQ(refused("INSERT INTO Pairs VALUE {'p':'a','s':1}"),
            "DuplicateItemException: Duplicate primary key exists in table");
  EXPECT_EQ(run("SELECT * FROM Pairs WHERE p='a' AND s=1"),
            R"({"Items":[{"m":{"M":{"k":{"L":[{"N":"1"},{"N":"2"}]}}},"n":{"N":"5"},"p":{"S":"a"},"s":{"N":"1"}}]})");
  EXPECT_EQ(run("SELECT n, m.k[1], none FROM Pairs WHERE p=?", R"(,"Parameters":[{"S":"a"}])"),
            R"({"Items":[{"k[1]":{"N":"2"},"n":{"N":"5"}}]})");
  EXPECT_EQ(run("UPDATE Pairs SET n=n+1 SET m.k[5]='x' WHERE p='a' AND s=1 AND n=5 RETURNING MODIFIED NEW *"),
            R"({"Items":[{"m":{"M":{"k":{"L":[{"S":"x"}]}}},"n":{"N":"6"}}]})");
  EXPECT_EQ(run("UPDATE Pairs REMOVE n WHERE p='a' AND s=1 RETURNING MODIFIED NEW *"), R"({"Items":[]})");
  EXPECT_EQ(refused("UPDATE Pairs SET n=1 WHERE p='z' AND s=1"),
            "ConditionalCheckFailedException: The conditional request failed");
  EXPECT_EQ(run("DELETE FROM Pairs WHERE p='z' AND s=1 AND n=1 RETURNING ALL OLD *"), R"({"Items":[]})");
  const HttpResponse kept = send("ExecuteStatement", request("DELETE FROM Pairs WHERE p='a' AND s=1 AND n=9",
                                                             R"(,"ReturnValuesOnConditionCheckFailure":"ALL_OLD")"));
  EXPECT_EQ(kept.body,
            R"({"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":)"
            R"("The conditional request failed","Item":{"m":{"M":{"k":{"L":[{"N":"1"},{"N":"2"},{"S":"x"}]}}},)"
            R"("p":{"S":"a"},"s":{"N":"1"}}})");
  EXPECT_EQ(run("DELETE FROM Pairs WHERE p='a' AND s=1 RETURNING ALL OLD *", R"(,"ReturnConsumedCapacity":"TOTAL")"),
            R"({"Items":[{"m":{"M":{"k":{"L":[{"N":"1"},{"N":"2"},{"S":"x"}]}}},"p":{"S":"a"},"s":{"N":"1"}}],)"
            R"("ConsumedCapacity":{"TableName":"Pairs","CapacityUnits":1.0}})");
}

// A statement has no parameters that could be counted, and no expressions.
TEST_F(StatementTest, FaultsOfTheStoreAreToldAsTheStatements) {
  run("INSERT INTO Pairs VALUE {'p':'a','s':1}");
  const std::string overlap = "Two document paths overlap with each other; ";
  EXPECT_EQ(refused("UPDATE Pairs SET x=1 SET x.y=2 WHERE p='a' AND s=1").substr(0, 65),
            "ValidationException: " + overlap);
  EXPECT_EQ(
      refused("UPDATE Pairs SET p='b' WHERE p='a' AND s=1"),
      "ValidationException: One or more parameter values were invalid: Cannot update attribute p. This attribute is "
      "part of the key");
  EXPECT_EQ(refused("UPDATE Pairs SET q=5 WHERE p='a' AND s=1").find("1 validation error"), std::string::npos);
  const std::string answer = batch({request("UPDATE Pairs SET x=1 SET x.y=2 WHERE p='a' AND s=1")});
  EXPECT_NE(answer.find("\"Message\":\"" + overlap), std::string::npos) << answer;
}

TEST_F(StatementTest, IndexesWithSeveralKeyAttributesAreNotReadByStatements) {
  ok("CreateTable", R"({"TableName":"Matches","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"q","AttributeType":"S"},
                            {"AttributeName":"r","AttributeType":"S"},{"AttributeName":"t","AttributeType":"N"}],
    "KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],
    "GlobalSecondaryIndexes":[{"IndexName":"by-q-r","Projection":{"ProjectionType":"ALL"},
      "KeySchema":[{"AttributeName":"q","KeyType":"HASH"},{"AttributeName":"r","KeyType":"HASH"},
                   {"AttributeName":"t","KeyType":"RANGE"}]}]})");
  run("INSERT INTO Matches VALUE {'p':'a','q':'b','r':'c','t':1}");
  for (const char* where : {"", " WHERE q='b'", " WHERE q='b' AND r='c'"}) {
    EXPECT_EQ(refused(std::string("SELECT * FROM Matches.\"by-q-r\"") + where),
              "ValidationException: Statements cannot read index by-q-r: a part of its key has several attributes; use "
              "Query or Scan");
  }
}

TEST_F(StatementTest, ReadsInPagesAndInOrder) {
  fill();
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a'", 2), "1 2|3");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a'", 3), "1 2 3|");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p IN ['b','a']", 2), "1 2|3 1|2 3|");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p IN ['a','b'] ORDER BY p DESC, s DESC", 4), "3 2 1 3|2 1");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' ORDER BY s DESC"), "3 2 1");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' ORDER BY p"), "3 2 1");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' AND s > 1 AND s < 3"), "2");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' AND s <> 2"), "1 3");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' AND s IN [3,1]"), "1 3");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' AND NOT s=1 OR p='a' AND s=2"), "2 3");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' AND s IN [3, 1, 3.0]"), "1 3");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' AND (s >= 2 OR s <= 2)"), "1 2 3");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' AND (s > 2 OR s IN [1, 3]) ORDER BY s DESC"), "3 1");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE p='a' AND s=1 OR p='b' OR p='a' AND s < 3", 2), "1 2|1|2 3|");
  EXPECT_EQ(keys("SELECT s FROM Pairs WHERE s > 2").size(), 3u) << "a scan finds one of each";
  EXPECT_EQ(keys("SELECT s FROM Pairs", 1).size(), 12u);
}

TEST_F(StatementTest, TokensBelongToTheirStatement) {
  fill();
  const std::string statement = "SELECT s FROM Pairs WHERE p = ?";
  const std::string parameter = R"(,"Parameters":[{"S":"a"}])";
  JsonDocument document;
  const auto page = document.parse(run(statement, parameter + R"(,"Limit":1)"));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->find("LastEvaluatedKey")->size(), 2u);
  const std::string token = ",\"NextToken\":\"" + std::string(*page->string_or("NextToken")) + "\"";
  EXPECT_EQ(run(statement, parameter + token + R"(,"Limit":5)"), R"({"Items":[{"s":{"N":"2"}},{"s":{"N":"3"}}]})");
  EXPECT_EQ(refused(statement, R"(,"Parameters":[{"S":"b"}])" + token),
            "ValidationException: NextToken does not match request");
  EXPECT_EQ(refused("SELECT s FROM Pairs WHERE p = 'a'", token),
            "ValidationException: NextToken does not match request");
  for (const char* wrong : {"x", "AAAA", "gA==", "////////////////////////////////"}) {
    EXPECT_EQ(refused(statement, parameter + ",\"NextToken\":\"" + wrong + "\""),
              "ValidationException: Invalid NextToken");
  }
}

TEST_F(StatementTest, ReadsIndexes) {
  run("INSERT INTO Pairs VALUE {'p':'a','s':1,'q':'x','n':5}");
  run("INSERT INTO Pairs VALUE {'p':'b','s':2}");
  EXPECT_EQ(run("SELECT * FROM \"Pairs\".\"by-q\" WHERE q='x'", R"(,"ReturnConsumedCapacity":"INDEXES")"),
            R"({"Items":[{"p":{"S":"a"},"q":{"S":"x"},"s":{"N":"1"}}],"ConsumedCapacity":{"TableName":"Pairs",)"
            R"("CapacityUnits":0.5,"Table":{"CapacityUnits":0.0},"GlobalSecondaryIndexes":{"by-q":)"
            R"({"CapacityUnits":0.5}}}})");
  EXPECT_EQ(run("SELECT s FROM Pairs.\"by-q\" WHERE n=5"), R"({"Items":[]})") << "the index does not hold n";
  EXPECT_EQ(run("SELECT s FROM Pairs.\"by-q\" WHERE NOT n=5"), R"({"Items":[{"s":{"N":"1"}}]})");
  EXPECT_EQ(refused("SELECT * FROM Pairs.none"), "ValidationException: The table does not have the specified index");
}

TEST_F(StatementTest, ChecksRequests) {
  EXPECT_EQ(error("ExecuteStatement", "{}"),
            "ValidationException: 1 validation error detected: Value null at 'statement' failed to satisfy constraint: "
            "Member must not be null");
  EXPECT_EQ(refused("SELECT * FROM Pairs", R"(,"Limit":0,"Parameters":[])"),
            "ValidationException: 2 validation errors detected: Value '[]' at 'parameters' failed to satisfy "
            "constraint: Member must have length greater than or equal to 1; Value '0' at 'limit' failed to satisfy "
            "constraint: Member must have value greater than or equal to 1");
  EXPECT_EQ(
      refused(std::string(8193, 'x')).find("Member must have length less than or equal to 8192") != std::string::npos,
      true);
  EXPECT_EQ(refused("SELECT * FROM none"), "ResourceNotFoundException: Requested resource not found");
  EXPECT_EQ(refused("SELECT * FROM \"freshet.system\""), "ResourceNotFoundException: Requested resource not found");
  EXPECT_EQ(refused("SELECT * FROM Pairs WHERE"), kMalformed + std::string("Unexpected term at 1:26:0"));
  EXPECT_EQ(refused("SELECT * FROM Pairs WHERE p='a' AND n < ?", R"(,"Parameters":[{"BOOL":true}])"),
            "ValidationException: Incorrect operand type for operator or function; operator or function: <, operand "
            "type: BOOL");
  EXPECT_EQ(refused("UPDATE Pairs SET l[0]=1 WHERE p='a' AND s=1"),
            "ConditionalCheckFailedException: The conditional request failed");
  run("INSERT INTO Pairs VALUE {'p':'a','s':1}");
  EXPECT_EQ(refused("UPDATE Pairs SET l[0]=1 WHERE p='a' AND s=1"),
            "ValidationException: The document path provided in the update expression is invalid for update");
  EXPECT_EQ(refused("UPDATE Pairs SET WHERE", R"(,"Parameters":[{"SS":["a","a"]}])"),
            "ValidationException: One or more parameter values were invalid: Input collection [a, a] contains "
            "duplicates.")
      << "parameters come first";
  EXPECT_EQ(error("ExecuteStatement", R"({"Statement":5})").substr(0, 23), "SerializationException:");
}

TEST_F(StatementTest, AnswersEachStatementOfABatch) {
  EXPECT_EQ(
      batch({request("INSERT INTO Pairs VALUE {'p':'a','s':1,'n':5}"), request("SLECT"),
             request("INSERT INTO Pairs VALUE {'p':'a','s':1}", R"(,"ReturnValuesOnConditionCheckFailure":"ALL_OLD")"),
             request("UPDATE none SET a=1 WHERE p='a'"), request("DELETE FROM Pairs WHERE p='a'"),
             request("UPDATE Pairs SET n=? WHERE p='a' AND s=1", R"(,"Parameters":[{"SS":[]}])"),
             request("UPDATE Pairs SET n=6 WHERE p='a' AND s=1 RETURNING ALL OLD *")},
            R"(,"ReturnConsumedCapacity":"TOTAL")"),
      R"({"Responses":[{"TableName":"Pairs"},{"Error":{"Code":"ValidationError","Message":)"
      R"("Statement wasn't well formed, can't be processed: Expected data manipulation at 1:1:5"}},)"
      R"({"Error":{"Code":"DuplicateItem","Message":"Duplicate primary key exists in table","Item":)"
      R"({"n":{"N":"5"},"p":{"S":"a"},"s":{"N":"1"}}},"TableName":"Pairs"},)"
      R"({"Error":{"Code":"ResourceNotFound","Message":"Requested resource not found"}},)"
      R"({"Error":{"Code":"ValidationError","Message":"Where clause does not contain a mandatory equality on )"
      R"(all key attributes"},"TableName":"Pairs"},)"
      R"({"Error":{"Code":"ValidationError","Message":"One or more parameter values were invalid: An string )"
      R"~(set  may not be empty"}},)~"
      R"({"Item":{"n":{"N":"5"},"p":{"S":"a"},"s":{"N":"1"}},"TableName":"Pairs"}],)"
      R"("ConsumedCapacity":[{"TableName":"Pairs","CapacityUnits":2.0}]})");
  EXPECT_EQ(batch({request("SELECT n FROM Pairs WHERE p='a' AND s=1"), request("SELECT * FROM Pairs WHERE p='a'"),
                   request("SELECT * FROM Pairs WHERE s IN [2] AND p='a'", R"(,"ConsistentRead":true)")},
                  R"(,"ReturnConsumedCapacity":"TOTAL")"),
            R"({"Responses":[{"Item":{"n":{"N":"6"}},"TableName":"Pairs"},{"Error":{"Code":"ValidationError",)"
            R"("Message":"Select statements within BatchExecuteStatement must specify the primary key in the where )"
            R"(clause."},"TableName":"Pairs"},{"TableName":"Pairs"}],)"
            R"("ConsumedCapacity":[{"TableName":"Pairs","CapacityUnits":1.5}]})");
  EXPECT_EQ(error("BatchExecuteStatement", several("Statements", {request("SELECT * FROM Pairs WHERE p='a' AND s=1"),
                                                                  request("DELETE FROM Pairs WHERE p='a' AND s=1")})),
            "ValidationException: BatchExecuteStatement API does not support both read and write operations in the "
            "same request.");
  EXPECT_EQ(error("BatchExecuteStatement", several("Statements", std::vector<std::string>(26, request("x"))))
                    .find("Member must have length less than or equal to 25") != std::string::npos,
            true);
}

TEST_F(StatementTest, WritesTransactions) {
  const std::vector<std::string> writes = {request("INSERT INTO Pairs VALUE {'p':'a','s':1,'n':1}"),
                                           request("INSERT INTO Pairs VALUE {'p':'b','s':1}")};
  EXPECT_EQ(transact(writes, R"(,"ReturnConsumedCapacity":"TOTAL","ClientRequestToken":"once")"),
            R"({"Responses":[],"ConsumedCapacity":[{"TableName":"Pairs","CapacityUnits":4.0,)"
            R"("WriteCapacityUnits":4.0}]})");
  EXPECT_EQ(transact(writes, R"(,"ReturnConsumedCapacity":"TOTAL","ClientRequestToken":"once")"),
            R"({"Responses":[],"ConsumedCapacity":[{"TableName":"Pairs","CapacityUnits":4.0,)"
            R"("ReadCapacityUnits":4.0}]})")
      << "a repeated request reads";
  EXPECT_EQ(cancelled({request("UPDATE Pairs SET n=2 WHERE p='a' AND s=1"), writes[1],
                       request("DELETE FROM Pairs WHERE p='a' AND s=5 AND n=1")}),
            R"("Message":"Transaction cancelled, please refer cancellation reasons for specific reasons )"
            R"([None, DuplicateItem, None]","CancellationReasons":[{"Code":"None"},{"Code":"DuplicateItem",)"
            R"("Message":"Duplicate primary key exists in table"},{"Code":"None"}]})");
  EXPECT_EQ(transact({request("EXISTS(SELECT * FROM Pairs WHERE p='a' AND s=1 AND n=1)"),
                      request("UPDATE Pairs SET n=3 WHERE p='b' AND s=1")}),
            R"({"Responses":[]})");
  EXPECT_EQ(cancelled({request("EXISTS(SELECT * FROM Pairs WHERE p='a' AND s=1 AND n=2)",
                               R"(,"ReturnValuesOnConditionCheckFailure":"ALL_OLD")"),
                       request("UPDATE Pairs SET n=4 WHERE p='b' AND s=1")}),
            R"("Message":"Transaction cancelled, please refer cancellation reasons for specific reasons )"
            R"([ConditionalCheckFailed, None]","CancellationReasons":[{"Code":"ConditionalCheckFailed",)"
            R"("Message":"The conditional request failed","Item":{"n":{"N":"1"},"p":{"S":"a"},"s":{"N":"1"}}},)"
            R"({"Code":"None"}]})");
  EXPECT_EQ(cancelled({request("UPDATE none SET n=4 WHERE p='b' AND s=1"), writes[0]}),
            R"("Message":"Transaction cancelled, please refer cancellation reasons for specific reasons )"
            R"([ResourceNotFound, None]","CancellationReasons":[{"Code":"ResourceNotFound","Message":)"
            R"("Requested resource not found"},{"Code":"None"}]})");
  EXPECT_EQ(cancelled({request("UPDATE Pairs SET n=4 WHERE p='b'")}),
            R"("Message":"Transaction cancelled, please refer cancellation reasons for specific reasons )"
            R"([ValidationError]","CancellationReasons":[{"Code":"ValidationError","Message":)"
            R"("The provided key element does not match the schema"}]})");
}

TEST_F(StatementTest, ReadsTransactions) {
  run("INSERT INTO Pairs VALUE {'p':'a','s':1,'m':{'k':7}}");
  EXPECT_EQ(transact({request("SELECT m.k FROM Pairs WHERE p='a' AND s=1"),
                      request("SELECT * FROM Pairs WHERE p='a' AND s=2")},
                     R"(,"ReturnConsumedCapacity":"TOTAL")"),
            R"({"Responses":[{"Item":{"k":{"N":"7"}}},{}],"ConsumedCapacity":[{"TableName":"Pairs",)"
            R"("CapacityUnits":4.0,"ReadCapacityUnits":4.0}]})");
  const auto refuses = [&](const std::vector<std::string>& requests) {
    return error("ExecuteTransaction", several("TransactStatements", requests));
  };
  constexpr const char* kFirst = "ValidationException: Validation failed in TransactStatements[0]: ";
  EXPECT_EQ(
      refuses({request("SELECT * FROM Pairs WHERE p='a'")}),
      kFirst + std::string("Select statements within ExecuteTransaction must specify the primary key in the where "
                           "clause."));
  EXPECT_EQ(refuses({request("SELECT * FROM Pairs.\"by-q\" WHERE q='a'")}),
            kFirst + std::string("Reads on indices are not supported within transactions."));
  EXPECT_EQ(refuses({request("UPDATE Pairs SET a=1 WHERE p='a' AND s=1 RETURNING ALL NEW *")}),
            kFirst + std::string("RETURNING clause is not supported in ExecuteTransaction."));
  EXPECT_EQ(refuses({request("SELECT * FROM Pairs WHERE")}),
            kFirst + std::string("Statement wasn't well formed, can't be processed: Unexpected term at 1:26:0"));
  EXPECT_EQ(
      refuses({request("SELECT * FROM Pairs WHERE p='a' AND s=1"), request("DELETE FROM Pairs WHERE p='a' AND s=2")}),
      "ValidationException: ExecuteTransaction API does not support both read and write operations in the same "
      "request.");
  EXPECT_EQ(
      refuses({request("SELECT * FROM Pairs WHERE p='a' AND s=1"), request("SELECT p FROM Pairs WHERE p='a' AND s=1")}),
      "ValidationException: Transaction request cannot include multiple operations on one item");
}

// Many keys, each with much to read: pages end, so that no turn of the loop takes long, and nothing is lost.
TEST_F(StatementTest, BoundsWhatOnePageReads) {
  for (int p = 0; p < 8; ++p) {
    run("INSERT INTO Pairs VALUE {'p':'" + std::to_string(p) + "','s':" + std::to_string(p) + ",'b':?}",
        R"(,"Parameters":[{"S":")" + std::string(300'000, 'x') + R"("}])");
  }
  const std::string all = "SELECT s FROM Pairs WHERE p IN ['0','1','2','3','4','5','6','7']";
  EXPECT_EQ(keys(all), "0 1 2 3|4 5 6 7");
  const std::string large = R"(,"Parameters":[{"S":")" + std::string(600'000, 'y') + R"("}])";
  const std::string page = run(all + " AND b <> ?", large);
  EXPECT_NE(page.find("NextToken"), std::string::npos);
  EXPECT_EQ(page.find(R"("N":"3")"), std::string::npos) << "each read takes a copy of the parameter";
}

}  // namespace
}  // namespace freshet
