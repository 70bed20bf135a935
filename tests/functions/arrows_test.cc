// The writes of transitions.
#include "functions/queue/arrows.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "tables/value/json.h"
#include "tables/value/text.h"
#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

// An error that was cut inside a character made the log unreadable at the next start.
TEST(Arrows, ErrorsAreCutAtACharacter) {
  std::string error = "x";
  for (int i = 0; i < 3000; ++i) error += "\u00e9";
  Outcome outcome;
  outcome.to = state::kDelayed;
  outcome.failed = true;
  const auto input = end_claim("T", task({}), outcome, "failed", error, {}, wall(1));
  size_t texts = 0;
  for (const auto& [name, value] : input.edits) {
    const auto* text = value ? value->get_if<std::string>() : nullptr;
    if (!text || text->size() < 1000) continue;
    ++texts;
    EXPECT_TRUE(is_utf8(*text));
    EXPECT_LE(text->size(), 4096u);
  }
  EXPECT_EQ(texts, 1u);
}

TEST(Arrows, ARedriveRenewsAPassedTtlInItsOwnUnit) {
  TableDefinition table;
  table.name = "T";
  const int64_t now_ms = 1'800'000'000'000;
  const auto renewed = [&](int64_t ttl) -> std::string {
    const ItemRef dead = task({{"ttl", Value::number(ttl)}});
    const auto input = redrive(table, dead, {}, 1500_ms, wall(now_ms), wall(now_ms));
    for (const auto& [name, value] : input.edits) {
      if (name != attribute::kTtl) continue;
      std::string out;
      append_plain_json(out, *value);
      return out;
    }
    return "kept";
  };
  EXPECT_EQ(renewed(1'799'999'999), "1800000002");
  EXPECT_EQ(renewed(1'800'000'001), "kept");
  EXPECT_EQ(renewed(now_ms - 1), "kept") << "it never passes";
  table.ttl_in_milliseconds = true;
  EXPECT_EQ(renewed(now_ms - 1), "1800000001500");
  EXPECT_EQ(renewed(now_ms + 1), "kept");
  EXPECT_EQ(renewed(1'799'999'999), "1800000002");
}

TEST(Arrows, ASuccessIsRecordedWithoutAResultThatDoesNotFit) {
  const ItemRef large = task({{"payload", Value(std::string(limits::kMaxItemBytes - 1000, 'p'))}});
  const auto input = complete("T", large, Value(std::string(2000, 'r')), wall(1));
  bool said = false;
  for (const auto& [name, value] : input.edits) {
    const auto* text = value ? value->get_if<std::string>() : nullptr;
    EXPECT_FALSE(text && text->size() == 2000);
    said = said || (text && text->find("does not fit") != std::string::npos);
  }
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace freshet
