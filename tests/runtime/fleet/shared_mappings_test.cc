// Event source mappings of several daemons over one simulated engine: whatever happens to the daemons and to their
// calls, no change is lost or passed over, and no position goes back.
#include "tests/runtime/fleet/mappings_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

constexpr uint64_t kSeeds = 60;
constexpr int kSteps = 60;

class SharedMappings : public MappingsWorld {};

TEST_F(SharedMappings, NoDaemonRunsAMappingThatIsNotItsOwn) {
  start("a");
  start("b");
  changes->write(0);
  pass(seconds(20));
  EXPECT_EQ(deliveries, 0u);
  serve("b", true);
  until_done();
  serve("b", false);
  pass(seconds(1));
  changes->write(0);
  pass(seconds(20));
  EXPECT_EQ(deliveries, 1u);
  EXPECT_EQ(daemons.at("b")->runtime->mappings().at(0).state, "Enabled");
}

TEST_F(SharedMappings, AMappingThatMovesDeliversNothingTwice) {
  start("a");
  start("b");
  serve("a", true);
  for (int move = 0; move < 20; ++move) {
    const std::string from = move % 2 == 0 ? "a" : "b";
    const std::string to = move % 2 == 0 ? "b" : "a";
    for (int i = 0; i < 7; ++i) changes->write(i % kItems);
    if (move == 7) changes->split(0);
    pass(milliseconds(random.below(1500)));
    serve(from, false);
    pass(milliseconds(500));
    serve(to, true);
  }
  until_done();
  EXPECT_EQ(deliveries, total());
}

TEST_F(SharedMappings, ABatchUnderWayIsFinishedWhenTheMappingMoves) {
  most_ms = 1;
  start("a");
  start("b");
  serve("a", true);
  pass(seconds(3));
  changes->write(0);
  pass(seconds(2));
  const size_t before = deliveries;
  most_ms = 3000;
  changes->write(1);
  for (int i = 0; i < 200 && deliveries == before; ++i) pass(milliseconds(20));
  serve("a", false);
  pass(seconds(5));
  serve("b", true);
  pass(seconds(10));
  EXPECT_EQ(deliveries, 2u) << "its position was stored after the mapping was given up";
}

TEST_F(SharedMappings, LatestBeginsWhenADaemonFirstRunsTheMapping) {
  mapping.starting_position = StartingPosition::kLatest;
  start("a");
  start("b");
  changes->write(0);
  processed[0] = 1;  // Nobody wants it.
  pass(seconds(5));
  serve("a", true);
  pass(seconds(2));
  changes->write(0);
  pass(seconds(3));  // The position is stored.
  changes->split(0);
  pass(milliseconds(700));
  kill("a");
  serve("b", true);
  changes->write(1);
  until_done();
  EXPECT_FALSE(delivered.contains(name_of(0, 1)));
}

TEST_F(SharedMappings, ADaemonThatIsHeldTakesNewDefinitions) {
  auto& a = start("a");
  pass(seconds(1));
  MappingDefinition changed = mapping;
  changed.batch_size = 2;
  a.scope.spawn([](Runtime& runtime, MappingDefinition wanted) -> Async<void> {
    auto put = co_await runtime.put_mapping(std::move(wanted));
    EXPECT_TRUE(put);
  }(*a.runtime, changed));
  pass(seconds(1));
  EXPECT_EQ(a.runtime->mappings().at(0).state, "Enabled");
  EXPECT_EQ(a.runtime->mappings().at(0).definition.batch_size, 2u);
  for (int i = 0; i < 3; ++i) changes->write(i);
  serve("a", true);
  until_done();
  EXPECT_GE(deliveries, 3u);
}

TEST_F(SharedMappings, AMappingMayGetAnotherTableWhileItIsHeld) {
  auto& a = start("a");
  serve("a", true);
  changes->write(0);
  until_done();
  pass(seconds(3));
  serve("a", false);
  pass(seconds(1));
  for (const char* table : {"U", "T"}) {
    MappingDefinition changed = mapping;
    changed.table = table;
    a.scope.spawn([](Runtime& runtime, MappingDefinition wanted) -> Async<void> {
      auto put = co_await runtime.put_mapping(std::move(wanted));
      EXPECT_TRUE(put);
    }(*a.runtime, changed));
    pass(seconds(1));
    EXPECT_EQ(a.runtime->mappings().at(0).definition.table, table);
    EXPECT_EQ(a.runtime->mappings().at(0).position, 0u) << "it has not begun there";
  }
  changes->write(0);
  serve("a", true);
  until_done();
  EXPECT_EQ(deliveries, 2u) << "it goes on where it was in its former table";
}

TEST_F(SharedMappings, ARemovedMappingGoesOnWhenItComesBack) {
  auto& a = start("a");
  serve("a", true);
  changes->write(0);
  until_done();
  pass(seconds(3));
  a.scope.spawn([](Runtime& runtime) -> Async<void> {
    auto removed = co_await runtime.remove_mapping("m");
    EXPECT_TRUE(removed);
  }(*a.runtime));
  pass(seconds(1));
  EXPECT_TRUE(a.runtime->mappings().empty());
  changes->write(0);
  kill("a");
  start("a");
  serve("a", true);
  until_done();
  EXPECT_EQ(deliveries, 2u);
}

// Daemons are killed, or stand still and go on later, while the mapping moves between them. One that stands still does
// not know yet that it has lost the mapping.
class Turmoil : public SharedMappings {
 protected:
  void run(uint64_t seed) {
    end();
    begin(seed);
    mapping.parallelization_factor = 1 + static_cast<uint32_t>(random.below(3));
    failing = random.below(2) ? 0.1 : 0;
    faults = random.below(3) ? SimFaults::some() : SimFaults{};
    faults.everywhere = true;
    for (const std::string& name : names) start(name, faults);
    owner = names.front();
    frozen.clear();
    serve(owner, true);
    for (int i = 0; i < kSteps; ++i) step();
    if (!frozen.empty()) thaw();
    failing = 0;
    until_done();
    for (const auto& [name, daemon] : daemons) unknown += daemon->shared.unknown_outcomes();
  }

  void step() {
    switch (random.below(10)) {
      case 0:
        return split();
      case 1:
        if (changes->open_shards().size() > 1) changes->merge(changes->open_shards()[0], changes->open_shards()[1]);
        return;
      case 2:
        return move();
      case 3:
        return kill_owner();
      case 4:
        return freeze_owner();
      case 5:
        if (!frozen.empty()) thaw();
        return;
      default:
        for (uint64_t i = random.below(6); i > 0; --i) changes->write(static_cast<int>(random.below(kItems)));
        pass(milliseconds(random.below(2000)));
    }
  }
  void split() {
    const std::vector<size_t> open = changes->open_shards();
    const size_t one = open[random.below(open.size())];
    if (changes->tree[one].items.size() > 1) changes->split(one);
  }
  std::string any_running() {
    std::string name = frozen;
    while (name == frozen) name = names[random.below(names.size())];
    return name;
  }
  void move() {
    const std::string next = any_running();
    if (next == owner) return;
    serve(owner, false);
    pass(milliseconds(random.below(600)));
    serve(owner = next, true);
  }
  void kill_owner() {
    kill(owner);
    start(owner, faults);
    pass(milliseconds(random.below(600)));
    serve(owner = any_running(), true);
  }
  void freeze_owner() {
    if (!frozen.empty()) return;
    frozen = owner;
    daemons.at(frozen)->scheduler.pause();
    serve(owner = any_running(), true);
  }
  void thaw() {
    daemons.at(frozen)->scheduler.resume();
    pass(milliseconds(random.below(100)));
    serve(frozen, false);
    frozen.clear();
  }

  const std::vector<std::string> names{"a", "b", "c"};
  SimFaults faults;
  std::string owner;
  std::string frozen;
  size_t unknown = 0;
};

TEST_F(Turmoil, NothingIsLostOrPassedOver) {
  size_t all = 0;
  size_t again = 0;
  const std::vector<uint64_t> seeds = test_seeds(kSeeds);
  for (const uint64_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed);
    if (HasFailure()) return;
    all += total();
    again += deliveries - total();
  }
  if (seeds.size() < kSeeds) return;
  EXPECT_GT(all, 1000u);
  EXPECT_GT(again, 0u) << "otherwise nothing was interrupted";
  EXPECT_GT(unknown, 20u);
}

}  // namespace
}  // namespace freshet
