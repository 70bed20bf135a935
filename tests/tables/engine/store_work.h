// The random work of crash tests: operations on the tables of store_fixture.h, with a model that says what each must
// do. It notes what was applied, and how much of that the store has acknowledged as durable.
//
// One thread. The same seed and the same store give the same work.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "tests/tables/engine/random_transaction.h"
#include "tests/tables/engine/store_fixture.h"
#include "tests/tables/engine/store_model.h"

namespace freshet {

class StoreWork {
 public:
  // The parts outlive this.
  struct World {
    Random& random;
    SimFiles& files;
    SimClock& clock;
    SimLoop& scheduler;
    const EmbeddedOptions& options;
  };
  explicit StoreWork(const World& world) : world_(world) {}
  StoreWork(const StoreWork&) = delete;
  StoreWork& operator=(const StoreWork&) = delete;

  // The store holds what `held` says; history() begins anew. `store` must stay until end().
  void begin(EmbeddedTables& store, StoreModel held);
  void end();

  // The tables, if there are none.
  void make_tables();
  // Some operations in one turn of the loop, then perhaps time that passes. The log may fail in it.
  void turn();
  // Waits until what was acknowledged is known.
  void settle();

  const StoreModel& held() const { return held_; }                         // At begin().
  const StoreModel& model() const { return model_; }                       // Now.
  const std::vector<ModelOperation>& history() const { return history_; }  // Between the two.
  size_t acknowledged() const { return acknowledged_; }                    // The first ones of history().

 private:
  bool must_be_safe() const;
  void note(ModelOperation operation);
  void note_acknowledged();
  void note_expired();
  void pass(milliseconds time);
  void check_books();

  Item random_task();
  Item random_pair();
  void accept(const Result<WriteOutput>& result, ModelWrite write);
  void operation();
  void erase();
  void move();
  void transact();
  void send(const RandomTransaction& transaction);
  void scratch();

  World world_;
  EmbeddedTables* store_ = nullptr;
  StoreModel held_;
  StoreModel model_;
  std::vector<ModelOperation> history_;
  size_t acknowledged_ = 0;
  std::vector<RandomTransaction> sent_;                         // Those with a token.
  std::deque<std::pair<Async<Result<void>>, size_t>> waiting_;  // For durability, and how much of history_ that is.
  std::vector<Async<void>> lulls_;
};

// How long the syncs and chores of such a store may take: SimSync and SimWork are made with it.
inline constexpr milliseconds kLongestSync{100};

// For a test class to derive from: a store on simulated files with its work, all from one seed. The test sets the
// options.
class CrashWorld {
 protected:
  explicit CrashWorld(uint64_t seed) : random_(seed), files_(random_.next()) { options_.directory = "data"; }

  // Recovers the store and adds it to the loop.
  Result<void> open_store() {
    auto opened = open_embedded(&files_, scheduler_, random_, options_);
    if (!opened) return fail(std::move(opened.error()));
    store_ = std::move(*opened);
    scheduler_.add(*store_);
    return {};
  }
  void close_store() {
    scheduler_.remove(*store_);
    store_.reset();
  }

  Random random_;
  SimFiles files_;
  SimClock clock_{WallTime(seconds(1'700'000'000))};
  SimLoop scheduler_{clock_};
  SimSync beside_{files_, scheduler_, kLongestSync};
  SimWork chores_{files_, scheduler_, kLongestSync};
  EmbeddedOptions options_;
  std::unique_ptr<EmbeddedTables> store_;
  StoreWork work_{{random_, files_, clock_, scheduler_, options_}};
};

}  // namespace freshet
