// A priority queue over any table: the items are its records, and their own attributes hold the state of each
// (docs/priority-queue.md). Every change is one update with a condition on system_info.version, so other programs may
// write to the table at any time, the sample's SDK too, and the store may answer at once or late and out of step.
//
// In memory it keeps only state that can be rebuilt: claims in flight, and callers that wait in strict mode. Loop
// thread. Outlives every Async that it returned; services outlive it.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/wall_guard.h"
#include "functions/priority/policy/failure.h"
#include "functions/priority/policy/transitions.h"
#include "functions/priority/record.h"
#include "functions/priority/settings.h"
#include "functions/priority/strict_lock.h"
#include "runtime/api/priority_queue.h"
#include "runtime/invoke/function.h"

namespace freshet::priority {

class TableQueue final : public PriorityQueue {
 public:
  // Makes the tables with these keys (nothing: `id`, a string) if they are not there, and adds the indexes and books
  // that the queue needs. kValidation for wrong settings and tables that cannot be a queue. `wall` says if the wall
  // clock is trusted, and outlives the queue; null: it always is. `log` says how long indexes take to be built.
  // `is_shared`: true in a fleet, where one daemon at a time serves the queue.
  static Async<Result<std::unique_ptr<TableQueue>>> open(Services& services, Settings settings,
                                                         std::optional<TableDefinition> wanted = {},
                                                         WallGuard* wall = nullptr, EventLog log = {},
                                                         bool is_shared = false);
  TableQueue(const TableQueue&) = delete;
  TableQueue& operator=(const TableQueue&) = delete;

  const std::string& name() const override { return settings_.name; }
  const Settings& settings() const { return settings_; }
  // Call it if another queue has its dead letters in the same index: this queue then counts its own one by one.
  void share_dead_index() { shares_dead_index_ = true; }
  // Stops a redrive at a rate that is running.
  void give_up();

  // Gives back, or sends to the dead-letter queue, records that have been in flight for too long, and promotes delayed
  // records: at most `limit` of each. Returns true if there may be more. Adds a sentence to `passed` for each record
  // that has no room left to be written, and at most 10 in all; `passed` must outlive the call.
  Async<Result<bool>> sweep(uint32_t limit, std::vector<std::string>* passed);

  struct IndexLook {
    std::string lost;       // Names the indexes that a client has dropped and that are made again; "" if none.
    std::string broken;     // Why the queue cannot serve all requests now; "" if it can.
    bool building = false;  // True if that ends when an index is built.
  };
  // Checks that the table still has the indexes that the queue needs.
  Async<IndexLook> look_at_indexes();

  Async<PriorityResult> get(std::string id) override;
  Async<PriorityResult> put(PutRecordInput input) override;
  Async<PriorityResult> upsert(PutRecordInput input) override;
  Async<PriorityResult> update_status(RecordCall call, std::string status) override;
  Async<PriorityResult> enqueue(EnqueueInput input) override;
  Async<std::vector<PriorityResult>> peek(PeekInput input) override;
  Async<PriorityResult> dequeue() override;
  Async<PriorityResult> remove(RecordCall call) override;
  Async<PriorityResult> restore(RestoreInput input) override;
  Async<PriorityResult> touch(RecordCall call) override;
  Async<PriorityResult> send_to_dlq(RecordCall call) override;
  Async<PriorityResult> extend(RecordCall call, std::optional<milliseconds> visibility) override;
  Async<PriorityResult> set_priority(RecordCall call, int64_t priority) override;
  Async<PriorityResult> cancel(RecordCall call) override;
  Async<PriorityResult> erase(std::string id) override;
  Async<Result<RedriveRecordsOutput>> redrive(RedriveRecordsInput input) override;
  Async<Result<RecordPage>> list(ListRecordsInput input) override;
  Async<Result<PriorityStats>> stats() override;
  Async<Result<DeadStats>> dlq_stats() override;

 private:
  // The decision of a call about the facts: a refusal, or the change of the record. Without an update it succeeds
  // without a change.
  using Decision = std::variant<Refusal, std::optional<RecordUpdate>>;
  using Decide = std::function<Decision(const RecordFacts&)>;
  struct Found {  // The record that a call names, or the reason why there is none.
    Item key;
    ItemRef item;
    RecordFacts facts;
  };
  // One record that a peek or the sweep is about to write.
  struct Plan {
    RecordFacts facts;
    bool claims = false;
    bool aside = false;  // Another consumer has it in flight; it is only moved.
    std::string receipt;
    int64_t visible_ms = 0;
  };
  struct Peeking;    // One peek in progress.
  class Claiming;    // Marks claims in flight during its lifetime.
  class StrictTurn;  // Serialises strict peeks.

  TableQueue(Services& services, Settings asked, Settings settings, KeySchema keys, WallGuard* wall);

  // table_queue.cc
  int64_t now_ms() const { return epoch_ms(services_.scheduler.clock().wall()); }
  // Timeouts and delays up to this time have passed. While the wall clock is not trusted, it may be earlier than the
  // clock.
  int64_t over_by_ms() const { return wall_ ? epoch_ms(wall_->earliest()) : now_ms(); }
  std::string stamp();
  Result<RecordFacts> facts_of(const ItemRef& item) const;
  PriorityResult failed(PriorityCode code, std::string id, std::string detail) const;
  PriorityResult failed(const std::string& id, const Error& error) const;
  PriorityResult refused(const RecordFacts& facts, Refusal refusal) const;
  PriorityResult changed(const ItemRef& item) const;
  Async<Result<ItemRef>> read(Item key);
  Async<std::variant<Found, PriorityResult>> find(std::string id);
  Async<Result<ItemRef>> write(UpdateItemInput update);
  Async<PriorityResult> change(RecordCall call, Decide decide);

  // table_queue_indexes.cc
  bool needs_index(const std::string& name) const;
  Async<Result<Page>> read_index(QueryInput query) const;

  // table_queue_put.cc
  Async<PriorityResult> put_record(PutRecordInput input, bool keep_version);
  Item new_state(const Item& key, const PutRecordInput& input, int64_t version, const std::string& id);
  Async<Result<ItemRef>> write_record(Item key, Map attributes, Item state, std::optional<RecordFacts> over);
  Async<PriorityResult> whole(PriorityResult result);
  std::string status_in(const ItemRef& item) const;

  // table_queue_change.cc
  Result<void> check_priority(const RecordFacts& facts, int64_t priority) const;
  void into_queue(RecordUpdate& update, const RecordFacts& facts, std::optional<int64_t> priority, milliseconds delay,
                  const std::string& now);
  void out_of_dlq(RecordUpdate& update, const RecordFacts& facts) const;
  static void begin_life(RecordUpdate& update, const RecordFacts& facts);
  void out_of_queue(RecordUpdate& update) const;
  void into_dlq(RecordUpdate& update, const std::string& now) const;
  RecordUpdate returned(const RecordFacts& facts, const Return& to);

  // table_queue_peek.cc
  Async<std::vector<PriorityResult>> peek_now(PeekInput input);
  Async<Result<bool>> is_locked(Peeking& peeking);
  Async<Result<WriteOutput>> claim_with_lock(WriteInput claim, std::string id, std::string receipt,
                                             StrictLock::Seen seen);
  Async<bool> keep_whole(std::vector<PriorityResult> claimed, std::vector<PriorityResult>& out);
  Async<Result<void>> look_through(Peeking& peeking);
  Async<Result<void>> take_from(std::vector<ItemRef> items, Peeking& peeking);
  void plan_item(const ItemRef& item, Peeking& peeking, std::vector<Plan>& plans, std::vector<WriteInput>& writes);
  RecordUpdate claim(Plan& plan, milliseconds visibility, const std::string& now);
  RecordUpdate timed_out(const RecordFacts& facts);
  RecordUpdate finished(const RecordFacts& facts);
  RecordUpdate aside(const RecordFacts& facts) const;
  Async<Result<Page>> due(int64_t number, uint32_t limit, Item start) const;
  std::optional<UpdateItemInput> settling(const ItemRef& item);
  Async<Result<bool>> settle_due(int64_t number, uint32_t limit, std::vector<std::string>* passed);
  Async<Result<size_t>> settle_page(Page page, std::vector<std::string>* passed);
  Async<Result<Page>> heads(int64_t number, uint32_t limit, Item start) const;
  Async<Result<bool>> any_in_flight();
  Async<void> forget_state(std::string id);

  // table_queue_stats.cc
  Async<Result<uint64_t>> count(std::string index, std::string attribute, int64_t number) const;
  Async<Result<uint64_t>> count_dead() const;
  Async<Result<void>> count_places(PriorityStats& stats) const;
  Async<Result<void>> count_in_place(PriorityStats& stats) const;
  Async<Result<std::vector<ItemRef>>> head_items(int64_t number) const;

  // table_queue_redrive.cc
  Async<PriorityResult> redrive_one(std::string id);
  Async<Result<Page>> dead_page(const RedriveRecordsInput& input, std::string until, Item start) const;
  Async<Result<void>> redrive_pages(RedriveRecordsInput input, std::shared_ptr<RedriveRecordsOutput> out);
  Async<void> redrive_slowly(RedriveRecordsInput input, std::shared_ptr<RedriveRecordsOutput> out);
  static void note(RedriveRecordsOutput& out, PriorityResult result);

  // Constant after construction, except the names of indexes in `settings_`.
  Services& services_;
  const Settings asked_;  // Without the names of the indexes that were found.
  Settings settings_;
  std::string unfit_;  // Why the table can no longer be a queue; "" if it can.
  const KeySchema keys_;
  WallGuard* const wall_;
  std::optional<StrictLock> lock_;  // Set for a shared queue that is strict.

  int64_t last_stamp_ns_ = 0;
  bool shares_dead_index_ = false;
  absl::flat_hash_set<std::string> claiming_;  // Records with a claim in flight.
  bool peeking_strictly_ = false;
  std::list<Promise<bool>> strict_waiters_;
  std::shared_ptr<RedriveRecordsOutput> redrive_;  // The last redrive at a rate.
  Scope scope_;                                    // The last member: the work that runs here uses all of the above.
};

}  // namespace freshet::priority
