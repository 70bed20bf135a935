// Event source mappings of several daemons over one simulated engine: whatever happens to the daemons and to their
// calls, no change is lost or passed over, and no position goes back.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "streams/shards/shard_checkpoints.h"
#include "streams/system_table.h"
#include "tables/lease/positions_table.h"
#include "tables/owned/split_tables.h"
#include "tables/value/json.h"
#include "tests/runtime/fleet/shared_world.h"
#include "tests/sim/seeds.h"
#include "tests/streams/shards/fake_engine.h"

namespace freshet {
namespace {

constexpr uint64_t kSeeds = 60;
constexpr int kSteps = 60;
constexpr int kItems = 5;

class FleetTables final : public SplitTables, public HasEngineStreams {
 public:
  FleetTables(Tables& own, Tables& shared, EngineStreams& streams) : SplitTables(own, shared), streams_(streams) {}
  EngineStreams* engine_streams() override { return &streams_; }

 private:
  EngineStreams& streams_;
};

class SharedMappings : public SharedWorld {
 protected:
  SharedMappings() { begin(1); }
  ~SharedMappings() override { end(); }

  // Everything anew.
  void begin(uint64_t seed) {
    open(seed);
    changes = std::make_unique<FakeEngine>(world, seed, kItems);
    must(provide_positions_table(*store));
    delivered.clear();
    processed.clear();
    positions.clear();
    deliveries = 0;
  }
  void end() {
    daemons.clear();
    changes.reset();
    close();
  }

  struct Daemon : DaemonWithRuntime<FleetTables> {
    Daemon(SharedMappings& all, const std::string& id, SimFaults faults)
        : DaemonWithRuntime(all, id, faults, *all.changes) {
      make_runtime(all.random, [&all, id](Context& context) { return all.play(id, context); });
      runtime->share_mappings();
      scope.spawn(begin(all.mapping));
    }
    Async<void> begin(MappingDefinition definition) {
      auto started = co_await runtime->start();
      expect_well(started);
      auto putting = put_function(function_named("F"));
      co_await putting;
      for (;;) {
        MappingDefinition wanted = definition;
        auto made = co_await runtime->put_mapping(std::move(wanted));
        if (made) break;
        co_await sleep_for(scheduler, milliseconds(100));
      }
    }
  };

  Daemon& start(const std::string& id, SimFaults faults = {}) {
    daemons[id] = std::make_unique<Daemon>(*this, id, faults);
    return *daemons[id];
  }
  void kill(const std::string& id) { daemons.erase(id); }
  void serve(const std::string& id, bool is_mine) { daemons.at(id)->runtime->serve_mapping("m", is_mine); }

  static std::string name_of(int item, int version) {
    return "i" + std::to_string(item) + ":" + std::to_string(version);
  }
  static std::vector<std::pair<int, int>> records_in(const std::string& payload) {
    std::vector<std::pair<int, int>> all;
    const auto event = parse_plain_json(payload);
    for (const Value& record : event->get_if<Map>()->find("Records")->get_if<List>()->elements) {
      const Map& change = *record.get_if<Map>()->find("dynamodb")->get_if<Map>();
      const Map& image = *change.find("NewImage")->get_if<Map>();
      const std::string item(image.find("id")->get_if<Map>()->string_or("S"));
      const std::string version(image.find("version")->get_if<Map>()->string_or("N"));
      all.emplace_back(std::stoi(item.substr(1)), std::stoi(version));
    }
    return all;
  }

  // The function. A version of an item may only come once the one before it has been processed.
  Async<Result<std::string>> play(std::string daemon, Context& context) {
    const auto records = records_in(context.invocation.payload.text());
    Scheduler& scheduler = daemons.at(daemon)->scheduler;
    std::map<int, int> before;
    for (const auto& [item, version] : records) {
      int& last = before.try_emplace(item, processed[item]).first->second;
      EXPECT_LE(version, last + 1) << daemon << " passes over changes before " << name_of(item, version);
      last = std::max(last, version);
      ++delivered[name_of(item, version)];
      ++deliveries;
    }
    const milliseconds takes(random.below(most_ms));
    const bool fails = random.unit() < failing;
    co_await sleep_for(scheduler, takes);
    if (fails) co_return fail(ErrorCode::kInternal, "drawn");
    for (const auto& [item, version] : records) processed[item] = std::max(processed[item], version);
    co_return std::string("null");
  }

  void pass(nanoseconds time) {
    for (nanoseconds passed{0}; passed < time; passed += milliseconds(20)) {
      world.run_for(milliseconds(20));
      judge_positions();
    }
  }
  void judge_positions() {
    for (const ItemRef& ref : must(load_items_of(*store, kPositionsTable, "shard-reader", {}))) {
      const int64_t number = ref.decode().int_or("start", 0);
      EXPECT_GE(number, start_number);
      start_number = number;
    }
    for (const ItemRef& ref : must(load_items_of(*store, kPositionsTable, "shard-mark", {}))) {
      const Item item = ref.decode();
      const ShardMark mark{std::string(item.string_or("after")), item.contains("over")};
      ShardMark& before = positions[std::string(item.string_or("id"))];
      EXPECT_FALSE(is_behind(mark, before))
          << item.string_or("id") << " goes back from " << before.after << (before.over ? " over" : "") << " to "
          << mark.after << " with rev " << item.int_or("rev", 0);
      before = mark;
    }
  }
  bool is_done() const {
    for (int item = 0; item < kItems; ++item) {
      const auto done = processed.find(item);
      if ((done == processed.end() ? 0 : done->second) != changes->versions[static_cast<size_t>(item)]) return false;
    }
    return true;
  }
  void until_done(nanoseconds limit = std::chrono::minutes(5)) {
    for (nanoseconds passed{0}; passed < limit && !is_done(); passed += milliseconds(100)) pass(milliseconds(100));
    EXPECT_TRUE(is_done()) << "changes are not processed";
  }
  size_t total() const {
    size_t all = 0;
    for (const int versions : changes->versions) all += static_cast<size_t>(versions);
    return all;
  }

  static MappingDefinition template_mapping() {
    MappingDefinition mapping;
    mapping.id = "m";
    mapping.table = "T";
    mapping.function = "F";
    mapping.starting_position = StartingPosition::kTrimHorizon;
    mapping.batch_size = 4;
    return mapping;
  }

  MappingDefinition mapping = template_mapping();
  std::unique_ptr<FakeEngine> changes;
  std::map<std::string, int> delivered;  // By change.
  std::map<int, int> processed;          // By item: the highest version.
  std::map<std::string, ShardMark> positions;
  int64_t start_number = 0;
  size_t deliveries = 0;
  uint64_t most_ms = 50;
  double failing = 0;
  std::map<std::string, std::unique_ptr<Daemon>> daemons;
};

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
    start_number = 0;
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
