// The rules of ordered writes: what the store's conditions say and what the code decides are the same; times and units.
#include <gtest/gtest.h>

#include "base/random.h"
#include "functions/ordered/policy/effective_time.h"
#include "functions/ordered/policy/guard.h"
#include "tables/edit.h"
#include "tables/expression/expression.h"
#include "tests/sim/seeds.h"

namespace freshet::ordered {
namespace {

constexpr WallTime kNow{milliseconds(1'800'000'000'000)};

Settings some_settings(bool updates, Ties ties) {
  Settings settings;
  settings.name = settings.table = "Ratings";
  if (updates) settings.update_attributes = {"Note"};
  settings.ties = ties;
  return settings;
}

class GuardTexts : public ::testing::Test {
 protected:
  bool holds(const std::string& condition, const Placeholders& placeholders, const ItemRef& item) {
    Expressions expressions(cache_, placeholders);
    auto bound = expressions.condition(condition);
    EXPECT_TRUE(bound) << condition << ": " << bound.error().message;
    const auto used = expressions.finish();
    EXPECT_TRUE(used) << condition << ": " << used.error().message;
    return evaluate(*bound, item);
  }
  ExpressionCache cache_;
};

TEST_F(GuardTexts, SayWhatTheCodeDecides) {
  for (const uint64_t seed : test_seeds(20'000)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    Random random(seed);
    const Settings s = some_settings(random.below(2) == 0, random.below(2) == 0 ? Ties::kArrival : Ties::kContent);
    const Guard guard(s);
    Item item{{"PK", Value("k")}};
    const auto maybe = [&](const std::string& name, Value value) {
      if (random.below(4) > 0) item.set(name, std::move(value));
    };
    const auto small = [&] { return Value::number(static_cast<int64_t>(random.below(3))); };
    const auto tie = [&] { return std::string(1, static_cast<char>('a' + random.below(3))); };
    maybe("Timestamp", small());
    if (random.below(3) == 0) item.set("Deleted", Value::boolean(true));
    if (s.ties == Ties::kContent) maybe("Tie", Value(tie()));
    if (!s.update_attributes.empty()) maybe("UpdateTimestamp", small());
    if (s.ties == Ties::kContent) maybe("UpdateTie", Value(tie()));
    const ItemRef ref = ItemRef::encode(item);
    const auto facts = read_facts(ref, s);
    ASSERT_TRUE(facts);
    const bool updates = !s.update_attributes.empty();
    const Kind kind = std::array{Kind::kPut, Kind::kDelete, Kind::kUpdate}[random.below(updates ? 3 : 2)];
    const Write write{kind, small(), s.ties == Ties::kContent ? tie() : ""};
    const bool expected = whole_gives_way(*facts, write, s.ties) && update_gives_way(*facts, write, s.ties);
    bool held = false;
    if (kind == Kind::kUpdate) {
      UpdateItemInput update;
      guard.add_to(update, write);
      if (s.ties == Ties::kContent) {  // As the update itself names them.
        update.placeholders.names.emplace_back("#d", s.names.deleted);
        update.placeholders.names.emplace_back("#j", s.names.update_tie);
      }
      held = holds(update.condition, update.placeholders, ref);
    } else {
      PutItemInput put;
      put.item.set("Timestamp", write.stamp);
      guard.add_to(put, write);
      put = with_guards_spelled_out(std::move(put), {{"PK", Type::kString}, {}});
      held = holds(put.condition, put.placeholders, ref);
    }
    EXPECT_EQ(held, expected);
    if (HasFailure()) return;
  }
}

TEST(EffectiveTime, AgesAtTheirEdges) {
  Settings s = some_settings(false, Ties::kArrival);
  const auto code = [&](int64_t ms) {
    const auto no = check_age(Value::number(epoch_ms(kNow) + ms), s, kNow);
    return no ? code_name(no->code) : "";
  };
  EXPECT_EQ(code(300'000), "");
  EXPECT_EQ(code(300'001), "TOO_FAR_AHEAD");
  const int64_t week = 7 * 86'400'000;
  EXPECT_EQ(code(-week), "TOO_OLD");
  EXPECT_EQ(code(-week + 1000), "TOO_OLD") << "it may be on its way for a second";
  EXPECT_EQ(code(-week + 1001), "");
  s.retention = milliseconds(1000);
  EXPECT_EQ(code(-900), "TOO_OLD") << "of a short retention a tenth";
  EXPECT_EQ(code(-899), "");
  s.max_skew = milliseconds(0);
  EXPECT_EQ(code(1), "TOO_FAR_AHEAD");
  EXPECT_EQ(code(0), "");
  EXPECT_EQ(code(INT64_MAX - epoch_ms(kNow)), "TOO_FAR_AHEAD");
  EXPECT_EQ(code(-epoch_ms(kNow) * 2), "TOO_OLD");
}

TEST(EffectiveTime, TombstonesExpireAfterTheirTimeNotBefore) {
  Settings s = some_settings(false, Ties::kArrival);
  EXPECT_EQ(expires_s(Value::number(1'721'757'900'000), s, kNow), 1'722'362'700);
  EXPECT_EQ(expires_s(Value::number(1'721'757'900'001), s, kNow), 1'722'362'701);
  s.unit = Unit::kSeconds;
  EXPECT_EQ(expires_s(Value::number(1'721'757'900), s, kNow), 1'722'362'700);
  s.unit = Unit::kNanoseconds;
  EXPECT_EQ(expires_s(Value::number(1'721'757'900'000'000'000), s, kNow), 1'722'362'700);
  s.unit = Unit::kToken;
  EXPECT_EQ(expires_s(Value::number(7), s, kNow), 1'800'000'000 + 7 * 86'400);
}

TEST(EffectiveTime, UnitsOfTheClock) {
  EXPECT_EQ(stamp_of(kNow, Unit::kSeconds), Value::number(1'800'000'000));
  EXPECT_EQ(stamp_of(kNow, Unit::kMilliseconds), Value::number(1'800'000'000'000));
  EXPECT_EQ(stamp_of(kNow, Unit::kMicroseconds), Value::number(1'800'000'000'000'000));
  EXPECT_EQ(stamp_of(kNow, Unit::kNanoseconds), Value::number(1'800'000'000'000'000'000));
}

TEST(EffectiveTime, PathsIntoRecords) {
  const Item record{{"a", Value(Map{{"b", Value(List{{Value("x"), Value(Map{{"c", Value("found")}})}})}})},
                    {"plain", Value("p")}};
  const auto at = [&](std::string_view path) {
    const Value* value = at_path(record, path);
    return value != nullptr ? std::string(*value->get_if<std::string>()) : "-";
  };
  EXPECT_EQ(at("plain"), "p");
  EXPECT_EQ(at("a.b[0]"), "x");
  EXPECT_EQ(at("a.b[1].c"), "found");
  for (const char* none : {"", ".", "[0]", "a.b[2].c", "a.b[", "a.b[x]", "a.b[0].c", "plain.x", "plain[0]", "a..b",
                           "a.", "nothing", "a.b[18446744073709551616]", "a.b[0]c"}) {
    EXPECT_EQ(at(none), "-") << none;
  }
}

}  // namespace
}  // namespace freshet::ordered
