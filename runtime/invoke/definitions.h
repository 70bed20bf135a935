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
  std::string id;        // Unique. Empty: a UUID is made. The same id again replaces, and goes on where it stood.
  std::string table;     // Name; the table must have a stream.
  std::string function;  // Name or ARN.
  StartingPosition starting_position = StartingPosition::kLatest;
  uint32_t batch_size = 100;              // 1..10000 records.
  milliseconds batching_window{0};        // 0..300 s: how long a batch that is not full waits for more.
  std::vector<std::string> filters;       // Patterns (JSON); a record that fits none is skipped. None: all pass.
  std::optional<seconds> max_record_age;  // Older records are given up. Empty: as long as the stream keeps them.
  std::optional<int> max_retries;         // After an error of the function. Empty: until the record is too old.
  uint32_t parallelization_factor = 1;    // 1..10 batches at a time, each item's records in order.
  seconds tumbling_window{0};             // 0..900; 0: none. Only with a factor of 1.
  bool bisect_on_error = false;
  bool report_item_failures = false;  // FunctionResponseTypes: ReportBatchItemFailures.
  Destination on_failure;             // Gets a description of every batch that was given up.
  bool enabled = true;
  // When it was made or changed, wall time in ms; the runtime sets it. 0: not known, as the release that made it did
  // not keep the time.
  int64_t modified_ms = 0;
  bool operator==(const MappingDefinition&) const = default;
};

// The alias that a template keeps pointed at the newest version of a function: AutoPublishAlias of
// AWS::Serverless::Function.
struct AliasDefinition {
  std::string function;     // Plain name.
  std::string name;         // Of the alias.
  std::string description;  // Goes to each version that is published for it.
  AsyncConfig async;
  bool current = true;  // False for one that is there if its version is not the function as it is now.
};

// Invokes a function asynchronously at times.
struct ScheduleDefinition {
  std::string name;        // Unique. The same name again replaces; a changed expression starts anew.
  std::string expression;  // rate(...), cron(...) or at(...): runtime/deploy/schedule_expression.h.
  std::string function;    // Name or ARN.
  std::string input;       // JSON; empty for the standard scheduled event.
  bool enabled = true;
  bool operator==(const ScheduleDefinition&) const = default;
};

}  // namespace freshet
