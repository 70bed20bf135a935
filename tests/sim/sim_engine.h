// A simulated engine across a network. Over LateTables, which answers late and out of order, it loses requests and
// answers, lets writes take effect after their caller has given up, carries out a write twice, refuses calls for lack
// of capacity, and shows writes in its indexes with a delay. The same seed and calls give the same faults.
//
// Loop thread. Everything that it refers to must outlive it.
#pragma once

#include <vector>

#include "base/random.h"
#include "base/scheduler.h"
#include "runtime/replay/late_tables.h"
#include "tables/traits.h"

namespace freshet {

// The probability of each fault, for one write, and the delays.
struct SimFaults {
  double lost_before = 0;     // The request never arrives.
  double lost_after = 0;      // The write is carried out, and its answer is lost.
  double late = 0;            // The write is carried out after its caller was told that nobody answered.
  double twice = 0;           // The request is sent again, though the first one had arrived.
  double refused = 0;         // Single writes and reads by key fail with kThroughputExceeded.
  milliseconds timeout{20};   // After this time the caller gets kUnknownOutcome.
  milliseconds late_by{200};  // A late write is carried out within this time after the timeout.
  milliseconds latest{10};    // Each way of any call takes between 0 and this time.
  bool no_scans = false;      // Scans are refused.
  bool everywhere =
      false;  // Faults also concern other puts, deletes, scans and transactions: their callers are prepared.

  // Some of each kind of unknown outcome.
  static SimFaults some() {
    SimFaults faults;
    faults.lost_before = faults.lost_after = faults.late = faults.twice = 0.02;
    return faults;
  }
  bool any_unknown() const { return lost_before + lost_after + late + twice > 0; }
};

class SimEngine final : public Tables {
 public:
  // `store` answers at once. Faults concern only edits and puts of new items, whose callers find out what has happened.
  SimEngine(Tables& store, Scheduler& scheduler, uint64_t seed, SimFaults faults = {});
  // The same with indexes that lag. `behind` is another store that answers at once; it must be empty, and nobody else
  // may use it.
  SimEngine(Tables& store, Scheduler& scheduler, uint64_t seed, SimFaults faults, Tables& behind,
            milliseconds index_lag);

  ~SimEngine() override { is_over_ = true; }

  const StoreTraits& traits() const override { return traits_; }
  Async<Result<TableDescription>> create_table(TableDefinition definition) override;
  Async<Result<TableDescription>> describe_table(std::string table) override { return late_.describe_table(table); }
  Async<Result<TableDescription>> delete_table(std::string table) override;
  Async<Result<TableDescription>> alter_table(TableDefinition definition) override;
  Async<Result<std::vector<std::string>>> list_tables() override { return late_.list_tables(); }
  Async<Result<WriteOutput>> put_item(PutItemInput input) override;
  Async<Result<WriteOutput>> update_item(UpdateItemInput input) override;
  Async<Result<WriteOutput>> delete_item(DeleteItemInput input) override;
  Async<std::vector<Result<WriteOutput>>> write_many(std::vector<WriteInput> inputs) override;
  Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) override;
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override;
  Async<Result<ItemRef>> get_item(GetItemInput input) override;
  Async<std::vector<Result<ReadOutput>>> read_many(std::vector<GetItemInput> inputs) override;
  Async<Result<std::vector<ReadOutput>>> transact_get(std::vector<GetItemInput> inputs) override {
    return late_.transact_get(std::move(inputs));
  }
  Async<Result<Page>> query(QueryInput input) override;
  Async<Result<Page>> scan(ScanInput input) override;
  Async<Result<StreamPage>> read_stream(ReadStreamInput input) override { return late_.read_stream(std::move(input)); }
  Async<Result<StreamBounds>> stream_bounds(std::string table) override { return late_.stream_bounds(table); }
  Async<Result<std::vector<ClosedStream>>> closed_streams() override { return late_.closed_streams(); }
  Async<Result<Books>> books(std::string table) override { return late_.books(table); }
  Async<Result<void>> durable() override { return late_.durable(); }

  LateTables& late() { return late_; }
  uint64_t calls() const { return late_.calls(); }
  uint64_t index_queries() const { return index_queries_; }  // Where the indexes lag.
  void set_faults(SimFaults faults) { faults_ = faults; }
  // From now on, changes of tables are carried out and answered after this delay.
  void delay_changes(nanoseconds time) { changes_take_ = time; }
  // Sets the result of traits(), without changing what the store does.
  void say_traits(StoreTraits traits) { traits_ = traits; }
  uint64_t unknown_outcomes() const { return unknown_; }
  // Edits whose condition did not hold.
  uint64_t refused_edits() const { return refused_edits_; }

 private:
  enum class Fault { kNone, kLostBefore, kLostAfter, kLate, kTwice, kRefused };
  struct Key {
    std::string table;
    Item key;
  };
  template <class Input>
  using Call = Async<std::vector<Result<WriteOutput>>> (Tables::*)(std::vector<Input>);

  Fault draw();
  bool refuses();
  template <class Input>
  Async<std::vector<Result<WriteOutput>>> faulty(std::vector<Input> inputs, Call<Input> call);
  template <class Input>
  Async<std::vector<Result<WriteOutput>>> carry_out(std::vector<Input> inputs, Call<Input> call);
  template <class Input>
  Async<void> much_later(std::vector<Input> inputs, Call<Input> call, nanoseconds when);
  Async<Result<WriteOutput>> write_one(WriteInput input);
  Async<Result<TransactWriteOutput>> transact(TransactWriteInput input);
  Async<void> transact_later(TransactWriteInput input);
  // Updates the indexes after their lag.
  void show(const std::vector<Key>& keys);
  // Shows the items in the indexes when it ends: also if the caller of a write goes away before the answer.
  class Showing {
   public:
    Showing(SimEngine& engine, std::vector<Key> keys) : engine_(engine), keys_(std::move(keys)) {}
    Showing(const Showing&) = delete;
    Showing& operator=(const Showing&) = delete;
    ~Showing() { engine_.show(keys_); }

   private:
    SimEngine& engine_;
    const std::vector<Key> keys_;
  };
  Async<void> show_later(Key key, ItemRef item);
  Key key_of(const WriteInput& write);
  Key key_of(const EditItemInput& edit);
  KeySchema keys_of(const std::string& table);

  Tables& store_;
  Tables* behind_ = nullptr;
  const milliseconds lag_{0};
  Scheduler& scheduler_;
  Random random_;
  SimFaults faults_;
  nanoseconds changes_take_{0};
  StoreTraits traits_;
  LateTables late_;
  uint64_t unknown_ = 0;
  uint64_t refused_edits_ = 0;
  uint64_t index_queries_ = 0;
  bool is_over_ = false;
  Scope scope_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
