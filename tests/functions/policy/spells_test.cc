// Floods of bounces and refusals, as lines of the shed log.
#include "functions/queue/policy/spells.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

ShedLine bounced(const std::string& id, int64_t ms) {
  ShedLine out;
  out.task = id;
  out.what = "bounced";
  out.policy = "breaker";
  out.reason = "reason " + id;
  out.at = wall(ms);
  return out;
}

void write(Spell& spell, uint64_t number, BootTime now) {
  spell.number = number;
  spell.written = now;
  spell.changed = false;
}

TEST(Spells, AFloodIsOneLineThatCounts) {
  Spells spells;
  spells.add(bounced("a", 0), boot_at(0));
  spells.add(bounced("b", 10), boot_at(10));
  spells.add(bounced("a", 20), boot_at(20));
  const auto due = spells.due(boot_at(20), false);
  ASSERT_EQ(due.size(), 1u);
  const ShedLine& line = due[0]->line;
  EXPECT_EQ(line.count, 3u);
  EXPECT_EQ(line.task, "a");
  EXPECT_EQ(line.reason, "reason a") << "that of the last one";
  EXPECT_EQ(line.at, wall(0));
  EXPECT_EQ(line.until, wall(20));
  EXPECT_EQ(line.tasks, (std::vector<std::string>{"a", "b"})) << "each once";
}

TEST(Spells, EachPolicyHasItsOwn) {
  Spells spells;
  spells.add(bounced("a", 0), boot_at(0));
  ShedLine other = bounced("b", 0);
  other.policy = "MAX_WAITING=5";
  spells.add(other, boot_at(0));
  EXPECT_EQ(spells.due(boot_at(0), false).size(), 2u);
}

TEST(Spells, ALineRestsBetweenTwoWritesUnlessAllAreAskedFor) {
  Spells spells;
  spells.add(bounced("a", 0), boot_at(0));
  write(*spells.due(boot_at(0), false).at(0), 7, boot_at(0));
  EXPECT_TRUE(spells.due(boot_at(500), true).empty()) << "the log knows all of it";
  spells.add(bounced("b", 500), boot_at(500));
  EXPECT_TRUE(spells.due(boot_at(999), false).empty());
  EXPECT_EQ(spells.due(boot_at(999), true).size(), 1u);
  const auto due = spells.due(boot_at(1000), false);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0]->number, 7u) << "it is written over the line that it has";
  due[0]->writing = true;
  EXPECT_TRUE(spells.due(boot_at(1000), true).empty());
}

TEST(Spells, AfterAQuietMinuteAnotherOneBegins) {
  Spells spells;
  spells.add(bounced("a", 0), boot_at(0));
  write(*spells.due(boot_at(0), false).at(0), 7, boot_at(0));
  spells.add(bounced("b", 60'000), boot_at(60'000));
  EXPECT_EQ(spells.due(boot_at(60'000), false).at(0)->line.count, 2u) << "just in time";
  spells.add(bounced("c", 120'001), boot_at(120'001));
  const auto due = spells.due(boot_at(120'001), false);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0]->line.count, 1u);
  EXPECT_EQ(due[0]->line.task, "c");
  EXPECT_FALSE(due[0]->number) << "it gets a line of its own";
}

TEST(Spells, ALineNamesTheNewestTasksOnly) {
  Spells spells;
  for (size_t i = 0; i < Spells::kNamed + 2; ++i) spells.add(bounced(std::to_string(i), 0), boot_at(0));
  const ShedLine& line = spells.due(boot_at(0), false).at(0)->line;
  EXPECT_EQ(line.count, Spells::kNamed + 2);
  ASSERT_EQ(line.tasks.size(), Spells::kNamed);
  EXPECT_EQ(line.tasks[0], std::to_string(Spells::kNamed));
  EXPECT_EQ(line.tasks[1], std::to_string(Spells::kNamed + 1));
  EXPECT_EQ(line.tasks[2], "2");
}

}  // namespace
}  // namespace freshet
