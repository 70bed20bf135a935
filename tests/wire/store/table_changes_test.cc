// Changes of tables on a remote store: answers that are lost, and descriptions that come late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/loop/sim_loop.h"
#include "tests/runtime/fakes.h"
#include "wire/store/remote_tables.h"

namespace freshet::remote {
namespace {

using Json = nlohmann::json;

HttpResponse answer_of(const Json& body) {
  HttpResponse response;
  response.body = body.dump();
  return response;
}

HttpResponse refusal(const std::string& name, const std::string& message) {
  HttpResponse response;
  response.status = 400;
  response.body = Json{{"__type", "com.amazonaws.dynamodb.v20120810#" + name}, {"message", message}}.dump();
  return response;
}

class OneKey final : public AccessKeySource {
 public:
  Async<Result<AccessKey>> current() override { return Result<AccessKey>(AccessKey{}); }
  void refused(const AccessKey&) override {}
};

// An engine with one table. It can lose the answer to a change, and describe the table as it was for a while.
class TableChangesTest : public testing::Test {
 protected:
  TableChangesTest() {
    http.answer = [this](const HttpRequest& request) { return serve(request); };
    wanted.name = "T";
    wanted.keys.partition = {"id", Type::kString};
  }

  Result<HttpResponse> serve(const HttpRequest& request) {
    const auto target = std::string(header(request.headers, "X-Amz-Target"));
    const std::string operation = target.substr(target.find('.') + 1);
    ++calls[operation];
    const Json body = Json::parse(request.body);
    if (operation == "DescribeTable" && failed_looks > 0 && calls["UpdateTable"] + calls["DeleteTable"] > 0) {
      --failed_looks;
      return fail(ErrorCode::kUnavailable, "the engine starts again");
    }
    if (operation == "DescribeTable") return describe();
    if (operation == "DescribeTimeToLive" && failed_ttl_looks > 0 && calls["UpdateTable"] > 0) {
      --failed_ttl_looks;
      return fail(ErrorCode::kUnavailable, "the engine is busy");
    }
    if (operation == "DescribeTimeToLive") return answer_of({{"TimeToLiveDescription", shown().ttl}});
    const auto made = change(operation, body);
    if (operation == lost && calls[operation] <= lost_answers) return fail(ErrorCode::kTimeout, "no answer");
    return made;
  }

  HttpResponse change(const std::string& operation, const Json& body) {
    if (is_deaf || lost_changes-- > 0) return answer_of(Json::object());
    if (operation == "UpdateTimeToLive" && ttl_was_changed) {
      return refusal("ValidationException", "Time to live has been modified multiple times within a fixed interval");
    }
    if (refused_changes > 0 && operation == "UpdateTable") {
      --refused_changes;
      if (when_refused) when_refused();
      return refusal(refusal_name, "Attempt to change a resource which is still in use: Index is being created");
    }
    before = state;
    sent.push_back(body);
    old_looks = late_looks;
    if (operation == "CreateTable") {
      if (state.exists) return refusal("ResourceInUseException", "Table already exists: T");
      state.exists = true;
      if (when_created) when_created();
    } else if (operation == "DeleteTable") {
      state.exists = false;
    } else if (operation == "UpdateTimeToLive") {
      const auto& wish = body["TimeToLiveSpecification"];
      const bool on = wish["Enabled"].get<bool>();
      if (on == (state.ttl["TimeToLiveStatus"] == "ENABLED")) {
        return refusal("ValidationException", on ? "TimeToLive is already enabled" : "TimeToLive is already disabled");
      }
      state.ttl = {{"TimeToLiveStatus", on ? "ENABLED" : "DISABLED"}, {"AttributeName", wish["AttributeName"]}};
    } else if (body.contains("DeletionProtectionEnabled")) {
      state.settings["DeletionProtectionEnabled"] = body["DeletionProtectionEnabled"];
    } else if (body.contains("TableClass")) {
      state.settings["TableClassSummary"] = {{"TableClass", body["TableClass"]}};
    } else if (body.contains("BillingMode")) {
      state.settings["BillingModeSummary"] = {{"BillingMode", body["BillingMode"]}};
      state.settings.erase("ProvisionedThroughput");
      if (body.contains("ProvisionedThroughput")) {
        state.settings["ProvisionedThroughput"] = body["ProvisionedThroughput"];
      }
    } else if (body.contains("StreamSpecification")) {
      const bool on = body["StreamSpecification"]["StreamEnabled"].get<bool>();
      if (on == state.streams) return refusal("ValidationException", "Table already has a stream, or none");
      state.streams = on;
    } else if (body.contains("GlobalSecondaryIndexUpdates")) {
      return change_index(body["GlobalSecondaryIndexUpdates"][0]);
    }
    return answer_of(Json::object());
  }

  HttpResponse change_index(const Json& update) {
    const bool is_made = update.contains("Create");
    const std::string name = update[is_made ? "Create" : "Delete"]["IndexName"];
    if (state.indexes.contains(name) == is_made) {
      return refusal("ValidationException", is_made ? "Attempting to create an index which already exists"
                                                    : "Requested resource not found: Index");
    }
    if (is_made) {
      state.indexes.insert(name);
    } else {
      state.indexes.erase(name);
    }
    return answer_of(Json::object());
  }

  static IndexDefinition index(const std::string& name) {
    IndexDefinition made;
    made.name = name;
    made.keys.partition = {"of-" + name, Type::kString};
    return made;
  }

  HttpResponse describe() {
    const State& now = shown();
    if (!now.exists) return refusal("ResourceNotFoundException", "Requested resource not found");
    Json table = {{"TableName", "T"},
                  {"TableStatus", "ACTIVE"},
                  {"KeySchema", {{{"AttributeName", "id"}, {"KeyType", "HASH"}}}},
                  {"AttributeDefinitions", {{{"AttributeName", "id"}, {"AttributeType", "S"}}}},
                  {"ItemCount", 0},
                  {"TableSizeBytes", 0}};
    for (const std::string& name : now.indexes) {
      const std::string key = index(name).keys.partition.name;
      table["GlobalSecondaryIndexes"].push_back({{"IndexName", name},
                                                 {"IndexStatus", "ACTIVE"},
                                                 {"KeySchema", {{{"AttributeName", key}, {"KeyType", "HASH"}}}},
                                                 {"Projection", {{"ProjectionType", "ALL"}}}});
      if (torn_looks > 0) continue;
      table["AttributeDefinitions"].push_back({{"AttributeName", key}, {"AttributeType", "S"}});
    }
    if (torn_looks > 0) --torn_looks;
    if (now.streams) table["StreamSpecification"] = {{"StreamEnabled", true}, {"StreamViewType", "KEYS_ONLY"}};
    table.update(now.settings);
    return answer_of({{"Table", std::move(table)}});
  }

  struct State {
    bool exists = false;
    bool streams = false;
    Json ttl = {{"TimeToLiveStatus", "DISABLED"}};
    Json settings = Json::object();
    std::set<std::string> indexes;
  };
  const State& shown() {
    if (old_looks == 0) return state;
    --old_looks;
    return before;
  }

  template <class T>
  T wait(Async<T> work) {
    loop.run_until([&] { return work.is_ready(); }, seconds(1200));
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop loop{clock};
  FakeHttp http;
  OneKey keys;
  Random random{1};
  Caller caller{{.endpoints = {"http://one:8000"}}, http, keys, loop, random};
  RemoteTables tables{caller, random};

  TableDefinition wanted;
  State state, before;
  std::map<std::string, int> calls;
  std::vector<Json> sent;  // The changes.
  std::string lost;        // The first answers to that operation never come.
  int lost_answers = 1;
  int late_looks = 0;  // After a change the table is described as before so many times.
  int old_looks = 0;
  int lost_changes = 0;      // It accepts so many changes, and does not make them.
  int failed_looks = 0;      // After the first UpdateTable, so many requests to describe the table fail.
  int failed_ttl_looks = 0;  // The same for its ttl.
  int torn_looks = 0;        // Descriptions that have indexes, and not the attributes of their keys.
  int refused_changes = 0;   // It refuses so many calls of UpdateTable.
  std::string refusal_name = "ResourceInUseException";
  std::function<void()> when_refused;
  std::function<void()> when_created;
  bool ttl_was_changed = false;  // Within the last hour.
  bool is_deaf = false;          // It answers changes and makes none.
};

TEST_F(TableChangesTest, ATableThatWasMadeWithoutAnAnswerIsMade) {
  lost = "CreateTable";
  wanted.ttl_attribute = "ttl";
  const auto made = wait(tables.create_table(wanted));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->definition.ttl_attribute, "ttl");
  EXPECT_EQ(calls["CreateTable"], 2) << "the second was refused, as the first had made it";
}

TEST_F(TableChangesTest, ATtlThatWasSetWithoutAnAnswerIsSet) {
  state.exists = true;
  lost = "UpdateTimeToLive";
  wanted.ttl_attribute = "ttl";
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(altered->definition.ttl_attribute, "ttl");
  EXPECT_EQ(calls["UpdateTimeToLive"], 2);
}

TEST_F(TableChangesTest, AStreamThatWasMadeWithoutAnAnswerIsMade) {
  state.exists = true;
  lost = "UpdateTable";
  wanted.stream = StreamView::kKeysOnly;
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(altered->definition.stream, StreamView::kKeysOnly);
}

TEST_F(TableChangesTest, EachLookAtATableIsOneDescription) {
  state.exists = true;
  ASSERT_TRUE(wait(tables.describe_table("T")));
  EXPECT_EQ(calls["DescribeTable"], 1);
  calls.clear();
  wanted.stream = StreamView::kKeysOnly;
  ASSERT_TRUE(wait(tables.alter_table(wanted)));
  EXPECT_EQ(calls["DescribeTable"], 4)
      << "before the change, until the table is active, after the change, as the result";
  EXPECT_EQ(calls["DescribeTimeToLive"], 4);
}

TEST_F(TableChangesTest, ADescriptionThatComesLateIsWaitedFor) {
  state.exists = true;
  late_looks = 6;
  wanted.stream = StreamView::kKeysOnly;
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(altered->definition.stream, StreamView::kKeysOnly);
  EXPECT_EQ(calls["UpdateTable"], 1);
}

TEST_F(TableChangesTest, ATtlThatWasJustChangedIsAllThatIsMissing) {
  state.exists = true;
  ttl_was_changed = true;
  wanted.ttl_attribute = "ttl";
  wanted.stream = StreamView::kKeysOnly;
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_FALSE(altered);
  EXPECT_EQ(altered.error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(
      altered.error().message,
      "the ttl of table 'T' was changed within the last hour, and the store changes it once an hour (Time to live "
      "has been modified multiple times within a fixed interval)");
  EXPECT_TRUE(state.streams);
}

TEST_F(TableChangesTest, ATtlInMillisecondsIsRefused) {
  wanted.ttl_attribute = "ttl";
  wanted.ttl_in_milliseconds = true;
  const auto made = wait(tables.create_table(wanted));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "table 'T' cannot have a ttl in milliseconds: a remote store reads seconds");
  EXPECT_TRUE(calls.empty());
}

TEST_F(TableChangesTest, SettingsGoToTheEngineOneKindAtATime) {
  state.exists = true;
  wanted.settings.throughput = Throughput{5, 6};
  wanted.settings.table_class = "STANDARD_INFREQUENT_ACCESS";
  wanted.settings.deletion_protection = true;
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(altered->definition.settings, wanted.settings);
  const Json units = {{"ReadCapacityUnits", 5}, {"WriteCapacityUnits", 6}};
  const std::vector<Json> all = {{{"TableName", "T"}, {"BillingMode", "PROVISIONED"}, {"ProvisionedThroughput", units}},
                                 {{"TableName", "T"}, {"TableClass", "STANDARD_INFREQUENT_ACCESS"}},
                                 {{"TableName", "T"}, {"DeletionProtectionEnabled", true}}};
  EXPECT_EQ(sent, all);
  ASSERT_TRUE(wait(tables.alter_table(wanted)));
  EXPECT_EQ(sent.size(), 3u) << "nothing differs";
  wanted.settings = {};
  ASSERT_TRUE(wait(tables.alter_table(wanted)));
  EXPECT_EQ(sent[3], (Json{{"TableName", "T"}, {"BillingMode", "PAY_PER_REQUEST"}}));
  EXPECT_EQ(sent.size(), 6u);
}

TEST_F(TableChangesTest, ANewTableHasItsTags) {
  wanted.settings.tags = {{"team", "a"}, {"empty", ""}};
  const auto made = wait(tables.create_table(wanted));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(sent.at(0)["Tags"], (Json::array({{{"Key", "empty"}, {"Value", ""}}, {{"Key", "team"}, {"Value", "a"}}})));
}

TEST_F(TableChangesTest, SettingsThatTheRequestsDoNotHaveAreRefused) {
  state.exists = true;
  wanted.settings.tags = {{"team", "a"}};
  auto altered = wait(tables.alter_table(wanted));
  ASSERT_FALSE(altered);
  EXPECT_EQ(altered.error().message, "table 'T': its tags are changed at the engine itself");
  wanted.settings = {};
  wanted.settings.point_in_time_recovery = true;
  altered = wait(tables.alter_table(wanted));
  ASSERT_FALSE(altered);
  EXPECT_EQ(altered.error().message, "table 'T': point-in-time recovery is switched on at the engine itself");
  EXPECT_TRUE(calls.empty());
}

TEST_F(TableChangesTest, ARefusalIsTold) {
  state.exists = true;
  const auto made = wait(tables.create_table(wanted));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kResourceInUse);
}

TEST_F(TableChangesTest, AChangeThatTheEngineLostIsSentAgain) {
  state.exists = true;
  lost_changes = 1;
  wanted.stream = StreamView::kKeysOnly;
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(altered->definition.stream, StreamView::kKeysOnly);
  EXPECT_EQ(calls["UpdateTable"], 2);
}

TEST_F(TableChangesTest, TheRefusalOfAChangeThatIsSentAgainIsNotItsOutcome) {
  state.exists = true;
  late_looks = 90;  // The first is made, and shown after it was sent again.
  wanted.stream = StreamView::kKeysOnly;
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(altered->definition.stream, StreamView::kKeysOnly);
  EXPECT_EQ(calls["UpdateTable"], 2);
}

TEST_F(TableChangesTest, AnEngineThatStartsAgainDuringAChangeIsWaitedFor) {
  state.exists = true;
  failed_looks = failed_ttl_looks = 9;
  wanted.stream = StreamView::kKeysOnly;
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(calls["UpdateTable"], 1);
  failed_looks = 100'000;
  wanted.stream.reset();
  const auto again = wait(tables.alter_table(wanted));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kUnavailable);
}

TEST_F(TableChangesTest, AnIndexThatAnotherDaemonMakesMeanwhileStays) {
  state.exists = true;
  state.indexes = {"old", "unwanted"};
  auto seen = wait(tables.describe_table("T"));
  ASSERT_TRUE(seen) << seen.error().message;
  state.indexes.insert("theirs");
  state.streams = true;
  wanted = seen->definition;
  std::erase_if(wanted.indexes, [](const IndexDefinition& one) { return one.name == "unwanted"; });
  wanted.indexes.push_back(index("ours"));
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(state.indexes, (std::set<std::string>{"old", "ours", "theirs"}));
  EXPECT_EQ(altered->definition.indexes.size(), 3u);
  EXPECT_TRUE(state.streams) << "it was switched on meanwhile";
}

TEST_F(TableChangesTest, AnIndexThatTheCallerLeavesOutIsDropped) {
  state.exists = true;
  state.indexes = {"theirs"};
  ASSERT_TRUE(wait(tables.describe_table("T")));
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_TRUE(state.indexes.empty());
}

TEST_F(TableChangesTest, AChangeOfAnotherDaemonIsWaitedFor) {
  state.exists = true;
  ASSERT_TRUE(wait(tables.describe_table("T")));
  refused_changes = 5;
  wanted.indexes.push_back(index("ours"));
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(state.indexes, std::set<std::string>{"ours"});
}

TEST_F(TableChangesTest, AnotherDaemonMayMakeTheSameIndexFirst) {
  state.exists = true;
  ASSERT_TRUE(wait(tables.describe_table("T")));
  refused_changes = 1;
  refusal_name = "ValidationException";
  when_refused = [this] { state.indexes.insert("ours"); };
  wanted.indexes.push_back(index("ours"));
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(calls["UpdateTable"], 1);
}

TEST_F(TableChangesTest, AnotherDaemonMaySetTheTtlFirst) {
  lost_changes = 0;
  wanted.ttl_attribute = "ttl";
  when_created = [this] { state.ttl = {{"TimeToLiveStatus", "ENABLED"}, {"AttributeName", "ttl"}}; };
  const auto made = wait(tables.create_table(wanted));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->definition.ttl_attribute, "ttl");
  EXPECT_EQ(calls["UpdateTimeToLive"], 1);
}

TEST_F(TableChangesTest, AnIndexThatHasToWaitForAnotherOneIsMadeThen) {
  state.exists = true;
  ASSERT_TRUE(wait(tables.describe_table("T")));
  refused_changes = 3;
  refusal_name = "LimitExceededException";
  wanted.indexes.push_back(index("ours"));
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_TRUE(altered) << altered.error().message;
  EXPECT_EQ(state.indexes, std::set<std::string>{"ours"});
}

TEST_F(TableChangesTest, AChangeThatIsAlwaysRefusedEndsInThatError) {
  state.exists = true;
  for (const std::string name : {"ResourceInUseException", "ValidationException"}) {
    refused_changes = 100'000;
    refusal_name = name;
    wanted.stream = StreamView::kKeysOnly;
    const BootTime began = clock.boot();
    const auto altered = wait(tables.alter_table(wanted));
    ASSERT_FALSE(altered);
    EXPECT_THAT(altered.error().message, testing::HasSubstr("Index is being created"));
    EXPECT_LT(clock.boot() - began, seconds(90));
  }
}

TEST_F(TableChangesTest, ADescriptionThatContradictsItselfIsAskedForAgain) {
  state.exists = true;
  state.indexes = {"one"};
  torn_looks = 3;
  const auto seen = wait(tables.describe_table("T"));
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->definition.indexes.size(), 1u);
  torn_looks = 3;
  wanted = seen->definition;
  wanted.stream = StreamView::kKeysOnly;
  EXPECT_TRUE(wait(tables.alter_table(wanted)));
  torn_looks = 100'000;
  const auto never = wait(tables.describe_table("T"));
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().message, testing::HasSubstr("not of the protocol"));
}

TEST_F(TableChangesTest, AnEngineThatStartsAgainDuringADeletionIsWaitedFor) {
  state.exists = true;
  failed_looks = 9;
  const auto deleted = wait(tables.delete_table("T"));
  ASSERT_TRUE(deleted) << deleted.error().message;
  EXPECT_FALSE(state.exists);
}

TEST_F(TableChangesTest, AChangeThatWasLostAndIsRefusedThenEndsInTheRefusal) {
  state.exists = true;
  lost_changes = 1;
  ttl_was_changed = true;
  wanted.ttl_attribute = "ttl";
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_FALSE(altered);
  EXPECT_EQ(altered.error().code, ErrorCode::kLimitExceeded);
}

TEST_F(TableChangesTest, AChangeThatIsNeverMadeEndsInAnError) {
  state.exists = true;
  is_deaf = true;
  wanted.stream = StreamView::kKeysOnly;
  const BootTime began = clock.boot();
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_FALSE(altered);
  EXPECT_EQ(altered.error().code, ErrorCode::kTimeout);
  EXPECT_LT(clock.boot() - began, seconds(90));
}

TEST_F(TableChangesTest, AChangeWithoutAnAnswerThatTheTableDoesNotShowIsUnknown) {
  state.exists = true;
  is_deaf = true;
  lost = "UpdateTable";
  lost_answers = 100;
  wanted.stream = StreamView::kKeysOnly;
  const BootTime began = clock.boot();
  const auto altered = wait(tables.alter_table(wanted));
  ASSERT_FALSE(altered);
  EXPECT_EQ(altered.error().code, ErrorCode::kUnknownOutcome);
  EXPECT_LT(clock.boot() - began, seconds(50)) << "it waits less than for a change that was accepted";
}

}  // namespace
}  // namespace freshet::remote
