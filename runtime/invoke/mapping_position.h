// The position of an event source mapping in a stream, and how it is stored.
//
// A mapping reads a stream in one lane, or in several that each take a share of the items (by a hash of the key): a
// lane keeps the order of its items and does not wait for the others. On an engine it does once the reader's room is
// used up (streams/shards/sharded_stream.h), since that is free again only behind the lane that is furthest behind.
// Each lane has its own position, which is an item of the system table (docs/formats.md).
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
// The most bytes of a tumbling window's state; a larger state ends its window.
inline constexpr size_t kMaxWindowState = 1u << 20;

struct TumblingWindow {
  int64_t start = 0;         // Epoch seconds.
  std::string state = "{}";  // JSON: the state that the function returned last.
  bool operator==(const TumblingWindow&) const = default;
};

struct LanePosition {
  uint64_t next = 0;  // All records of the lane before this one are processed.
  std::optional<TumblingWindow> window;
  bool operator==(const LanePosition&) const = default;
};

struct MappingPosition {
  std::string label;                // The label of the stream that it is a position in.
  bool ended = false;               // True if that stream is closed and all of it is processed.
  std::vector<LanePosition> lanes;  // At least one.
  // The positions of the lanes at the last change of their number: a record before that of its former lane is
  // processed.
  std::vector<uint64_t> done;

  // The same position for this number of lanes. `done` keeps what was processed beyond the lane that is furthest
  // behind.
  MappingPosition with_lanes(size_t count) const;
  uint64_t next() const;  // The position of the lane that is furthest behind.
  bool operator==(const MappingPosition&) const = default;
};

MappingPosition position_at(std::string label, uint64_t next, size_t lanes);
// The same value for every item with that key, in every process.
uint64_t lane_hash(const Item& keys);

// The writes that store one lane's position; make all of them together. `stale_parts`: the number of parts of the state
// that was written last.
std::vector<WriteInput> lane_writes(const std::string& mapping_id, const MappingPosition& position, size_t lane,
                                    size_t stale_parts);
size_t state_parts(const LanePosition& lane);
// The writes for all lanes; without lanes they remove everything stored before.
std::vector<WriteInput> position_writes(const std::string& mapping_id, const MappingPosition& position,
                                        size_t stale_parts);
std::vector<WriteInput> position_removals(const std::string& mapping_id);

// The stored positions, by mapping.
Async<Result<std::map<std::string, MappingPosition>>> load_positions(Tables& tables);

}  // namespace freshet
