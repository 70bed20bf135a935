// The methods of the sample, its item shapes and return codes; on a store that answers at once and on one that answers
// late and out of step.
#include "functions/priority/timestamp.h"
#include "tests/functions/priority/priority_world.h"

namespace freshet::priority {
namespace {

using TableQueueTest = PriorityFixture;
INSTANTIATE_TEST_SUITE_P(Stores, TableQueueTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(TableQueueTest, PutMakesTheSamplesItem) {
  open();
  const auto result = put("A-101", "");
  ASSERT_TRUE(result.ok()) << result.detail;
  EXPECT_EQ(result.version, 1);
  EXPECT_EQ(result.status, "UNDER_CONSTRUCTION");
  EXPECT_EQ(
      shape("A-101"),
      "data id last_updated_timestamp system_info .creation_timestamp .id .last_updated_timestamp .queue_selected "
      ".queued .status .version");
  EXPECT_EQ(in_info("A-101", "queued"), Value::number(0));
  EXPECT_EQ(in_info("A-101", "queue_selected"), Value::boolean(false));
  const Item read = item("A-101");
  EXPECT_EQ(*read.find("last_updated_timestamp"), in_info("A-101", "last_updated_timestamp"));
  EXPECT_EQ(result.last_updated.size(), std::string("2026-11-21T00:08:52.709144906Z").size());
}

TEST_P(TableQueueTest, PutTakesARecordOutOfTheQueueAndUpsertRaisesItsVersion) {
  open();
  queued({"A"});
  PutRecordInput again;
  again.id = "A";
  again.status = "READY_TO_SHIP";
  auto result = world.wait(queue->upsert(again));
  EXPECT_EQ(result.version, 3);
  EXPECT_EQ(result.place, RecordPlace::kOutside);
  EXPECT_FALSE(item("A").contains("data"));
  result = world.wait(queue->put(again));
  EXPECT_EQ(result.version, 1);
  EXPECT_EQ(stats().ready, 0u);
  again.attributes.set("queued", Value::number(1));
  result = world.wait(queue->put(again));
  EXPECT_EQ(result.code, Code::kIllegalState);
  EXPECT_NE(result.detail.find("'queued' of item 'A'"), std::string::npos) << result.detail;
}

TEST_P(TableQueueTest, TheLifeOfARecord) {
  open();
  ASSERT_TRUE(put("A", "").ok());
  EXPECT_EQ(enqueue("A").code, Code::kRecordNotConstructed);
  auto result = world.wait(queue->update_status(on("A"), "READY_TO_SHIP"));
  EXPECT_EQ(result.version, 2);
  EXPECT_EQ(world.wait(queue->update_status(on("A"), "READY_TO_SHIP")).version, 2) << "the same: no write";
  result = enqueue("A");
  EXPECT_EQ(result.version, 3);
  EXPECT_EQ(*item("A").find("queued"), Value::number(1));
  EXPECT_EQ(shape("A"),
            "data id last_updated_timestamp queued system_info .creation_timestamp .id .last_updated_timestamp "
            ".queue_added_timestamp .queue_selected .queued .status .version");
  const Value place = *item("A").find("last_updated_timestamp");
  world.pass(milliseconds(5));
  const auto peeked = peek();
  ASSERT_TRUE(peeked.ok()) << peeked.detail;
  EXPECT_EQ(peeked.id, "A");
  EXPECT_EQ(peeked.status, "PROCESSING_SHIPMENT");
  EXPECT_EQ(peeked.version, 4);
  EXPECT_FALSE(peeked.receipt.empty());
  EXPECT_EQ(*item("A").find("last_updated_timestamp"), place) << "its place in the order";
  EXPECT_EQ(in_info("A", "queue_selected"), Value::boolean(true));
  EXPECT_EQ(in_info("A", "peek_utc_timestamp"), Value::number(peeked.peeked_ms));
  EXPECT_EQ(peek().code, Code::kEmptyQueue);
  EXPECT_EQ(enqueue("A").code, Code::kIllegalState);
  EXPECT_TRUE(world.wait(queue->update_status(on("A"), "COMPLETED")).ok());
  result = remove("A", peeked.receipt);
  ASSERT_TRUE(result.ok()) << result.detail;
  EXPECT_EQ(result.status, "COMPLETED");
  EXPECT_EQ(shape("A"),
            "data id last_updated_timestamp system_info .creation_timestamp .id .last_updated_timestamp "
            ".queue_added_timestamp .queue_peek_count .queue_peek_timestamp .queue_remove_timestamp .queue_selected "
            ".queued .status .version");
  EXPECT_EQ(in_info("A", "queued"), Value::number(0));
  for (const auto code : {enqueue("A").code, restore("A").code, world.wait(queue->touch(on("A"))).code,
                          world.wait(queue->update_status(on("A"), "READY_TO_SHIP")).code,
                          world.wait(queue->send_to_dlq(on("A"))).code}) {
    EXPECT_EQ(code, Code::kIllegalState) << "COMPLETED is final";
  }
  EXPECT_TRUE(put("A").ok());
  EXPECT_TRUE(enqueue("A").ok());
}

TEST_P(TableQueueTest, RestoreGoesToTheEnd) {
  open();
  queued({"A", "B"});
  EXPECT_EQ(peek().id, "A");
  const auto result = restore("A");
  ASSERT_TRUE(result.ok()) << result.detail;
  EXPECT_EQ(result.status, "READY_TO_SHIP");
  EXPECT_EQ(in_info("A", "queue_add_timestamp"), Value(result.last_updated));
  EXPECT_EQ(peek().id, "B");
  EXPECT_EQ(peek().id, "A");
}

TEST_P(TableQueueTest, TouchSendsToTheEnd) {
  open();
  queued({"A", "B"});
  EXPECT_TRUE(world.wait(queue->touch(on("A"))).ok());
  EXPECT_EQ(peek().id, "B");
}

TEST_P(TableQueueTest, TheDeadLetterQueue) {
  open();
  ASSERT_TRUE(put("A").ok());
  EXPECT_EQ(world.wait(queue->send_to_dlq(on("A"))).code, Code::kIllegalState) << "not in the queue";
  queued({"A", "B"});
  const auto result = world.wait(queue->send_to_dlq(on("A")));
  ASSERT_TRUE(result.ok()) << result.detail;
  EXPECT_EQ(result.status, "IN_DLQ");
  EXPECT_EQ(shape("A"),
            "DLQ data id last_updated_timestamp system_info .creation_timestamp .dlq_add_timestamp .id "
            ".last_updated_timestamp .queue_added_timestamp .queue_selected .queued .status .version");
  world.shown();
  const auto dead = *world.wait(queue->dlq_stats());
  EXPECT_EQ(dead.dead, 1u);
  EXPECT_EQ(dead.first_ids, std::vector<std::string>{"A"});
  EXPECT_EQ(world.wait(queue->send_to_dlq(on("A"))).code, Code::kIllegalState);
  EXPECT_TRUE(restore("A").ok());
  EXPECT_FALSE(item("A").contains("DLQ"));
  EXPECT_EQ(peek().id, "B");
  EXPECT_EQ(peek().id, "A");
}

TEST_P(TableQueueTest, DequeueRemoves) {
  open();
  EXPECT_EQ(world.wait(queue->dequeue()).code, Code::kEmptyQueue);
  queued({"A"});
  const auto result = world.wait(queue->dequeue());
  ASSERT_TRUE(result.ok()) << result.detail;
  EXPECT_EQ(result.id, "A");
  EXPECT_EQ(result.status, "PROCESSING_SHIPMENT");
  EXPECT_FALSE(item("A").contains("queued"));
  EXPECT_FALSE(item("A").contains("visible_at"));
  EXPECT_TRUE(restore("A").ok()) << "it can come back";
}

TEST_P(TableQueueTest, CodesForUnknownAndMissingIds) {
  open();
  for (const auto& result : {world.wait(queue->get("")), world.wait(queue->update_status(on(""), "READY_TO_SHIP")),
                             enqueue(""), remove(""), restore(""), world.wait(queue->touch(on(""))),
                             world.wait(queue->send_to_dlq(on(""))), world.wait(queue->erase("")), put("")}) {
    EXPECT_EQ(result.code, Code::kIdNotProvided);
  }
  for (const auto& result :
       {world.wait(queue->get("x")), world.wait(queue->update_status(on("x"), "READY_TO_SHIP")), enqueue("x"),
        remove("x"), restore("x"), world.wait(queue->touch(on("x"))), world.wait(queue->send_to_dlq(on("x"))),
        world.wait(queue->extend(on("x"), {})), world.wait(queue->cancel(on("x")))}) {
    EXPECT_EQ(result.code, Code::kIdNotFound);
    EXPECT_EQ(result.detail, "table 'Shipment' has no item with the id 'x'");
  }
  EXPECT_TRUE(item("x").empty()) << "nothing was made";
  EXPECT_TRUE(world.wait(queue->erase("x")).ok());
}

TEST_P(TableQueueTest, VersionsGoneByAreRefused) {
  open();
  queued({"A"});
  RecordCall call = on("A");
  call.version = 1;
  const Item before = item("A");
  const auto result = world.wait(queue->touch(call));
  EXPECT_EQ(result.code, Code::kOnCondition);
  EXPECT_EQ(result.version, 2);
  EXPECT_EQ(result.detail, "record 'A' has version 2, not 1");
  EXPECT_EQ(item("A"), before);
  call.version = 2;
  EXPECT_EQ(world.wait(queue->touch(call)).version, 3);
}

// The items of the sample's own SDK, by its update expressions.
TEST_P(TableQueueTest, ReadsWhatTheSampleWrites) {
  open();
  const int64_t now = world.now_ms();
  const std::string when = "2026-11-21T00:08:52.709144906Z";
  const auto sample = [&](const std::string& id, bool selected, int64_t peeked) {
    Map system_info{{"id", Value(id)},
                    {"creation_timestamp", Value(when)},
                    {"status", Value(selected ? "PROCESSING_SHIPMENT" : "READY_TO_SHIP")},
                    {"version", Value::number(7)},
                    {"last_updated_timestamp", Value(when)},
                    {"queued", Value::number(1)},
                    {"queue_selected", Value::boolean(selected)},
                    {"queue_added_timestamp", Value(when)}};
    if (selected) system_info.set("peek_utc_timestamp", Value::number(peeked));
    put_item(Item{{"id", Value(id)},
                  {"queued", Value::number(1)},
                  {"last_updated_timestamp", Value(when + id)},
                  {"system_info", Value(std::move(system_info))}});
  };
  sample("1-held", true, now - 1000);
  sample("2-straggler", true, now - 60'001);
  sample("3-waits", false, 0);
  const auto first = peek();
  EXPECT_EQ(first.id, "2-straggler");
  EXPECT_EQ(first.failures, 1) << "a passed timeout is a failure";
  EXPECT_EQ(peek().id, "3-waits");
  EXPECT_EQ(peek().code, Code::kEmptyQueue);
  EXPECT_EQ(*item("1-held").find("queued"), Value::number(2)) << "later peeks need not pass it";
  world.pass(milliseconds(59'500));
  EXPECT_EQ(peek().id, "1-held") << "at the sample's timeout";
}

// The sample's consumers settle what we peeked: their expressions apply to our items.
TEST_P(TableQueueTest, TheSampleSettlesWhatWePeeked) {
  open();
  queued({"A"});
  const auto peeked = peek();
  auto removed = update_item(
      "A",
      "ADD #sys.#v :one REMOVE #sys.peek_utc_timestamp, queued, #DLQ SET #sys.queued = :zero, #sys.queue_selected = "
      ":false, #sys.last_updated_timestamp = :lut, last_updated_timestamp = :lut, #sys.queue_remove_timestamp = :lut",
      Map{{":one", Value::number(1)},
          {":zero", Value::number(0)},
          {":false", Value::boolean(false)},
          {":lut", Value("2026-11-21T00:08:52Z")}},
      {{"#v", "version"}, {"#DLQ", "DLQ"}, {"#sys", "system_info"}});
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(world.wait(queue->get("A")).place, RecordPlace::kOutside);
  EXPECT_EQ(remove("A", peeked.receipt).code, Code::kOnCondition) << "the receipt is stale";
  EXPECT_EQ(stats().in_flight, 0u);
}

TEST_P(TableQueueTest, InPlaceLeavesWhatTheSampleLeaves) {
  Settings settings = shipment_settings();
  settings.in_place = true;
  open(settings);
  queued({"A", "B", "C"});
  EXPECT_EQ(peek().id, "A");
  EXPECT_EQ(*item("A").find("queued"), Value::number(1));
  EXPECT_EQ(peek().id, "B");
  const auto now = stats();
  EXPECT_EQ(now.ready, 1u);
  EXPECT_EQ(now.in_flight, 2u);
  EXPECT_EQ(now.first_in_flight, (std::vector<std::string>{"A", "B"}));
  world.pass(milliseconds(60'001));
  const auto again = peek();
  EXPECT_EQ(again.id, "A");
  EXPECT_EQ(again.failures, 1);
}

TEST_P(TableQueueTest, ListsInPages) {
  open();
  queued({"A", "B", "C", "D", "E"});
  std::set<std::string> seen;
  ListRecordsInput input;
  input.limit = 2;
  do {
    const auto page = world.wait(queue->list(input));
    ASSERT_TRUE(page) << page.error().message;
    for (const auto& record : page->records) {
      EXPECT_TRUE(seen.insert(record.id).second);
      EXPECT_EQ(record.status, "READY_TO_SHIP");
    }
    input.cursor = page->cursor;
  } while (!input.cursor.empty());
  EXPECT_EQ(seen.size(), 5u);
}

TEST_P(TableQueueTest, TwoQueuesOverOneTable) {
  open();
  Settings other = shipment_settings();
  other.name = "express";
  other.numbers = {11, 12, 13, 11};
  auto opened = world.wait(TableQueue::open(*world.services, other));
  ASSERT_TRUE(opened) << opened.error().message;
  TableQueue& express = **opened;
  queue->share_dead_index();
  express.share_dead_index();
  queued({"A", "B"});
  ASSERT_TRUE(put("X").ok());
  EnqueueInput input;
  input.call.id = "X";
  ASSERT_TRUE(world.wait(express.enqueue(input)).ok());
  const auto wrong = enqueue("X");
  EXPECT_EQ(wrong.code, Code::kIllegalState);
  EXPECT_EQ(wrong.detail, "record 'X' is in another queue of the table: 'queued' is 11");
  EXPECT_EQ(world.wait(express.peek({})).front().id, "X");
  EXPECT_EQ(world.wait(express.peek({})).front().code, Code::kEmptyQueue);
  ASSERT_TRUE(world.wait(express.send_to_dlq(on("X"))).ok());
  EXPECT_EQ(stats().ready, 2u);
  EXPECT_EQ(stats().dead, 0u);
  EXPECT_EQ(world.wait(express.dlq_stats())->first_ids, std::vector<std::string>{"X"});
}

TEST(TimestampTest, WritesNineDigitsAndReadsAllForms) {
  EXPECT_EQ(format_timestamp(1'795'219'732'709'144'906), "2026-11-21T00:08:52.709144906Z");
  EXPECT_EQ(format_timestamp(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(format_timestamp(-1), "1969-12-31T23:59:59.999999999Z");
  for (const auto& [text, ns] : std::initializer_list<std::pair<const char*, int64_t>>{
           {"2026-11-21T00:08:52.709144906Z", 1'795'219'732'709'144'906},
           {"2026-11-21T00:08:52.709Z", 1'795'219'732'709'000'000},
           {"2026-11-21T00:08:52Z", 1'795'219'732'000'000'000},
           {"2026-11-21T00:08Z", 1'795'219'680'000'000'000},
           {"2026-11-21T01:08+01:00", 1'795'219'680'000'000'000},
           {"2026-11-20T22:38:00-01:30", 1'795'219'680'000'000'000}}) {
    EXPECT_EQ(parse_timestamp(text), ns) << text;
  }
  for (const char* text : {"", "now", "2026-11-21", "2026-11-21T00:08:52", "2026-02-30T00:00Z", "2026-11-21T24:00Z",
                           "2026-11-21T00:08:52.Z", "2026-11-21T00:08:52.1234567890Z", "2026-11-21T00:08Zx"}) {
    EXPECT_FALSE(parse_timestamp(text)) << text;
  }
}

}  // namespace
}  // namespace freshet::priority
