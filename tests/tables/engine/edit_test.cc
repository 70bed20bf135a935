// Edits: what they do, when they fail, and that the UpdateItem made of one does the same.
#include <gmock/gmock.h>

#include "base/limits.h"
#include "tables/edit.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

EditItemInput edit_of(const ItemRef& seen) {
  EditItemInput input;
  input.table = "Queue";
  input.seen = seen;
  return input;
}

class Edits : public MemoryStoreTest {
 protected:
  void SetUp() override {
    MemoryStoreTest::SetUp();
    create(queue_definition());
    ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  }
  ItemRef seen(const std::string& id = "a") { return *now(store->get_item({"Queue", key(id), {}, {}, true})); }
  Result<WriteOutput> edit(EditItemInput input) {
    std::vector<EditItemInput> one;
    one.push_back(std::move(input));
    return std::move(now(store->edit_many(std::move(one))).front());
  }
};

TEST_F(Edits, SetAndRemoveAndAnswerWithTheNewItem) {
  EditItemInput input = edit_of(seen());
  input.edits.push_back({"status", Value("TAKEN")});
  input.edits.push_back({"created", std::nullopt});
  input.edits.push_back({"absent", std::nullopt});
  input.edits.push_back({"body", Value("b")});
  input.unchanged = {"status", "holder"};
  const auto answer = edit(input);
  ASSERT_TRUE(answer) << answer.error().message;
  const Item wanted{{"id", Value("a")}, {"status", Value("TAKEN")}, {"body", Value("b")}};
  EXPECT_EQ(answer->attributes.decode(), wanted);
  EXPECT_EQ(get("Queue", key("a")), wanted);
  EXPECT_EQ(books().stock, (std::map<std::string, uint64_t>{{"TAKEN", 1}}));
}

TEST_F(Edits, FailWhenWhatTheyRelyOnHasChanged) {
  const ItemRef old = seen();
  EditItemInput input = edit_of(old);
  input.edits.push_back({"body", Value("mine")});
  input.unchanged = {"status", "holder"};
  input.return_item_on_failure = true;

  ASSERT_TRUE(update("Queue", key("a"), "SET body = :b", Map{{":b", Value("theirs")}}));
  EXPECT_TRUE(edit(input)) << "something else has changed";

  ASSERT_TRUE(update("Queue", key("a"), "SET holder = :o", Map{{":o", Value("me")}}));
  const auto added = edit(input);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::kConditionalCheckFailed);
  const auto detail = std::dynamic_pointer_cast<const ConditionFailed>(added.error().detail);
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->item.decode().string_or("holder"), "me");

  ASSERT_TRUE(update("Queue", key("a"), "SET #st = :s REMOVE holder", Map{{":s", Value("TAKEN")}}));
  EXPECT_EQ(edit(input).error().code, ErrorCode::kConditionalCheckFailed) << "another value";
  ASSERT_TRUE(update("Queue", key("a"), "REMOVE #st", {}));
  EXPECT_EQ(edit(input).error().code, ErrorCode::kConditionalCheckFailed) << "gone";
  ASSERT_TRUE(erase("Queue", key("a")));
  EXPECT_EQ(edit(input).error().code, ErrorCode::kConditionalCheckFailed) << "no item";
  EXPECT_EQ(get("Queue", key("a")), Item{});
}

TEST_F(Edits, RefuseWhatAnUpdateRefuses) {
  EditItemInput wrong = edit_of(seen());
  wrong.edits.push_back({"created", Value("late")});
  EXPECT_THAT(text(edit(wrong)), HasSubstr("Type mismatch for Index Key created"));
  EditItemInput large = edit_of(seen());
  large.edits.push_back({"body", Value(std::string(limits::kMaxItemBytes, 'x'))});
  EXPECT_THAT(text(edit(large)), HasSubstr("Item size to update has exceeded the maximum allowed size"));
  EditItemInput empty = edit_of(seen());
  empty.edits.push_back({"set", Value(StringSet{})});
  EXPECT_EQ(edit(empty).error().code, ErrorCode::kValidation);
  EditItemInput nowhere = edit_of(seen());
  nowhere.table = "Nowhere";
  EXPECT_EQ(edit(nowhere).error().code, ErrorCode::kResourceNotFound);
  EXPECT_EQ(get("Queue", key("a")), task("a", "PENDING", 1));
}

TEST_F(Edits, LeaveNoRecordWhenNothingChanges) {
  const uint64_t next = now(store->stream_bounds("Queue"))->next;
  EditItemInput input = edit_of(seen());
  input.edits.push_back({"status", Value("PENDING")});
  EXPECT_TRUE(edit(input));
  EXPECT_EQ(now(store->stream_bounds("Queue"))->next, next);
}

// In the store, and as one edit each.
TEST_F(Edits, AlikeTakeEffectWhereEachByItselfWould) {
  create(queue_definition("Twin"));
  const auto edit_three = [&](const std::string& table, auto&& all) {
    std::vector<ItemRef> seen;
    for (const char* id : {"a", "b", "c"}) {
      EXPECT_TRUE(put(table, task(id, "PENDING", 1)));
      seen.push_back(*now(store->get_item({table, key(id), {}, {}, true})));
    }
    EXPECT_TRUE(put(table, task("b", "TAKEN", 1)));
    EditItemInput input;
    input.table = table;
    input.edits.push_back({"status", Value("SHED")});
    input.unchanged = {"status"};
    const auto answers = now(all(std::move(input), std::move(seen)));
    std::vector<bool> done;
    for (const auto& answer : answers) done.push_back(answer.has_value());
    EXPECT_EQ(done, (std::vector<bool>{true, false, true}));
    EXPECT_EQ(answers[1].error().code, ErrorCode::kConditionalCheckFailed);
    EXPECT_EQ(answers[2]->attributes.decode(), task("c", "SHED", 1));
    for (const char* id : {"a", "c"}) EXPECT_EQ(get(table, key(id)), task(id, "SHED", 1));
    EXPECT_EQ(get(table, key("b")), task("b", "TAKEN", 1));
  };
  edit_three("Queue", [&](auto edit, auto seen) { return store->edit_alike(std::move(edit), std::move(seen)); });
  edit_three("Twin", [&](auto edit, auto seen) { return store->Tables::edit_alike(std::move(edit), std::move(seen)); });
}

// The same edits, half of them on stale images, directly and as updates.
TEST_F(Edits, DoWhatTheUpdateMadeOfThemDoes) {
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random draw(seed);
  create(queue_definition("Twin"));
  ASSERT_TRUE(put("Twin", task("a", "PENDING", 1)));
  static constexpr std::string_view kNames[] = {"status", "created", "x", "y", "z"};
  const auto value = [&](std::string_view name) {
    return name == "created" ? Value::number(static_cast<int64_t>(draw.below(3)))
                             : Value(std::string(1, static_cast<char>('a' + draw.below(3))));
  };
  ItemRef stale = seen();
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    EditItemInput input = edit_of(draw.below(2) == 0 ? stale : seen());
    for (const auto name : kNames) {
      const uint64_t what = draw.below(4);
      if (what < 2) input.edits.push_back({name, what == 0 ? std::optional(value(name)) : std::nullopt});
    }
    for (size_t guard = draw.below(3); guard > 0; --guard) input.unchanged[guard] = kNames[draw.below(5)];
    if (input.unchanged[1] == input.unchanged[2]) input.unchanged[2] = {};
    UpdateItemInput update = to_update(input, queue_definition().keys);
    update.table = "Twin";
    const auto one = edit(std::move(input));
    const auto other = now(store->update_item(std::move(update)));
    ASSERT_EQ(one.has_value(), other.has_value()) << text(one) << " / " << text(other);
    if (one) {
      ASSERT_EQ(one->attributes.decode(), other->attributes.decode());
    } else {
      ++refused;
      ASSERT_EQ(one.error().code, other.error().code);
    }
    ASSERT_EQ(get("Queue", key("a")), get("Twin", key("a")));
    if (draw.below(8) == 0) stale = seen();
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace freshet
