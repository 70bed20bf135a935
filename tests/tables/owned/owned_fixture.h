// A simulated engine whose indexes lag, and OwnedTables over it. `store` is the truth.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tables/owned/owned_tables.h"
#include "tests/sim/sim_engine.h"
#include "tests/tables/things.h"

namespace freshet {

class OwnedWorld {
 public:
  OwnedWorld(uint64_t seed, SimFaults faults, milliseconds lag, size_t recent_bytes = RecentWritesLimits{}.bytes)
      : scheduler(clock),
        random(seed),
        store(open()),
        behind(open()),
        memory(open()),
        engine(*store, scheduler, seed, faults, *behind, lag),
        owned(*store_engine(), *memory, scheduler, options(recent_bytes)) {
    EXPECT_TRUE(wait(owned.create_table(things())));
  }
  ~OwnedWorld() {
    for (auto* tables : {store.get(), behind.get(), memory.get()}) scheduler.remove(*tables);
  }

  template <class T>
  T wait(Async<T> work) {
    for (int i = 0; i < 1'000'000 && !work.is_ready(); ++i) scheduler.run_for(milliseconds(1));
    EXPECT_TRUE(work.is_ready()) << "no answer";
    return work.take();
  }
  void pass(nanoseconds time) { scheduler.run_for(time); }

  static Item thing(const std::string& id, const std::string& state, int64_t rank, int64_t rev = 0) {
    Item item = freshet::thing(id, state, rank);
    item.set("rev", Value::number(rev));
    return item;
  }

  Result<WriteOutput> create(const std::string& id, const std::string& state, int64_t rank) {
    PutItemInput put;
    put.table = "Things";
    put.item = thing(id, state, rank);
    put.only_new = true;
    put.cause = Cause::kQueue;
    std::vector<WriteInput> one{put};
    return wait(owned.write_many(std::move(one)))[0];
  }
  // Moves it on the condition that it is as `seen`.
  static EditItemInput moving(const ItemRef& seen, const std::string& state) {
    EditItemInput edit;
    edit.table = "Things";
    edit.seen = seen;
    bool fits = false;
    edit.edits.push_back({"rev", Value::number(seen.find("rev")->number().to_int64(fits) + 1)});
    edit.edits.push_back({"state", Value(state)});
    edit.unchanged = {"state", "rev"};
    edit.cause = Cause::kQueue;
    return edit;
  }
  Result<WriteOutput> move(const ItemRef& seen, const std::string& state) {
    std::vector<EditItemInput> one{moving(seen, state)};
    return wait(owned.edit_many(std::move(one)))[0];
  }
  // Moves it to TAKEN on the condition that it is in `state`.
  static UpdateItemInput to_taken_if(const std::string& id, const std::string& state) {
    UpdateItemInput update;
    update.table = "Things";
    update.key = id_key(id);
    update.update = "SET #s = :new";
    update.condition = "#s = :old";
    update.placeholders.names = {{"#s", "state"}};
    update.placeholders.values.set(":new", Value("TAKEN"));
    update.placeholders.values.set(":old", Value(state));
    return update;
  }
  Result<WriteOutput> remove(const std::string& id) {
    DeleteItemInput gone;
    gone.table = "Things";
    gone.key = id_key(id);
    return wait(owned.delete_item(std::move(gone)));
  }
  ItemRef read(Tables& tables, const std::string& id) {
    GetItemInput get;
    get.table = "Things";
    get.key = id_key(id);
    auto item = wait(tables.get_item(std::move(get)));
    return item ? *item : ItemRef();
  }

  // A query of the items in that state, the newest first.
  static QueryInput in_state(const std::string& state, uint32_t limit) {
    QueryInput query;
    query.table = "Things";
    query.index = "by-state";
    query.key_condition = "#s = :s";
    query.placeholders.names = {{"#s", "state"}};
    query.placeholders.values.set(":s", Value(state));
    query.forward = false;
    query.limit = limit;
    return query;
  }

  // All items of that state in the order of the index, read in pages.
  std::string ids(Tables& tables, const std::string& state, bool forward = false, uint32_t limit = 0) {
    QueryInput query = in_state(state, limit);
    query.forward = forward;
    std::string out;
    for (int pages = 0; pages < 1000; ++pages) {
      QueryInput again = query;
      auto page = wait(tables.query(std::move(again)));
      if (!page) return page.error().message;
      EXPECT_TRUE(limit == 0 || page->items.size() <= limit);
      for (const auto& item : page->items) out += std::string(item.find("id")->bytes()) + " ";
      if (page->last_evaluated_key.empty()) return out;
      query.exclusive_start_key = page->last_evaluated_key;
    }
    return out + "and so on";
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop scheduler;
  Random random;
  std::unique_ptr<EmbeddedTables> store;
  std::unique_ptr<EmbeddedTables> behind;
  std::unique_ptr<EmbeddedTables> memory;
  SimEngine engine;
  OwnedTables owned;

 private:
  std::unique_ptr<EmbeddedTables> open() {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    auto opened = open_embedded(nullptr, scheduler, random, options);
    EXPECT_TRUE(opened) << opened.error().message;
    scheduler.add(**opened);
    return std::move(*opened);
  }
  // An engine has no books of its own.
  SimEngine* store_engine() {
    StoreTraits traits = engine.traits();
    traits.books = traits.sole_writer = traits.prompt_ttl = false;
    traits.stream = StreamShape::kNone;
    engine.say_traits(traits);
    return &engine;
  }
  static OwnedOptions options(size_t recent_bytes) {
    OwnedOptions out;
    out.recent.bytes = recent_bytes;
    out.version = "rev";
    out.recount = seconds(5);
    return out;
  }
};

}  // namespace freshet
