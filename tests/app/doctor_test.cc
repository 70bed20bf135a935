// The examination of an engine whose answers are lost.
#include "app/engines/doctor.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tables/lease/fleet_tables.h"
#include "tests/wire/store/fixed_key.h"
#include "tests/wire/store/looped_back.h"
#include "wire/dynamodb/route.h"
#include "wire/store/remote_streams.h"

namespace freshet::engines {
namespace {

using State = Finding::State;

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() { loop.add(*store_); }
  ~DoctorTest() override { loop.remove(*store_); }

  // By name.
  std::map<std::string, Finding> examined(DoctorOptions options = {}) {
    options.table = "freshet-doctor-1";
    options.streams = &streams;
    auto work = examine(caller, tables, std::move(options));
    loop.run_until([&] { return work.is_ready(); }, seconds(3'600));
    EXPECT_TRUE(work.is_ready());
    std::map<std::string, Finding> out;
    for (Finding& finding : work.take()) out.insert_or_assign(finding.what, std::move(finding));
    return out;
  }
  void make(TableDefinition definition) { EXPECT_TRUE(store_->create_table(std::move(definition)).take()); }
  size_t tables_left() {
    auto listed = store_->list_tables().take();
    return listed ? listed->size() : 99;
  }

  SimClock clock{WallTime(milliseconds(1'600'000'000'000))};
  SimLoop loop{clock};

 private:
  std::unique_ptr<EmbeddedTables> open() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    auto opened = open_embedded(nullptr, loop, random_, options);
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }

  Random random_{1};
  std::unique_ptr<EmbeddedTables> store_ = open();
  std::unique_ptr<Route> route_ = make_dynamodb_route(*store_, clock);

 protected:
  LoopedBack http{*route_, loop, 7};

 private:
  std::unique_ptr<remote::AccessKeySource> keys_ = remote::fixed_key(AccessKey{"id", "secret", ""});

 protected:
  remote::Caller caller{{.endpoints = {"http://store:8000"}}, http, *keys_, loop, random_};
  remote::RemoteTables tables{caller, random_};
  remote::RemoteStreams streams{caller, caller};
};

const std::set<std::string> kExamined{
    "endpoint", "access key",   "tables", "conditional writes", "the item in a refusal", "indexes", "change streams",
    "ttl",      "transactions", "speed",  "reading a stream"};

TEST_F(DoctorTest, FindsWhatIsThere) {
  const auto findings = examined();
  for (const auto& what : kExamined) {
    ASSERT_TRUE(findings.contains(what)) << what;
    EXPECT_EQ(findings.at(what).state, State::kOk) << what << ": " << findings.at(what).said;
  }
  EXPECT_EQ(tables_left(), 0u);
}

TEST_F(DoctorTest, AQuestionWhoseAnswerIsLostIsAskedAgain) {
  // The client sends such a write again and is refused, because the first sending was carried out: the outcome is
  // unknown.
  http.loses = [this](const std::string& operation) {
    return !operation.starts_with("List") && http.sent[operation] == 1;
  };
  const auto findings = examined();
  for (const auto& what : kExamined) {
    ASSERT_TRUE(findings.contains(what)) << what;
    EXPECT_EQ(findings.at(what).state, State::kOk) << what << ": " << findings.at(what).said;
  }
}

TEST_F(DoctorTest, ARefusalWhoseAnswerIsLostIsAskedForAgain) {
  // The second put is the one that must be refused.
  http.loses = [this](const std::string& operation) { return operation == "PutItem" && http.sent[operation] == 2; };
  EXPECT_EQ(examined().at("conditional writes").state, State::kOk);
}

TEST_F(DoctorTest, WritesThatAreNeverAnsweredAreNoFaultThatIsKnown) {
  http.loses = [](const std::string& operation) { return operation == "TransactWriteItems"; };
  const auto findings = examined();
  EXPECT_EQ(findings.at("conditional writes").state, State::kOk);
  EXPECT_EQ(findings.at("transactions").state, State::kUnsure);
  EXPECT_EQ(findings.at("transactions").said, "TransactWriteItems may have been carried out: the connection broke");
  EXPECT_EQ(tables_left(), 0u);
}

TEST_F(DoctorTest, AnEngineWithoutCapacityIsNotBad) {
  http.refuses = [](const std::string& operation) -> std::optional<HttpResponse> {
    if (operation != "PutItem") return std::nullopt;
    return LoopedBack::error(400, "ProvisionedThroughputExceededException", "too fast");
  };
  const auto findings = examined();
  for (const char* what : {"conditional writes", "indexes", "speed"}) {
    EXPECT_EQ(findings.at(what).state, State::kUnsure) << what;
    EXPECT_EQ(findings.at(what).said, "too fast") << what;
  }
}

TEST_F(DoctorTest, TheCeilingOfAmazonsIndexesIsToldForItsEndpointsOnly) {
  EXPECT_FALSE(examined().contains("a queue's ceiling"));
  DoctorOptions options;
  options.url = "https://dynamodb.eu-central-1.amazonaws.com";
  EXPECT_TRUE(examined(std::move(options)).at("a queue's ceiling").said.starts_with("500 tasks a second"));
}

TEST_F(DoctorTest, AStreamThatMayNotBeReadIsBad) {
  http.refuses = [](const std::string& operation) -> std::optional<HttpResponse> {
    if (operation != "GetRecords") return std::nullopt;
    return LoopedBack::error(400, "AccessDeniedException", "not authorized");
  };
  const auto findings = examined();
  EXPECT_EQ(findings.at("change streams").state, State::kOk);
  EXPECT_EQ(findings.at("reading a stream").state, State::kBad);
  EXPECT_EQ(findings.at("reading a stream").said, "not authorized");
  EXPECT_EQ(tables_left(), 0u);
}

TEST_F(DoctorTest, AnEngineWhoseStreamsCannotBeReadLacksThat) {
  http.refuses = [](const std::string& operation) -> std::optional<HttpResponse> {
    if (operation != "DescribeStream") return std::nullopt;
    return LoopedBack::error(400, "UnknownOperationException", "none");
  };
  EXPECT_EQ(examined().at("reading a stream").state, State::kLacks);
}

TEST_F(DoctorTest, TheStreamsOfATemplateAreTried) {
  DoctorOptions options;
  options.writes = false;
  options.wanted = fleet_tables({true, true, true});
  TableDefinition orders;
  orders.name = "Orders";
  orders.keys.partition = {"id", Type::kString};
  orders.stream = StreamView::kNewImage;
  options.wanted.push_back(orders);
  options.read = {"Orders"};
  make(orders);
  const auto findings = examined(std::move(options));
  EXPECT_EQ(findings.at("stream of table 'Orders'").said, "it can be read; open shards: 1");
  for (const char* table : {"freshet-fleet", "freshet-events", "freshet-definitions", "freshet-queues",
                            "freshet-schedules", "freshet-positions"}) {
    EXPECT_EQ(findings.at("table '" + std::string(table) + "'").state, State::kLacks) << table;
  }
}

TEST_F(DoctorTest, WhatAnEngineRefusesIsBad) {
  http.refuses = [](const std::string& operation) -> std::optional<HttpResponse> {
    if (operation != "PutItem") return std::nullopt;
    return LoopedBack::error(400, "AccessDeniedException", "not authorized");
  };
  const auto findings = examined();
  EXPECT_EQ(findings.at("conditional writes").state, State::kBad);
  EXPECT_EQ(findings.at("conditional writes").said, "not authorized");
}

TEST_F(DoctorTest, AnEndpointThatDoesNotAnswerIsSaidToBeSoAtOnce) {
  http.loses = [](const std::string&) { return true; };
  DoctorOptions options;
  options.http = &http;
  options.url = "http://store:8000";
  const BootTime began = clock.boot();
  const auto findings = examined(std::move(options));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.at("endpoint").state, State::kBad);
  EXPECT_EQ(findings.at("endpoint").said, "the connection broke");
  EXPECT_LE(clock.boot() - began, seconds(2));
  EXPECT_EQ(http.sendings, 1);
}

TEST_F(DoctorTest, AClockThatIsOffIsToldWithByHowMuch) {
  struct Case {
    const char* date;
    State state;
    const char* said;
  };
  for (const Case& one : {Case{"Sun, 13 Sep 2020 12:28:20 GMT", State::kBad, "it is 100 s ahead of this machine's"},
                          Case{"Sun, 13 Sep 2020 12:25:00 GMT", State::kBad, "it is 100 s behind this machine's"},
                          Case{"Sun, 13 Sep 2020 12:26:20 GMT", State::kOk, "it is 20 s behind this machine's"},
                          Case{"", State::kLacks, "it does not say what time it is"}}) {
    clock.step_wall(WallTime(seconds(1'600'000'000)) - clock.wall());
    http.refuses = [&one](const std::string& operation) -> std::optional<HttpResponse> {
      if (!operation.empty()) return std::nullopt;
      HttpResponse answer;
      if (*one.date != 0) answer.headers.emplace_back("Date", one.date);
      return answer;
    };
    DoctorOptions options;
    options.http = &http;
    options.url = "http://store:8000";
    options.writes = false;
    const auto findings = examined(std::move(options));
    EXPECT_EQ(findings.at("clock").state, one.state) << one.date;
    EXPECT_TRUE(findings.at("clock").said.starts_with(one.said)) << findings.at("clock").said;
  }
}

TEST_F(DoctorTest, ATemplatesTtlInMillisecondsIsLacking) {
  DoctorOptions options;
  options.writes = false;
  TableDefinition wanted;
  wanted.name = "Tasks";
  wanted.keys.partition = {"id", Type::kString};
  wanted.ttl_attribute = "ttl";
  wanted.ttl_in_milliseconds = true;
  options.wanted.push_back(wanted);
  const auto findings = examined(std::move(options));
  const auto& finding = findings.at("table 'Tasks': ttl in milliseconds");
  EXPECT_EQ(finding.state, State::kLacks);
  EXPECT_EQ(finding.said, "it is read as seconds, so that such items never expire");
}

}  // namespace
}  // namespace freshet::engines
