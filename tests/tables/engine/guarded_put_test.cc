// Puts that are guarded without an expression: what the guards ask, and that the expression made of one asks the same.
#include "tables/edit.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

Item key(const std::string& id) {
  return Item{{"id", Value(id)}};
}

class GuardedPuts : public MemoryStoreTest {
 protected:
  void SetUp() override {
    MemoryStoreTest::SetUp();
    create(queue_definition());
    create(queue_definition("Twin"));
  }
  PutItemInput put_of(Item item) {
    PutItemInput input;
    input.table = "Queue";
    input.item = std::move(item);
    return input;
  }
  Result<WriteOutput> write(PutItemInput input) { return now(store->put_item(std::move(input))); }
};

TEST_F(GuardedPuts, OnlyNewRefusesAnItemThatIsThere) {
  PutItemInput input = put_of(task("a", "PENDING", 1));
  input.only_new = true;
  input.return_item_on_failure = true;
  EXPECT_TRUE(write(input));
  input.item = task("a", "PENDING", 2);
  const auto again = write(input);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kConditionalCheckFailed);
  const auto detail = std::dynamic_pointer_cast<const ConditionFailed>(again.error().detail);
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->item.decode(), task("a", "PENDING", 1));
  EXPECT_EQ(get("Queue", key("a")), task("a", "PENDING", 1));
}

TEST_F(GuardedPuts, RisingRefusesWhatIsLessAndTakesWhatIsEqual) {
  PutItemInput input = put_of(task("a", "PENDING", 1));
  input.rising = "created";
  for (const auto& [created, is_taken] : {std::pair(5, true), {5, true}, {4, false}, {-7, false}, {10, true}}) {
    input.item = task("a", "PENDING", created);
    EXPECT_EQ(write(input).has_value(), is_taken) << created;
  }
  EXPECT_EQ(get("Queue", key("a")), task("a", "PENDING", 10));
}

TEST_F(GuardedPuts, BothGuardsStandBesideACondition) {
  PutItemInput input = put_of(task("a", "PENDING", 1));
  input.condition = "attribute_exists(id)";
  input.rising = "created";
  EXPECT_FALSE(write(input));
  input.condition = {};
  EXPECT_TRUE(write(input));
  input.condition = "attribute_exists(id)";
  EXPECT_TRUE(write(input));
  input.only_new = true;
  EXPECT_FALSE(write(input));
}

TEST_F(GuardedPuts, AskWhatTheExpressionMadeOfThemAsks) {
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random draw(seed);
  const auto some_mark = [&]() -> Value {
    const auto number = static_cast<int64_t>(draw.below(5)) - 2;
    if (draw.below(4) == 0) return Value(std::to_string(number));
    if (draw.below(8) == 0) return Value(Binary{std::to_string(number)});
    return Value::number(number);
  };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string id(1, static_cast<char>('a' + draw.below(3)));
    if (draw.below(6) == 0) {  // A writer that knows nothing of the guard; or no item.
      for (const char* table : {"Queue", "Twin"}) {
        ASSERT_TRUE(i % 2 == 0 ? put(table, task(id, "PENDING", 1)) : erase(table, key(id)));
      }
    }
    PutItemInput input = put_of(task(id, "PENDING", i));
    input.item.set("mark", some_mark());
    if (draw.below(3) == 0) input.condition = "attribute_not_exists(absent) OR attribute_exists(id)";
    input.only_new = draw.below(8) == 0;
    if (draw.below(4) > 0) input.rising = "mark";
    input.return_item_on_failure = true;
    PutItemInput spelled_out = with_guards_spelled_out(input, queue_definition().keys);
    EXPECT_FALSE(spelled_out.only_new);
    EXPECT_TRUE(spelled_out.rising.empty());
    spelled_out.table = "Twin";
    const auto one = write(std::move(input));
    const auto other = write(std::move(spelled_out));
    ASSERT_EQ(one.has_value(), other.has_value()) << i;
    if (!one) {
      ++refused;
      ASSERT_EQ(one.error().code, other.error().code);
      ASSERT_EQ(one.error().message, other.error().message);
    }
    ASSERT_EQ(get("Queue", key(id)), get("Twin", key(id)));
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace freshet
