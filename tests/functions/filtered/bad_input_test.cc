// Refused input: the message names the attribute and the item, and nothing changes.
#include "functions/filtered/table_queues.h"
#include "tests/functions/filtered/filtered_world.h"

namespace freshet::filtered {
namespace {

class BadInputTest : public FilteredFixture {
 protected:
  // Refused with that code and text, and every item of the table is as it was.
  template <class T>
  void refused(const Result<T>& result, ErrorCode code, const std::string& message, const std::string& before) {
    ASSERT_FALSE(result) << "not refused: " << message;
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_EQ(result.error().message, message);
    EXPECT_EQ(table(), before) << message;
  }
  std::string table() {
    std::string all;
    for (const auto& item : all_items()) all += item.encoded();
    return all;
  }
  template <class T>
  T call(Async<T> work) {
    return world.wait(std::move(work));
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, BadInputTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(BadInputTest, WhatTheCallerGives) {
  open();
  const std::string before = table();
  const std::string of_1 = " of member '1'";
  refused(put("", {"English"}, "F"), ErrorCode::kValidation, "the id of the member is missing", before);
  refused(put(std::string(1020, 'x'), {"English"}, "F"), ErrorCode::kValidation,
          "the id of the member is longer than 1016 bytes", before);
  refused(call(queue->put_member("1", Item{{"Gender", Value("F")}})), ErrorCode::kValidation,
          "attribute 'Languages'" + of_1 + " is missing: it must be a list of texts (SS)", before);
  refused(call(queue->put_member("1", Item{{"Gender", Value("F")}, {"Languages", Value("English")}})),
          ErrorCode::kValidation, "attribute 'Languages'" + of_1 + " is of type S; it must be a list of texts (SS)",
          before);
  refused(
      call(queue->put_member("1", Item{{"Gender", Value::number(1)}, {"Languages", Value(StringSet{{"English"}})}})),
      ErrorCode::kValidation, "attribute 'Gender'" + of_1 + " is of type N; it must be a text (S)", before);
  refused(put("1", {"German"}, "F"), ErrorCode::kValidation,
          "attribute 'Languages'" + of_1 + " has the value 'German'; there are English, French, Spanish", before);
  Item own = attributes({"English"}, "F");
  own.set("AgentStatus", Value("queued"));
  refused(call(queue->put_member("1", own)), ErrorCode::kValidation,
          "attribute 'AgentStatus' is kept by the queue: leave it out", before);
  refused(enqueue("nobody"), ErrorCode::kNotFound, "queue 'calls' has no member 'nobody'", before);
  refused(enqueue(""), ErrorCode::kValidation, "the id of the member is missing", before);
  refused(assign_from("Q#German#F"), ErrorCode::kValidation, "there is no queue 'Q#German#F'; stats lists them",
          before);
  refused(assign({}, "", true), ErrorCode::kValidation, "a request that waits needs an id: set 'request'", before);
  refused(call(queue->get_request("r")), ErrorCode::kNotFound, "queue 'calls' has no request 'r'", before);
  refused(call(queue->cancel_request("r")), ErrorCode::kNotFound, "queue 'calls' has no request 'r'", before);
}

TEST_P(BadInputTest, MembersInAnotherState) {
  open();
  ASSERT_TRUE(put("free", {"English"}, "F"));
  queued("waits", {"English"}, "M");
  queued("busy", {"French"}, "M");
  ASSERT_EQ(given(assign_from("Q#French#M")), "busy");
  const std::string before = table();
  const auto state = [](const std::string& id, const std::string& is, const std::string& wanted) {
    return "member '" + id + "' is '" + is + "', not '" + wanted + "' (item 'Agents / Agent#" + id + "')";
  };
  refused(enqueue("waits"), ErrorCode::kConflict, state("waits", "queued", "available"), before);
  refused(enqueue("busy"), ErrorCode::kConflict, state("busy", "attendingCall", "available"), before);
  refused(call(queue->withdraw("free")), ErrorCode::kConflict, state("free", "available", "queued"), before);
  refused(call(queue->withdraw("busy")), ErrorCode::kConflict, state("busy", "attendingCall", "queued"), before);
  refused(release("free"), ErrorCode::kConflict, state("free", "available", "attendingCall"), before);
  refused(release("busy", "gone-by"), ErrorCode::kConflict,
          "member 'busy' is assigned, but not under the assignment 'gone-by': that one is over", before);
  refused(put("waits", {"French"}, "F"), ErrorCode::kConflict,
          "member 'waits' is there and not 'available': withdraw or release it", before);
  refused(call(queue->delete_member("busy")), ErrorCode::kConflict,
          "member 'busy' is not 'available': withdraw or release it first", before);
  ASSERT_TRUE(call(queue->delete_member("free")));
  EXPECT_EQ(status("free"), "error: queue 'calls' has no member 'free'");
}

TEST_P(BadInputTest, ItemsThatTheQueueDidNotWrite) {
  open();
  ASSERT_TRUE(put("1", {"English"}, "F"));
  update_item("Agents", "Agent#1", "SET Gender = :x", Map{{":x", Value("X")}});
  std::string before = table();
  refused(enqueue("1"), ErrorCode::kConflict,
          "attribute 'Gender' of item 'Agents / Agent#1' has the value 'X'; there are F, M, T", before);
  update_item("Agents", "Agent#1", "REMOVE AgentStatus SET Gender = :x", Map{{":x", Value("F")}});
  before = table();
  refused(enqueue("1"), ErrorCode::kConflict, "attribute 'AgentStatus' of item 'Agents / Agent#1' is missing", before);
  update_item("Agents", "Agent#1", "SET AgentStatus = :x", Map{{":x", Value("available")}});
  update_item("AllQueues", "Q#English#F", "SET QueueVersionId = :x", Map{{":x", Value("3")}});
  before = table();
  refused(enqueue("1"), ErrorCode::kConflict,
          "attribute 'QueueVersionId' of item 'AllQueues / Q#English#F' is of type S; it must be a whole number",
          before);
  update_item("AllQueues", "Q#English#F", "SET QueueVersionId = :x REMOVE QueueDepth", Map{{":x", Value::number(3)}});
  before = table();
  refused(enqueue("1"), ErrorCode::kConflict, "attribute 'QueueDepth' of item 'AllQueues / Q#English#F' is missing",
          before);
  put_item("AllRequests", "Request#r", Item{{"RequestStatus", Value("waiting")}, {"RequestedAt", Value("1")}});
  before = table();
  refused(call(queue->cancel_request("r")), ErrorCode::kConflict,
          "attribute 'Alternatives' of item 'AllRequests / Request#r' must be a list of lists of queue keys", before);
}

TEST_P(BadInputTest, WhatAMemberSaysOfItsAssignmentMustBeText) {
  open();
  queued("1", {"English"}, "F");
  update_item("Agents", "Agent#1", "SET QueuedAt = :x", Map{{":x", Value("")}});
  std::string before = table();
  refused(call(queue->withdraw("1")), ErrorCode::kConflict, "attribute 'QueuedAt' of item 'Agents / Agent#1' is empty",
          before);
  update_item("Agents", "Agent#1", "SET AgentStatus = :s, AssignmentId = :x REMOVE QueuedAt",
              Map{{":s", Value("attendingCall")}, {":x", Value::number(1)}});
  before = table();
  refused(release("1"), ErrorCode::kConflict,
          "attribute 'AssignmentId' of item 'Agents / Agent#1' is of type N; it must be S", before);
}

// A request that is not the member's, or that cannot be read, stays as it is, and the member is released.
TEST_P(BadInputTest, ARequestOfAnotherKeepsNobodyAssigned) {
  open();
  EXPECT_EQ(given(assign_from("Q#French#F", "waits", true)), "waiting");
  put_item("AllRequests", "Request#odd", Item{{"RequestStatus", Value::number(1)}});
  for (const std::string request : {"waits", "odd", "nobody"}) {
    Item agent = attributes({"English"}, "F");
    agent.set("AgentStatus", Value("attendingCall"));
    agent.set("RequestId", Value(request));
    put_item("Agents", "Agent#1", agent);
    const auto released = release("1");
    ASSERT_TRUE(released) << request << ": " << released.error().message;
    EXPECT_EQ(status("1"), "available");
    EXPECT_FALSE(item("Agents", "Agent#1").contains("RequestId"));
  }
  EXPECT_EQ(call(queue->get_request("waits"))->status, "waiting");
  EXPECT_TRUE(item("AllRequests", "Request#odd").contains("RequestStatus"));
}

TEST_P(BadInputTest, ASnapshotWithoutItsQueueIsToldAndNothingChanges) {
  open();
  queued("1", {"English"}, "F");
  DeleteItemInput gone;
  gone.table = "AgentQueueFIFO";
  gone.key = Item{{"pk", Value("AllQueues")}, {"sk", Value("Q#English#F")}};
  ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
  const std::string before = table();
  refused(
      assign({}), ErrorCode::kConflict,
      "item 'AllQueues / Q#English#F' is missing, though there are entries: put it back with its QueueVersionId and "
      "QueueDepth",
      before);
  const auto recount = call(queue->recount());
  ASSERT_TRUE(recount);
  EXPECT_EQ(recount->wrong, 1u);
}

TEST_P(BadInputTest, EntriesThatCannotBeUsedArePassedAndNamed) {
  open();
  put_item("Q#English#F", "0", Item{{"AgentID", Value("x")}});
  put_item("Q#English#F", "1", Item{{"Gender", Value("F")}, {"Languages", Value(StringSet{{"English"}})}});
  Item of_others = attributes({"French"}, "F");
  of_others.set("AgentID", Value("x"));
  put_item("Q#English#F", "10", of_others);
  Item orphan = attributes({"English"}, "F");
  orphan.set("AgentID", Value("nobody"));
  put_item("Q#English#F", "11", orphan);
  queued("1", {"English"}, "F");
  const auto assigned = assign_from("Q#English#F");
  ASSERT_EQ(given(assigned), "1");
  EXPECT_EQ(assigned->passed,
            (std::vector<std::string>{
                "attribute 'Languages' of item 'Q#English#F / 0' is missing: it must be a list of texts (SS)",
                "attribute 'AgentID' of item 'Q#English#F / 1' is missing",
                "item 'Q#English#F / 10' has attributes of other queues than the one it stands in",
                "item 'Q#English#F / 11': queue 'calls' has no member 'nobody'"}));
  const auto none = assign_from("Q#English#F");
  EXPECT_EQ(given(none), "none");
  EXPECT_EQ(none->passed.size(), 4u);
  const auto recount = call(queue->recount());
  EXPECT_EQ(recount->wrong, 5u) << "four entries, and the depth";
}

// Only other callers that are faster cost an attempt.
TEST_P(BadInputTest, AnEntryOfNobodyCostsNoAttempt) {
  Settings settings = call_centre();
  settings.retry.attempts = 1;
  open(std::move(settings));
  Item orphan = attributes({"English"}, "F");
  orphan.set("AgentID", Value("nobody"));
  put_item("Q#English#F", "1", orphan);
  queued("1", {"English"}, "F");
  EXPECT_EQ(given(assign_from("Q#English#F")), "1");
  EXPECT_EQ(given(assign_from("Q#English#F")), "none");
}

// The member waits by another entry, or not with all of its entries: nobody gets it ahead of its turn.
TEST_P(BadInputTest, AnEntryByWhichItsMemberDoesNotWaitIsPassedAndNamed) {
  open();
  queued("first", {"English", "French"}, "F");
  queued("late", {"English", "French"}, "F");
  Item stray = attributes({"English", "French"}, "F");
  stray.set("AgentID", Value("late"));
  const auto lone = [&](const std::string& key, const std::string& at) {
    put_item(key, at, stray);
    update_item("AllQueues", key, "SET QueueVersionId = QueueVersionId + :one ADD QueueDepth :one",
                Map{{":one", Value::number(1)}});
  };
  lone("Q#English#F", "1");
  lone("Q#English#F", "2");
  lone("Q#French#F", "2");
  const std::string since = call(queue->get_member("late"))->queued_at;
  const std::string elsewhere = ": item 'Agents / Agent#late' does not wait by it, but since '" + since + "'";
  const auto recount = call(queue->recount());
  ASSERT_TRUE(recount);
  EXPECT_EQ(recount->wrong, 3u);
  EXPECT_EQ(recount->differences,
            (std::vector<std::string>{"item 'Q#English#F / 1'" + elsewhere, "item 'Q#English#F / 2'" + elsewhere,
                                      "item 'Q#French#F / 2'" + elsewhere}));
  const auto assigned = assign_from("Q#English#F");
  ASSERT_EQ(given(assigned), "first") << "it has waited longest";
  EXPECT_EQ(assigned->passed,
            (std::vector<std::string>{"item 'Q#English#F / 1'" + elsewhere, "item 'Q#English#F / 2'" + elsewhere}));
  EXPECT_EQ(status("late"), "queued");
  ASSERT_EQ(given(assign_from("Q#French#F")), "late");
  EXPECT_EQ(at("Q#French#F").depth, 1) << "the stray entry, which is still there";
  EXPECT_EQ(given(assign_from("Q#English#F")), "none");
}

// As a crash of others may have left it: the sample's scripts write no time at the member.
TEST_P(BadInputTest, AnEntryWhoseOthersAreMissingIsPassedAndNamed) {
  open();
  Item half = attributes({"English", "French"}, "F");
  half.set("AgentID", Value("half"));
  put_item("Q#English#F", "1", half);
  half.set("AgentStatus", Value("queued"));
  put_item("Agents", "Agent#half", half);
  Item other = attributes({"French"}, "F");
  other.set("AgentID", Value("other"));
  put_item("Q#French#F", "1", other);
  other.set("AgentStatus", Value("queued"));
  put_item("Agents", "Agent#other", other);
  for (const std::string key : {"Q#English#F", "Q#French#F"}) {
    update_item("AllQueues", key, "ADD QueueDepth :one", Map{{":one", Value::number(1)}});
  }
  queued("1", {"English"}, "F");
  const std::string why =
      "item 'Q#English#F / 1': item 'Agents / Agent#half' has no entry of that time in 'Q#French#F'";
  EXPECT_EQ(call(queue->recount())->differences, std::vector<std::string>{why});
  const auto assigned = assign_from("Q#English#F");
  ASSERT_EQ(given(assigned), "1");
  EXPECT_EQ(assigned->passed, std::vector<std::string>{why});
  EXPECT_EQ(given(assign_from("Q#French#F")), "other") << "another member's entry of the same time is its own";
  const auto out = call(queue->withdraw("half"));
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(status("half"), "available") << "it leaves the entries that are there";
  expect_right();
}

TEST_P(BadInputTest, AMemberIsWithdrawnFromTheEntriesThatAreLeft) {
  open();
  for (const std::string missing : {"Q#English#F", "Q#French#F"}) {
    queued("1", {"English", "French"}, "F");
    DeleteItemInput gone;
    gone.table = "AgentQueueFIFO";
    gone.key = Item{{"pk", Value(missing)}, {"sk", Value(call(queue->get_member("1"))->queued_at)}};
    ASSERT_TRUE(call(world.store->delete_item(gone)));
    update_item("AllQueues", missing, "ADD QueueDepth :minus", Map{{":minus", Value::number(-1)}});
    const auto out = call(queue->withdraw("1"));
    ASSERT_TRUE(out) << missing << ": " << out.error().message;
    expect_right();
  }
  queued("1", {"English"}, "F");
  DeleteItemInput gone;
  gone.table = "AgentQueueFIFO";
  gone.key = Item{{"pk", Value("AllQueues")}, {"sk", Value("Q#English#F")}};
  ASSERT_TRUE(call(world.store->delete_item(gone)));
  const auto refused = call(queue->withdraw("1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "item 'AllQueues / Q#English#F' is missing, though there are entries: put it back with its QueueVersionId "
            "and QueueDepth");
}

// Items of others in the partition end no list early.
TEST_P(BadInputTest, ListsGoOnBehindWhatIsNoMember) {
  open();
  for (const char* id : {"a", "b"}) ASSERT_TRUE(put(id, {"English"}, "F"));
  EXPECT_EQ(given(assign_from("Q#English#F", "r", true)), "waiting");
  for (const char* odd : {"A", "Agent", "Z"}) put_item("Agents", odd, {});
  for (const char* odd : {"A", "Request"}) put_item("AllRequests", odd, {});
  std::vector<std::string> ids;
  ListMembersInput input{"", 1, ""};
  do {
    const auto page = call(queue->list_members(input));
    ASSERT_TRUE(page) << page.error().message;
    for (const auto& member : page->members) ids.push_back(member.id);
    input.cursor = page->cursor;
  } while (!input.cursor.empty());
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(call(queue->list_requests(1, ""))->requests.size(), 1u);
}

TEST_P(BadInputTest, EntriesOfRequestsThatAreNoneArePassedOrForgotten) {
  open();
  EXPECT_EQ(given(assign_from("Q#English#F", "r", true)), "waiting");
  put_item("R#English#F", "0", Item{{"RequestId", Value::number(1)}});
  DeleteItemInput gone;
  gone.table = "AgentQueueFIFO";
  gone.key = Item{{"pk", Value("AllRequests")}, {"sk", Value("Request#r")}};
  ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
  queued("1", {"English"}, "F");
  EXPECT_EQ(at("Q#English#F").requests, 0);
}

// However many of them stand in front of a request that waits: nobody is told that others were faster.
TEST_P(BadInputTest, EntriesOfRequestsThatAreNoneKeepNobodyFromTheNext) {
  const auto orphans = [&] {
    for (int i = 0; i < 50; ++i) {
      const std::string n = std::to_string(100 + i);
      put_item("R#English#F", n, Item{{"RequestId", Value("ghost" + n)}});
    }
    put_item("R#English#F", "0", Item{{"RequestId", Value("")}});
    update_item("AllQueues", "Q#English#F", "ADD RequestDepth :n", Map{{":n", Value::number(50)}});
  };
  open();
  EXPECT_EQ(given(assign_from("Q#English#F", "r1", true)), "waiting");
  orphans();
  ASSERT_TRUE(put("1", {"English"}, "F"));
  const auto freed = enqueue("1");
  ASSERT_TRUE(freed) << freed.error().message;
  EXPECT_EQ(freed->member.request, "r1");
  EXPECT_EQ(at("Q#English#F").requests, 0);

  // Without anybody behind them the member waits.
  orphans();
  ASSERT_TRUE(put("2", {"English"}, "F"));
  const auto waits = enqueue("2");
  ASSERT_TRUE(waits) << waits.error().message;
  EXPECT_EQ(waits->member.status, "queued");
  ASSERT_TRUE(call(queue->withdraw("2")));

  // The timer gets to the request in one turn, too.
  EXPECT_EQ(given(assign_from("Q#English#F", "r2", true)), "waiting");
  orphans();
  Item agent = attributes({"English"}, "F");
  agent.set("AgentID", Value("3"));
  put_item("Q#English#F", "2022/01/05-14:01:39.416341", agent);
  agent.set("AgentStatus", Value("queued"));
  put_item("Agents", "Agent#3", agent);
  update_item("AllQueues", "Q#English#F", "SET QueueVersionId = QueueVersionId + :one ADD QueueDepth :one",
              Map{{":one", Value::number(1)}});
  const auto matched = call(queue->match_waiting());
  ASSERT_TRUE(matched) << matched.error().message;
  EXPECT_EQ(*matched, 1u);
  EXPECT_EQ(call(queue->get_request("r2"))->member, "3");
  EXPECT_EQ(at("Q#English#F").requests, 0);
}

TEST_P(BadInputTest, AnEntryThatCannotBeTakenAwayIsNamed) {
  open();
  EXPECT_EQ(given(assign_from("Q#French#F", "r", true)), "waiting");
  put_item("R#English#F", "0", Item{{"RequestId", Value("ghost")}});
  ASSERT_TRUE(put("1", {"English", "French"}, "F"));
  const auto refused = enqueue("1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(
      refused.error().message,
      "the entry of request 'ghost' at '0' is that of no request, and cannot be taken away: one of its queues has "
      "no 'RequestVersionId'");
  EXPECT_EQ(status("1"), "available");
}

// An entry belongs to whom it names, whatever stands at the same time of day elsewhere.
TEST_P(BadInputTest, NobodysEntryIsTakenAwayByAnother) {
  open();
  queued("1", {"English"}, "F");
  queued("2", {"English"}, "F");
  const auto second = call(queue->get_member("2"));
  ASSERT_TRUE(second);
  update_item("Agents", "Agent#1", "SET QueuedAt = :x", Map{{":x", Value(second->queued_at)}});
  EXPECT_TRUE(call(queue->withdraw("1")));
  expect_right();
  EXPECT_EQ(given(assign_from("Q#English#F")), "2");

  EXPECT_EQ(given(assign_from("Q#English#M", "ghost", true)), "waiting");
  EXPECT_EQ(given(assign_from("Q#French#M", "r", true)), "waiting");
  // As another daemon may have written it: of the same time, and its request is gone.
  const std::string at = call(queue->get_request("r"))->asked_at;
  EXPECT_TRUE(call(queue->cancel_request("ghost")));
  put_item("R#English#M", at, Item{{"RequestId", Value("ghost")}});
  update_item("AllQueues", "Q#English#M", "ADD RequestDepth :one", Map{{":one", Value::number(1)}});
  ASSERT_TRUE(put("3", {"English", "French"}, "M"));
  const auto freed = enqueue("3");
  ASSERT_TRUE(freed) << freed.error().message;
  EXPECT_EQ(freed->member.request, "r");
  expect_right();
}

// One queue that cannot be matched keeps no other one from its turn.
TEST_P(BadInputTest, TheTimerGoesOnBesideWhatItCannotUse) {
  open();
  EXPECT_EQ(given(assign_from("Q#English#F", "broken", true)), "waiting");
  EXPECT_EQ(given(assign_from("Q#French#F", "r", true)), "waiting");
  update_item("AllRequests", "Request#broken", "REMOVE Alternatives");
  for (const std::string language : {"English", "French"}) {
    Item agent = attributes({language}, "F");
    agent.set("AgentID", Value(language));
    put_item("Q#" + language + "#F", "2022/01/05-14:01:39.416341", agent);
    agent.set("AgentStatus", Value("queued"));
    put_item("Agents", "Agent#" + language, agent);
    update_item("AllQueues", "Q#" + language + "#F", "SET QueueVersionId = QueueVersionId + :one ADD QueueDepth :one",
                Map{{":one", Value::number(1)}});
  }
  const auto matched = call(queue->match_waiting());
  ASSERT_TRUE(matched) << matched.error().message;
  EXPECT_EQ(*matched, 1u);
  EXPECT_EQ(call(queue->get_request("r"))->member, "French");
  const auto again = call(queue->match_waiting());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message,
            "attribute 'Alternatives' of item 'AllRequests / Request#broken' must be a list of lists of queue keys");
}

TEST_P(BadInputTest, ARequestKeepsTheQueuesThatADefinitionHasLeftIt) {
  open();
  EXPECT_EQ(given(assign({like({{"Gender", {"T", "F"}}})}, "r", true)), "waiting");
  Settings fewer = call_centre();
  fewer.attributes[1].values = {"F", "M"};
  open(fewer);
  EXPECT_EQ(call(queue->get_request("r"))->queues,
            (std::vector<std::string>{"Q#English#F", "Q#French#F", "Q#Spanish#F"}));
  ASSERT_TRUE(put("1", {"English"}, "F"));
  const auto freed = enqueue("1");
  ASSERT_TRUE(freed) << freed.error().message;
  EXPECT_EQ(freed->member.request, "r");
  expect_right();
}

TEST_P(BadInputTest, TablesWithOtherKeys) {
  TableDefinition other;
  other.name = "Other";
  other.keys = {{"id", Type::kString}, {}};
  ASSERT_TRUE(world.wait(world.client().create_table(other)));
  Settings settings = call_centre();
  settings.queues_table = "Other";
  const auto opened = world.wait(TableQueue::open(*world.services, settings));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "queue 'calls': table 'Other' must have the keys pk (S) and sk (S)");
}

TEST_P(BadInputTest, TwoQueuesOfATableMustBeApart) {
  TableQueues queues(*world.services, EventLog());
  ASSERT_TRUE(world.wait(queues.open(call_centre())));
  Settings second = call_centre();
  EXPECT_EQ(world.wait(queues.open(second)).error().message, "there are two filtered queues 'calls'");
  second.name = "more";
  EXPECT_EQ(
      world.wait(queues.open(second)).error().message,
      "queues 'calls' and 'more' both have queues in 'AllQueues' in table 'AgentQueueFIFO': set another 'layout'");
  second.layout.queues = "Others";
  second.layout.requests = "OtherRequests";
  EXPECT_EQ(world.wait(queues.open(second)).error().message,
            "queues 'calls' and 'more' both have keys that begin with 'Q#' in table 'AgentQueueFIFO': set another "
            "'layout'");
  second.layout.queue_prefix = "Other#";
  second.layout.waiting_prefix = "OtherR#";
  EXPECT_TRUE(world.wait(queues.open(second)));
  EXPECT_EQ(queues.names(), (std::vector<std::string>{"calls", "more"}));
  EXPECT_EQ(queues.find("nobody"), nullptr);
}

}  // namespace
}  // namespace freshet::filtered
