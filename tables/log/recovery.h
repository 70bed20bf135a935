// Recovers the state of a log from the files of a data directory: docs/formats.md, "Recovery".
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "tables/log/log.h"

namespace freshet::log_detail {

struct Segment {
  uint32_t id = 0;
  uint64_t first_sequence = 1;
  uint64_t bytes = 0;      // Used, header included.
  uint64_t allocated = 0;  // Size of the file.
};

struct Recovered {
  uint64_t log_id = 0;
  uint32_t first_unretired = 1;
  std::vector<Segment> segments;  // Oldest first, ids without gap; empty for a new log.
  uint64_t last_sequence = 0;
  LogPosition durable;     // The highest mark seen.
  uint64_t cut_bytes = 0;  // Behind the last segment's end.
  std::string missing;     // Describes the loss that was accepted.
};

struct RecoveryOptions {
  std::string directory;
  bool accept_loss = false;  // As in LogOptions.
};

// Checks and replays the segments of a directory; `names` lists its files. Changes nothing until everything has been
// checked. Then cuts the torn tail, if any, and makes everything that it returns durable, whatever the durability mode:
// it writes again what is not known to be durable, and syncs. A sync alone would not do: an earlier process may have
// ended because a sync failed, and then data may be in the page cache only.
Result<Recovered> recover(Files& files, const RecoveryOptions& options, const std::vector<std::string>& names,
                          const BatchVisitor& replay);

}  // namespace freshet::log_detail
