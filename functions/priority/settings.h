// How one priority queue lies over its table: names, states, numbers, order, timeouts. The table of them all, with
// defaults, is in docs/priority-queue.md; reading them from a file is definition.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "functions/settings.h"
#include "tables/definition.h"

namespace freshet::priority {

// Top-level attributes. What stands inside system_info has fixed names (record.h).
struct Names {
  std::string system_info = "system_info";
  std::string last_updated = "last_updated_timestamp";
  std::string queued = "queued";
  std::string dead = "DLQ";
  std::string priority = "priority";      // A number.
  std::string order = "queue_order";      // For Order::kBoth: priority and timestamp in one text.
  std::string visible_at = "visible_at";  // Epoch milliseconds; there while in flight or delayed.
};

struct States {
  bool used = true;  // False: they are neither looked at nor written.
  std::string initial = "UNDER_CONSTRUCTION";
  std::string ready = "READY_TO_SHIP";
  std::string processing = "PROCESSING_SHIPMENT";
  std::string completed = "COMPLETED";
  std::string dead = "IN_DLQ";
};

// The values of `queued`, and of `DLQ`. Queues of one table have different ones.
struct Numbers {
  int64_t ready = 1;
  int64_t in_flight = 2;
  int64_t delayed = 3;
  int64_t dead = 1;  // The value of `DLQ`.
};
inline constexpr int64_t kLargestNumber = 999;  // So that the books can name them.

enum class Order {
  kTimestamp,  // By last_updated_timestamp, as the sample does.
  kPriority,   // By the priority attribute alone; equal ones in the order in which their items were made.
  kBoth,       // By priority, then by timestamp.
};
inline constexpr int64_t kLargestPriority = 1'000'000'000;  // And its negative.

struct Settings {
  std::string name;         // The queue's name.
  std::string table;        // Holds the records.
  std::string state_table;  // Where the queue's attributes live; empty: in the records themselves.
  Names names;
  States states;
  Numbers numbers;
  Order order = Order::kTimestamp;
  bool newest_first = false;  // By timestamp.
  bool lowest_first = false;  // By priority.
  // Empty: any index with the right keys is used, or made under the default name.
  std::string queue_index;
  std::string dead_index;
  std::string visible_index;
  // A peeked record stays among those that wait, as the sample leaves it, and peeks pass over it. For tables that the
  // sample's own consumers peek too.
  bool in_place = false;
  milliseconds visibility{60'000};
  milliseconds delay{0};
  int64_t max_failures = 0;  // Then the dead-letter queue; 0: never.
  BackoffSettings backoff{milliseconds(0), milliseconds(300'000), 2, 0.5};
  bool strict = false;           // One record in flight at most.
  bool require_receipt = false;  // Each call that settles a record in flight needs one.
  char key_separator = '|';      // Between partition and sort key in ids, of tables that have both.
  milliseconds sweep{1000};      // How often the timer looks for what is due.

  const std::string& states_in() const { return state_table.empty() ? table : state_table; }
  // The attribute that sorts the queue's index.
  const std::string& order_attribute() const;
  bool forward() const;
};

inline constexpr milliseconds kLongestTimeout{int64_t{366} * 24 * 3600 * 1000};

// kValidation naming the setting: empty or equal names, numbers out of range or equal, timeouts out of range.
Result<void> validate(const Settings& settings);

// The table of the records, and that of the queue's attributes where it is another, as they are made if they are not
// there: with the keys given and the indexes of the sample.
TableDefinition records_table(const Settings& settings, KeySchema keys);
// `definition` with every index that the queue needs and does not find, and the books; fills the names of the indexes
// in. kValidation when an index of the configured name has other keys or leaves system_info out, and when a key of the
// table is an attribute that the queue changes.
Result<TableDefinition> as_priority_table(TableDefinition definition, Settings& settings);

}  // namespace freshet::priority
