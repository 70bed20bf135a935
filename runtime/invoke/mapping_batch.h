// Pieces of an event source mapping that are pure: what a function says about a batch, and what is said of one that was
// given up.
#pragma once

#include <span>
#include <string>

#include "tables/tables.h"

namespace freshet {

// Of a response {"batchItemFailures":[{"itemIdentifier":"SEQUENCE NUMBER"}, ...]}: the index of the first record that
// failed, records.size() if none did. A response that names no record of the batch fails all of it (0); one without the
// member, or null, fails none.
size_t first_failed(const std::string& response, std::span<const ChangeRecord> records);

struct DroppedBatch {
  WallTime at{};
  std::string condition;
  std::string function_arn;
  int attempts = 0;
  std::string stream_arn;
  uint64_t first = 0;
  uint64_t last = 0;
  WallTime first_at{};
  WallTime last_at{};
  size_t size = 0;
  std::string error;
};
std::string dropped_batch_document(const DroppedBatch& batch);

}  // namespace freshet
