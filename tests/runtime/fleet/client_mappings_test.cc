// Event source mappings that clients make, at several daemons over one simulated engine: they hold at all of them, and
// no change of a table is lost while they move, change and go.
#include <gmock/gmock.h>

#include "tests/runtime/fleet/mappings_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

constexpr seconds kLong{120};
constexpr uint64_t kRounds = 40;

class ClientMappings : public MappingsWorld {
 protected:
  ClientMappings() {
    is_of_clients = true;
    mapping.id.clear();
  }

  template <class T>
  Result<T> wait(Async<Result<T>> work) {
    world.run_until([&] { return work.is_ready(); }, kLong);
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }
  Daemon& begin_daemon(const std::string& id, SimFaults faults = {}) {
    Daemon& daemon = start(id, faults);
    world.run_until([&] { return daemon.is_ready; }, kLong);
    EXPECT_TRUE(daemon.is_ready);
    return daemon;
  }
  // With the function of the mappings.
  Daemon& begin_first(const std::string& id) {
    Daemon& daemon = begin_daemon(id);
    expect_well(wait(daemon.runtime->put_function(Daemon::function_named("F"))));
    return daemon;
  }
  void follow(Daemon& daemon) {
    const uint64_t newest = must(newest_definitions(*store));
    daemon.runtime->definitions_are_at(newest);
    world.run_until([&] { return daemon.runtime->definitions_version() >= newest; }, kLong);
    EXPECT_EQ(daemon.runtime->definitions_version(), newest) << daemon.name;
  }
  void all_follow() {
    for (auto& [id, daemon] : daemons) follow(*daemon);
    pass(seconds(1));  // A position may be about to be stored.
  }
  // A client's call. The service has one mapping for a table and a function.
  static Async<Result<std::string>> create(Daemon& daemon, MappingDefinition wanted) {
    return daemon.runtime->create_mapping(wanted, [&daemon, wanted]() -> Result<void> {
      for (const MappingState& one : daemon.runtime->mappings()) {
        const MappingDefinition& d = one.definition;
        if (d.table == wanted.table && d.function == wanted.function) return fail(ErrorCode::kConflict, "it exists");
      }
      return {};
    });
  }
  static std::function<Result<void>(MappingDefinition&)> count_up() {
    return [](MappingDefinition& d) -> Result<void> {
      ++d.batch_size;
      return {};
    };
  }
  static std::vector<MappingDefinition> shown(const Daemon& daemon) {
    std::vector<MappingDefinition> all;
    for (const MappingState& one : daemon.runtime->mappings()) all.push_back(one.definition);
    return all;
  }
  void serve_at(Daemon& daemon, const std::string& id, bool is_mine) { daemon.runtime->serve_mapping(id, is_mine); }
  size_t stored_positions() {
    return must(load_items_of(*store, kPositionsTable, "shard-reader", {})).size() +
           must(load_items_of(*store, kPositionsTable, "shard-mark", {})).size();
  }
  // A daemon that is in no fleet, with a mapping of that id.
  void begin_alone(const std::string& daemon, const std::string& id) {
    is_of_clients = false;
    is_alone = true;
    mapping.id = id;
    Daemon& alone = start(daemon);
    world.run_until([&] { return alone.is_ready; }, kLong);
  }
  void end_alone(const std::string& daemon) {
    kill(daemon);
    is_of_clients = true;
    is_alone = false;
  }
};

TEST_F(ClientMappings, OneThatADaemonMakesHoldsAtAllOthers) {
  Daemon& a = begin_first("a");
  Daemon& b = begin_daemon("b");
  const auto id = wait(create(a, mapping));
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_TRUE(shown(b).empty());
  const int before = told["b"];
  all_follow();
  EXPECT_GT(told["b"], before) << "the daemon may be given the mapping from now on";
  EXPECT_EQ(shown(a), shown(b));
  ASSERT_EQ(shown(b).size(), 1u);
  serve_at(b, *id, true);
  changes->write(0);
  until_done();
  ASSERT_TRUE(wait(a.runtime->change_mapping(*id, count_up())));
  all_follow();
  EXPECT_EQ(shown(b).at(0).batch_size, mapping.batch_size + 1);
  changes->write(1);
  until_done();
  EXPECT_EQ(deliveries, 2u) << "it goes on where it was";
  kill("b");
  Daemon& again = begin_daemon("b");
  EXPECT_EQ(shown(again), shown(a));
}

TEST_F(ClientMappings, TheSecondOfTwoSeesTheFirst) {
  Daemon& a = begin_first("a");
  Daemon& b = begin_daemon("b");
  auto first = create(a, mapping);
  auto second = create(b, mapping);
  const auto at_a = wait(std::move(first));
  const auto at_b = wait(std::move(second));
  EXPECT_NE(at_a.has_value(), at_b.has_value());
  EXPECT_EQ((at_a ? at_b : at_a).error().code, ErrorCode::kConflict);
  const std::string id = at_a ? *at_a : *at_b;
  std::vector<Async<Result<std::string>>> all;
  for (int i = 0; i < 10; ++i) {
    for (Daemon* daemon : {&a, &b}) {
      if (i == 0) follow(*daemon);
      all.push_back(daemon->runtime->change_mapping(id, count_up()));
    }
  }
  for (auto& one : all) EXPECT_TRUE(wait(std::move(one)));
  all_follow();
  EXPECT_EQ(shown(a).at(0).batch_size, mapping.batch_size + 20);
  EXPECT_EQ(shown(a), shown(b));
}

TEST_F(ClientMappings, LatestBeginsWhenTheClientHasItsAnswer) {
  mapping.starting_position = StartingPosition::kLatest;
  Daemon& a = begin_first("a");
  Daemon& b = begin_daemon("b");
  changes->write(0);
  processed[0] = 1;  // Nobody wants it.
  pass(seconds(70));
  const auto id = wait(create(a, mapping));
  ASSERT_TRUE(id) << id.error().message;
  changes->write(0);
  changes->split(0);
  changes->write(1);
  pass(seconds(30));
  EXPECT_EQ(deliveries, 0u) << "nobody runs it yet";
  all_follow();
  serve_at(b, *id, true);
  until_done();
  EXPECT_FALSE(delivered.contains(name_of(0, 1)));
  EXPECT_EQ(deliveries, 2u);
}

TEST_F(ClientMappings, OneThatIsRemovedLeavesNothing) {
  Daemon& a = begin_first("a");
  Daemon& b = begin_daemon("b");
  const auto id = wait(create(a, mapping));
  ASSERT_TRUE(id);
  all_follow();
  serve_at(b, *id, true);
  for (int i = 0; i < kItems; ++i) changes->write(i);
  until_done();
  pass(seconds(3));
  EXPECT_GT(stored_positions(), 0u);
  ASSERT_TRUE(wait(a.runtime->remove_mapping(*id)));
  EXPECT_TRUE(shown(a).empty());
  // This daemon does not know it yet.
  const size_t before = deliveries;
  pass(seconds(10));
  EXPECT_EQ(deliveries, before) << "it has its positions still";
  all_follow();
  EXPECT_TRUE(shown(b).empty());
  changes->write(0);
  pass(seconds(120));
  EXPECT_EQ(deliveries, before);
  EXPECT_EQ(stored_positions(), 0u);
  const auto gone = wait(b.runtime->change_mapping(*id, count_up()));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kResourceNotFound);
}

TEST_F(ClientMappings, OneThatIsNotMadeLeavesNothing) {
  Daemon& a = begin_first("a");
  mapping.starting_position = StartingPosition::kLatest;
  auto creating = create(a, mapping);
  world.run_until([&] { return stored_positions() > 0; }, kLong);
  must(store->delete_table(kDefinitionsTable));
  EXPECT_FALSE(wait(std::move(creating)));
  EXPECT_EQ(stored_positions(), 1u) << "it has begun already";
  must(provide_definitions_table(*store));
  pass(seconds(120));
  EXPECT_EQ(stored_positions(), 0u);
}

TEST_F(ClientMappings, ADrainDoesNotWaitForACreateOnAnEngineThatIsSlow) {
  Daemon& a = begin_first("a");
  changes->slow = std::chrono::minutes(5);
  auto creating = create(a, mapping);
  const BootTime began = world.clock().boot();
  auto draining = a.runtime->drain(began + seconds(3));
  world.run_until([&] { return draining.is_ready(); }, kLong);
  ASSERT_TRUE(draining.is_ready());
  EXPECT_LT(world.clock().boot() - began, seconds(5));
}

TEST_F(ClientMappings, WhatADaemonHadAloneComesAlong) {
  begin_alone("a", "of-a-client");
  for (int i = 0; i < kItems; ++i) changes->write(i);
  until_done();
  pass(seconds(5));
  end_alone("a");
  const size_t before = deliveries;
  Daemon& a = begin_daemon("a");
  Daemon& b = begin_daemon("b");
  all_follow();
  ASSERT_EQ(shown(a).size(), 1u);
  EXPECT_EQ(shown(b), shown(a));
  changes->write(0);
  serve_at(b, "of-a-client", true);
  until_done();
  EXPECT_EQ(deliveries, before + 1) << "another daemon goes on where the first one has stopped";
  // Nothing is left of the time before.
  ASSERT_TRUE(wait(b.runtime->remove_mapping("of-a-client")));
  all_follow();
  for (const char* kind : {"mapping", "shard-reader", "shard-mark"}) {
    EXPECT_TRUE(must(load_system_items(folder_of("a"), kind)).empty()) << kind;
  }
}

TEST_F(ClientMappings, ASecondOneOfAFunctionAndATableDoesNotComeAlong) {
  for (const char* daemon : {"a", "b"}) {
    begin_alone(daemon, std::string("of-") + daemon);
    end_alone(daemon);
  }
  Daemon& a = begin_daemon("a");
  Daemon& b = begin_daemon("b");
  all_follow();
  ASSERT_EQ(shown(a).size(), 1u);
  EXPECT_EQ(shown(a).at(0).id, "of-a");
  EXPECT_EQ(shown(b), shown(a)) << "changes would come twice";
}

TEST_F(ClientMappings, TheTemplatesIsTheDaemonsOwn) {
  Daemon& a = begin_first("a");
  Daemon& b = begin_daemon("b");
  record_deployment("a", {{"mappings", "m"}});
  const uint64_t before = must(newest_definitions(*store));
  mapping.id = "m";
  ASSERT_TRUE(wait(a.runtime->put_mapping(mapping)));
  EXPECT_EQ(must(newest_definitions(*store)), before);
  all_follow();
  EXPECT_TRUE(shown(b).empty());
  const auto refused = wait(a.runtime->check_is_of_clients(mapping_by_id("m")));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("what the template defines: mapping m"));
  serve_at(a, "m", true);
  changes->write(0);
  until_done();
  pass(seconds(3));
  ASSERT_TRUE(wait(a.runtime->remove_mapping("m")));
  pass(seconds(120));
  EXPECT_GT(stored_positions(), 0u) << "another daemon may still have that template";
}

// Clients make, change and remove mappings at all daemons, which die and come back, while the engine loses calls,
// answers late and carries out calls twice. In the end all daemons have the same, each acknowledged change counts, and
// what is left of a mapping delivers what is changed then.
class ClientMappingChanges : public ClientMappings {
 protected:
  static SimFaults faults() {
    SimFaults some = SimFaults::some();
    some.everywhere = true;
    return some;
  }
  Async<void> note(Async<Result<std::string>> work) {
    const auto done = co_await work;
    if (!done) co_return;
    if (!removed.contains(*done)) made.insert(*done);
  }
  Async<void> note_change(std::string id, Async<Result<std::string>> work) {
    const auto done = co_await work;
    if (done) ++counted[id];
  }
  Async<void> note_removal(std::string id, Async<Result<void>> work) {
    made.erase(id);  // From here on it may be gone.
    removed.insert(id);
    const auto done = co_await work;
    if (done) gone.insert(id);
  }
  void step() {
    const std::string name(1, static_cast<char>('a' + random.below(3)));
    if (!daemons.contains(name)) {
      begin_daemon(name, faults());
      return;
    }
    Daemon& daemon = *daemons.at(name);
    if (random.below(12) == 0) return kill(name);
    daemon.runtime->definitions_are_at(must(newest_definitions(*store)));
    const auto all = shown(daemon);
    const uint64_t what = random.below(6);
    if (what == 0 || all.empty()) {
      MappingDefinition wanted = mapping;
      wanted.table = "T" + std::to_string(random.below(4));
      daemon.scope.spawn(note(create(daemon, wanted)));
    } else {
      const std::string id = all[random.below(all.size())].id;
      serve_at(daemon, id, random.below(2) == 0);
      if (what == 1) daemon.scope.spawn(note_removal(id, daemon.runtime->remove_mapping(id)));
      if (what > 2) daemon.scope.spawn(note_change(id, daemon.runtime->change_mapping(id, count_up())));
    }
    pass(milliseconds(random.below(300)));
  }

  std::set<std::string> made;     // Acknowledged, and nobody has tried to remove it.
  std::set<std::string> removed;  // Somebody has tried to.
  std::set<std::string> gone;     // Acknowledged.
  std::map<std::string, uint32_t> counted;
};

TEST_F(ClientMappingChanges, AllDaemonsHaveTheSame) {
  size_t kept = 0;
  size_t changes_made = 0;
  for (const uint64_t seed : test_seeds(kRounds)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    end();
    begin(seed);
    made.clear(), removed.clear(), gone.clear(), counted.clear();
    begin_first("first");
    for (int i = 0; i < 60; ++i) step();
    pass(seconds(30));
    for (const char* name : {"a", "b", "c"}) {
      if (!daemons.contains(name)) begin_daemon(name, faults());
    }
    pass(seconds(30));
    all_follow();
    pass(seconds(30));
    const auto there = shown(*daemons.at("first"));
    std::set<std::pair<std::string, std::string>> drives;
    std::set<std::string> ids;
    for (const MappingDefinition& one : there) {
      EXPECT_TRUE(drives.emplace(one.table, one.function).second) << "two for " << one.table;
      ids.insert(one.id);
      EXPECT_GE(one.batch_size, mapping.batch_size + counted[one.id]) << one.id << " lacks a change";
    }
    for (const std::string& id : made) EXPECT_TRUE(ids.contains(id)) << id << " is lost";
    for (const std::string& id : gone) EXPECT_FALSE(ids.contains(id)) << id << " is still there";
    for (const char* name : {"a", "b", "c"}) EXPECT_EQ(shown(*daemons.at(name)), there) << name;
    kept += there.size();
    for (const auto& [id, count] : counted) changes_made += count;
    if (HasFailure()) return;
  }
  EXPECT_GT(kept, 0u);
  EXPECT_GT(changes_made, 0u);
}

}  // namespace
}  // namespace freshet
