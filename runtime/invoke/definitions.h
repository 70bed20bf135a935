// Definitions of event source mappings, schedules and deployed aliases. Value types; mappings and schedules are items
// of the system table (docs/formats.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/invoke/function.h"

namespace freshet {

enum class StartingPosition { kLatest, kTrimHorizon };

// A table's stream drives a function.
struct MappingDefinition {
  std::string id;        // Unique. Empty: a UUID is made. A mapping with the same id is replaced, and continues from
                         // its position.
  std::string table;     // Name; the table must have a stream.
  std::string function;  // Name or ARN.
  StartingPosition starting_position = StartingPosition::kLatest;
  uint32_t batch_size = 100;              // 1..10000 records.
  milliseconds batching_window{0};        // 0..300 s: how long an incomplete batch waits for more records.
  std::vector<std::string> filters;       // Patterns (JSON); a record that matches none is skipped. Empty: all records
                                          // pass.
  std::optional<seconds> max_record_age;  // Older records are given up. Empty: never, while the stream keeps them.
  std::optional<int> max_retries;         // The number of retries after an error of the function. Empty: until the
                                          // record is too old.
  uint32_t parallelization_factor = 1;    // 1..10 batches at a time, each item's records in order.
  seconds tumbling_window{0};             // 0..900; 0: none. Only with a factor of 1.
  bool bisect_on_error = false;
  bool report_item_failures = false;  // FunctionResponseTypes: ReportBatchItemFailures.
  Destination on_failure;             // Receives a description of every batch that was given up.
  bool enabled = true;
  // When it was made or changed, wall time in ms; the runtime sets it. 0: unknown, because the release that made it did
  // not store the time.
  int64_t modified_ms = 0;
  bool operator==(const MappingDefinition&) const = default;
};

// A mapping and what it does.
struct MappingState {
  MappingDefinition definition;
  uint64_t position = 0;         // The sequence of the next record to deliver, for the lane that is furthest behind.
  std::string last_error;        // The reason why it waits, or empty.
  std::string_view state;        // In the words of the Lambda API: "Enabled", "Disabled", "Updating", ...
  std::string_view last_result;  // The same: "OK", "No records processed", "PROBLEM: Function call failed".
};

// An alias that a template keeps pointed at a function's newest version: AutoPublishAlias of
// AWS::Serverless::Function.
struct AliasDefinition {
  std::string function;     // Plain name.
  std::string name;         // The name of the alias.
  std::string description;  // Given to each version that is published for it.
  AsyncConfig async;
  bool current = true;  // False for an existing alias if its version differs from the function as it is now.
};

// Invokes a function asynchronously at times.
struct ScheduleDefinition {
  std::string name;        // Unique. A schedule with the same name is replaced; a changed expression starts anew.
  std::string expression;  // rate(...), cron(...) or at(...): runtime/deploy/schedule_expression.h.
  std::string function;    // Name or ARN.
  std::string input;       // JSON; empty for the standard scheduled event.
  bool enabled = true;
  bool operator==(const ScheduleDefinition&) const = default;
};

// A schedule and its times.
struct ScheduleState {
  ScheduleDefinition definition;
  std::optional<WallTime> last;  // When it fired last; empty: it has not fired, as far as is known.
  std::optional<WallTime> next;  // Empty: it is off, or over.
};

}  // namespace freshet
