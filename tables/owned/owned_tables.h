// OwnedTables wraps an engine across a network whose tables are written by this process alone, or nearly so. It adds
// two features that a queue needs and such an engine lacks:
// - exact indexes: an index shows a write of this process from the moment at which it is answered. Items that others
//   write show when the engine's index shows them;
// - books: counted at the start, updated by each write that goes through here, and counted again from time to time,
//   because others may write, too.
//
// It remembers each write until the indexes show it, within a bounded memory. While that memory is full, further writes
// wait; those that only create items in the order in which they came. If that lasts, these are refused with
// kThroughputExceeded; all others go on, so that running work can be finished.
//
// It corrects queries of an index, but not scans, nor queries with count_only or a projection. Only the engine decides
// the conditions of writes: remembered items are never the reason for a promise.
//
// Loop thread. Everything that it refers to must outlive it, and it must outlive every Async that it returned.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/async.h"
#include "tables/owned/kept_books.h"
#include "tables/owned/recent_pages.h"
#include "tables/owned/recent_writes.h"
#include "tables/owned/waiting_line.h"
#include "tables/tables.h"
#include "tables/traits.h"

namespace freshet {

struct OwnedOptions {
  std::string version;          // As in RecentWrites.
  RecentWritesLimits recent{};  // How long writes are remembered.
  seconds recount{600};         // The time between two counts of a table; longer if a count takes long.
  // Called when an index is found to be far behind, and when it no longer is.
  std::function<void(const std::string& table, const std::string& index, bool is_behind)> on_lag;
};

class OwnedTables final : public Tables {
 public:
  // `memory`: as in RecentWrites.
  OwnedTables(Tables& store, Tables& memory, Scheduler& scheduler, OwnedOptions options);
  ~OwnedTables() override;

  const StoreTraits& traits() const override { return traits_; }

  Async<Result<TableDescription>> create_table(TableDefinition definition) override;
  // Looks again after three seconds before it says that a known table does not exist.
  Async<Result<TableDescription>> describe_table(std::string table) override;
  Async<Result<TableDescription>> delete_table(std::string table) override;
  Async<Result<TableDescription>> alter_table(TableDefinition definition) override;
  Async<Result<std::vector<std::string>>> list_tables() override { return store_.list_tables(); }

  Async<Result<WriteOutput>> put_item(PutItemInput input) override;
  Async<Result<WriteOutput>> update_item(UpdateItemInput input) override;
  Async<Result<WriteOutput>> delete_item(DeleteItemInput input) override;
  Async<std::vector<Result<WriteOutput>>> write_many(std::vector<WriteInput> inputs) override;
  Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) override;
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override;

  Async<Result<ItemRef>> get_item(GetItemInput input) override;
  Async<std::vector<Result<ReadOutput>>> read_many(std::vector<GetItemInput> inputs) override;
  Async<Result<std::vector<ReadOutput>>> transact_get(std::vector<GetItemInput> inputs) override {
    return store_.transact_get(std::move(inputs));
  }
  Async<Result<Page>> query(QueryInput input) override;
  Async<Result<Page>> scan(ScanInput input) override { return store_.scan(std::move(input)); }

  Async<Result<StreamPage>> read_stream(ReadStreamInput input) override { return store_.read_stream(std::move(input)); }
  Async<Result<StreamBounds>> stream_bounds(std::string table) override { return store_.stream_bounds(table); }
  Async<Result<std::vector<ClosedStream>>> closed_streams() override { return store_.closed_streams(); }
  Async<Result<Books>> books(std::string table) override;
  void doubt_books(const std::string& table) override;
  Backups* backups() override { return store_.backups(); }
  Async<Result<void>> durable() override { return store_.durable(); }
  Async<void> lull(BootTime latest) override { return store_.lull(latest); }

  // Call it when this process becomes the writer of the table again after others have written to it: forgets its
  // remembered items, and counts the table anew.
  void start_over(const std::string& table);
  // True if the table has books, and all its items have been counted at least once.
  bool is_counted(const std::string& table) const;
  // The memory of recent writes and of running counts. A count takes 16 bytes for each item of the table.
  uint64_t memory_bytes() const;
  // Names the indexes that are far behind, a line each; empty: none is.
  std::string trouble() const;

 private:
  struct Kept;
  class Writing;
  class Room;
  // A write, and the known state of its item before it.
  struct Written {
    std::string table;
    Item key{};  // Empty: the table is not known, and nothing is noted.
    std::string table_id{};
    std::optional<ItemRef> before{};  // Empty: not known.
    bool is_new = false;              // It must not be there yet.
    bool may_move = true;             // The write may change the item's status.
    Cause cause = Cause::kClient;
    bool is_seen_in_index = false;  // `before` is only what the writer saw: an index may have been behind.
    ItemRef seen{};                 // The item as the writer saw it; null but for edits that raise the version.
    uint64_t call = 0;
  };

  BootTime now() const { return scheduler_.clock().boot(); }
  Item key_in(const Item& item, const std::string& table) const;
  KeptBooks* books_of(const std::string& table);
  // Empty if the item's place is not known.
  std::optional<KeptBooks::At> place_of(const std::string& table, const std::optional<ItemRef>& item) const;

  template <class Input>
  Async<Result<void>> find_room(const std::vector<Input>& inputs, Room& room);
  // The result of a page that the engine has sent a moment ago. Empty: ask the engine.
  std::optional<Page> known_page(const QueryInput& query);
  void know(TableDescription& description);
  void keep_books(const TableDefinition& wanted, const std::string& id);
  void end_books(const std::string& table);
  Async<void> know_tables(std::vector<std::string> tables);

  Written written_by(const WriteInput& input);
  Written written_by(const EditItemInput& input);
  Async<Result<WriteOutput>> write_one(WriteInput input);
  void note(Written& write, const Result<WriteOutput>& answer, const std::optional<ItemRef>& now);
  void note_refused(Written& write, const ItemRef& item, uint64_t call, bool is_over);
  void account(const Written& write, const std::optional<ItemRef>& before);
  void was_read(const GetItemInput& input, const ItemRef& item, uint64_t call);
  bool is_of_this_table(const Written& write) const;
  bool is_overtaken(const Written& write) const;
  void has_no_answer(const Written& write);
  Async<void> look_again(std::vector<Written> writes);
  Async<void> look_at_refused(std::vector<Written> writes);
  Async<void> look_later(Written write);

  // `now`: as in KeptBooks.
  void over(const Written& write, const std::optional<KeptBooks::At>& now);
  void wake_counter(const std::string& table);
  static uint64_t hash_of(const Item& key);  // As KeptBooks knows the item.
  class NarrowPage;
  void has_moved(const std::string& table, const Item& key, ItemRef now, uint64_t call);
  struct PageWork {
    size_t gone = 0;          // The items that were left out of the last page that was read.
    bool has_waited = false;  // Since the first items were found to be current: they may have moved meanwhile.
  };
  Async<Result<Page>> complete(const QueryInput& query, Page page, PageWork& work);
  Async<Result<Page>> read_pages(QueryInput input, PageWork& work);
  void drop_moved(const QueryInput& query, Page& page);
  Async<Result<std::vector<ItemRef>>> current_items(std::string table, std::vector<Item> keys, bool& has_waited);
  // Empty also while the outcome of a write is not known.
  std::optional<ItemRef> remembered(const std::string& table, const Item& key) const;
  Item place_in(const KeySchema& index, const ItemRef& item, const std::string& table) const;
  Async<void> look_at_lag(RecentWrites::Doubt doubt);
  void end_lags();

  Async<void> count(std::string table, std::shared_ptr<Kept> kept);
  Async<void> count_once(std::string table, std::shared_ptr<Kept> kept);
  // Waits until `until`, or until wake_counter() finds that `done` holds or the books have ended.
  Async<void> wait_for(std::shared_ptr<Kept> kept, bool (KeptBooks::*done)() const, BootTime until);

  Tables& store_;
  Scheduler& scheduler_;
  const OwnedOptions options_;
  StoreTraits traits_;
  RecentWrites recent_;
  RecentPages pages_;
  WaitingLine creates_;                                           // Those that wait for room.
  std::map<std::string, std::shared_ptr<Kept>> kept_;             // By table.
  std::map<std::pair<std::string, std::string>, BootTime> lags_;  // By table and index: when it was last far behind.
  Scope scope_;                                                   // The last member, so that it is destroyed first.
};

}  // namespace freshet
