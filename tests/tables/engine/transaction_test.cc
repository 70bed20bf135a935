#include <gmock/gmock.h>

#include "base/limits.h"
#include "tables/engine/transactions.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using testing::ElementsAre;

class TransactionTest : public DiskStoreTest {
 protected:
  Result<TransactWriteOutput> transact(std::vector<WriteInput> actions, const std::string& token = {}) {
    return now(store->transact_write({std::move(actions), token}));
  }
  static PutItemInput put_of(const std::string& id, const std::string& status = "PENDING") {
    return {"Queue", task(id, status, 1), {}, {}};
  }
  static UpdateItemInput add_one(const std::string& id) {
    UpdateItemInput input{"Queue", key(id), "ADD n :one", {}, {}};
    input.placeholders.values = Map{{":one", Value::number(1)}};
    return input;
  }
  static std::vector<std::string> codes(const Error& error) {
    std::vector<std::string> out;
    const auto* detail = dynamic_cast<const TransactionCanceled*>(error.detail.get());
    if (!detail) return out;
    for (const auto& reason : detail->reasons) out.push_back(reason.code);
    return out;
  }
  static std::vector<std::string> messages(const Error& error) {
    std::vector<std::string> out;
    for (const auto& reason : dynamic_cast<const TransactionCanceled&>(*error.detail).reasons) {
      out.push_back(reason.message);
    }
    return out;
  }
};

TEST_F(TransactionTest, EveryKindOfActionIsPlannedAgainstTheSameState) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 2)));
  ASSERT_TRUE(put("Queue", task("c", "PENDING", 3)));
  std::vector<WriteInput> actions{put_of("d"), add_one("a"), DeleteItemInput{"Queue", key("b"), {}, {}},
                                  ConditionCheckInput{"Queue", key("c"), "attribute_exists(id)", {}}};
  const auto done = transact(actions);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->outputs.size(), 4u);
  EXPECT_FALSE(done->repeated);
  EXPECT_EQ(get("Queue", key("a")).int_or("n", 0), 1);
  EXPECT_EQ(get("Queue", key("b")), Item{});
  EXPECT_EQ(get("Queue", key("d")), task("d", "PENDING", 1));
  EXPECT_EQ(books().stock.at("PENDING"), 3u);
  turn();
  std::vector<ChangeRecord::Kind> kinds;
  for (const auto& record : stream("Queue", 4)) kinds.push_back(record.kind);
  using Kind = ChangeRecord::Kind;
  EXPECT_THAT(kinds, ElementsAre(Kind::kInsert, Kind::kModify, Kind::kRemove)) << "in the order of the actions";
  EXPECT_THAT(ids_by_status("PENDING", true), ElementsAre("a", "d", "c"));
}

TEST_F(TransactionTest, ReasonsStandInOrderWithTheItemsAskedFor) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "DONE", 1)));
  PutItemInput refused = put_of("a");
  refused.condition = "attribute_not_exists(id)";
  refused.return_item_on_failure = true;
  ConditionCheckInput check{"Queue", key("none"), "attribute_exists(id)", {}, true};
  std::vector<WriteInput> actions{put_of("new"), refused, check};
  const auto cancelled = transact(actions);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(text(cancelled),
            "TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for specific "
            "reasons [None, ConditionalCheckFailed, ConditionalCheckFailed]");
  const auto& reasons = dynamic_cast<const TransactionCanceled&>(*cancelled.error().detail).reasons;
  EXPECT_EQ(reasons[1].item.decode(), task("a", "DONE", 1));
  EXPECT_FALSE(reasons[2].item);
  EXPECT_EQ(get("Queue", key("new")), Item{});
  EXPECT_EQ(get("Queue", key("a")), task("a", "DONE", 1));
}

TEST_F(TransactionTest, WhatDependsOnItemsIsAReasonAndWhatIsWrongInItselfAnError) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "DONE", 1)));
  UpdateItemInput update = add_one("a");
  update.update = "ADD #s :one";
  update.placeholders.names = {{"#s", "status"}};
  const auto typed = transact({put_of("b"), update});
  EXPECT_THAT(codes(typed.error()), ElementsAre("None", "ValidationError"));
  EXPECT_THAT(messages(typed.error())[1], testing::HasSubstr("incorrect data type"));

  PutItemInput mistyped{"Queue", Item{{"id", Value::number(5)}}, {}, {}};
  EXPECT_THAT(messages(transact({mistyped}).error()),
              ElementsAre("One or more parameter values were invalid: Type mismatch for key id expected: S actual: N"));
  DeleteItemInput wrong_key{"Queue", Item{{"id", Value::number(5)}}, {}, {}};
  EXPECT_THAT(messages(transact({wrong_key}).error()),
              ElementsAre("The provided key element does not match the schema"));

  DeleteItemInput empty_key{"Queue", key(""), {}, {}};
  EXPECT_THAT(text(transact({empty_key})),
              testing::StartsWith("ValidationException: One or more parameter values are"));
  PutItemInput large = put_of("b");
  large.item.set("x", Value(std::string(limits::kMaxItemBytes, 'x')));
  EXPECT_EQ(text(transact({large})), "ValidationException: Item size has exceeded the maximum allowed size");
  PutItemInput nowhere{"Nowhere", key("a"), {}, {}};
  EXPECT_THAT(text(transact({nowhere})),
              testing::StartsWith("ResourceNotFoundException: Requested resource not found"));
  PutItemInput unused = put_of("b");
  unused.condition = "attribute_exists(id)";
  unused.placeholders.values = Map{{":v", Value("x")}};
  EXPECT_THAT(text(transact({nowhere, unused})), testing::HasSubstr("unused in expressions")) << "before any table";
  EXPECT_EQ(text(transact({put_of("b"), DeleteItemInput{"Queue", key("b"), {}, {}}})),
            "ValidationException: Transaction request cannot include multiple operations on one item");
}

TEST_F(TransactionTest, AtMostAHundredActionsAndFourMegabytes) {
  create(queue_definition());
  EXPECT_THAT(text(transact({})), testing::HasSubstr("greater than or equal to 1"));
  std::vector<WriteInput> many;
  for (int i = 0; i < 101; ++i) many.emplace_back(put_of(std::to_string(i)));
  EXPECT_THAT(text(transact(many)), testing::HasSubstr("less than or equal to 100"));
  many.pop_back();
  EXPECT_TRUE(transact(many));
  std::vector<WriteInput> large;
  for (int i = 0; i < 11; ++i) {
    PutItemInput one = put_of("large" + std::to_string(i));
    one.item.set("x", Value(std::string(390 << 10, 'x')));
    large.emplace_back(std::move(one));
  }
  EXPECT_EQ(text(transact(large)), "ValidationException: Transaction payload size cannot exceed 4 MB");
  large.pop_back();
  ASSERT_TRUE(transact(large));
  std::vector<GetItemInput> gets;
  for (int i = 0; i < 10; ++i) gets.push_back({"Queue", key("large" + std::to_string(i)), "id", {}});
  const auto read = now(store->transact_get(gets));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)[3].item.decode(), key("large3"));
  EXPECT_GT((*read)[3].bytes, 390u << 10);
}

// Twenty conditions on long lists held up everybody for eleven seconds.
TEST_F(TransactionTest, ItsConditionsAreBoundedTogether) {
  create(queue_definition());
  const Value large(List{std::vector<Value>(150'000, Value(Null{}))});
  List almost{std::vector<Value>(149'999, Value(Null{}))};
  almost.elements.push_back(Value::boolean(true));
  std::vector<WriteInput> checks;
  for (int i = 0; i < 13; ++i) {
    const std::string id = "large" + std::to_string(i);
    Item item = task(id, "PENDING", 1);
    item.set("m", Value(Map{{"l", large}}));
    ASSERT_TRUE(put("Queue", item));
    ConditionCheckInput check{
        "Queue", key(id), "NOT m.l IN (:v, :v, :v, :v, :v, :v, :v, :v, :v, :v, :v, :v, :v, :v, :v, :v)", {}};
    check.placeholders.values = Map{{":v", Value(almost)}};
    checks.emplace_back(check);
  }
  const std::string refused =
      "ValidationException: The expressions of the transaction compare too much with large attributes; use fewer "
      "operands, or less items";
  EXPECT_EQ(text(transact({checks[0]})), "ok");
  EXPECT_EQ(text(transact({checks[0], checks[1], put_of("new")})), "ok");
  checks.insert(checks.begin(), put_of("never"));
  EXPECT_EQ(text(transact(checks)), refused);
  EXPECT_EQ(get("Queue", key("never")), Item{});
}

TEST_F(TransactionTest, WhatIsThereCountsOnlyForReads) {
  create(queue_definition());
  std::vector<WriteInput> checks;
  std::vector<WriteInput> deletes;
  std::vector<GetItemInput> gets;
  for (int i = 0; i < 50; ++i) {
    const std::string id = "large" + std::to_string(i);
    Item item = task(id, "PENDING", 1);
    item.set("x", Value(std::string(395 << 10, 'x')));
    ASSERT_TRUE(put("Queue", item));
    checks.emplace_back(ConditionCheckInput{"Queue", key(id), "attribute_exists(x)", {}});
    deletes.emplace_back(DeleteItemInput{"Queue", key(id), {}, {}});
    if (i < 11) gets.push_back({"Queue", key(id), "id", {}});
  }
  EXPECT_EQ(text(now(store->transact_get(gets))),
            "ValidationException: The aggregate size of the items in a transaction cannot exceed 4 MB")
      << "before any projection is made";
  EXPECT_EQ(text(transact(checks)), "ok");
  EXPECT_EQ(text(transact(deletes, "t")), "ok");
  EXPECT_EQ(now(store->describe_table("Queue"))->items, 0u);
  turn();
  reopen();
  EXPECT_EQ(now(store->describe_table("Queue"))->items, 0u);
  EXPECT_TRUE(transact(deletes, "t")->repeated);
}

// Each of a batch is for itself, so others have their turn in between.
TEST_F(TransactionTest, ALongBatchLetsOthersInBetween) {
  create(queue_definition());
  const Value large(List{std::vector<Value>(150'000, Value(Null{}))});
  std::vector<WriteInput> writes;
  for (int i = 0; i < 8; ++i) {
    const std::string id = "large" + std::to_string(i);
    Item item = task(id, "PENDING", 1);
    item.set("m", Value(Map{{"l", large}}));
    ASSERT_TRUE(put("Queue", item));
    UpdateItemInput update{"Queue", key(id), "SET m.n = :n", "m.l IN (:v, :v, :v, :v)", {}};
    update.placeholders.values = Map{{":v", large}, {":n", Value::number(i)}};
    if (i == 3) update.update = "SET m.n.o.p = :n";
    writes.emplace_back(update);
  }
  auto batch = store->write_many(writes);
  EXPECT_FALSE(batch.is_ready());
  ASSERT_TRUE(put("Queue", task("other", "PENDING", 1))) << "others are answered";
  for (int turns = 0; turns < 20 && !batch.is_ready(); ++turns) scheduler.run_for(milliseconds(1));
  ASSERT_TRUE(batch.is_ready());
  const auto outputs = batch.take();
  ASSERT_EQ(outputs.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(outputs[i].has_value(), i != 3) << i;
    const Item item = get("Queue", key("large" + std::to_string(i)));
    const auto* m = item.find("m")->get_if<Map>();
    EXPECT_EQ(m->int_or("n", -1), i == 3 ? -1 : static_cast<int64_t>(i));
  }
}

TEST_F(TransactionTest, AFilterOverOneLargeItemIsBounded) {
  create(queue_definition());
  Item item = task("large", "PENDING", 1);
  item.set("m", Value(Map{{"l", Value(List{std::vector<Value>(190'000, Value(Null{}))})}}));
  ASSERT_TRUE(put("Queue", item));
  QueryInput query = by_status("PENDING", true);
  query.filter = "contains(m.l, :x)";
  query.placeholders.values.set(":x", Value("x"));
  EXPECT_EQ(text(now(store->query(query))), "ok");
  for (int i = 0; i < 140; ++i) query.filter += " OR contains(m.l, :x)";
  EXPECT_EQ(text(now(store->query(query))),
            "ValidationException: Invalid FilterExpression: The expression compares too much with large attributes; "
            "use fewer operands, or keep what it looks at small");
  UpdateItemInput update{"Queue", key("large"), "SET n = :x", query.filter, {}};
  update.placeholders.values = Map{{":x", Value("x")}};
  EXPECT_EQ(text(now(store->update_item(update))),
            "ValidationException: Invalid ConditionExpression: The expression compares too much with large attributes; "
            "use fewer operands, or keep what it looks at small");
}

TEST_F(TransactionTest, SizesAreTheServicesAndValuesCountToo) {
  create(queue_definition());
  Item tiny;  // Encoded half as large again as the service counts.
  for (int i = 0; i < 20'000; ++i) tiny.append_sorted("a" + std::to_string(10'000 + i), Value("x"));
  std::vector<WriteInput> many;
  for (int i = 0; i < 29; ++i) {
    Item item = tiny;
    item.set("id", Value("tiny" + std::to_string(i)));
    many.emplace_back(PutItemInput{"Queue", item, {}, {}});
  }
  const size_t billed = billed_size(std::get<PutItemInput>(many[0]).item);
  ASSERT_LT(29 * billed, limits::kMaxTransactionBytes);
  ASSERT_GT(29 * ItemRef::encode(std::get<PutItemInput>(many[0]).item).encoded().size(), limits::kMaxTransactionBytes);
  EXPECT_EQ(text(transact(many)), "ok");
  EXPECT_EQ(text(transact(many)), "ok") << "nothing changes";
  const std::string too_large = "ValidationException: Transaction payload size cannot exceed 4 MB";
  std::vector<WriteInput> more = many;
  for (int i = 0; i < 2; ++i) {
    ConditionCheckInput check{"Queue", key("more" + std::to_string(i)), "x <> :x", {}};
    check.placeholders.values = Map{{":x", Value(std::string(390 << 10, 'x'))}};
    more.emplace_back(check);
  }
  EXPECT_EQ(text(transact(more)), too_large) << "with the values of conditions";
  more.pop_back();
  many.emplace_back(put_of("small"));
  EXPECT_EQ(text(transact(many)), "ok");
}

// Lists in a hundred items of the largest size are appended to at once, and replay finds the batch.
TEST_F(TransactionTest, AHundredLargeItemsMayChange) {
  create(queue_definition());
  std::vector<WriteInput> updates;
  for (int i = 0; i < 100; ++i) {
    const std::string id = "item" + std::to_string(i);
    Item item = key(id);
    item.set("l", Value(List{std::vector<Value>(133'000, Value::number(1))}));
    ASSERT_TRUE(put("Queue", std::move(item)));
    UpdateItemInput update{"Queue", key(id), "SET l = list_append(l, :more)", {}, {}};
    update.placeholders.values = Map{{":more", Value(List{{Value::number(2)}})}};
    updates.emplace_back(std::move(update));
  }
  const auto done = transact(updates);
  ASSERT_TRUE(done) << done.error().message;
  turn();
  reopen();
  const auto size = [&](int i) {
    return get("Queue", key("item" + std::to_string(i))).find("l")->get_if<List>()->elements.size();
  };
  EXPECT_EQ(size(0), 133'001u);
  EXPECT_EQ(size(99), 133'001u);
}

// Four megabytes of a request may all be lists that are appended.
TEST_F(TransactionTest, FourMegabytesMayBeAppended) {
  create(queue_definition());
  std::vector<WriteInput> updates;
  const Value half(List{std::vector<Value>(66'000, Value::number(1))});
  const auto append = [&](int i) {
    UpdateItemInput update{
        "Queue", key(std::to_string(i)), "SET l = list_append(if_not_exists(l, :none), :more)", {}, {}};
    update.placeholders.values = Map{{":more", half}, {":none", Value(List{})}};
    return update;
  };
  for (int i = 0; i < 20; ++i) updates.emplace_back(append(i));
  EXPECT_EQ(text(transact(updates)), "ok");
  EXPECT_EQ(text(transact(updates)), "ok") << "to as much";
  EXPECT_EQ(get("Queue", key("19")).find("l")->get_if<List>()->elements.size(), 132'000u);
  updates.emplace_back(append(20));
  updates.emplace_back(append(21));
  EXPECT_EQ(text(transact(updates)), "ValidationException: Transaction payload size cannot exceed 4 MB");
}

TEST_F(TransactionTest, ATokenIsGoodForTenMinutesAlsoAcrossARestart) {
  create(queue_definition());
  ASSERT_TRUE(transact({add_one("a")}, "t1"));
  turn();
  reopen();
  auto again = transact({add_one("a")}, "t1");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(get("Queue", key("a")).int_or("n", 0), 1);
  EXPECT_EQ(transact({add_one("b")}, "t1").error().code, ErrorCode::kIdempotentParameterMismatch);
  EXPECT_EQ(get("Queue", key("b")), Item{});
  ASSERT_FALSE(transact({add_one("a")}, "t2")->repeated);
  EXPECT_EQ(get("Queue", key("a")).int_or("n", 0), 2);

  scheduler.run_for(kTokenWindow - seconds(2));
  EXPECT_TRUE(transact({add_one("a")}, "t1")->repeated);
  scheduler.run_for(seconds(3));
  EXPECT_FALSE(transact({add_one("a")}, "t1")->repeated);
  EXPECT_EQ(get("Queue", key("a")).int_or("n", 0), 3);
  scheduler.run_for(kTokenWindow + seconds(1));
  EXPECT_EQ(now(store->describe_table(std::string(kTokenTable)))->items, 0u) << "swept";
}

TEST_F(TransactionTest, ATokenIsGoodToTheLastMillisecond) {
  create(queue_definition());
  scheduler.run_for(milliseconds(999));
  ASSERT_TRUE(transact({add_one("a")}, "t"));
  scheduler.run_for(kTokenWindow - milliseconds(1));
  const auto again = transact({add_one("a")}, "t");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->repeated);
}

TEST_F(TransactionTest, ARefusedTransactionMakesNoTableOfTokens) {
  options.max_memory_bytes = 100'000;
  open();
  create(queue_definition());
  int stored = 0;
  while (put("Queue", task("t" + std::to_string(stored), "PENDING", 1))) ++stored;
  EXPECT_EQ(transact({put_of("more")}, "t").error().code, ErrorCode::kThroughputExceeded);
  EXPECT_FALSE(now(store->describe_table(std::string(kTokenTable))));
  ASSERT_TRUE(transact({DeleteItemInput{"Queue", key("t0"), {}, {}}}, "t"));
  EXPECT_EQ(now(store->describe_table(std::string(kTokenTable)))->items, 1u);
  turn();
  reopen();
  EXPECT_TRUE(transact({DeleteItemInput{"Queue", key("t0"), {}, {}}}, "t")->repeated);
}

TEST_F(TransactionTest, DeletesAreAdmittedHoweverManyTokensThereAre) {
  options.directory = ":memory:";
  options.max_memory_bytes = 300'000;
  open();
  create(queue_definition());
  for (const std::string id : {"a", "b"}) {
    Item item = task(id, "DONE", 1);
    item.set("x", Value(std::string(5000, 'x')));
    ASSERT_TRUE(put("Queue", item));
  }
  const ConditionCheckInput check{"Queue", key("a"), "attribute_exists(id)", {}};
  for (int i = 0; i <= 100'000; ++i) ASSERT_TRUE(transact({check}, std::to_string(i)));
  EXPECT_EQ(transact({check}, "one more").error().code, ErrorCode::kThroughputExceeded);
  EXPECT_EQ(text(transact({DeleteItemInput{"Queue", key("a"), {}, {}}}, "delete")), "ok");
  EXPECT_EQ(text(transact({DeleteItemInput{"Queue", key("b"), {}, {}}, put_of("c")}, "replace")), "ok");
  EXPECT_EQ(transact({put_of("d")}).error().code, ErrorCode::kThroughputExceeded);
}

TEST_F(TransactionTest, AJumpOfTheWallClockForgetsNoToken) {
  create(queue_definition());
  ASSERT_TRUE(transact({add_one("a")}, "t"));
  clock.step_wall(std::chrono::minutes(15));
  auto again = transact({add_one("a")}, "t");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->repeated);
  scheduler.run_for(seconds(30));
  EXPECT_TRUE(transact({add_one("a")}, "t")->repeated);
  scheduler.run_for(seconds(60));
  EXPECT_FALSE(transact({add_one("a")}, "t")->repeated) << "a new time that stays is believed";
  EXPECT_EQ(get("Queue", key("a")).int_or("n", 0), 2);
}

TEST_F(TransactionTest, ATokenOfWhileTheWallClockWasTooEarlyIsKept) {
  create(queue_definition());
  clock.step_wall(-std::chrono::hours(24));
  ASSERT_TRUE(transact({add_one("a")}, "t"));
  clock.step_wall(std::chrono::hours(24));
  scheduler.run_for(seconds(30));
  EXPECT_TRUE(transact({add_one("a")}, "t")->repeated);
  EXPECT_EQ(get("Queue", key("a")).int_or("n", 0), 1);
}

TEST_F(TransactionTest, ACancelledTransactionLeavesNoToken) {
  create(queue_definition());
  ConditionCheckInput check{"Queue", key("a"), "attribute_exists(id)", {}};
  EXPECT_EQ(transact({check, put_of("b")}, "t").error().code, ErrorCode::kTransactionCanceled);
  ASSERT_TRUE(put("Queue", task("a", "DONE", 1)));
  const auto done = transact({check, put_of("b")}, "t");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->repeated);
}

// Items may be as large as they may be, and each is copied once.
TEST_F(TransactionTest, TheLargestListsCanBeAppendedTo) {
  create(queue_definition());
  TransactWriteInput input;
  for (int i = 0; i < 10; ++i) {
    const std::string id = "item" + std::to_string(i);
    Item item = key(id);
    item.set("l", Value(List{std::vector<Value>(133'000, Value::number(1))}));
    ASSERT_GT(billed_size(item), 390'000u);
    const auto made = put("Queue", std::move(item));
    ASSERT_TRUE(made) << made.error().message;
    UpdateItemInput update{"Queue", key(id), "SET l = list_append(l, :more)", {}, {}};
    update.placeholders.values = Map{{":more", Value(List{{Value::number(2)}})}};
    input.actions.emplace_back(std::move(update));
  }
  const auto done = now(store->transact_write(std::move(input)));
  EXPECT_TRUE(done) << done.error().message;
}

TEST_F(TransactionTest, ReadsAreDistinctAndToldInOrder) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "DONE", 1)));
  const auto read = now(store->transact_get({{"Queue", key("none"), {}, {}}, {"Queue", key("a"), {}, {}}}));
  ASSERT_TRUE(read);
  EXPECT_FALSE((*read)[0].item);
  EXPECT_EQ((*read)[1].item.decode(), task("a", "DONE", 1));
  EXPECT_EQ(text(now(store->transact_get({{"Queue", key("a"), {}, {}}, {"Queue", key("a"), {}, {}}}))),
            "ValidationException: Transaction request cannot include multiple operations on one item");
  EXPECT_THAT(codes(now(store->transact_get({{"Queue", key("a"), {}, {}}, {"Queue", Item{}, {}, {}}})).error()),
              ElementsAre("None", "ValidationError"));
}

TEST_F(TransactionTest, CostsAreThoseOfTableAndIndexes) {
  create(queue_definition());
  PutItemInput input = put_of("a");
  input.item.set("x", Value(std::string(1500, 'x')));
  input.measure = true;
  const auto made = now(store->put_item(input))->cost;
  EXPECT_EQ(made->bytes, billed_size(input.item));
  ASSERT_EQ(made->indexes.size(), 1u);
  EXPECT_EQ(made->indexes[0].units, 2u) << "an entry of 1.5 KB";
  EXPECT_TRUE(now(store->put_item(input))->cost->indexes.empty()) << "nothing changed";
  input.item.set("status", Value("DONE"));
  EXPECT_EQ(now(store->put_item(input))->cost->indexes[0].units, 4u) << "deleted and put";
  DeleteItemInput gone{"Queue", key("a"), {}, {}};
  gone.measure = true;
  const auto cost = now(store->delete_item(gone))->cost;
  EXPECT_EQ(cost->bytes, billed_size(input.item));
  EXPECT_EQ(cost->indexes[0].units, 2u);
  EXPECT_TRUE(now(store->delete_item(gone))->cost->indexes.empty());
}

}  // namespace
}  // namespace freshet
