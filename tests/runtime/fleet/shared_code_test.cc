// Uploaded code of a fleet in a simulated engine that loses, delays and doubles calls: it is whole once it is written,
// although writers die and several write the same, and nothing is left of code that no definition names.
#include "runtime/definitions/shared_code.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/crypto.h"
#include "tables/lease/definition_log.h"
#include "tables/lease/fleet_items.h"
#include "tests/runtime/fleet/shared_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

class SharedCode : public SharedWorld {
 protected:
  SharedCode() { begin(1); }
  ~SharedCode() override { end(); }
  void begin(uint64_t seed) {
    open(seed);
    must(provide_fleet_table(*store));
    must(provide_definitions_table(*store));
  }
  void end() {
    writers.clear();
    close();
  }

  struct Writer {
    Writer(SharedCode& all, SimFaults faults)
        : random(all.random.next()),
          scheduler(all.world, 1),
          engine(*all.store, scheduler, all.random.next(), faults) {}
    Random random;
    MemberScheduler scheduler;
    SimEngine engine;
    Scope scope;
  };
  Writer& writer(SimFaults faults = {}) {
    writers.push_back(std::make_unique<Writer>(*this, faults));
    return *writers.back();
  }
  template <class T>
  Result<T> wait(Async<Result<T>> work) {
    world.run_until([&] { return work.is_ready(); }, seconds(120));
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }
  Result<void> write(Writer& by, const std::string& folder, const std::string& archive) {
    return wait(store_code(by.engine, by.scheduler, by.random, folder, archive));
  }
  Result<std::string> read(const std::string& folder) { return now_of(read_code(*store, folder)); }
  Result<size_t> remove_unused(std::set<std::string> used, uint64_t version = 0) {
    return wait(remove_unused_code(*store, world.loop(), std::move(used), version));
  }
  size_t items() {
    ScanInput scan;
    scan.table = kDefinitionsTable;
    return must(store->scan(std::move(scan))).items.size();
  }
  std::string bytes(size_t count) {
    std::string out;
    while (out.size() < count) out += static_cast<char>(random.below(256));
    return out;
  }

  std::vector<std::unique_ptr<Writer>> writers;
};

TEST_F(SharedCode, ComesBackAsItWas) {
  Writer& by = writer();
  for (const size_t size : {size_t{1}, size_t{300} << 10, (size_t{300} << 10) + 1, size_t{2'500'000}}) {
    const std::string archive = bytes(size);
    const std::string folder = sha256_hex(archive);
    ASSERT_TRUE(write(by, folder, archive));
    const auto back = read(folder);
    ASSERT_TRUE(back);
    EXPECT_TRUE(*back == archive) << size;
  }
  EXPECT_EQ(read("none").error().code, ErrorCode::kNotFound);
}

TEST_F(SharedCode, IsWrittenOnce) {
  const std::string archive = bytes(1'000'000);
  ASSERT_TRUE(write(writer(), "f", archive));
  const size_t before = items();
  ASSERT_TRUE(write(writer(), "f", archive));
  EXPECT_EQ(items(), before);
}

TEST_F(SharedCode, GoesWhenNothingNamesItAndItIsNotNew) {
  Writer& by = writer();
  ASSERT_TRUE(write(by, "old", bytes(700'000)));
  ASSERT_TRUE(write(by, "used", bytes(10)));
  EXPECT_EQ(remove_unused({"used"}).value(), 0u) << "it is new";
  world.run_for(kCodeIsNewFor - seconds(1));
  ASSERT_TRUE(write(by, "again", bytes(10)));
  world.run_for(seconds(2));
  EXPECT_EQ(remove_unused({"used"}, 1).value(), 0u) << "definitions have changed meanwhile";
  EXPECT_EQ(remove_unused({"used"}).value(), 1u);
  EXPECT_FALSE(read("old"));
  EXPECT_TRUE(read("used"));
  EXPECT_TRUE(read("again"));
  EXPECT_EQ(items(), 4u) << "nothing of it is left";
}

TEST_F(SharedCode, ADefinitionNeedsIt) {
  Writer& by = writer();
  const auto define = [&](uint64_t version) {
    PutItemInput put;
    put.table = kDefinitionsTable;
    put.item = Item{{"kind", "function"}, {"id", "F"}};
    std::vector<WriteInput> writes{std::move(put)};
    std::vector<WriteInput> checks{is_there("f")};
    DefinitionChange change{version, "me", {{"function", "F"}}};
    return wait(change_definitions(by.engine, by.scheduler, std::move(change), std::move(writes), std::move(checks)));
  };
  const auto without = define(1);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(write(by, "f", "zip"));
  EXPECT_TRUE(define(1).value());
}

TEST_F(SharedCode, DamageIsFound) {
  ASSERT_TRUE(write(writer(), "f", "archive"));
  ScanInput scan;
  scan.table = kDefinitionsTable;
  for (const ItemRef& ref : must(store->scan(std::move(scan))).items) {
    Item item = ref.decode();
    if (!item.contains("data")) continue;
    item.set("data", Value(Binary{"Archive"}));
    PutItemInput put;
    put.table = kDefinitionsTable;
    put.item = std::move(item);
    must(store->put_item(std::move(put)));
  }
  EXPECT_EQ(read("f").error().code, ErrorCode::kCorruption);
}

TEST_F(SharedCode, IsWholeWhateverHappens) {
  size_t written = 0;
  size_t died = 0;
  for (const uint64_t seed : test_seeds(15)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    end();
    begin(seed);
    SimFaults faults = SimFaults::some();
    faults.lost_before = faults.lost_after = faults.late = 0.06;
    faults.everywhere = true;
    std::map<std::string, std::string> archives;
    for (const char* folder : {"x", "y"}) archives[folder] = bytes(400'000 + random.below(2'000'000));
    std::set<std::string> complete;
    for (int i = 0; i < 12; ++i) {
      Writer& by = writer(faults);
      const std::string folder = random.below(2) == 0 ? "x" : "y";
      auto writing = [](SharedCode& all, Writer& one, std::string name, std::string archive,
                        std::set<std::string>& done) -> Async<void> {
        std::string as = name;
        auto storing = store_code(one.engine, one.scheduler, one.random, std::move(as), std::move(archive));
        auto stored = co_await storing;
        if (stored) done.insert(name);
        static_cast<void>(all);
      };
      by.scope.spawn(writing(*this, by, folder, archives[folder], complete));
      world.run_for(milliseconds(random.below(400)));
      if (random.below(3) == 0) {
        ++died;
        writers.pop_back();
      }
    }
    world.run_for(seconds(60));
    for (const std::string& folder : complete) {
      ++written;
      const auto back = read(folder);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_TRUE(*back == archives[folder]);
    }
    writers.clear();
    world.run_for(seconds(7200));
    EXPECT_TRUE(remove_unused({}));
    EXPECT_EQ(items(), 0u);
  }
  EXPECT_GT(written, 15u);
  EXPECT_GT(died, 15u);
}

// Those who remove code die, and the engine loses their calls, while others write the same code again.
TEST_F(SharedCode, NothingIsLeftOfWhatWasRemovedInParts) {
  size_t died = 0;
  size_t unfinished = 0;
  size_t again = 0;
  for (const uint64_t seed : test_seeds(15)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    end();
    begin(seed);
    SimFaults faults = SimFaults::some();
    faults.lost_before = faults.lost_after = faults.late = 0.1;
    faults.everywhere = true;
    const std::string archive = bytes(3'000'000);
    for (int i = 0; i < 12; ++i) {
      world.run_for(kCodeIsNewFor + seconds(1));
      bool stored = false;
      Writer& remover = writer(faults);
      auto removing = [](Writer& by) -> Async<void> {
        std::set<std::string> none;
        auto work = remove_unused_code(by.engine, by.scheduler, std::move(none), 0);
        static_cast<void>(co_await work);
      };
      auto writing = [](Writer& by, std::string text, bool& done) -> Async<void> {
        auto work = store_code(by.engine, by.scheduler, by.random, "f", std::move(text));
        done = (co_await work).has_value();
      };
      if (random.below(2) == 0) remover.scope.spawn(removing(remover));
      if (random.below(2) == 0) world.run_for(milliseconds(random.below(150)));
      Writer& by = writer(faults);
      by.scope.spawn(writing(by, archive, stored));
      world.run_for(milliseconds(random.below(100)));
      if (random.below(2) == 0) {
        ++died;
        writers.erase(writers.begin());
        unfinished += items() > 0 && !read("f") ? 1 : 0;
      }
      world.run_for(seconds(20));
      if (stored) {
        ++again;
        const auto back = read("f");
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_TRUE(*back == archive);
      }
      writers.clear();
    }
    world.run_for(seconds(7200));
    EXPECT_TRUE(remove_unused({}));
    EXPECT_EQ(items(), 0u);
  }
  EXPECT_GT(died, 30u);
  EXPECT_GT(unfinished, 5u);
  EXPECT_GT(again, 30u);
}

}  // namespace
}  // namespace freshet
