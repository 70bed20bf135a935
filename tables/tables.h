// The store seam: an item store in its own terms. Two implementations: embedded (tables/engine) and remote (wire).
// One conformance suite runs on both; tests/sim has a third that answers late and out of step.
//
// Threading: loop thread only. Ownership: inputs are taken by value; results own what they hold. Async: the embedded
// store's results are ready at once, *applied* but not yet durable. Await durable() before you tell the outside world
// (a response, a runner's start, a delivery of a stream). On a remote store applied means durable. Errors: the item
// store's own (kValidation, kConditionalCheckFailed, kResourceNotFound, kThroughputExceeded, ...). A failed operation
// has changed nothing, except for kUnknownOutcome: the answer of a write never came, or the store had to send the write
// again and its condition then failed, perhaps because the first attempt had succeeded. Such a write may have taken
// effect, or may still do so. Only a store without immediate answers (traits.h) returns kUnknownOutcome.
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
#include "tables/definition.h"
#include "tables/value/item_ref.h"

namespace freshet {

class Backups;       // tables/backups.h
struct StoreTraits;  // tables/traits.h

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
  // Two conditions for bulk writers, checked without parsing an expression, in addition to `condition` or without it.
  // with_guards_spelled_out() (edit.h) turns them into expressions.
  bool only_new = false;  // The table must have no item with this key.
  // The stored item must lack this attribute, or have a value not greater than that of `item`, of the same type (S, N
  // or B). Static storage, or valid until the answer; empty: no such condition.
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

// A condition of a transaction; it writes nothing.
struct ConditionCheckInput {
  std::string table;
  Item key;
  std::string condition;
  Placeholders placeholders;
  bool return_item_on_failure = false;
  bool measure = false;
};

// Sets and removes whole attributes of an item that the caller has read, if the attributes it relies on are unchanged.
// It has the effect of an UpdateItem with SET and REMOVE under a condition of equalities (edit.h makes one from it),
// but is for bulk writers: no expression is written, looked up or bound.
struct EditItemInput {
  struct Edit {
    std::string_view name;       // Static storage. Not a key of the table, and each name once.
    std::optional<Value> value;  // Empty removes the attribute.
  };
  std::string table;
  ItemRef seen;  // Not null; its key selects the item.
  std::vector<Edit> edits;
  // The item must exist, and each of these attributes must equal that of `seen`, or be absent in both; else
  // kConditionalCheckFailed. Static storage; empty names are ignored.
  std::array<std::string_view, 4> unchanged{};
  bool return_item_on_failure = false;  // See ConditionFailed.
  Cause cause = Cause::kClient;
  // Low priority: synced with the next batch, so it becomes durable, and its change record readable, some milliseconds
  // later. It is synced earlier as soon as somebody waits for durable().
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
  std::vector<Index> indexes;        // The indexes whose entries changed, and the write units for that.
  Item collection;                   // For a table with local indexes: the partition key of the item.
  uint64_t collection_most_gib = 0;  // An upper bound for the size of all items with that key.
};

struct WriteOutput {
  ItemRef attributes;                     // The attributes that return_values asked for; a null ref if there are none.
  std::shared_ptr<const WriteCost> cost;  // Set if the input says `measure`.
};

struct TransactWriteInput {
  std::vector<WriteInput> actions;  // At most limits::kMaxTransactionActions, each on another item.
  // If not empty: for ten minutes after the first time, even across a restart, the same actions with the same token are
  // not carried out again, and other actions are refused (kIdempotentParameterMismatch).
  std::string token;
};

struct TransactWriteOutput {
  bool repeated = false;             // An earlier request with that token did it; the costs are those of reading.
  std::vector<WriteOutput> outputs;  // One for each action, without attributes.
};

// Detail of kTransactionCanceled: why each action was refused, in order.
struct TransactionCanceled : ErrorDetail {
  struct Reason {
    std::string code = "None";  // A code of the protocol.
    std::string message;
    ItemRef item;  // Set if the action had return_item_on_failure.
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
  uint64_t bytes = 0;  // The size of the whole item, whatever the projection, as the service counts sizes.
};

struct QueryInput {
  std::string table;
  std::string index;  // Empty for the table itself.
  std::string key_condition;
  std::string filter;
  std::string projection;
  Placeholders placeholders;
  bool forward = true;
  uint32_t limit = 0;  // The most items to examine; 0: no limit but the page size.
  Item exclusive_start_key;
  bool consistent = false;
  bool count_only = false;
  bool all_attributes = false;  // For a local index: also reads attributes that the index does not hold.
  bool measure = false;         // Fills Page::billed_bytes and fetched_units.
  // For a PartiQL statement: the filter may use keys, and sees only the attributes that the index holds.
  bool by_statement = false;
  // For an index that does not have all attributes: the items come whole, in their current state. Those that the index
  // does not show as they are now are left out, so that a page may be empty though there are more. It costs a read of
  // each item that the store does not remember. Only on stores with the trait `whole_items`; without effect for other
  // indexes, with `count_only`, and with a projection.
  bool whole_items = false;
  // As whole_items, for an index that has all attributes, too.
  bool current_items = false;
  // With either: only items whose sort key is at most this number come whole, the others as the index shows them.
  std::optional<int64_t> whole_up_to{};
  // The result may lack what others have written within this time; then Page::is_old says so. Own writes show as
  // always. Stores that are not across a network ignore it, and so does a query with an `exclusive_start_key`.
  milliseconds may_be_old{0};
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
  bool all_attributes = false;  // For a local index: also reads attributes that the index does not hold.
  bool measure = false;         // Fills Page::billed_bytes and fetched_units.
  bool by_statement = false;    // As in QueryInput.
};

struct Page {
  std::vector<ItemRef> items;  // Empty if count_only.
  uint64_t count = 0;
  uint64_t scanned = 0;
  Item last_evaluated_key;     // Empty at the end.
  uint64_t scanned_bytes = 0;  // The stored size of all examined items.
  uint64_t billed_bytes = 0;   // Their size as the service counts it: for an index, of what it holds.
  // For a local index that lacks some wanted attributes: read units for fetching each item from the table.
  uint64_t fetched_units = 0;
  bool is_old = false;  // Asked for earlier (QueryInput::may_be_old).
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

// Records that a reader does not need. A store may leave them out; a page then has gaps.
struct StreamSkip {
  bool queue_writes = false;    // Skips records of Cause::kQueue.
  std::array<bool, 6> kinds{};  // Skips by kind_index().
  static size_t kind_index(ChangeRecord::Kind kind, bool by_ttl) {
    return static_cast<size_t>(kind) * 2 + (by_ttl ? 1 : 0);
  }
};

struct ReadStreamInput {
  std::string table;
  std::string label;  // The label of the stream, open or closed; empty: the table's current stream.
  uint64_t from = 1;  // The first sequence wanted.
  uint32_t limit = 1000;
  size_t max_bytes = 1u << 20;  // The first record may be larger.
  StreamSkip skip;
  // Waits for a record until then; BootTime{} answers at once, even if there is no record. A reader that skips records
  // may get an empty page earlier; then only `next` is of use.
  BootTime wait_until{};
};

struct StreamPage {
  std::vector<ChangeRecord> records;  // Durable ones, in order, from `from` on, without gaps except for skipped ones.
  uint64_t next = 1;                  // The `from` of the next read.
};

struct StreamBounds {
  uint64_t oldest = 1;  // The first sequence that can still be read.
  uint64_t next = 1;    // The sequence of the next record.
};

// A stream that was switched off, or whose table was deleted. It can be read for as long as an open one keeps records.
struct ClosedStream {
  std::string table;
  std::string label;
  StreamView view = StreamView::kKeysOnly;
  KeySchema keys;
  WallTime closed{};
  StreamBounds bounds;  // `next` is the end of the stream: no record has it.
};

class Tables {
 public:
  virtual ~Tables() = default;

  // Says what this store can do beyond these calls. Always the same.
  virtual const StoreTraits& traits() const = 0;

  virtual Async<Result<TableDescription>> create_table(TableDefinition definition) = 0;
  virtual Async<Result<TableDescription>> describe_table(std::string table) = 0;
  virtual Async<Result<TableDescription>> delete_table(std::string table) = 0;
  // Turns TTL, stream and books on or off, and adds or drops indexes, so that the table becomes `definition` (same
  // name and keys). Indexes and books of a large table are filled after the answer; until then they cannot be
  // read.
  virtual Async<Result<TableDescription>> alter_table(TableDefinition definition) = 0;
  virtual Async<Result<std::vector<std::string>>> list_tables() = 0;  // Sorted; includes system tables.

  virtual Async<Result<WriteOutput>> put_item(PutItemInput input) = 0;
  virtual Async<Result<WriteOutput>> update_item(UpdateItemInput input) = 0;
  virtual Async<Result<WriteOutput>> delete_item(DeleteItemInput input) = 0;
  // Independent writes with one answer each, in order. Not a transaction.
  virtual Async<std::vector<Result<WriteOutput>>> write_many(std::vector<WriteInput> inputs) = 0;
  // Independent edits; each answer has the whole new item.
  virtual Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) = 0;
  // The same edit for each of these items, as with edit_many(); `edit.seen` is ignored.
  virtual Async<std::vector<Result<WriteOutput>>> edit_alike(EditItemInput edit, std::vector<ItemRef> seen);
  // All or nothing, even across a crash. kTransactionCanceled (with TransactionCanceled) if an existing item prevents
  // it; kValidation for a fault of the request itself.
  virtual Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) = 0;

  // A null ref if there is no such item.
  virtual Async<Result<ItemRef>> get_item(GetItemInput input) = 0;
  // Independent reads with one answer each, in order.
  virtual Async<std::vector<Result<ReadOutput>>> read_many(std::vector<GetItemInput> inputs) = 0;
  // All items as they were at one moment; errors as those of transact_write.
  virtual Async<Result<std::vector<ReadOutput>>> transact_get(std::vector<GetItemInput> inputs) = 0;
  virtual Async<Result<Page>> query(QueryInput input) = 0;
  virtual Async<Result<Page>> scan(ScanInput input) = 0;

  // kTrimmedDataAccess if the record `from` is no longer kept.
  virtual Async<Result<StreamPage>> read_stream(ReadStreamInput input) = 0;
  virtual Async<Result<StreamBounds>> stream_bounds(std::string table) = 0;
  virtual Async<Result<std::vector<ClosedStream>>> closed_streams() {  // Ordered by table, then label.
    return Result<std::vector<ClosedStream>>{};
  }

  // kValidation for a table without books; kUnavailable while the books of an altered table are being opened.
  virtual Async<Result<Books>> books(std::string table) = 0;

  // Says that a search of the whole table has found fewer items in a state than its books have. A store that only
  // counts the items from time to time, as others write them, too, counts them again soon. Other books are exact.
  virtual void doubt_books(const std::string& table) { static_cast<void>(table); }

  // Null if the store has no backups. Lives as long as the store.
  virtual Backups* backups() { return nullptr; }

  // Resolves when everything applied so far is durable; an error means that the store has failed for good.
  virtual Async<Result<void>> durable() = 0;

  // Waits for a good moment for a short step of background work: right after the store has made the writes of others
  // durable, or while it does so on another thread. Resolves in a later turn, and at `latest` in any case. A store that
  // has no such moments resolves it at once.
  virtual Async<void> lull(BootTime latest) {
    static_cast<void>(latest);
    return {};
  }
};

}  // namespace freshet
