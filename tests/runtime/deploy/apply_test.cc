#include "runtime/deploy/apply.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/loop/sim_loop.h"
#include "streams/system_table.h"
#include "streams/topic_service.h"
#include "tables/engine/embedded.h"
#include "tables/owned/split_tables.h"
#include "tests/runtime/fakes.h"

namespace freshet {
namespace {

// A store where another daemon makes each table just before this one does.
class ContestedTables final : public SplitTables {
 public:
  explicit ContestedTables(Tables& tables) : SplitTables(tables, tables) {}
  Async<Result<TableDescription>> create_table(TableDefinition definition) override {
    definition.indexes.push_back({"theirs", definition.keys, false, Projection::kAll, {}});
    auto theirs = co_await SplitTables::create_table(std::move(definition));
    if (!theirs) co_return theirs;
    co_return fail(ErrorCode::kResourceInUse, "Table already exists");
  }
};

// A store in memory with a runtime on it, which can be started anew.
class World {
 public:
  World() {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    auto opened = open_embedded(nullptr, loop_.loop(), random_, options);
    EXPECT_TRUE(opened);
    tables_ = std::move(*opened);
    loop_.loop().add(*tables_);
    natives_.add("work", [](Context&) -> Async<Result<std::string>> { return Result<std::string>("{}"); });
    restart();
  }
  ~World() {
    runtime_.reset();
    loop_.loop().remove(*tables_);
  }

  template <class T>
  T wait(Async<T> work) {
    EXPECT_TRUE(loop_.run_until([&] { return work.is_ready(); }, seconds(60)));
    return work.take();
  }

  void restart() {
    runtime_.reset();
    runtime_ = std::make_unique<Runtime>(RuntimePorts{*tables_, loop_.loop(), random_, http_, spawner_, natives_});
    EXPECT_TRUE(wait(runtime_->start()));
  }

  // The plan that was done, or the error.
  std::string apply(const std::string& text) { return apply_on(*tables_, text); }
  std::string apply_on(Tables& tables, const std::string& text) {
    DeploymentInput input;
    input.source.file = "t.yaml";
    input.source.text = text;
    auto deployment = resolve_deployment(input);
    if (!deployment) return deployment.error().message;
    auto plan = wait(apply_deployment(*deployment, tables, *runtime_));
    return plan ? plan->to_string() : plan.error().message;
  }

  uint64_t writes() {
    GetItemInput get = get_system_item("deployment", "current");
    auto record = wait(tables_->get_item(std::move(get)));
    return tables_->stats().appended_bytes;
  }

  void pass(milliseconds time) { loop_.run_for(time); }
  Tables& tables() { return *tables_; }
  Runtime& runtime() { return *runtime_; }

 private:
  SimClock clock_{WallTime(milliseconds(1'767'225'600'000))};
  SimLoop loop_{clock_};
  Random random_{1};
  NoHttp http_;
  NoSpawner spawner_;
  NativeRegistry natives_;
  std::unique_ptr<EmbeddedTables> tables_;
  std::unique_ptr<Runtime> runtime_;
};

const std::string kTable =
    "Resources:\n"
    "  Tasks:\n"
    "    Type: AWS::DynamoDB::Table\n"
    "    Metadata: {Freshet: {Queue: true}}\n"
    "    Properties:\n"
    "      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n"
    "      KeySchema: [{AttributeName: id, KeyType: HASH}]\n"
    "      StreamSpecification: {StreamViewType: NEW_IMAGE}\n";
const std::string kRest =
    "  News: {Type: AWS::SNS::Topic}\n"
    "  Work:\n"
    "    Type: AWS::Serverless::Function\n"
    "    Properties:\n"
    "      Runtime: native\n"
    "      Handler: work\n"
    "      Events:\n"
    "        Rows: {Type: DynamoDB, Properties: {Stream: !GetAtt Tasks.StreamArn, StartingPosition: LATEST}}\n"
    "        News: {Type: SNS, Properties: {Topic: !Ref News, FilterPolicy: {a: [b]}}}\n"
    "        Tick: {Type: Schedule, Properties: {Schedule: rate(1 hour)}}\n";

TEST(Apply, DeploysOnceAndAfterARestartFindsItAllThere) {
  World world;
  EXPECT_EQ(world.apply(kTable + kRest),
            "+ table Tasks\n+ topic News\n+ function Work\n+ subscription News:WorkNews\n+ mapping WorkRows\n"
            "+ schedule WorkTick\n");
  auto table = world.wait(world.tables().describe_table("Tasks"));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->definition.stream, StreamView::kNewImage);
  EXPECT_TRUE(table->definition.books);
  ASSERT_EQ(world.runtime().functions().size(), 1u);
  EXPECT_EQ(world.runtime().functions()[0].handler, "work");
  ASSERT_EQ(world.runtime().mappings().size(), 1u);
  EXPECT_EQ(world.runtime().mappings()[0].definition.table, "Tasks");
  ASSERT_EQ(world.runtime().subscriptions().size(), 1u);
  ASSERT_EQ(world.runtime().schedules().size(), 1u);

  uint64_t before = world.writes();
  EXPECT_EQ(world.apply(kTable + kRest), "");
  EXPECT_EQ(world.writes(), before);
  world.restart();
  EXPECT_EQ(world.apply(kTable + kRest), "");
}

TEST(Apply, AnotherDaemonMayMakeATableFirst) {
  World world;
  ContestedTables contested(world.tables());
  const std::string with_ttl = kTable + "      TimeToLiveSpecification: {AttributeName: ttl}\n";
  EXPECT_EQ(world.apply_on(contested, with_ttl), "");
  auto table = world.wait(world.tables().describe_table("Tasks"));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->definition.ttl_attribute, "ttl");
  EXPECT_EQ(table->definition.indexes.size(), 1u) << "the index that the other one made stays";
}

TEST(Apply, ChangesAndRemovesWhatTheTemplateNoLongerSays) {
  World world;
  world.apply(kTable + kRest);
  ASSERT_TRUE(world.wait(world.runtime().put_topic({"ByAClient"})));
  EXPECT_EQ(world.apply(kTable + kRest + "      Timeout: 9\n"), "~ function Work: timeout\n");
  EXPECT_EQ(world.runtime().functions()[0].timeout, seconds(9));
  EXPECT_EQ(world.apply(kTable + "      TimeToLiveSpecification: {AttributeName: ttl}\n"),
            "~ table Tasks: time to live\n- schedule WorkTick\n- mapping WorkRows\n- subscription News:WorkNews\n"
            "- function Work\n- topic News\n");
  EXPECT_TRUE(world.runtime().functions().empty());
  EXPECT_TRUE(world.runtime().mappings().empty());
  EXPECT_TRUE(world.runtime().subscriptions().empty());
  EXPECT_TRUE(world.runtime().schedules().empty());
  EXPECT_EQ(world.runtime().topics(), std::vector<TopicDefinition>{{"ByAClient"}});
  EXPECT_EQ(world.apply("Resources: {}\n"), "= table Tasks (no longer in the template; stays with its items)\n");
  EXPECT_TRUE(world.wait(world.tables().describe_table("Tasks")));
}

// AutoPublishAlias, as SAM understands it: each change is a version, and the alias and the events follow.
TEST(Apply, AnAliasFollowsTheFunctionFromVersionToVersion) {
  World world;
  const auto text = [](const std::string& more) {
    return kTable +
           "  F:\n"
           "    Type: AWS::Serverless::Function\n"
           "    Properties:\n"
           "      Runtime: http\n"
           "      Handler: http://127.0.0.1:1/\n"
           "      AutoPublishAlias: live\n"
           "      VersionDescription: by the template\n"
           "      EventInvokeConfig: {MaximumRetryAttempts: 1}\n"
           "      Events:\n"
           "        Rows: {Type: DynamoDB, Properties: {Stream: !GetAtt Tasks.StreamArn, StartingPosition: LATEST}}\n" +
           more;
  };
  const auto live = [&] { return world.runtime().qualifiers("F").aliases.at("live"); };
  EXPECT_EQ(world.apply(text("")), "+ table Tasks\n+ function F\n+ alias F:live\n+ mapping FRows\n");
  EXPECT_EQ(live().version, "1");
  EXPECT_EQ(live().async.max_retries, 1);
  EXPECT_EQ(world.runtime().versions("F").at(0).description, "by the template");
  EXPECT_EQ(world.runtime().mappings().at(0).definition.function, "F:live");

  EXPECT_EQ(world.apply(text("")), "") << "nothing has changed";
  world.restart();
  EXPECT_EQ(world.apply(text("")), "");
  EXPECT_EQ(world.apply(text("      Timeout: 9\n")), "~ function F: timeout\n~ alias F:live: version\n");
  EXPECT_EQ(live().version, "2");
  EXPECT_EQ(world.runtime().versions("F").size(), 2u);
  EXPECT_EQ(world.runtime().invoker().find("F:live")->timeout, seconds(9));

  // Somebody pointed it back by hand: the next deployment points it to what the template says.
  FunctionRegistry::Change back = [](FunctionQualifiers& now) -> Result<void> {
    now.aliases.at("live").version = "1";
    return {};
  };
  ASSERT_TRUE(world.wait(world.runtime().change_qualifiers("F", back)));
  EXPECT_EQ(world.apply(text("      Timeout: 9\n")), "~ alias F:live: version\n");
  EXPECT_EQ(live().version, "2");

  EXPECT_EQ(world.apply(kTable), "- mapping FRows\n- alias F:live\n- function F\n");
  EXPECT_TRUE(world.runtime().functions().empty());
}

TEST(Apply, AReferenceToTheAliasIsItsArn) {
  const std::string function =
      "  F:\n"
      "    Type: AWS::Serverless::Function\n"
      "    Properties: {Runtime: http, Handler: 'http://127.0.0.1:1/', AutoPublishAlias: live}\n";
  const std::string mapping =
      "  M:\n"
      "    Type: AWS::Lambda::EventSourceMapping\n"
      "    Properties: {EventSourceArn: !GetAtt Tasks.StreamArn, FunctionName: !Ref F.Alias, StartingPosition: "
      "LATEST}\n";
  World world;
  EXPECT_EQ(world.apply(kTable + function + mapping), "+ table Tasks\n+ function F\n+ alias F:live\n+ mapping M\n");
  EXPECT_EQ(world.runtime().mappings().at(0).definition.function, "F:live");
  const std::string native = "  F: {Type: AWS::Serverless::Function, Properties: {Runtime: native, Handler: work}}\n";
  EXPECT_EQ(world.apply(kTable + native + mapping).substr(0, 88),
            "t.yaml:12: M.FunctionName: Ref to 'F.Alias', which is neither a parameter nor a resource");
  const std::string unnamed =
      "  F:\n"
      "    Type: AWS::Serverless::Function\n"
      "    Properties: {Runtime: http, Handler: 'http://127.0.0.1:1/', AutoPublishAlias: '17'}\n";
  EXPECT_EQ(world.apply(kTable + unnamed),
            "t.yaml:11: F.Properties.AutoPublishAlias: '17' is no name of an alias: 1 to 128 letters, digits, '-' and "
            "'_', not digits alone");
}

TEST(Apply, AMappingKnowsWhenItWasChanged) {
  World world;
  world.apply(kTable + kRest);
  const auto modified = [&] { return world.runtime().mappings().at(0).definition.modified_ms; };
  const int64_t made = modified();
  EXPECT_GE(made, 1'767'225'600'000);
  world.pass(seconds(10));
  world.restart();
  world.apply(kTable + kRest);
  EXPECT_EQ(modified(), made) << "a restart and a deployment without a change change nothing";
  MappingDefinition changed = world.runtime().mappings().at(0).definition;
  changed.batch_size = 7;
  changed.modified_ms = 1;  // The runtime decides.
  ASSERT_TRUE(world.wait(world.runtime().put_mapping(changed)));
  EXPECT_GE(modified(), made + 10'000);
}

TEST(Apply, AnEndpointThatLeavesATopicsListTakesNothingFromTheOthers) {
  World world;
  const auto topic = [](const std::string& hosts) {
    std::string list;
    for (const char host : hosts) {
      list += (list.empty() ? "" : ", ") + std::string("{Protocol: http, Endpoint: 'http://") + host + "/'}";
    }
    return "Resources:\n  News: {Type: AWS::SNS::Topic, Properties: {Subscription: [" + list + "]}}\n";
  };
  // The events that wait for an endpoint, which never answers.
  const auto waiting = [&] {
    std::map<std::string, size_t> out;
    const auto stats = world.runtime().invoker().stats();
    for (const SubscriptionDefinition& one : world.runtime().subscriptions()) {
      const auto found = stats.find(world.runtime().topic_service().arn_of(one));
      out[one.endpoint] = found == stats.end() ? 0 : found->second.queued;
    }
    return out;
  };
  world.apply(topic("abc"));
  PublishInput input;
  input.topic_arn = "arn:aws:sns:us-east-1:000000000000:News";
  input.message = "hello";
  ASSERT_TRUE(world.wait(world.runtime().publisher().publish(input)));
  EXPECT_EQ(waiting(), (std::map<std::string, size_t>{{"http://a/", 1}, {"http://b/", 1}, {"http://c/", 1}}));
  const std::string done = world.apply(topic("bc"));
  EXPECT_EQ(std::count(done.begin(), done.end(), '\n'), 1) << done;
  EXPECT_EQ(waiting(), (std::map<std::string, size_t>{{"http://b/", 1}, {"http://c/", 1}}));
  EXPECT_EQ(world.apply(topic("cb")), "") << "its place says nothing";
}

TEST(Apply, ARefusalDoesNothingAtAll) {
  World world;
  world.apply(kTable);
  std::string other = kTable;
  other.replace(other.find("AttributeType: S"), 16, "AttributeType: N");
  EXPECT_EQ(world.apply(other + kRest).substr(0, 75),
            "table Tasks is there with the key id (S); the template wants id (N). Keys o");
  EXPECT_TRUE(world.runtime().functions().empty());
  EXPECT_TRUE(world.runtime().topics().empty());
}

}  // namespace
}  // namespace freshet
