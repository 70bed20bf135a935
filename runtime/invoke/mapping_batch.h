// The pure parts of an event source mapping: how to read a function's response to a batch, and how to describe a batch
// that was given up.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tables/tables.h"

namespace freshet {

// Reads a response {"batchItemFailures":[{"itemIdentifier":"SEQUENCE NUMBER"}, ...]}: the index of the first record
// that failed, sequences.size() if none did; `sequences` are those of the batch, in order. A response that names no
// record of the batch fails all of it (0); one without the member, or null, fails none.
size_t first_failed(const std::string& response, std::span<const uint64_t> sequences);

// The same for a batch whose sequence numbers are an engine's texts.
size_t first_failed_of(const std::string& response, std::span<const std::string> numbers);

// Reads a response {"state": {...}}: that object as JSON. Empty if there is none, which is an error of the function.
std::optional<std::string> state_of_response(const std::string& response);

// The members of a tumbling window's event beside its records.
struct WindowEvent {
  int64_t start = 0;  // Epoch seconds.
  int64_t end = 0;
  std::string_view state;  // JSON.
  std::string_view stream_arn;
  bool last = false;
  bool early = false;  // True if it ended because its state is too large.
};
std::string window_members(const WindowEvent& event);  // See StreamBatch::more.

struct DroppedBatch {
  WallTime at{};
  std::string condition;
  std::string function_arn;
  int attempts = 0;
  std::string stream_arn;
  std::string shard;
  std::string first;  // Sequence numbers.
  std::string last;
  WallTime first_at{};
  WallTime last_at{};
  size_t size = 0;
  std::string error;
};
std::string dropped_batch_document(const DroppedBatch& batch);

}  // namespace freshet
