// The interface of a table whose writes are ordered by their own timestamps. The API (wire/ordered, the command line)
// calls it; functions/ordered implements it, with a hedging client on top. docs/ordered-writes.md describes the stored
// attributes, the settings and the outcomes.
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

// The outcome of a write.
enum class OrderedCode : uint8_t {
  kApplied,      // APPLIED
  kOlder,        // OLDER: the stored item is newer, so nothing had to be done.
  kTooOld,       // TOO_OLD: older than tombstones are kept, so nobody knows if the item was deleted since.
  kTooFarAhead,  // TOO_FAR_AHEAD: beyond max_skew; it would block other writes to the item until then.
  kInvalid,      // INVALID: the call itself is wrong.
  kForeignItem,  // FOREIGN_ITEM: the stored item has an attribute that no ordered write would leave like that.
  kStoreError,   // STORE_ERROR
};
std::string_view code_name(OrderedCode code);  // "TOO_FAR_AHEAD"

struct OrderedResult {
  OrderedCode code = OrderedCode::kApplied;
  std::optional<Value> timestamp;  // The timestamp of the write, to be used in a retry. Empty if it is not known.
  std::string detail;              // For people: the fault, with the attribute and the item.
  std::optional<ErrorCode> error;  // For kStoreError: the error of the store.
  ItemRef found;                   // For kOlder and kForeignItem: the stored item. Otherwise null.
  bool ok() const { return code == OrderedCode::kApplied; }
};

// `timestamp` is that of the first attempt at this write, or of the data. Empty: the one in the record if the
// definition says that it has one, else the time of the call.
struct OrderedPut {
  Item item;
  std::optional<Value> timestamp;
};
struct OrderedDelete {
  Item key;
  std::optional<Value> timestamp;
};
// Each attribute that the definition declares for updates is either in `set` or in `remove`.
struct OrderedUpdate {
  Item key;
  Map set;
  std::vector<std::string> remove;
  std::optional<Value> timestamp;
};

// Reads leave tombstones out unless `tombstones` is set.
struct OrderedGet {
  Item key;
  bool tombstones = false;
};
struct OrderedQuery {
  std::optional<Value> partition;  // Instead of a key condition: all items with that partition key.
  QueryInput query;                // Its table is ignored; placeholders must not begin with "#freshet_", ":freshet_".
  bool tombstones = false;
};
struct OrderedScan {
  ScanInput scan;  // As in OrderedQuery.
  bool tombstones = false;
};

class OrderedWrites {
 public:
  virtual ~OrderedWrites() = default;
  virtual const std::string& name() const = 0;

  virtual Async<OrderedResult> put(OrderedPut input) = 0;
  virtual Async<OrderedResult> erase(OrderedDelete input) = 0;
  virtual Async<OrderedResult> update(OrderedUpdate input) = 0;

  // A null ref if there is no such item, or only a tombstone.
  virtual Async<Result<ItemRef>> get(OrderedGet input) = 0;
  // One answer each, in order.
  virtual Async<std::vector<Result<ItemRef>>> batch_get(std::vector<OrderedGet> inputs) = 0;
  // Pages as the store makes them: tombstones count as examined.
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
