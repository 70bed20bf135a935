// The store seam: an item store in its own terms. Two implementations: embedded (tables/engine) and remote (wire).
// One conformance suite runs on both; tests/sim has a third that answers late and out of step.
//
// Threading: loop thread only. Ownership: inputs are taken by value; results own what they hold.
// Async: the embedded store's results are ready at once, *applied* but not yet durable; whoever tells the outside world
// (a reply, a runner's start, a stream delivery) first awaits durable(). On a remote store applied means durable.
// Errors: the item store's own (kValidation, kConditionalCheckFailed, kResourceNotFound, kThroughputExceeded, ...). A
// failed operation has changed nothing.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "tables/backups.h"
#include "tables/definition.h"
#include "tables/value/item_ref.h"

namespace freshet {

// Expression placeholders: "#n" -> attribute name, ":v" -> value. All must be used.
struct Placeholders {
  std::vector<std::pair<std::string, std::string>> names;
  Map values;
};

enum class ReturnValues { kNone, kAllOld, kUpdatedOld, kAllNew, kUpdatedNew };

struct PutItemInput {
  std::string table;
  Item item;
  std::string condition;  // Expression; empty for none.
  Placeholders placeholders;
  // Two conditions that go beside it or without it, and need no text to write, look up and bind: for who puts by the
  // thousands. with_guards_spelled_out() (edit.h) says them as expressions.
  bool only_new = false;  // There must be no such item yet.
  // The item that is there must lack this attribute, or have no greater one than `item`, of the same type, S, N or B.
  // Static storage, or the caller's until the answer; empty: none.
  std::string_view rising{};
  ReturnValues return_values = ReturnValues::kNone;  // kNone or kAllOld.
  bool return_item_on_failure = false;               // See ConditionFailed.
  Cause cause = Cause::kClient;
  bool measure = false;    // Fills WriteOutput::cost.
  bool unhurried = false;  // As in EditItemInput.
};

struct UpdateItemInput {
  std::string table;
  Item key;
  std::string update;  // Expression; empty creates the bare key or changes nothing.
  std::string condition;
  Placeholders placeholders;
  ReturnValues return_values = ReturnValues::kNone;
  bool return_item_on_failure = false;
  Cause cause = Cause::kClient;
  bool measure = false;
};

struct DeleteItemInput {
  std::string table;
  Item key;
  std::string condition;
  Placeholders placeholders;
  ReturnValues return_values = ReturnValues::kNone;  // kNone or kAllOld.
  bool return_item_on_failure = false;
  Cause cause = Cause::kClient;
  bool measure = false;
};

// A transaction's condition that must hold; it writes nothing.
struct ConditionCheckInput {
  std::string table;
  Item key;
  std::string condition;
  Placeholders placeholders;
  bool return_item_on_failure = false;
  bool measure = false;
};

// Sets and removes whole attributes of an item that the caller has read, provided that those it relies on are still as
// they were then. What an UpdateItem of SET and REMOVE under a condition of equalities does (edit.h makes one of it),
// but without texts to write, look up and bind: for who moves items on by the thousands.
struct EditItemInput {
  struct Edit {
    std::string_view name;       // Static storage. Not a key of the table, and each once.
    std::optional<Value> value;  // Removed if empty.
  };
  std::string table;
  ItemRef seen;  // Not null; its key says which item it is.
  std::vector<Edit> edits;
  // The item must be there, and each of these be equal to what `seen` has, or as absent; else
  // kConditionalCheckFailed. Static storage; empty names are none.
  std::array<std::string_view, 3> unchanged{};
  bool return_item_on_failure = false;  // See ConditionFailed.
  Cause cause = Cause::kClient;
  // It may become durable, and so its change record readable, some milliseconds later than it would else: with what
  // comes meanwhile. Earlier all the same as soon as somebody waits for durable().
  bool unhurried = false;
};

using WriteInput = std::variant<PutItemInput, UpdateItemInput, DeleteItemInput, ConditionCheckInput>;

// The cost of a write at the service (Developer Guide, "Write capacity unit consumption").
struct WriteCost {
  struct Index {
    std::string name;
    bool local = false;
    uint64_t units = 0;
  };
  uint64_t bytes = 0;                // The larger one of the item before and after, as the service counts sizes.
  std::vector<Index> indexes;        // Those whose entries changed, and the write units of that.
  Item collection;                   // Of a table with local indexes: the partition key of the item.
  uint64_t collection_most_gib = 0;  // What all items with that key take at most.
};

struct WriteOutput {
  ItemRef attributes;                     // What return_values asked for; empty ref if nothing.
  std::shared_ptr<const WriteCost> cost;  // If the input says `measure`.
};

struct TransactWriteInput {
  std::vector<WriteInput> actions;  // At most limits::kMaxTransactionActions, each on another item.
  // Not empty: for ten minutes after it was carried out, also across a restart, the same actions under the same token
  // are not carried out again, and others are refused (kIdempotentParameterMismatch).
  std::string token;
};

struct TransactWriteOutput {
  bool repeated = false;             // It was carried out before, under that token; the costs are those of reading.
  std::vector<WriteOutput> outputs;  // One for each action, without attributes.
};

// Detail of kTransactionCanceled: what each action was refused for, in order.
struct TransactionCanceled : ErrorDetail {
  struct Reason {
    std::string code = "None";  // As the protocol spells it.
    std::string message;
    ItemRef item;  // Where return_item_on_failure was set.
  };
  std::vector<Reason> reasons;
};

// Detail of kConditionalCheckFailed when return_item_on_failure was set and the item exists.
struct ConditionFailed : ErrorDetail {
  ItemRef item;
};

struct GetItemInput {
  std::string table;
  Item key;
  std::string projection;  // Expression; empty for all attributes.
  Placeholders placeholders;
  bool consistent = true;
};

struct ReadOutput {
  ItemRef item;        // Null if there is no such item.
  uint64_t bytes = 0;  // Of the whole item, whatever the projection, as the service counts sizes.
};

struct QueryInput {
  std::string table;
  std::string index;  // Empty for the table itself.
  std::string key_condition;
  std::string filter;
  std::string projection;
  Placeholders placeholders;
  bool forward = true;
  uint32_t limit = 0;  // Items looked at; 0 for no limit but the page size.
  Item exclusive_start_key;
  bool consistent = false;
  bool count_only = false;
  bool all_attributes = false;  // Of a local index: also those that it does not hold.
  bool measure = false;         // Fills Page::billed_bytes and fetched_units.
  // For a PartiQL statement: the filter may look at keys, and sees only the attributes that the index holds.
  bool by_statement = false;
};

struct ScanInput {
  std::string table;
  std::string index;
  std::string filter;
  std::string projection;
  Placeholders placeholders;
  uint32_t limit = 0;
  Item exclusive_start_key;
  uint32_t segment = 0;
  uint32_t total_segments = 1;
  bool consistent = false;
  bool count_only = false;
  bool all_attributes = false;  // Of a local index: also those that it does not hold.
  bool measure = false;         // Fills Page::billed_bytes and fetched_units.
  bool by_statement = false;    // As in QueryInput.
};

struct Page {
  std::vector<ItemRef> items;  // Empty if count_only.
  uint64_t count = 0;
  uint64_t scanned = 0;
  Item last_evaluated_key;     // Empty when the end was reached.
  uint64_t scanned_bytes = 0;  // Stored ones, of what was looked at.
  uint64_t billed_bytes = 0;   // The same as the service counts sizes: of an index what that holds.
  // For a local index that lacks some wanted attributes: read units for fetching each item from the table.
  uint64_t fetched_units = 0;
};

// One entry of a table's change stream. Images are as complete as the stream's view needs, or better.
struct ChangeRecord {
  enum class Kind : uint8_t { kInsert, kModify, kRemove };
  uint64_t sequence = 0;  // Rises within the table, never reused; 1 is the first.
  Kind kind = Kind::kInsert;
  WallTime at{};
  Item keys;
  ItemRef before;  // Null for inserts and where the view does not need it.
  ItemRef after;   // Null for removes.
  bool by_ttl = false;
};

// Records that a reader has no use for. A store may leave them out, or not; a page then has gaps.
struct StreamSkip {
  bool queue_writes = false;    // Those of Cause::kQueue.
  std::array<bool, 6> kinds{};  // By kind_index().
  static size_t kind_index(ChangeRecord::Kind kind, bool by_ttl) {
    return static_cast<size_t>(kind) * 2 + (by_ttl ? 1 : 0);
  }
};

struct ReadStreamInput {
  std::string table;
  std::string label;  // Of the stream, open or closed; empty for the one that the table has.
  uint64_t from = 1;  // First sequence wanted.
  uint32_t limit = 1000;
  size_t max_bytes = 1u << 20;  // A first record may be larger.
  StreamSkip skip;
  // Waits for a record until then; BootTime{} answers at once, with nothing if there is nothing. Who skips may get an
  // empty page earlier, of which only `next` tells something.
  BootTime wait_until{};
};

struct StreamPage {
  std::vector<ChangeRecord> records;  // Durable ones only, in order, from `from` on without gaps but for skipped ones.
  uint64_t next = 1;                  // `from` of the next read.
};

struct StreamBounds {
  uint64_t oldest = 1;  // First sequence that can still be read.
  uint64_t next = 1;    // The next record will have this one.
};

// A stream that was switched off, or whose table was deleted. It can be read for as long as an open one keeps records.
struct ClosedStream {
  std::string table;
  std::string label;
  StreamView view = StreamView::kKeysOnly;
  KeySchema keys;
  WallTime closed{};
  StreamBounds bounds;  // `next` is where it ends: there is no such record.
};

class Tables {
 public:
  virtual ~Tables() = default;

  virtual Async<Result<TableDescription>> create_table(TableDefinition definition) = 0;
  virtual Async<Result<TableDescription>> describe_table(std::string table) = 0;
  virtual Async<Result<TableDescription>> delete_table(std::string table) = 0;
  // Turns TTL, stream, books on or off and adds or drops indexes, so that the table becomes `definition`
  // (same name and keys). Indexes and books of a large table are filled after the answer; until then they cannot be
  // read.
  virtual Async<Result<TableDescription>> alter_table(TableDefinition definition) = 0;
  virtual Async<Result<std::vector<std::string>>> list_tables() = 0;  // Sorted, with system tables.

  virtual Async<Result<WriteOutput>> put_item(PutItemInput input) = 0;
  virtual Async<Result<WriteOutput>> update_item(UpdateItemInput input) = 0;
  virtual Async<Result<WriteOutput>> delete_item(DeleteItemInput input) = 0;
  // Independent writes, one answer each, in order. Not a transaction.
  virtual Async<std::vector<Result<WriteOutput>>> write_many(std::vector<WriteInput> inputs) = 0;
  // Independent too; each answer has the whole new item.
  virtual Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) = 0;
  // The same edit of each of these items, as edit_many() would; `edit.seen` does not count.
  virtual Async<std::vector<Result<WriteOutput>>> edit_alike(EditItemInput edit, std::vector<ItemRef> seen);
  // All or nothing, also across a crash. kTransactionCanceled (with TransactionCanceled) where an item as it is stands
  // against it; kValidation for what is wrong in itself.
  virtual Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) = 0;

  // A null ref if there is no such item.
  virtual Async<Result<ItemRef>> get_item(GetItemInput input) = 0;
  // Independent reads, one answer each, in order.
  virtual Async<std::vector<Result<ReadOutput>>> read_many(std::vector<GetItemInput> inputs) = 0;
  // All as they were at one moment; errors as those of transact_write.
  virtual Async<Result<std::vector<ReadOutput>>> transact_get(std::vector<GetItemInput> inputs) = 0;
  virtual Async<Result<Page>> query(QueryInput input) = 0;
  virtual Async<Result<Page>> scan(ScanInput input) = 0;

  // kTrimmedDataAccess when `from` is no longer there.
  virtual Async<Result<StreamPage>> read_stream(ReadStreamInput input) = 0;
  virtual Async<Result<StreamBounds>> stream_bounds(std::string table) = 0;
  virtual Async<Result<std::vector<ClosedStream>>> closed_streams() {  // By table, then label.
    return Result<std::vector<ClosedStream>>{};
  }

  // kValidation for a table without books, kUnavailable while those of a table that was altered are being opened.
  virtual Async<Result<Books>> books(std::string table) = 0;

  // Null where the store makes none. Lives as long as the store.
  virtual Backups* backups() { return nullptr; }

  // Resolves when everything applied so far is durable; an error means that the store has failed for good.
  virtual Async<Result<void>> durable() = 0;

  // The time for a short step of work that nobody waits for: resolves when the store has just made durable what others
  // wrote, so that it is for them to go on, or while it does so beside; or at `latest`. In a later turn. At once where
  // there is no such time.
  virtual Async<void> lull(BootTime latest) {
    static_cast<void>(latest);
    return {};
  }
};

}  // namespace freshet
