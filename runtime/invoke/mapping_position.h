// How far an event source mapping has come in a stream, and how that is kept.
//
// A mapping reads a stream in one lane, or in several that each take the items whose keys fall to them (by a hash of
// the key): a lane keeps the order of its items and waits for no other. Each has a place of its own, which is an item
// of the system table (docs/formats.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr size_t kMaxLanes = 10;
// Of the state of a tumbling window; a larger one ends its window.
inline constexpr size_t kMaxWindowState = 1u << 20;

struct TumblingWindow {
  int64_t start = 0;         // Epoch seconds.
  std::string state = "{}";  // JSON: what the function said last.
  bool operator==(const TumblingWindow&) const = default;
};

struct LanePosition {
  uint64_t next = 0;  // All of the lane's records before it are done.
  std::optional<TumblingWindow> window;
  bool operator==(const LanePosition&) const = default;
};

struct MappingPosition {
  std::string label;                // Of the stream that it is a place in.
  bool ended = false;               // That stream is closed and all of it is done.
  std::vector<LanePosition> lanes;  // At least one.
  // Places of the lanes that there were when their number changed: a record before the one of its lane of then is done.
  std::vector<uint64_t> done;

  // The same place for so many lanes. What was done beyond the lane that is furthest behind is kept in `done`.
  MappingPosition with_lanes(size_t count) const;
  uint64_t next() const;  // Of the lane that is furthest behind.
  bool operator==(const MappingPosition&) const = default;
};

MappingPosition position_at(std::string label, uint64_t next, size_t lanes);
// The same for every item with that key, in every process.
uint64_t lane_hash(const Item& keys);

// What to write so that one lane's place is kept, all of it together. `stale_parts`: of the state that was written
// last.
std::vector<WriteInput> lane_writes(const std::string& mapping_id, const MappingPosition& position, size_t lane,
                                    size_t stale_parts);
size_t state_parts(const LanePosition& lane);
// The same for all lanes; and for none: whatever was kept before is gone.
std::vector<WriteInput> position_writes(const std::string& mapping_id, const MappingPosition& position,
                                        size_t stale_parts);
std::vector<WriteInput> position_removals(const std::string& mapping_id);

// What is kept, by mapping.
Async<Result<std::map<std::string, MappingPosition>>> load_positions(Tables& tables);

}  // namespace freshet
