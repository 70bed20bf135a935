// The mapping of one priority queue to its table: names, states, numbers, order, timeouts. docs/priority-queue.md has
// the table of all settings with their defaults; definition.h reads them from a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "functions/settings.h"
#include "tables/definition.h"

namespace freshet::priority {

// Top-level attributes. The names inside system_info are fixed (record.h).
struct Names {
  std::string system_info = "system_info";
  std::string last_updated = "last_updated_timestamp";
  std::string queued = "queued";
  std::string dead = "DLQ";
  std::string priority = "priority";      // A number.
  std::string order = "queue_order";      // For Order::kBoth: priority and timestamp in one text.
  std::string visible_at = "visible_at";  // Epoch milliseconds; set while in flight or delayed.
};

struct States {
  bool used = true;  // False: they are neither read nor written.
  std::string initial = "UNDER_CONSTRUCTION";
  std::string ready = "READY_TO_SHIP";
  std::string processing = "PROCESSING_SHIPMENT";
  std::string completed = "COMPLETED";
  std::string dead = "IN_DLQ";
  std::vector<std::string> others;  // Statuses of your own: no call asks for them, and none sets them by itself.

  std::vector<std::string> all() const;  // In the order above.
};

// The values of `queued` and of `DLQ`. Queues in one table have different values.
struct Numbers {
  int64_t ready = 1;
  int64_t in_flight = 2;
  int64_t delayed = 3;
  int64_t dead = 1;  // The value of `DLQ`.
};
inline constexpr int64_t kLargestNumber = 999;  // The largest number that the books can name.

enum class Order {
  kTimestamp,  // By last_updated_timestamp, as the sample does.
  kPriority,   // By the priority attribute alone; equal ones in the order in which their items were created.
  kBoth,       // By priority, then by timestamp.
};
inline constexpr int64_t kLargestPriority = 1'000'000'000;  // Also the bound of its negative.

struct Settings {
  std::string name;         // The queue's name.
  std::string table;        // Holds the records.
  std::string state_table;  // The table of the queue's attributes; empty: they are in the records themselves.
  Names names;
  States states;
  Numbers numbers;
  Order order = Order::kTimestamp;
  bool newest_first = false;  // For the order by timestamp.
  bool lowest_first = false;  // For the order by priority.
  // Empty: any index with the right keys, or a new one with the default name.
  std::string queue_index;
  std::string dead_index;
  std::string visible_index;
  // A peeked record stays among the waiting ones, as in the sample, and peeks skip it. For tables that the sample's own
  // consumers peek, too.
  bool in_place = false;
  milliseconds visibility{60'000};
  milliseconds delay{0};
  int64_t max_failures = 0;  // After this many failures the record goes to the dead-letter queue; 0: never.
  BackoffSettings backoff{milliseconds(0), milliseconds(300'000), 2, 0.5};
  bool strict = false;           // At most one record in flight.
  bool require_receipt = false;  // Each call that settles a record in flight must have a receipt.
  char key_separator = '|';      // Separates partition and sort key in ids, for tables that have both.
  milliseconds sweep{1000};      // How often the timer looks for due records.

  const std::string& states_in() const { return state_table.empty() ? table : state_table; }
  // The attribute that sorts the queue's index.
  const std::string& order_attribute() const;
  bool forward() const;
};

inline constexpr milliseconds kLongestTimeout{int64_t{366} * 24 * 3600 * 1000};

// kValidation naming the setting: empty or equal names, numbers out of range or equal, timeouts out of range.
Result<void> validate(const Settings& settings);

// The table of the records, and that of the queue's attributes if it is another one, as they are made if they do not
// exist: with the given keys and the indexes of the sample.
TableDefinition records_table(const Settings& settings, KeySchema keys);
// `definition` with every index that the queue needs and does not find, and the books; writes the names of the indexes
// into `settings`. kValidation if an index with the configured name has other keys or leaves system_info out, and if a
// key of the table is an attribute that the queue changes.
Result<TableDefinition> as_priority_table(TableDefinition definition, Settings& settings);

}  // namespace freshet::priority
