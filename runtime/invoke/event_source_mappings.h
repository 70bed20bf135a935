// All event source mappings of a daemon: their definitions and positions in the store, and the mappings that run.
//
// In a fleet, the daemons have the same definitions, each in its own store, and one of them at a time runs a mapping:
// the one that the fleet names. The positions are in a table of the shared store (tables/lease/positions_table.h),
// where the next daemon finds them. Those of a template's mapping stay there when it is removed, because other daemons
// may still have it.
//
// Loop thread only.
#pragma once

#include <functional>
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
#include "streams/definition_writer.h"

namespace freshet {

class EventSourceMappings {
 public:
  // `parts.shards` must be null; this class sets it. `engine`: the streams of the remote engine that has the tables;
  // null: there is none, or they may not be read. All must outlive it, and it must outlive every Async that it
  // returned.
  EventSourceMappings(MappingParts parts, const FunctionRegistry& functions, Random& random, EngineStreams* engine);
  EventSourceMappings(const EventSourceMappings&) = delete;
  EventSourceMappings& operator=(const EventSourceMappings&) = delete;

  // Called in the turn of a change, when all earlier changes are in effect. An error refuses the change.
  using Check = std::function<Result<void>()>;
  using Change = std::function<Result<void>(MappingDefinition&)>;

  // The mappings are those of a fleet. `changed` is called after each change of their definitions; null: not called.
  // Call it before load(). Has no effect without `engine`.
  void share(std::function<void()> changed);
  bool is_shared() const { return shards_ && shards_->is_shared(); }
  // In a fleet: writes changes there. accept() takes a mapping that another daemon has made or changed, forget() one
  // that another daemon has removed. Both take effect in the order of all changes.
  void share_definitions(DefinitionWriter& definitions) { definitions_ = &definitions; }
  void accept(MappingDefinition mapping);
  void forget(std::string id);
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
  // For clients: a new mapping, unless `check` refuses it. In a fleet, it begins now, whichever daemon runs it later.
  Async<Result<std::string>> create(MappingDefinition mapping, Check check);
  // Changes the mapping as it is in the turn of this change. Errors as put(), and those of `change`; kResourceNotFound
  // if there is no such mapping.
  Async<Result<std::string>> change(std::string id, Change change);
  enum class Positions {
    kStay,  // In a fleet: other daemons may still have the mapping.
    kGo,    // They are removed, in a fleet once all daemons have ended it.
  };
  Async<Result<void>> remove(std::string id, Positions positions);  // kNotFound.
  // In a fleet: creates the table of positions, unless it exists. Call it before create().
  Async<Result<void>> provide_positions();
  // In a fleet: removes the stored positions of a client's mapping that could not be made, or was removed. It waits
  // until all daemons have ended the mapping, and leaves the positions if the mapping exists then.
  void remove_positions_later(MappingDefinition mapping);
  // In a fleet: stores the positions of a mapping that this daemon had alone where other daemons find them.
  Async<Result<void>> bring_positions(MappingDefinition mapping);
  bool has(const std::string& id) const { return mappings_.contains(id); }
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
  Async<Result<std::string>> put_now(MappingDefinition mapping, bool begins = false);
  Async<Result<std::string>> create_now(MappingDefinition mapping, Check check);
  Async<Result<void>> begin_for_all(MappingDefinition mapping);
  Async<Result<std::string>> change_now(std::string id, Change change);
  void accept_now(MappingDefinition mapping);
  void drop(const std::string& id);
  Async<bool> forget_now(std::string id);
  std::vector<WriteInput> own_positions(const std::string& id) const;
  Async<Result<void>> write(std::string id, std::vector<WriteInput> writes);
  void report_change() const;
  Async<void> remove_positions(MappingDefinition mapping);
  Async<Result<void>> store(MappingDefinition mapping, FirstPlace first);
  Async<Result<void>> remove_now(std::string id, Positions positions);
  Async<Result<void>> save_now();

  MappingParts parts_;
  const FunctionRegistry& functions_;
  Random& random_;
  EngineStreams* const engine_;
  DefinitionWriter* definitions_ = nullptr;  // Null without a fleet.
  std::function<void()> changed_;
  std::optional<ShardedStreams> shards_;  // Set if the tables are in a remote engine whose streams may be read.
  std::set<std::string> served_;          // In a fleet: the ids of those that this daemon runs.
  std::map<std::string, std::unique_ptr<EventSourceMapping>> mappings_;
  Turns changes_;  // Destroyed before the members above, as is the next one.
  Scope removals_;
};

}  // namespace freshet
