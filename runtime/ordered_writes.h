// What the API of ordered writes (wire/ordered, the command line) asks of a table whose writes are ordered by a
// timestamp of their own. functions/ordered fulfils it, and a client that hedges stands over it. What is kept in items,
// the settings and the outcomes: docs/ordered-writes.md.
//
// Loop thread. Inputs are taken by value; items travel as ItemRef, so that I/O threads serialise them without a copy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

// What came of a write.
enum class OrderedCode : uint8_t {
  kApplied,      // APPLIED
  kOlder,        // OLDER: what is there is newer, so nothing had to be done.
  kTooOld,       // TOO_OLD: older than tombstones are kept, so that nobody knows whether it was deleted since.
  kTooFarAhead,  // TOO_FAR_AHEAD: beyond max_skew; it would lock the item until then.
  kInvalid,      // INVALID: the call itself.
  kForeignItem,  // FOREIGN_ITEM: what is there has an attribute that no ordered write leaves like that.
  kStoreError,   // STORE_ERROR
};
std::string_view code_name(OrderedCode code);  // "TOO_FAR_AHEAD"

struct OrderedResult {
  OrderedCode code = OrderedCode::kApplied;
  std::optional<Value> timestamp;  // That the write has; a retry gives it again. Empty if it could not be told.
  std::string detail;              // For people: what was wrong, of which attribute of which item.
  std::optional<ErrorCode> error;  // Of kStoreError: the store's own.
  ItemRef found;                   // Of kOlder and kForeignItem: what is there. Null otherwise.
  bool ok() const { return code == OrderedCode::kApplied; }
};

// `timestamp`: of the first attempt at this write, or of the data; empty: where the definition says that it stands in
// the record, else the moment of the call.
struct OrderedPut {
  Item item;
  std::optional<Value> timestamp;
};
struct OrderedDelete {
  Item key;
  std::optional<Value> timestamp;
};
// Of all attributes that the definition declares for updates, each in `set` or in `remove`.
struct OrderedUpdate {
  Item key;
  Map set;
  std::vector<std::string> remove;
  std::optional<Value> timestamp;
};

// Reads leave tombstones out, unless `tombstones` asks for them.
struct OrderedGet {
  Item key;
  bool tombstones = false;
};
struct OrderedQuery {
  std::optional<Value> partition;  // Instead of a key condition: all with that partition key.
  QueryInput query;  // Its table is not looked at; placeholders must not begin with "#freshet_", ":freshet_".
  bool tombstones = false;
};
struct OrderedScan {
  ScanInput scan;  // As above.
  bool tombstones = false;
};

class OrderedWrites {
 public:
  virtual ~OrderedWrites() = default;
  virtual const std::string& name() const = 0;

  virtual Async<OrderedResult> put(OrderedPut input) = 0;
  virtual Async<OrderedResult> erase(OrderedDelete input) = 0;
  virtual Async<OrderedResult> update(OrderedUpdate input) = 0;

  // A null ref if there is no such item, or a tombstone.
  virtual Async<Result<ItemRef>> get(OrderedGet input) = 0;
  // One answer each, in order.
  virtual Async<std::vector<Result<ItemRef>>> batch_get(std::vector<OrderedGet> inputs) = 0;
  // Pages as the store makes them: tombstones count as looked at.
  virtual Async<Result<Page>> query(OrderedQuery input) = 0;
  virtual Async<Result<Page>> scan(OrderedScan input) = 0;
};

// The tables with ordered writes of this daemon, by the names of their definitions. Loop thread.
class OrderedDirectory {
 public:
  virtual ~OrderedDirectory() = default;
  virtual OrderedWrites* find(std::string_view name) = 0;  // Null if there is none. Lives as long as this.
  virtual std::vector<std::string> names() const = 0;      // Sorted.
};

}  // namespace freshet
