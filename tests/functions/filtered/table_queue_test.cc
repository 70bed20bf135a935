// The life of members and requests, and the item shapes of the call centre; on a store that answers at once and on one
// that answers late and out of step.
#include "tests/functions/filtered/filtered_world.h"

namespace freshet::filtered {
namespace {

using FilteredTest = FilteredFixture;
INSTANTIATE_TEST_SUITE_P(Stores, FilteredTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(FilteredTest, OpeningMakesTheQueuesAndKeepsThoseThatAreThere) {
  open();
  EXPECT_EQ(item("AllQueues", "Q#French#T"), (Item{{"pk", Value("AllQueues")},
                                                   {"sk", Value("Q#French#T")},
                                                   {"QueueVersionId", Value::number(0)},
                                                   {"QueueDepth", Value::number(0)}}));
  queued("1", {"French"}, "T");
  open();
  EXPECT_EQ(at("Q#French#T").depth, 1);
  EXPECT_EQ(all_items().size(), 9u + 1 + 1);
}

TEST_P(FilteredTest, EnqueueWritesTheItemsOfTheSample) {
  open();
  Item billy = attributes({"English", "French", "Spanish"}, "M");
  billy.set("AgentName", Value("Billy"));
  billy.set("Desk", Value("12"));
  ASSERT_TRUE(world.wait(queue->put_member("836c", billy)));
  EXPECT_EQ(status("836c"), "available");
  const auto done = enqueue("836c");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->queues, (std::vector<std::string>{"Q#English#M", "Q#French#M", "Q#Spanish#M"}));
  const std::string at = done->member.queued_at;
  EXPECT_EQ(at.size(), std::string("2022/01/05-14:01:29.257873").size());
  EXPECT_EQ(at.substr(0, 10), "2027/01/15");
  EXPECT_EQ(item("Q#French#M", at), (Item{{"pk", Value("Q#French#M")},
                                          {"sk", Value(at)},
                                          {"AgentID", Value("836c")},
                                          {"AgentName", Value("Billy")},
                                          {"Gender", Value("M")},
                                          {"Languages", Value(StringSet{{"English", "French", "Spanish"}})}}));
  EXPECT_EQ(*item("Agents", "Agent#836c").find("AgentStatus"), Value("queued"));
  EXPECT_EQ(*item("Agents", "Agent#836c").find("Desk"), Value("12"));
  for (const char* key : {"Q#English#M", "Q#French#M", "Q#Spanish#M"}) {
    EXPECT_EQ(this->at(key).depth, 1);
    EXPECT_EQ(this->at(key).version, 1);
  }
  EXPECT_EQ(this->at("Q#English#F").version, 0);
  expect_right();
}

TEST_P(FilteredTest, AssignTakesTheOldestOutOfAllItsQueues) {
  open();
  queued("chad", {"English", "French", "Spanish"}, "M");
  queued("juan", {"Spanish"}, "M");
  queued("ana", {"Spanish"}, "F");
  const auto first = assign_from("Q#Spanish#M");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->member.id, "chad");
  EXPECT_EQ(first->member.status, "attendingCall");
  EXPECT_FALSE(first->member.assignment.empty());
  EXPECT_EQ(*item("Agents", "Agent#chad").find("AssignmentId"), Value(first->member.assignment));
  EXPECT_FALSE(item("Agents", "Agent#chad").contains("QueuedAt"));
  EXPECT_EQ(at("Q#French#M").depth, 0);
  EXPECT_EQ(at("Q#French#M").version, 2);
  EXPECT_EQ(at("Q#Spanish#M").depth, 1);
  EXPECT_EQ(at("Q#Spanish#M").version, 3);
  EXPECT_EQ(given(assign_from("Q#French#M")), "none");
  EXPECT_EQ(given(assign_from("Q#Spanish#M")), "juan");
  EXPECT_EQ(given(assign_from("Q#Spanish#M")), "none");
  expect_right();
}

TEST_P(FilteredTest, NewestFirst) {
  Settings settings = call_centre();
  settings.newest_first = true;
  open(settings);
  queued("old", {"French"}, "F");
  queued("new", {"French", "English"}, "M");
  EXPECT_EQ(given(assign({like({{"Languages", {"French"}}})})), "new");
  EXPECT_EQ(given(assign({like({{"Languages", {"French"}}})})), "old");
}

TEST_P(FilteredTest, FallbacksInOrderAndTheOldestWithinOne) {
  open();
  queued("english", {"English"}, "F");
  queued("spanish", {"Spanish"}, "M");
  queued("both", {"English", "Spanish"}, "F");
  const Match spanish_else_english{like({{"Languages", {"Spanish"}}}), like({{"Languages", {"English"}}})};
  EXPECT_EQ(given(assign(spanish_else_english)), "spanish");
  EXPECT_EQ(given(assign(spanish_else_english)), "both") << "speaks Spanish, though he came after the English one";
  EXPECT_EQ(given(assign(spanish_else_english)), "english");
  EXPECT_EQ(given(assign(spanish_else_english)), "none");
  queued("t", {"French"}, "T");
  EXPECT_EQ(given(assign({})), "t") << "any";
}

TEST_P(FilteredTest, BitmaskKeys) {
  Settings settings = call_centre();
  settings.keys = Keys::kBitmask;
  open(settings);
  queued("1", {"English", "Spanish"}, "F");
  EXPECT_EQ(at("Q#9").depth, 1);
  EXPECT_EQ(at("Q#12").depth, 1);
  EXPECT_EQ(given(assign({like({{"Languages", {"Spanish"}}, {"Gender", {"F"}}})})), "1");
  EXPECT_EQ(at("Q#9").depth, 0);
  expect_right();
}

TEST_P(FilteredTest, ThreeTables) {
  Settings settings = call_centre();
  settings.members_table = "AgentTable";
  settings.queues_table = "QueueInformation";
  open(settings);
  queued("1", {"English"}, "F");
  EXPECT_EQ(*item("Agents", "Agent#1", "AgentTable").find("AgentStatus"), Value("queued"));
  EXPECT_EQ(*item("AllQueues", "Q#English#F", "QueueInformation").find("QueueDepth"), Value::number(1));
  EXPECT_EQ(all_items().size(), 1u) << "the entry";
  EXPECT_EQ(given(assign_from("Q#English#F", "call", true)), "1");
  EXPECT_EQ(given(assign_from("Q#English#F", "next", true)), "waiting");
  ASSERT_TRUE(release("1", "", true));
  EXPECT_EQ(world.wait(queue->get_request("next"))->member, "1");
  expect_right();
}

TEST_P(FilteredTest, WithdrawAndRelease) {
  open();
  queued("1", {"English", "French"}, "F");
  const auto out = world.wait(queue->withdraw("1"));
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(status("1"), "available");
  EXPECT_EQ(at("Q#English#F").depth, 0);
  EXPECT_EQ(at("Q#English#F").version, 2);
  ASSERT_TRUE(enqueue("1"));
  const auto assigned = assign_from("Q#French#F");
  ASSERT_EQ(given(assigned), "1");
  const auto stale = release("1", "another");
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::kConflict);
  EXPECT_EQ(status("1"), "attendingCall");
  ASSERT_TRUE(release("1", assigned->member.assignment));
  EXPECT_EQ(status("1"), "available");
  EXPECT_FALSE(item("Agents", "Agent#1").contains("AssignmentId"));
  ASSERT_TRUE(enqueue("1"));
  ASSERT_EQ(given(assign({})), "1");
  const auto again = release("1", "", true);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->member.status, "queued");
  expect_right();
}

TEST_P(FilteredTest, RequestsWaitAndTheOldestGetsWhoBecomesFree) {
  open();
  EXPECT_EQ(given(assign_from("Q#Spanish#F", "r1", true)), "waiting");
  world.pass(milliseconds(1));
  EXPECT_EQ(given(assign({like({{"Languages", {"Spanish"}}}), like({{"Languages", {"English"}}})}, "r2", true)),
            "waiting");
  world.pass(milliseconds(1));
  EXPECT_EQ(given(assign({}, "r3", true)), "waiting");
  EXPECT_EQ(at("Q#Spanish#F").requests, 3);
  EXPECT_EQ(at("Q#English#M").requests, 2);
  expect_right();
  ASSERT_TRUE(put("english", {"English"}, "M"));
  const auto first = enqueue("english");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->member.request, "r2") << "the oldest that he matches";
  EXPECT_EQ(status("english"), "attendingCall");
  const auto r2 = world.wait(queue->get_request("r2"));
  EXPECT_EQ(r2->status, "assigned");
  EXPECT_EQ(r2->member, "english");
  EXPECT_EQ(r2->assignment, first->member.assignment);
  ASSERT_TRUE(put("ana", {"English", "Spanish"}, "F"));
  EXPECT_EQ(enqueue("ana")->member.request, "r1");
  ASSERT_TRUE(put("t", {"French"}, "T"));
  EXPECT_EQ(enqueue("t")->member.request, "r3");
  const auto now = world.wait(queue->stats());
  for (const auto& one : now->queues) EXPECT_EQ(one.requests, 0) << one.key;
  expect_right();
  const auto next = release("ana", r2->assignment);
  EXPECT_FALSE(next) << "another one's assignment";
  ASSERT_TRUE(release("english", r2->assignment, true));
  EXPECT_EQ(status("english"), "queued");
  EXPECT_FALSE(world.wait(queue->get_request("r2"))) << "over with its assignment";
}

TEST_P(FilteredTest, TheSameRequestAgainIsAnsweredWithWhatCameOfIt) {
  open();
  queued("1", {"French"}, "F");
  queued("2", {"French"}, "F");
  const auto first = assign_from("Q#French#F", "call-7");
  EXPECT_EQ(given(first), "1");
  const auto again = assign_from("Q#French#F", "call-7");
  EXPECT_EQ(given(again), "1");
  EXPECT_EQ(again->member.assignment, first->member.assignment);
  EXPECT_EQ(again->member.status, first->member.status);
  EXPECT_EQ(again->member.request, first->member.request);
  EXPECT_EQ(again->queue, "Q#French#F");
  EXPECT_EQ(first->queue, "Q#French#F");
  ASSERT_TRUE(again->member.item);
  EXPECT_EQ(again->member.item.decode(), first->member.item.decode()) << "the entry that it waited by";
  EXPECT_EQ(status("2"), "queued");
  EXPECT_EQ(given(assign_from("Q#Spanish#F", "call-8", true)), "waiting");
  EXPECT_EQ(given(assign_from("Q#Spanish#F", "call-8", true)), "waiting");
  EXPECT_EQ(at("Q#Spanish#F").requests, 1);
  EXPECT_EQ(world.wait(queue->list_requests(10, ""))->requests.size(), 2u);
}

TEST_P(FilteredTest, AnEntryThatFillsAnItemKeepsNobodyFromARequestWithAnId) {
  Settings settings = call_centre();
  settings.copied = {"Photo"};
  open(settings);
  Item large = attributes({"French"}, "F");
  large.set("Photo", Value(std::string((400u << 10) - 230, 'x')));
  ASSERT_TRUE(world.wait(queue->put_member("1", large)));
  ASSERT_TRUE(enqueue("1"));
  ASSERT_EQ(given(assign({}, "call-7")), "1");
  const auto again = assign({}, "call-7");
  ASSERT_EQ(given(again), "1");
  EXPECT_EQ(again->queue, "Q#French#F");
  EXPECT_FALSE(again->member.item) << "there was no room to keep it";
}

// A request that is taken back while the timer looks for its member is over: nothing is tried again and again.
TEST_P(FilteredTest, ARequestCancelledWhileTheTimerMatchesItIsOver) {
  Settings settings = call_centre();
  settings.retry.attempts = 3;
  open(settings);
  Item agent = attributes({"French"}, "F");
  agent.set("AgentID", Value("7"));
  put_item("Q#French#F", "1", agent);
  agent.set("AgentStatus", Value("queued"));
  put_item("Agents", "Agent#7", agent);
  update_item("AllQueues", "Q#French#F", "SET QueueVersionId = QueueVersionId + :one ADD QueueDepth :one",
              Map{{":one", Value::number(1)}});
  for (int ms = 0; ms < 60; ++ms) {
    const std::string id = "r" + std::to_string(ms);
    put_item("R#French#F", id, Item{{"RequestId", Value(id)}});
    put_item("AllRequests", "Request#" + id,
             Item{{"RequestStatus", Value("waiting")},
                  {"RequestedAt", Value(id)},
                  {"Alternatives", Value(List{{Value(List{{Value("Q#French#F")}})}})}});
    update_item("AllQueues", "Q#French#F", "SET RequestVersionId = :n, RequestDepth = :one",
                Map{{":n", Value::number(ms)}, {":one", Value::number(1)}});
    auto matching = queue->match_waiting();
    world.pass(milliseconds(ms));
    const auto gone = world.wait(queue->cancel_request(id));
    const auto matched = world.wait(std::move(matching));
    ASSERT_TRUE(matched) << matched.error().message << " after " << ms << " ms";
    EXPECT_EQ(*matched, gone ? 0u : 1u);
    if (*matched == 1) return;  // From then on it is too late to cancel.
  }
}

TEST_P(FilteredTest, ARequestThatWaitsCanBeCancelled) {
  open();
  EXPECT_EQ(given(assign({like({{"Gender", {"F"}}})}, "r", true)), "waiting");
  const auto gone = world.wait(queue->cancel_request("r"));
  ASSERT_TRUE(gone) << gone.error().message;
  EXPECT_EQ(world.wait(queue->get_request("r")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(at("Q#French#F").requests, 0);
  queued("1", {"French"}, "F");
  EXPECT_EQ(given(assign({}, "r", true)), "1");
  const auto late = world.wait(queue->cancel_request("r"));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message, "request 'r' has the member '1': release it instead");
  expect_right();
}

// As addAvailAgentsToQueue writes it: no time at the agent, no look at requests.
TEST_P(FilteredTest, MembersThatTheSampleQueuedAreAssignedAndWithdrawn) {
  Settings settings = call_centre();
  settings.names.id = "AgentName";
  settings.copied.clear();
  open(settings);
  for (const std::string name : {"Ellen", "Remy"}) {
    const std::string time = name == "Ellen" ? "2022/01/05-14:01:39.416341" : "2022/01/05-14:01:40.416341";
    Item agent = attributes({"English", "French"}, "F");
    agent.set("AgentName", Value(name));
    Item entry = agent;
    agent.set("AgentID", Value("56c4"));
    agent.set("AgentStatus", Value("queued"));
    put_item("Agents", "Agent#" + name, agent);
    for (const std::string key : {"Q#English#F", "Q#French#F"}) {
      put_item(key, time, entry);
      update_item("AllQueues", key,
                  "SET QueueVersionId = if_not_exists(QueueVersionId, :zero) + :incr ADD QueueDepth :incr",
                  Map{{":incr", Value::number(1)}, {":zero", Value::number(0)}});
    }
  }
  expect_right();
  EXPECT_EQ(given(assign_from("Q#French#F")), "Ellen");
  EXPECT_EQ(at("Q#English#F").version, 3);
  const auto out = world.wait(queue->withdraw("Remy"));
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(at("Q#English#F").depth, 0);
  expect_right();
}

// Its scripts leave our time at the agent when they assign, reset and queue it again.
TEST_P(FilteredTest, AMemberThatTheSampleHadMeanwhileKeepsGoing) {
  Settings settings = call_centre();
  settings.names.id = "AgentName";
  settings.copied.clear();
  open(settings);
  const auto sample_moves = [&](const std::string& time, int64_t depth, const std::string& status) {
    update_item("AllQueues", "Q#French#F", "SET QueueVersionId = QueueVersionId + :one ADD QueueDepth :n",
                Map{{":n", Value::number(depth)}, {":one", Value::number(1)}});
    update_item("Agents", "Agent#Ellen", "SET AgentStatus = :s", Map{{":s", Value(status)}});
    if (depth < 0) {
      DeleteItemInput gone;
      gone.table = "AgentQueueFIFO";
      gone.key = Item{{"pk", Value("Q#French#F")}, {"sk", Value(time)}};
      ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
    } else {
      Item entry = attributes({"French"}, "F");
      entry.set("AgentName", Value("Ellen"));
      put_item("Q#French#F", time, entry);
    }
  };
  queued("Ellen", {"French"}, "F");
  sample_moves(std::string(item("Agents", "Agent#Ellen").string_or("QueuedAt")), -1, "available");
  sample_moves("2028/01/05-14:01:39.416341", 1, "queued");
  EXPECT_EQ(given(assign({})), "Ellen");
  ASSERT_TRUE(release("Ellen", "", true));
  sample_moves(std::string(item("Agents", "Agent#Ellen").string_or("QueuedAt")), -1, "available");
  sample_moves("2028/01/05-14:01:40.416341", 1, "queued");
  const auto out = world.wait(queue->withdraw("Ellen"));
  ASSERT_TRUE(out) << out.error().message;
  expect_right();
}

// Somebody who looks at no requests queues a member while one waits: the timer brings them together.
// A request never gets a member that has become another one between the look and the assignment.
TEST_P(FilteredTest, AMemberThatChangesWhileItIsGivenToARequestIsLookedAtAgain) {
  open();
  for (int ms = 0; ms < 80; ++ms) {
    const std::string id = std::to_string(ms);
    EXPECT_EQ(given(assign_from("Q#English#F", "r" + id, true)), "waiting");
    ASSERT_TRUE(put(id, {"English"}, "F"));
    auto going = queue->enqueue(id);
    world.pass(milliseconds(ms));
    const bool changes = item("Agents", "Agent#" + id).string_or("AgentStatus") == "available";
    if (changes) {
      update_item("Agents", "Agent#" + id, "SET Languages = :x", Map{{":x", Value(StringSet{{"French"}})}});
    }
    const auto enqueued = world.wait(std::move(going));
    ASSERT_TRUE(enqueued) << enqueued.error().message;
    const Item member = item("Agents", "Agent#" + id);
    const bool english = *member.find("Languages") == Value(StringSet{{"English"}});
    EXPECT_EQ(enqueued->member.request, english ? "r" + id : "") << "changed after " << ms << " ms";
    if (!english) {
      ASSERT_TRUE(world.wait(queue->cancel_request("r" + id)));
    }
  }
  expect_right();
}

TEST_P(FilteredTest, TheTimerMatchesWhatOthersQueued) {
  open();
  EXPECT_EQ(given(assign({}, "r1", true)), "waiting");
  world.pass(milliseconds(5));
  EXPECT_EQ(given(assign({}, "r2", true)), "waiting");
  Item agent = attributes({"French"}, "F");
  agent.set("AgentID", Value("7"));
  put_item("Q#French#F", "2022/01/05-14:01:39.416341", agent);
  agent.set("AgentStatus", Value("queued"));
  put_item("Agents", "Agent#7", agent);
  update_item("AllQueues", "Q#French#F", "SET QueueVersionId = QueueVersionId + :one ADD QueueDepth :one",
              Map{{":one", Value::number(1)}});
  EXPECT_EQ(world.wait(queue->match_waiting()).value_or(99), 1u);
  EXPECT_EQ(world.wait(queue->get_request("r1"))->member, "7");
  EXPECT_EQ(world.wait(queue->get_request("r2"))->status, "waiting");
  EXPECT_EQ(at("Q#English#M").requests, 1);
  EXPECT_EQ(world.wait(queue->match_waiting()).value_or(99), 0u);
  expect_right();
}

TEST_P(FilteredTest, ManyQueuesAreLookedAtByAHint) {
  Settings settings = call_centre();
  settings.attributes[0].values.clear();
  for (int i = 0; i < 60; ++i) settings.attributes[0].values.push_back("L" + std::to_string(i));
  settings.attributes[0].max_values = 4;
  open(settings);
  queued("1", {"L3", "L40", "L59"}, "M");
  queued("2", {"L3"}, "M");
  EXPECT_EQ(given(assign({like({{"Languages", {"L40", "L3"}}, {"Gender", {"M"}}})})), "1");
  EXPECT_EQ(at("Q#L59#M").depth, 0);
  EXPECT_EQ(given(assign_from("Q#L40#M", "r", true)), "waiting");
  ASSERT_TRUE(release("1", "", true));
  EXPECT_EQ(world.wait(queue->get_request("r"))->member, "1");
  expect_right();
}

TEST_P(FilteredTest, ListsInPages) {
  open();
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(put(id, {"English"}, "F"));
  ASSERT_TRUE(enqueue("b"));
  auto page = world.wait(queue->list_members({"", 2, ""}));
  ASSERT_EQ(page->members.size(), 2u);
  page = world.wait(queue->list_members({"", 2, page->cursor}));
  ASSERT_EQ(page->members.size(), 1u);
  EXPECT_EQ(page->members.front().id, "c");
  EXPECT_EQ(page->cursor, "");
  page = world.wait(queue->list_members({"queued", 10, ""}));
  ASSERT_EQ(page->members.size(), 1u);
  EXPECT_EQ(page->members.front().id, "b");
}

// A place that no page ended with would be read as the end of the list: an empty page.
TEST_P(FilteredTest, RefusesACursorThatNoPageEndedWith) {
  open();
  for (const char* id : {"a", "b"}) ASSERT_TRUE(put(id, {"English"}, "F"));
  for (const char* request : {"q", "r"}) EXPECT_EQ(given(assign_from("Q#English#F", request, true)), "waiting");
  const auto members = world.wait(queue->list_members({"", 1, ""}));
  const auto requests = world.wait(queue->list_requests(1, ""));
  ASSERT_NE(members->cursor, "");
  ASSERT_NE(requests->cursor, "");
  for (const std::string& cursor : {std::string("bad"), std::string("a"), requests->cursor}) {
    const auto page = world.wait(queue->list_members({"", 1, cursor}));
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().code, ErrorCode::kValidation);
    EXPECT_NE(page.error().message.find("'cursor' is none that a page of this list ended with"), std::string::npos);
  }
  for (const std::string& cursor : {std::string("bad"), std::string("q"), members->cursor}) {
    EXPECT_FALSE(world.wait(queue->list_requests(1, cursor))) << cursor;
  }
  EXPECT_EQ(world.wait(queue->list_requests(1, requests->cursor))->requests.at(0).id, "r");
}

}  // namespace
}  // namespace freshet::filtered
