// Features beyond the sample: receipts, timeouts, delays, the dead-letter queue by itself, order, strict mode, redrive,
// items that no queue wrote.
#include <algorithm>

#include "tests/functions/priority/priority_world.h"

namespace freshet::priority {
namespace {

using BeyondTest = PriorityFixture;
INSTANTIATE_TEST_SUITE_P(Stores, BeyondTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

std::string ids(const std::vector<PriorityResult>& results) {
  std::string out;
  for (const auto& result : results) out += (out.empty() ? "" : " ") + (result.ok() ? result.id : "-");
  return out;
}

TEST_P(BeyondTest, AStaleReceiptChangesNothing) {
  open();
  queued({"A"});
  const auto first = peek(milliseconds(1000));
  world.pass(milliseconds(1100));
  const auto second = peek();
  ASSERT_EQ(second.id, "A");
  EXPECT_NE(first.receipt, second.receipt);
  const Item before = item("A");
  RestoreInput back;
  back.call = on("A", first.receipt);
  for (const auto& result : {remove("A", first.receipt), world.wait(queue->restore(back)),
                             world.wait(queue->send_to_dlq(on("A", first.receipt))),
                             world.wait(queue->extend(on("A", first.receipt), {})), remove("A", "nonsense")}) {
    EXPECT_EQ(result.code, Code::kOnCondition);
    EXPECT_NE(result.detail.find("record 'A' is not held under this receipt"), std::string::npos) << result.detail;
  }
  EXPECT_EQ(item("A"), before);
  EXPECT_TRUE(remove("A", second.receipt).ok());
  EXPECT_EQ(remove("A", second.receipt).code, Code::kOnCondition) << "once";
}

TEST_P(BeyondTest, ALateConsumerMayStillSettleWhatNobodyGotSince) {
  open();
  queued({"A"});
  const auto peeked = peek(milliseconds(1000));
  world.pass(milliseconds(1100));
  sweep();
  EXPECT_EQ(stats().ready, 1u);
  EXPECT_EQ(world.wait(queue->extend(on("A", peeked.receipt), {})).code, Code::kIllegalState) << "not in flight";
  EXPECT_TRUE(remove("A", peeked.receipt).ok());
}

TEST_P(BeyondTest, ReceiptsCanBeRequired) {
  Settings settings = shipment_settings();
  settings.require_receipt = true;
  open(settings);
  queued({"A"});
  const auto peeked = peek(milliseconds(1000));
  EXPECT_EQ(remove("A").code, Code::kIllegalState);
  EXPECT_EQ(restore("A").code, Code::kIllegalState);
  EXPECT_EQ(world.wait(queue->send_to_dlq(on("A"))).code, Code::kIllegalState);
  world.pass(milliseconds(1100));
  EXPECT_TRUE(remove("A").ok()) << "it is visible again";
}

TEST_P(BeyondTest, ExtendKeepsItInvisible) {
  open();
  queued({"A"});
  const auto peeked = peek(milliseconds(1000));
  world.pass(milliseconds(800));
  const auto extended = world.wait(queue->extend(on("A", peeked.receipt), milliseconds(2000)));
  ASSERT_TRUE(extended.ok()) << extended.detail;
  EXPECT_GE(extended.visible_ms, world.now_ms() + 1900);
  world.pass(milliseconds(1500));
  EXPECT_EQ(peek().code, Code::kEmptyQueue);
  world.pass(milliseconds(600));
  EXPECT_EQ(peek().id, "A");
}

TEST_P(BeyondTest, AConsumerThatDiesSilentlyLeadsToTheDeadLetterQueue) {
  Settings settings = shipment_settings();
  settings.max_failures = 3;
  open(settings);
  queued({"A"});
  for (int i = 1; i <= 3; ++i) {
    const auto peeked = peek(milliseconds(1000));
    ASSERT_EQ(peeked.id, "A") << peeked.detail;
    EXPECT_EQ(peeked.peeks, i);
    EXPECT_EQ(peeked.failures, i - 1);
    world.pass(milliseconds(1100));
  }
  EXPECT_EQ(peek().code, Code::kEmptyQueue);
  world.shown();
  EXPECT_EQ(stats().dead, 1u);
  EXPECT_EQ(in_info("A", "status"), Value("IN_DLQ"));
  EXPECT_EQ(in_info("A", "queue_failure_count"), Value::number(3));
  EXPECT_TRUE(restore("A").ok());
  const auto again = peek();
  EXPECT_EQ(again.failures, 0) << "a new life";
  EXPECT_EQ(again.peeks, 1);
}

TEST_P(BeyondTest, ARecordThatIsQueuedAgainBeginsANewLife) {
  Settings settings = shipment_settings();
  settings.max_failures = 2;
  open(settings);
  queued({"A"});
  EXPECT_EQ(restore("A", peek().receipt).failures, 1);
  ASSERT_TRUE(remove("A").ok());
  ASSERT_TRUE(enqueue("A").ok());
  const auto peeked = peek();
  EXPECT_EQ(peeked.failures, 0);
  EXPECT_EQ(peeked.peeks, 1);
  EXPECT_EQ(restore("A", peeked.receipt).place, RecordPlace::kReady);
}

TEST_P(BeyondTest, AlsoOneThatIsQueuedFromTheDeadLetters) {
  Settings settings = shipment_settings();
  settings.max_failures = 2;
  open(settings);
  queued({"A"});
  restore("A", peek().receipt);
  ASSERT_EQ(restore("A", peek().receipt).place, RecordPlace::kDead);
  ASSERT_TRUE(world.wait(queue->update_status(on("A"), "READY_TO_SHIP")).ok());
  ASSERT_TRUE(enqueue("A").ok());
  const auto peeked = peek();
  EXPECT_EQ(peeked.failures, 0);
  EXPECT_EQ(peeked.peeks, 1);
  EXPECT_EQ(restore("A", peeked.receipt).place, RecordPlace::kReady);
}

// The sample's version begins anew with every put, so it alone does not tell two lives of a record apart.
TEST_P(BeyondTest, AChangeOfAnEarlierLifeIsRefused) {
  open();
  queued({"A"});
  RecordFacts facts;
  {
    const auto read = read_facts(ItemRef::encode(item("A")), {{"id", Type::kString}, {}}, queue->settings(), 0);
    ASSERT_TRUE(read);
    facts = *read;
  }
  world.pass(milliseconds(5));
  queued({"A"});
  EXPECT_EQ(in_info("A", "version"), Value::number(facts.version));
  RecordUpdate update(facts, queue->settings());
  update.set_info(info::kQueued, Value::number(0));
  const auto written = world.wait(world.client().update_item(std::move(update).finish(Item{{"id", Value("A")}})));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kConditionalCheckFailed);
}

TEST_P(BeyondTest, ARecordInAnotherQueueOfTheTableIsLeftAlone) {
  open();
  queued({"A"});
  Settings other = shipment_settings();
  other.name = "other";
  other.numbers = {11, 12, 13, 11};
  auto opened = world.wait(TableQueue::open(*world.services, other));
  ASSERT_TRUE(opened);
  const Item before = item("A");
  for (const auto& result :
       {world.wait((*opened)->touch(on("A"))), world.wait((*opened)->update_status(on("A"), "COMPLETED")),
        world.wait((*opened)->remove(on("A"))), world.wait((*opened)->set_priority(on("A"), 1))}) {
    EXPECT_EQ(result.code, Code::kIllegalState);
    EXPECT_NE(result.detail.find("in another queue of the table"), std::string::npos) << result.detail;
  }
  EXPECT_EQ(item("A"), before);
}

TEST_P(BeyondTest, AnAttributeThatOrdersNothingMayBeAnything) {
  open();
  PutRecordInput input;
  input.id = "A";
  input.status = "READY_TO_SHIP";
  input.attributes.set("priority", Value("high"));
  ASSERT_TRUE(world.wait(queue->put(input)).ok());
  ASSERT_TRUE(enqueue("A").ok());
  EXPECT_EQ(peek().id, "A");
  Settings settings = shipment_settings();
  settings.table = "Ranked";
  settings.order = Order::kBoth;
  open(settings);
  for (Value wrong : {Value("high"), Value(*Decimal::parse("1.5")), Value::number(2'000'000'000)}) {
    input.attributes.set("priority", std::move(wrong));
    const auto result = world.wait(queue->put(input));
    EXPECT_EQ(result.code, Code::kIllegalState);
    EXPECT_NE(result.detail.find("'priority' of item 'A' must be a whole number"), std::string::npos) << result.detail;
    EXPECT_TRUE(item("A", "Ranked").empty()) << "nothing is changed";
  }
}

TEST_P(BeyondTest, FailuresBackOffAndEndInTheDeadLetterQueue) {
  Settings settings = shipment_settings();
  settings.max_failures = 3;
  settings.backoff = {milliseconds(1000), milliseconds(10'000), 2, 0};
  open(settings);
  queued({"A"});
  auto peeked = peek();
  auto result = restore("A", peeked.receipt);
  EXPECT_EQ(result.place, RecordPlace::kDelayed);
  EXPECT_EQ(peek().code, Code::kEmptyQueue);
  EXPECT_EQ(stats().delayed, 1u);
  world.pass(milliseconds(1001));
  peeked = peek();
  ASSERT_EQ(peeked.id, "A");
  result = restore("A", peeked.receipt);
  world.pass(milliseconds(1500));
  EXPECT_EQ(peek().code, Code::kEmptyQueue) << "twice as long";
  world.pass(milliseconds(600));
  peeked = peek();
  RestoreInput back;
  back.call = on("A", peeked.receipt);
  back.failed = false;
  EXPECT_EQ(world.wait(queue->restore(back)).place, RecordPlace::kReady) << "that is no failure";
  peeked = peek();
  EXPECT_EQ(peeked.failures, 2);
  EXPECT_EQ(restore("A", peeked.receipt).place, RecordPlace::kDead);
}

TEST_P(BeyondTest, DelayedVisibility) {
  open();
  ASSERT_TRUE(put("A").ok());
  auto result = enqueue("A", {}, milliseconds(5000));
  EXPECT_EQ(result.place, RecordPlace::kDelayed);
  EXPECT_EQ(peek().code, Code::kEmptyQueue);
  world.pass(milliseconds(5001));
  EXPECT_EQ(peek().id, "A");
  EXPECT_EQ(enqueue("A", {}, milliseconds(-1)).code, Code::kIllegalState);
}

TEST_P(BeyondTest, OrderByPriorityThenTime) {
  Settings settings = shipment_settings();
  settings.order = Order::kBoth;
  open(settings);
  for (const auto& [name, priority] : {std::pair("low", -5), {"high-1", 9}, {"none", 0}, {"high-2", 9}}) {
    ASSERT_TRUE(put(name).ok());
    ASSERT_TRUE(enqueue(name, priority).ok());
    world.pass(milliseconds(1));
  }
  ASSERT_TRUE(world.wait(queue->set_priority(on("low"), 10)).ok());
  EXPECT_EQ(ids(peek_many(10)), "low high-1 high-2 none");
  EXPECT_EQ(world.wait(queue->set_priority(on("low"), kLargestPriority + 1)).code, Code::kIllegalState);
}

TEST_P(BeyondTest, OrderByPriorityAloneAndNewestFirst) {
  Settings settings = shipment_settings();
  settings.order = Order::kPriority;
  settings.lowest_first = true;
  open(settings);
  for (const auto& [name, priority] : {std::pair("nine", 9), {"one", 1}, {"five", 5}}) {
    ASSERT_TRUE(put(name).ok());
    ASSERT_TRUE(enqueue(name, priority).ok());
  }
  EXPECT_EQ(ids(peek_many(10)), "one five nine");
  settings = shipment_settings();
  settings.table = "Newest";
  settings.newest_first = true;
  open(settings);
  queued({"A", "B", "C"});
  EXPECT_EQ(ids(peek_many(2)), "C B");
}

TEST_P(BeyondTest, CancelWhileItWaits) {
  open();
  queued({"A", "B"});
  EXPECT_EQ(peek().id, "A");
  EXPECT_EQ(world.wait(queue->cancel(on("A"))).code, Code::kIllegalState);
  const auto result = world.wait(queue->cancel(on("B")));
  ASSERT_TRUE(result.ok()) << result.detail;
  EXPECT_EQ(result.status, "READY_TO_SHIP");
  EXPECT_EQ(peek().code, Code::kEmptyQueue);
  EXPECT_EQ(world.wait(queue->cancel(on("B"))).code, Code::kIllegalState);
  EXPECT_TRUE(enqueue("B").ok());
}

TEST_P(BeyondTest, StrictModeHasOneInFlight) {
  Settings settings = shipment_settings();
  settings.strict = true;
  open(settings);
  queued({"A", "B", "C"});
  std::vector<Async<std::vector<PriorityResult>>> peeks;
  for (int i = 0; i < 5; ++i) peeks.push_back(queue->peek({}));
  int claimed = 0;
  for (auto& one : peeks) claimed += world.wait(std::move(one)).front().ok() ? 1 : 0;
  EXPECT_EQ(claimed, 1);
  const auto refused = peek();
  EXPECT_EQ(refused.code, Code::kEmptyQueue);
  EXPECT_NE(refused.detail.find("strict"), std::string::npos);
  EXPECT_TRUE(remove("A").ok());
  EXPECT_EQ(ids(peek_many(3)), "B");
}

TEST_P(BeyondTest, RedriveSomeByFilterAllAndSlowly) {
  open();
  queued({"A", "B", "C", "D"});
  for (const char* id : {"A", "B", "C", "D"}) ASSERT_TRUE(world.wait(queue->send_to_dlq(on(id))).ok());
  RedriveRecordsInput input;
  input.ids = {"A", "x"};
  auto out = world.wait(queue->redrive(input));
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->moved, 1u);
  ASSERT_EQ(out->refused.size(), 1u);
  EXPECT_EQ(out->refused[0].code, Code::kIdNotFound);
  input = {};
  input.filter = "#d.id = :id";
  input.placeholders = {{{"#d", "data"}}, Map{{":id", Value("C")}}};
  EXPECT_EQ(world.wait(queue->redrive(input))->moved, 1u);
  input = {};
  input.rate = 10;
  out = world.wait(queue->redrive(input));
  EXPECT_TRUE(out->going_on);
  EXPECT_EQ(world.wait(queue->redrive(input)).error().code, ErrorCode::kConflict);
  world.pass(milliseconds(60));
  EXPECT_EQ(stats().redrive->moved, 1u);
  world.pass(milliseconds(500));
  EXPECT_EQ(stats().redrive->moved, 2u);
  EXPECT_FALSE(stats().redrive->going_on);
  EXPECT_EQ(stats().dead, 0u);
  EXPECT_EQ(ids(peek_many(10)), "A C B D");
  input = {};
  input.filter = "nonsense =";
  EXPECT_EQ(world.wait(queue->redrive(input)).error().code, ErrorCode::kValidation);
}

TEST_P(BeyondTest, AnItemOfAnybodyCanBeQueuedByAttributesAlone) {
  Settings settings = shipment_settings();
  settings.states.used = false;
  open(settings);
  put_item(Item{{"id", Value("plain")}, {"anything", Value::number(1)}});
  put_item(Item{{"id", Value("marked")},
                {"queued", Value::number(1)},
                {"last_updated_timestamp", Value("2026-11-21T00:08:52Z")}});
  ASSERT_TRUE(enqueue("plain").ok());
  EXPECT_EQ(ids(peek_many(5)), "marked plain");
  EXPECT_EQ(in_info("marked", "version"), Value::number(1));
  EXPECT_EQ(in_info("plain", "status"), Value()) << "states are not used";
  EXPECT_EQ(*item("plain").find("anything"), Value::number(1));
  EXPECT_TRUE(remove("marked").ok());
}

TEST_P(BeyondTest, ATableWithTwoKeysOneOfThemANumber) {
  Settings settings = shipment_settings();
  settings.table = "Orders";
  TableDefinition table = records_table(settings, {{"customer", Type::kString}, KeyAttribute{"order", Type::kNumber}});
  open(settings, table);
  queued({"c1|17", "c1|9"});
  EXPECT_EQ(ids(peek_many(5)), "c1|17 c1|9");
  EXPECT_TRUE(remove("c1|17").ok());
  EXPECT_EQ(put("c1").detail, "id 'c1': the table has a sort key too: customer|order");
  const auto wrong = put("c1|x");
  EXPECT_EQ(wrong.code, Code::kIllegalState);
  EXPECT_EQ(enqueue("c1|x").code, Code::kIdNotFound);
  EXPECT_NE(wrong.detail.find("'order' is a number (N)"), std::string::npos) << wrong.detail;
}

// "a|b|5" is the id of (a, "b|5"), which is another item or none.
TEST_P(BeyondTest, AnItemThatNoIdNamesIsPassed) {
  Settings settings = shipment_settings();
  settings.table = "Pairs";
  open(settings, records_table(settings, {{"p", Type::kString}, KeyAttribute{"s", Type::kString}}));
  const auto ready = [](const std::string& p, const std::string& s, const std::string& at) {
    return Item{{"p", Value(p)},
                {"s", Value(s)},
                {"queued", Value::number(1)},
                {"last_updated_timestamp", Value(at)},
                {"system_info", Value(Map{{"version", Value::number(1)}, {"status", Value("READY_TO_SHIP")}})}};
  };
  put_item(ready("a|b", "5", "1"), "Pairs");
  put_item(ready("c", "6", "2"), "Pairs");
  Item other = ready("a", "b|5", "3");
  for (const auto* name : {"queued", "last_updated_timestamp"}) other.erase(name);
  put_item(other, "Pairs");
  const auto peeked = peek();
  EXPECT_EQ(peeked.id, "c|6");
  ASSERT_EQ(peeked.passed.size(), 1u);
  EXPECT_EQ(peeked.passed[0],
            "p of item 'a|b|5' has a '|' in it, which separates the keys in ids: no id names this item");
  EXPECT_EQ(world.wait(queue->get("a|b|5")).place, RecordPlace::kOutside) << "the other one";
}

TEST_P(BeyondTest, StateInATableOfItsOwn) {
  Settings settings = shipment_settings();
  settings.state_table = "ShipmentQueue";
  open(settings);
  queued({"A", "B"});
  EXPECT_EQ(shape("A"), "data id") << "the record's table has nothing of the queue";
  put_item(Item{{"id", Value("C")}, {"data", Value("plain")}});
  ASSERT_TRUE(world.wait(queue->update_status(on("C"), "READY_TO_SHIP")).ok());
  ASSERT_TRUE(enqueue("C").ok());
  DeleteItemInput gone;
  gone.table = "Shipment";
  gone.key.set("id", Value("A"));
  ASSERT_TRUE(world.wait(world.client().delete_item(gone)));
  EXPECT_EQ(world.wait(queue->touch(on("A"))).code, Code::kIdNotFound);
  const auto one = peek();
  ASSERT_EQ(one.id, "B") << "a record that was deleted is no work, and the next one is found at once: " << one.detail;
  RestoreInput back;
  back.call = on("B", one.receipt);
  ASSERT_TRUE(world.wait(queue->restore(back)).ok());
  const auto peeked = peek_many(5);
  EXPECT_EQ(ids(peeked), "C B");
  EXPECT_TRUE(peeked[0].item.find("data"));
  EXPECT_TRUE(item("A", "ShipmentQueue").empty());
  EXPECT_TRUE(remove("B", peeked[1].receipt).ok());
  EXPECT_TRUE(world.wait(queue->erase("B")).ok());
  EXPECT_TRUE(item("B", "ShipmentQueue").empty());
  EXPECT_EQ(world.wait(queue->get("C")).place, RecordPlace::kInFlight);
}

TEST_P(BeyondTest, AWriteThatTheStoreRefusesIsNoConflict) {
  Settings settings = shipment_settings();
  settings.state_table = "ShipmentQueue";
  TableDefinition table = records_table(settings, {{"id", Type::kString}, {}});
  table.indexes.push_back({"by-kind", {{"kind", Type::kString}, {}}, false, Projection::kAll, {}});
  open(settings, table);
  PutRecordInput input;
  input.id = "A";
  input.attributes.set("kind", Value::number(1));
  for (const auto& result : {world.wait(queue->put(input)), world.wait(queue->upsert(input))}) {
    EXPECT_EQ(result.code, Code::kStoreError);
    EXPECT_EQ(result.error, ErrorCode::kValidation);
    EXPECT_NE(result.detail.find("Index Key kind"), std::string::npos) << result.detail;
  }
  EXPECT_TRUE(item("A").empty());
}

// Each is refused with the attribute and the item named, and stays as it is; the queue goes on behind it.
TEST_P(BeyondTest, ItemsThatNoQueueWrote) {
  open();
  const auto with = [](const std::string& name, Value value) {
    Map system_info{
        {"version", Value::number(1)}, {"status", Value("READY_TO_SHIP")}, {"queue_selected", Value::boolean(false)}};
    system_info.set(name, std::move(value));
    return Value(std::move(system_info));
  };
  const std::vector<std::pair<Value, std::string>> cases = {
      {Value("text"), "system_info of item 'x' has the type S; it must be a map (M)"},
      {Value(Map{}), "system_info.version of item 'x' is missing"},
      {with("version", Value("1")), "system_info.version of item 'x' has the type S; it must be a number (N)"},
      {with("version", Value(*Decimal::parse("1.5"))),
       "system_info.version of item 'x' is 1.5; it must be a whole number from 0 to 9007199254740992"},
      {with("queue_peek_count", Value::number(INT64_MAX)),
       "system_info.queue_peek_count of item 'x' is 9223372036854775807; it must be a whole number from 0 to "
       "9007199254740992"},
      {with("status", Value::number(3)), "system_info.status of item 'x' has the type N; it must be a string (S)"},
      {with("queue_selected", Value("yes")),
       "system_info.queue_selected of item 'x' has the type S; it must be a boolean (BOOL), or 0 or 1 (N)"},
      {with("queue_selected", Value::boolean(true)),
       "system_info.peek_utc_timestamp of item 'x' is missing, and system_info.queue_selected says that it was peeked"},
  };
  queued({"good"});
  for (const auto& [system_info, message] : cases) {
    put_item(Item{{"id", Value("x")},
                  {"queued", Value::number(1)},
                  {"last_updated_timestamp", Value("1")},
                  {"system_info", system_info}});
    const Item before = item("x");
    RestoreInput back;
    back.call = on("x");
    for (const auto& result :
         {enqueue("x"), remove("x"), world.wait(queue->touch(on("x"))), world.wait(queue->restore(back)),
          world.wait(queue->send_to_dlq(on("x"))), world.wait(queue->update_status(on("x"), "COMPLETED"))}) {
      EXPECT_EQ(result.code, Code::kIllegalState);
      EXPECT_EQ(result.detail, message);
    }
    const auto peeked = peek();
    EXPECT_EQ(peeked.id, "good");
    EXPECT_EQ(peeked.passed, std::vector<std::string>{message});
    EXPECT_TRUE(restore("good").ok());
    EXPECT_EQ(item("x"), before);
  }
  put_item(Item{{"id", Value("x")},
                {"queued", Value::number(1)},
                {"last_updated_timestamp", Value("1")},
                {"system_info", Value(Map{{"version", Value::number(1)},
                                          {"queue_selected", Value::boolean(true)},
                                          {"peek_utc_timestamp", Value::number(1'700'000'000)}})}});
  EXPECT_NE(remove("x").detail.find("which is not in milliseconds since 1970"), std::string::npos) << "seconds";
  EXPECT_TRUE(put("x").ok()) << "put replaces anything";
}

// In seconds, in microseconds, missing: told with attribute and item by every call, nothing is changed, and the queue
// goes on beside it, also where a time in seconds looks as if it had been due for ages.
TEST_P(BeyondTest, TimestampsThatAreMissingOrInAnotherUnit) {
  open();
  queued({"good"});
  const int64_t seconds = world.now_ms() / 1000;
  const int64_t micros = world.now_ms() * 1000;
  const auto info = [](std::optional<int64_t> peeked) {
    Map map{{"version", Value::number(1)},
            {"status", Value("PROCESSING_SHIPMENT")},
            {"queued", Value::number(1)},
            {"queue_selected", Value::boolean(true)}};
    if (peeked) map.set("peek_utc_timestamp", Value::number(*peeked));
    return Value(std::move(map));
  };
  const auto unit = [&](const std::string& path, int64_t at) {
    return path + " of item 'x' is " + std::to_string(at) + ", which is not in milliseconds since 1970; now is ";
  };
  struct Case {
    int64_t number;
    std::optional<int64_t> visible_at;
    Value system_info;
    std::string message;
  };
  const std::vector<Case> cases = {
      {1, {}, info(seconds), unit("system_info.peek_utc_timestamp", seconds)},
      {1, {}, info(micros), unit("system_info.peek_utc_timestamp", micros)},
      {2, seconds, info(world.now_ms()), unit("visible_at", seconds)},
      {2, micros, info(world.now_ms()), unit("visible_at", micros)},
      {2, {}, info({}), "system_info.peek_utc_timestamp of item 'x' is missing, and system_info.queue_selected says"},
  };
  for (const auto& [number, visible_at, system_info, message] : cases) {
    Item odd{{"id", Value("x")},
             {"queued", Value::number(number)},
             {"last_updated_timestamp", Value("1")},
             {"system_info", system_info}};
    if (visible_at) odd.set("visible_at", Value::number(*visible_at));
    put_item(odd);
    RestoreInput back;
    back.call = on("x");
    for (const auto& result :
         {enqueue("x"), remove("x"), world.wait(queue->touch(on("x"))), world.wait(queue->restore(back)),
          world.wait(queue->send_to_dlq(on("x"))), world.wait(queue->extend(on("x"), milliseconds(1)))}) {
      EXPECT_EQ(result.code, Code::kIllegalState) << message;
      EXPECT_TRUE(result.detail.starts_with(message)) << result.detail;
    }
    world.pass(milliseconds(2000));
    EXPECT_EQ(peek().id, "good") << message;
    EXPECT_TRUE(restore("good").ok());
    EXPECT_EQ(item("x"), odd) << message;
  }
}

TEST_P(BeyondTest, WrongSettingsAndTablesAreNamed) {
  const auto refused = [&](auto change) {
    Settings settings = shipment_settings();
    change(settings);
    auto opened = world.wait(TableQueue::open(*world.services, settings));
    return opened ? std::string("opened") : opened.error().message;
  };
  EXPECT_EQ(refused([](Settings& s) { s.names.queued = "DLQ"; }),
            "queue 'shipments': two names of attributes are 'DLQ': they must differ");
  EXPECT_EQ(refused([](Settings& s) { s.numbers.in_flight = 1; }),
            "queue 'shipments': the numbers of 'ready', 'in_flight' and 'delayed' must differ");
  EXPECT_EQ(refused([](Settings& s) { s.visibility = milliseconds(0); }),
            "queue 'shipments': 'visibility_timeout_ms' is 0 ms; it must be from 1 ms to 366 days");
  EXPECT_EQ(refused([](Settings& s) { s.state_table = "freshet.queues"; }),
            "queue 'shipments': table 'freshet.queues': names that start with 'freshet.' are Freshet's own");
  open();
  EXPECT_EQ(
      refused([](Settings& s) { s.dead_index = "queueud-last_updated_timestamp-index"; }),
      "queue 'shipments': index 'queueud-last_updated_timestamp-index' of table 'Shipment' must have the keys DLQ "
      "(N) and last_updated_timestamp (S)");
}

TEST_P(BeyondTest, ManyPeeksAtOnceGiveEachRecordOnce) {
  for (const uint64_t seed : test_seeds(3)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    Random random(seed);
    Settings settings = shipment_settings();
    settings.table = "Many" + std::to_string(seed);
    open(settings);
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(put("r" + std::to_string(i)).ok());
      ASSERT_TRUE(enqueue("r" + std::to_string(i)).ok());
    }
    std::vector<Async<std::vector<PriorityResult>>> peeks;
    for (int i = 0; i < 30; ++i) {
      PeekInput input;
      input.max = static_cast<int>(1 + random.below(4));
      peeks.push_back(queue->peek(input));
      world.pass(milliseconds(random.below(3)));
    }
    std::map<std::string, int> given;
    const auto note = [&](const std::vector<PriorityResult>& results) {
      for (const auto& result : results) {
        if (result.ok()) ++given[result.id];
      }
    };
    for (auto& one : peeks) note(world.wait(std::move(one)));
    for (auto rest = peek_many(100); rest.front().ok(); rest = peek_many(100)) note(rest);
    EXPECT_EQ(given.size(), 60u);
    for (const auto& [id, times] : given) EXPECT_EQ(times, 1) << id;
    EXPECT_EQ(stats().in_flight, 60u);
  }
}

}  // namespace
}  // namespace freshet::priority
