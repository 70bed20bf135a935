#include <gmock/gmock.h>

#include "base/limits.h"
#include "tables/value/billed.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using WriteTest = MemoryStoreTest;

TEST_F(WriteTest, PutsGetsAndReplaces) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  EXPECT_EQ(get("Queue", key("a")), task("a", "PENDING", 1));
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 2)));
  EXPECT_EQ(get("Queue", key("a")), task("a", "PENDING", 2));
  EXPECT_EQ(get("Queue", key("b")), Item{});
  EXPECT_EQ(now(store->describe_table("Queue"))->items, 1u);
}

TEST_F(WriteTest, RefusesWrongKeysWithTheServicesTexts) {
  create(queue_definition());
  EXPECT_EQ(text(put("Queue", Item{{"status", Value("PENDING")}})),
            "ValidationException: One or more parameter values were invalid: Missing the key id in the item");
  EXPECT_EQ(text(put("Queue", Item{{"id", Value::number(1)}})),
            "ValidationException: One or more parameter values were invalid: Type mismatch for key id expected: S "
            "actual: N");
  EXPECT_THAT(text(put("Queue", key(""))), HasSubstr("cannot contain an empty string value. Key: id"));
  EXPECT_THAT(text(put("Queue", key(std::string(2049, 'x')))), HasSubstr("Size of hashkey has exceeded"));
  EXPECT_TRUE(put("Queue", key(std::string(2048, 'x'))));
  EXPECT_EQ(text(erase("Queue", Item{{"id", Value("a")}, {"more", Value("b")}})),
            "ValidationException: The provided key element does not match the schema");
  EXPECT_EQ(text(erase("Queue", Item{{"id", Value::number(1)}})),
            "ValidationException: The provided key element does not match the schema");
  EXPECT_EQ(text(put("Nowhere", key("a"))), "ResourceNotFoundException: Requested resource not found");
  Item wrong_index = task("a", "PENDING", 1);
  wrong_index.set("created", Value("late"));
  EXPECT_EQ(text(put("Queue", wrong_index)),
            "ValidationException: One or more parameter values were invalid: Type mismatch for Index Key created "
            "Expected: N Actual: S IndexName: status-created");
  EXPECT_THAT(text(put("Queue", Item{{"id", Value("a")}, {"status", Value("")}})),
              HasSubstr("IndexName: status-created, IndexKey: status"));
}

TEST_F(WriteTest, RefusesItemsThatAreTooLarge) {
  create(queue_definition());
  Item item = key("a");
  item.set("body", Value(std::string(limits::kMaxItemBytes, 'x')));
  EXPECT_EQ(text(put("Queue", item)), "ValidationException: Item size has exceeded the maximum allowed size");
  ASSERT_TRUE(put("Queue", key("a")));
  const auto grown = update("Queue", key("a"), "SET body = :b", Map{{":b", *item.find("body")}});
  EXPECT_THAT(text(grown), HasSubstr("Item size to update has exceeded the maximum allowed size"));
  EXPECT_EQ(get("Queue", key("a")), key("a"));
}

TEST_F(WriteTest, ConditionsDecideAndShowTheItem) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1), "attribute_not_exists(id)"));
  const auto again = put("Queue", task("a", "PENDING", 2), "attribute_not_exists(id)");
  EXPECT_EQ(text(again), "ConditionalCheckFailedException: The conditional request failed");
  EXPECT_EQ(again.error().detail, nullptr);

  DeleteItemInput input;
  input.table = "Queue";
  input.key = key("a");
  input.condition = "created = :c";
  input.placeholders.values = Map{{":c", Value::number(7)}};
  input.return_item_on_failure = true;
  const auto refused = now(store->delete_item(input));
  ASSERT_FALSE(refused);
  const auto* detail = dynamic_cast<const ConditionFailed*>(refused.error().detail.get());
  ASSERT_NE(detail, nullptr);
  EXPECT_EQ(detail->item.decode(), task("a", "PENDING", 1));

  input.placeholders.values = Map{{":c", Value::number(1)}};
  input.return_values = ReturnValues::kAllOld;
  const auto deleted = now(store->delete_item(input));
  ASSERT_TRUE(deleted);
  EXPECT_EQ(deleted->attributes.decode(), task("a", "PENDING", 1));
  EXPECT_EQ(get("Queue", key("a")), Item{});
}

TEST_F(WriteTest, UpdatesCreateChangeAndReturn) {
  create(queue_definition());
  ASSERT_TRUE(update("Queue", key("a"), "SET n = :one", Map{{":one", Value::number(1)}}));
  const Map two{{":two", Value::number(2)}};
  auto out = update("Queue", key("a"), "SET n = n + :two", two, {}, ReturnValues::kUpdatedNew);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->attributes.decode(), (Item{{"n", Value::number(3)}}));
  out = update("Queue", key("a"), "SET n = n + :two", two, {}, ReturnValues::kUpdatedOld);
  EXPECT_EQ(out->attributes.decode(), (Item{{"n", Value::number(3)}}));
  out = update("Queue", key("a"), "SET n = n + :two", two, {}, ReturnValues::kAllOld);
  EXPECT_EQ(out->attributes.decode(), (Item{{"id", Value("a")}, {"n", Value::number(5)}}));
  out = update("Queue", key("a"), "SET n = n + :two", two, {}, ReturnValues::kAllNew);
  EXPECT_EQ(out->attributes.decode(), (Item{{"id", Value("a")}, {"n", Value::number(9)}}));
  out = update("Queue", key("b"), "SET n = :two", two, {}, ReturnValues::kAllOld);
  ASSERT_TRUE(out);
  EXPECT_FALSE(out->attributes);
  EXPECT_THAT(text(update("Queue", key("a"), "SET id = :two", two)), HasSubstr("part of the key"));
  ASSERT_TRUE(update("Queue", key("c"), "", {}));
  EXPECT_EQ(get("Queue", key("c")), key("c"));
  EXPECT_THAT(text(update("Queue", key("a"), "SET #st = :two", two)), HasSubstr("Type mismatch for Index Key status"));
}

// A NULL in a list is one byte as it is stored and two as the service counts.
TEST_F(WriteTest, AnUpdateCountsSizesAsTheServiceDoes) {
  create(queue_definition());
  const auto nulls = [](size_t count) { return Value(List{std::vector<Value>(count, Value(Null{}))}); };
  // The key, the names, the list itself, and two for each element.
  const size_t fits = (limits::kMaxItemBytes - 3 - 1 - 3) / 2;
  ASSERT_TRUE(update("Queue", key("a"), "SET l = :l", Map{{":l", nulls(fits)}}));
  EXPECT_EQ(billed_bytes(ItemRef::encode(get("Queue", key("a")))), limits::kMaxItemBytes - 1);
  const std::string refused = "ValidationException: Item size to update has exceeded the maximum allowed size";
  EXPECT_EQ(text(update("Queue", key("b"), "SET l = :l", Map{{":l", nulls(fits + 1)}})), refused);
  EXPECT_EQ(text(update("Queue", key("a"), "SET k = :k", Map{{":k", Value("")}})), "ok");
  EXPECT_EQ(text(update("Queue", key("a"), "SET m = :k", Map{{":k", Value("")}})), refused);
  EXPECT_EQ(text(update("Queue", key("a"), "SET l[0] = :k, l[1] = :k", Map{{":k", Value("yes")}})), refused);
  Item item = key("c");
  item.set("l", nulls(fits + 1));
  EXPECT_EQ(text(put("Queue", item)), "ValidationException: Item size has exceeded the maximum allowed size");
}

TEST_F(WriteTest, AnUpdateThatOnlyRemovesCreatesNothing) {
  create(queue_definition());
  auto out = update("Queue", key("a"), "REMOVE b, c", {}, {}, ReturnValues::kAllNew);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_FALSE(out->attributes);
  EXPECT_EQ(get("Queue", key("a")), Item{});
  EXPECT_THAT(text(update("Queue", key("a"), "REMOVE b", {}, "attribute_exists(b)")), HasSubstr("conditional"));
  const std::string bad =
      "ValidationException: The document path provided in the update expression is invalid for update";
  const Map members{{":s", Value(StringSet{{"x"}})}};
  for (const bool exists : {false, true}) {
    SCOPED_TRACE(exists ? "the item is there" : "there is no item");
    EXPECT_EQ(text(update("Queue", key("a"), "REMOVE c.d", {})), bad);
    EXPECT_EQ(text(update("Queue", key("a"), "REMOVE b, c[1]", {})), bad);
    EXPECT_EQ(text(update("Queue", key("a"), "DELETE c.d :s", members)), bad);
    EXPECT_EQ(text(update("Queue", key("a"), "DELETE c :s", members)), "ok");
    EXPECT_EQ(get("Queue", key("a")), exists ? key("a") : Item{});
    ASSERT_TRUE(put("Queue", key("a")));
  }
  ASSERT_TRUE(erase("Queue", key("a")));
  EXPECT_THAT(text(update("Queue", key("a"), "REMOVE b", {}, "attribute_exists(id.x)")),
              HasSubstr("Key attributes must be scalars"));
}

TEST_F(WriteTest, PutReturnsOnlyAllOldOrNone) {
  create(queue_definition());
  PutItemInput input{"Queue", task("a", "PENDING", 1), {}, {}, false, {}, ReturnValues::kAllNew};
  EXPECT_EQ(text(now(store->put_item(input))), "ValidationException: ReturnValues can only be ALL_OLD or NONE");
  input.return_values = ReturnValues::kAllOld;
  EXPECT_FALSE(now(store->put_item(input))->attributes);
  input.item = task("a", "PENDING", 2);
  EXPECT_EQ(now(store->put_item(input))->attributes.decode(), task("a", "PENDING", 1));
}

TEST_F(WriteTest, WriteManyAnswersEachOnItsOwn) {
  create(queue_definition());
  std::vector<WriteInput> inputs;
  inputs.emplace_back(PutItemInput{"Queue", task("a", "PENDING", 1), {}, {}});
  inputs.emplace_back(PutItemInput{"Queue", task("a", "PENDING", 2), "attribute_not_exists(id)", {}});
  inputs.emplace_back(DeleteItemInput{"Queue", key("a"), {}, {}});
  const auto outputs = now(store->write_many(inputs));
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_TRUE(outputs[0]);
  EXPECT_EQ(outputs[1].error().code, ErrorCode::kConditionalCheckFailed);
  EXPECT_TRUE(outputs[2]);
}

TEST_F(WriteTest, WriteManyTakesAnyInputAmongMany) {
  create(queue_definition());
  create(pair_definition());
  std::vector<WriteInput> inputs;
  for (int i = 0; i < 20; ++i) {
    inputs.emplace_back(PutItemInput{"Queue", task("t" + std::to_string(i), "PENDING", i), {}, {}});
  }
  inputs.emplace_back(PutItemInput{"Pairs", Item{{"p", Value("k")}, {"s", Value::number(1)}}, {}, {}});
  inputs.emplace_back(PutItemInput{"None", task("a", "PENDING", 1), {}, {}});
  inputs.emplace_back(PutItemInput{"Queue", Item{{"id", Value::number(1)}}, {}, {}});
  inputs.emplace_back(PutItemInput{"Queue", Item{}, {}, {}});
  inputs.emplace_back(DeleteItemInput{"Queue", key("t3"), {}, {}});
  auto outputs = now(store->write_many(inputs));
  ASSERT_EQ(outputs.size(), 25u);
  for (size_t i = 0; i < 21; ++i) EXPECT_TRUE(outputs[i]) << i;
  EXPECT_EQ(outputs[21].error().code, ErrorCode::kResourceNotFound);
  EXPECT_EQ(outputs[22].error().code, ErrorCode::kValidation);
  EXPECT_EQ(outputs[23].error().code, ErrorCode::kValidation);
  EXPECT_TRUE(outputs[24]);
  inputs.assign(20, PutItemInput{"None", task("a", "PENDING", 1), {}, {}});
  outputs = now(store->write_many(inputs));
  for (const auto& output : outputs) EXPECT_EQ(output.error().code, ErrorCode::kResourceNotFound);
}

TEST_F(WriteTest, BooksSeeEveryMove) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 2)));
  const Map taken{{":t", Value("TAKEN")}};
  ASSERT_TRUE(update("Queue", key("a"), "SET #st = :t", taken, {}, ReturnValues::kNone, Cause::kQueue));
  ASSERT_TRUE(update("Queue", key("a"), "SET n = :t", taken));  // No move.
  ASSERT_TRUE(erase("Queue", key("b")));
  ASSERT_TRUE(put("Queue", key("c")));
  const Books b = books();
  EXPECT_EQ(b.stock, (std::map<std::string, uint64_t>{{"TAKEN", 1}, {"?", 1}}));
  const std::map<Arrow, uint64_t> flow{{{"", "PENDING", Cause::kClient}, 2},
                                       {{"PENDING", "TAKEN", Cause::kQueue}, 1},
                                       {{"PENDING", "", Cause::kClient}, 1},
                                       {{"", "?", Cause::kClient}, 1}};
  EXPECT_EQ(b.flow, flow);
}

TEST_F(WriteTest, BooksKnowTheBytesOfEachStatus) {
  create(queue_definition());
  const auto stored = [&](const char* id) { return ItemRef::encode(get("Queue", key(id))).encoded().size(); };
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 2)));
  EXPECT_EQ(books().bytes, (std::map<std::string, uint64_t>{{"PENDING", stored("a") + stored("b")}}));
  const Map longer{{":n", Value(std::string(1000, 'x'))}};
  ASSERT_TRUE(update("Queue", key("a"), "SET n = :n", longer));  // No move.
  EXPECT_GT(stored("a"), 1000u);
  EXPECT_EQ(books().bytes, (std::map<std::string, uint64_t>{{"PENDING", stored("a") + stored("b")}}));
  ASSERT_TRUE(update("Queue", key("a"), "SET #st = :t", {{":t", Value("TAKEN")}}, {}, ReturnValues::kNone));
  EXPECT_EQ(books().bytes, (std::map<std::string, uint64_t>{{"PENDING", stored("b")}, {"TAKEN", stored("a")}}));
  ASSERT_TRUE(erase("Queue", key("a")));
  ASSERT_TRUE(put("Queue", key("b")));
  EXPECT_EQ(books().bytes, (std::map<std::string, uint64_t>{{"?", stored("b")}}));
}

TEST_F(WriteTest, TablesAreMadeListedAlteredAndDropped) {
  create(queue_definition("Zulu"));
  create(queue_definition("Alpha"));
  EXPECT_THAT(*now(store->list_tables()), ElementsAre("Alpha", "Zulu"));
  EXPECT_EQ(text(now(store->create_table(queue_definition("Zulu")))),
            "ResourceInUseException: Table already exists: Zulu");
  ASSERT_TRUE(put("Zulu", task("a", "PENDING", 1)));
  TableDefinition altered = queue_definition("Zulu");
  altered.indexes[0].name = "other-index";
  altered.stream.reset();
  ASSERT_TRUE(now(store->alter_table(altered)));
  EXPECT_EQ(now(store->describe_table("Zulu"))->definition, altered);
  EXPECT_EQ(now(store->describe_table("Zulu"))->stream_label, "");
  ASSERT_TRUE(now(store->delete_table("Zulu")));
  EXPECT_THAT(*now(store->list_tables()), ElementsAre("Alpha"));
  EXPECT_THAT(text(now(store->describe_table("Zulu"))), HasSubstr("Requested resource not found: Table: Zulu"));
}

}  // namespace
}  // namespace freshet
