#include "app/daemon/start_refusal.h"

namespace freshet {

Error start_refusal(const Error& error, const EmbeddedStats& stats, const DaemonOptions& options) {
  const uint64_t segment = options.segment_bytes;
  const uint64_t needed = 4 * segment;  // Tables are made until half of the reserve of an empty store is left.
  if (error.code != ErrorCode::kThroughputExceeded || stats.log_bytes_left >= needed) return error;
  return {error.code,
          "no room for the template's tables in " + options.data + ": the disk (or --max-data-bytes) leaves " +
              std::to_string(stats.log_bytes_left) + " bytes, and a start needs about " + std::to_string(needed) +
              ", four segments: free space there, or take smaller ones (--segment-bytes " + std::to_string(segment) +
              " now)",
          {}};
}

}  // namespace freshet
