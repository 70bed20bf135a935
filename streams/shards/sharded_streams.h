// The readers of a remote engine's streams, by id: opens them, remembers what they have stored, and removes it. At most
// kReaders of them read one table, because an engine allows no more readers of a shard.
//
// Loop thread. The parts must outlive it, and it must outlive every Async that it returned.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/async.h"
#include "streams/shards/sharded_stream.h"

namespace freshet {

using ShardedStreamPtr = std::shared_ptr<ShardedStream>;

class ShardedStreams {
 public:
  static constexpr size_t kReaders = 2;

  explicit ShardedStreams(ShardedParts parts) : parts_(std::move(parts)) {}
  ShardedStreams(const ShardedStreams&) = delete;
  ShardedStreams& operator=(const ShardedStreams&) = delete;

  // Loads what the daemon itself has stored. Call it once, first. In a fleet, attach() loads what is stored in the
  // shared table; a reader that is not there yet goes on where this daemon stopped before it was in a fleet.
  Async<Result<void>> load();
  bool is_shared() const { return parts_.is_shared(); }

  // Opens a stream for a new reader, or for one that changes its table; `latest`: it begins with what is changed from
  // now on. The result has begun to read. Store its start_writes() together with the reader, and then call started();
  // until then whatever the reader had is as it was, and stays so if the result is dropped.
  Async<Result<ShardedStreamPtr>> open_new(ShardReader reader, bool latest);
  // The writes that store the start of a stream just opened, and then those that remove what its reader had stored
  // before. None if the start is stored.
  // In a fleet they fail if another daemon has stored a start since; then call attach() again.
  std::vector<WriteInput> start_writes(ShardedStream& opened) const;
  // The start is stored: the stream is its reader's from now on.
  void started(const ShardedStreamPtr& opened);

  // Where a reader goes on.
  struct Place {
    std::string label;    // The stream's; empty: the reader has read none.
    bool ended = false;   // That stream is over, and all of it is processed: go on with the table's next stream.
    uint64_t next = 1;    // The reader has not used this number or a higher one.
    bool latest = false;  // If the reader has no start yet, it begins with what is changed from now on.
  };
  // Returns the reader's open stream, or opens it. Where the stored start is in another stream than `place`, the reader
  // goes on in that one. In a fleet, a reader that is not open goes on where another daemon stopped, or begins. If
  // there are start_writes() of the result, store them with the new place, and then call started(). A stream that is
  // gone is followed by the table's latest one; the event STREAM_RECORDS_LOST reports that. kResourceNotFound if the
  // table has no stream to read, kResourceInUse while the reader is opened anew.
  Async<Result<ShardedStreamPtr>> attach(ShardReader reader, Place place);
  // In a fleet, for a new reader that nobody attaches yet: stores where it starts, so that the daemon that attaches it
  // first goes on from there, however much later that is. Does nothing if there is a start.
  Async<Result<void>> begin_for_all(ShardReader reader, bool latest);
  // In a fleet, for a reader that only this daemon has had: the daemon that attaches it first goes on where this one
  // stopped before it was in the fleet. Does nothing if there is a start, or nothing of it here.
  Async<Result<void>> bring_for_all(ShardReader reader);
  bool has_own(const ShardReader& reader) const { return own(reader) != nullptr; }
  // In a fleet: removes what any daemon has stored of the reader, which must not run any more.
  Async<Result<void>> remove_for_all(ShardReader reader);
  // In a fleet: the writes that remove what this daemon has of the reader from the time before.
  std::vector<WriteInput> own_removals(const std::string& id) const;
  // Stops the reader until the next attach(). The holder of its stream may go on with it.
  void close(const std::string& id);
  // The reader is gone: the writes that remove what it has stored. Call forget() once they are made.
  std::vector<WriteInput> removals(const std::string& id) const;
  void forget(const std::string& id);
  void clear() { open_.clear(); }

 private:
  Async<Result<ShardedStreamPtr>> go_on(ShardReader reader, EngineStream stream, uint64_t first);
  Async<Result<EngineStream>> find_stream(ShardReader reader, Place place);
  Async<Result<std::vector<std::string>>> closed_shards(std::string arn);
  struct Start {
    EngineStream stream;
    ShardCheckpoints marks;
  };
  Async<Result<Start>> find_start(ShardReader reader, bool latest);
  ShardCheckpoints new_start(const ShardReader& reader, const EngineStream& stream, bool latest) const;
  std::string stored_name(const ShardReader& reader) const;
  Async<Result<void>> load_shared(ShardReader reader);
  Async<Result<void>> bring_along(ShardReader reader);
  const ShardCheckpoints* own(const ShardReader& reader) const;
  Async<Result<void>> store_own(ShardReader reader, const ShardCheckpoints& mine);
  Async<Result<bool>> has_start(ShardReader reader) const;
  const ShardCheckpoints* known(const std::string& id) const;
  bool is_opened_anew(const std::string& id) const;

  const ShardedParts parts_;
  std::map<std::string, ShardCheckpoints> own_;               // In a fleet: by reader, what only this daemon has.
  std::map<std::string, ShardCheckpoints> stored_;            // By reader, of those that are not open.
  std::map<std::string, ShardedStreamPtr> open_;              // By reader; their starts are stored.
  std::map<std::string, std::weak_ptr<ShardedStream>> anew_;  // By reader: what open_new() returned, until started().
};

}  // namespace freshet
