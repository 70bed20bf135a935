// All event source mappings of a daemon: their definitions and positions in the store, and the mappings that run.
//
// In a fleet, the daemons have the same definitions, each in its own store, and one of them at a time runs a mapping:
// the one that the fleet names. The positions are in a table of the shared store (tables/lease/positions_table.h),
// where the next daemon finds them. They stay there when a mapping is removed, because other daemons may still have it.
//
// Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/random.h"
#include "base/turns.h"
#include "runtime/invoke/definitions.h"
#include "runtime/invoke/event_source_mapping.h"
#include "runtime/invoke/function_registry.h"

namespace freshet {

class EventSourceMappings {
 public:
  // `parts.shards` must be null; this class sets it. `engine`: the streams of the remote engine that has the tables;
  // null: there is none, or they may not be read. All must outlive it, and it must outlive every Async that it
  // returned.
  EventSourceMappings(MappingParts parts, const FunctionRegistry& functions, Random& random, EngineStreams* engine);
  EventSourceMappings(const EventSourceMappings&) = delete;
  EventSourceMappings& operator=(const EventSourceMappings&) = delete;

  // The mappings are those of a fleet. Call it before load(). Has no effect without `engine`.
  void share();
  bool is_shared() const { return shards_ && shards_->is_shared(); }
  // In a fleet: this daemon runs the mapping from now on, as soon as it has one with that id; or it begins no further
  // batch of it. A batch under way is finished.
  void serve(const std::string& id, bool is_mine);
  // False once a mapping that is no longer served has no batch under way and its position is stored. True while it is
  // served.
  bool is_busy(const std::string& id) const;

  // Loads what is stored. Call it once, first, and then start().
  Async<Result<void>> load();
  void start();
  // kValidation for a bad definition, kNotFound for a function or a stream that does not exist, kLimitExceeded for too
  // many readers of a table.
  Async<Result<std::string>> put(MappingDefinition mapping);
  Async<Result<void>> remove(std::string id);  // kNotFound.
  std::vector<MappingState> list() const;

  void pause();  // Delivers nothing more after the current batches. Permanent.
  bool busy() const;
  Async<Result<void>> save();  // Writes the positions that have changed.
  void end_all();              // Ends them where they wait.

 private:
  struct FirstPlace {
    std::optional<MappingPosition> position;
    ShardedStreamPtr stream = {};  // An engine's; its start is not stored.
  };

  EventSourceMapping& add(MappingDefinition definition, std::optional<MappingPosition> position);
  Result<void> can_be_read(const MappingDefinition& mapping) const;
  Result<void> fits_engine(const MappingDefinition& mapping, const FunctionDefinition& function) const;
  Async<Result<FirstPlace>> first_place(MappingDefinition mapping);
  Async<Result<FirstPlace>> first_place_in_shards(MappingDefinition mapping);
  Async<Result<std::string>> put_now(MappingDefinition mapping);
  Async<Result<void>> store(MappingDefinition mapping, FirstPlace first);
  Async<Result<void>> remove_now(std::string id);
  Async<Result<void>> save_now();

  MappingParts parts_;
  const FunctionRegistry& functions_;
  Random& random_;
  EngineStreams* const engine_;
  std::optional<ShardedStreams> shards_;  // Set if the tables are in a remote engine whose streams may be read.
  std::set<std::string> served_;          // In a fleet: the ids of those that this daemon runs.
  std::map<std::string, std::unique_ptr<EventSourceMapping>> mappings_;
  Turns changes_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
