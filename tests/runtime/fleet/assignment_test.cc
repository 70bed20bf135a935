#include "runtime/fleet/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

using Members = std::map<std::string, std::set<std::string>>;

std::set<std::string> numbers(int count) {
  std::set<std::string> out;
  for (int i = 0; i < count; ++i) out.insert(std::to_string(i));
  return out;
}

std::map<std::string, size_t> loads(const UnitOwners& owners, const Members& members) {
  std::map<std::string, size_t> out;
  for (const auto& [member, serves] : members) out[member] = 0;
  for (const auto& [unit, owner] : owners) ++out[owner];
  return out;
}

size_t moved(const UnitOwners& before, const UnitOwners& after) {
  return static_cast<size_t>(std::count_if(after.begin(), after.end(), [&](const auto& entry) {
    const auto was = before.find(entry.first);
    return was == before.end() || was->second != entry.second;
  }));
}

TEST(Assignment, NobodyGetsWhatItCannotServe) {
  const Members members{{"a", {"1", "2"}}, {"b", {"2", "3"}}, {"c", {}}};
  const auto owners = assign_units(members, {{"3", "a"}, {"9", "b"}});
  EXPECT_EQ(owners, (UnitOwners{{"1", "a"}, {"2", "b"}, {"3", "b"}}));
}

TEST(Assignment, WithoutMembersThereIsNothing) {
  EXPECT_TRUE(assign_units({}, {{"1", "a"}}).empty());
}

TEST(Assignment, MembersThatComeAndGoMoveOnlyTheirShare) {
  for (const uint64_t seed : test_seeds(300)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto units = numbers(static_cast<int>(random.below(60)));
    Members members;
    UnitOwners owners;
    for (int step = 0; step < 30; ++step) {
      const std::string id(1, static_cast<char>('a' + random.below(8)));
      size_t most_moves = 0;
      if (members.contains(id)) {
        most_moves = loads(owners, members).at(id);
        members.erase(id);
      } else {
        members[id] = units;
        most_moves = members.size() == 1 ? units.size() : (units.size() + members.size() - 1) / members.size();
      }
      const auto next = assign_units(members, owners);
      EXPECT_EQ(next.size(), members.empty() ? 0 : units.size());
      EXPECT_LE(moved(owners, next), most_moves);
      owners = next;
      const auto counts = loads(owners, members);
      if (counts.empty()) continue;
      const auto [least, most] = std::minmax_element(counts.begin(), counts.end(),
                                                     [](const auto& a, const auto& b) { return a.second < b.second; });
      EXPECT_LE(most->second, least->second + 1);
    }
  }
}

TEST(Assignment, ALevelPlanStaysAsItIs) {
  const Members members{{"a", numbers(7)}, {"b", numbers(7)}};
  const auto first = assign_units(members, {});
  EXPECT_EQ(assign_units(members, first), first);
}

}  // namespace
}  // namespace freshet
