#include "streams/shards/sharded_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "streams/system_table.h"

namespace freshet {

namespace {

// The ARN of another stream of the same table: its end is the stream's label.
std::string with_label(const EngineStream& latest, const std::string& label) {
  if (!latest.arn.ends_with(latest.label)) return {};
  return latest.arn.substr(0, latest.arn.size() - latest.label.size()) + label;
}

}  // namespace

Async<Result<void>> ShardedStreams::load() {
  auto stored = co_await load_checkpoints(parts_.tables);
  if (!stored) co_return fail(std::move(stored.error()));
  stored_ = std::move(*stored);
  co_return Result<void>();
}

// What the reader has stored; null: nothing.
const ShardCheckpoints* ShardedStreams::known(const std::string& id) const {
  if (const auto opened = open_.find(id); opened != open_.end()) return &opened->second->checkpoints();
  const auto stored = stored_.find(id);
  return stored == stored_.end() ? nullptr : &stored->second;
}

bool ShardedStreams::is_opened_anew(const std::string& id) const {
  const auto found = anew_.find(id);
  return found != anew_.end() && !found->second.expired();
}

ShardCheckpoints ShardedStreams::new_start(const std::string& id, const std::string& label, bool latest) const {
  const WallTime now = parts_.scheduler.clock().wall();
  const ShardCheckpoints* before = known(id);
  const int64_t start = std::max(epoch_ms(now), before ? before->start() + 1 : 0);
  return {id, label, start, latest ? std::optional(now) : std::nullopt};
}

Async<Result<ShardedStreamPtr>> ShardedStreams::open_new(ShardReader reader, bool latest) {
  std::string table = reader.table;
  auto stream = co_await parts_.engine.stream_of(std::move(table));
  if (!stream) co_return fail(std::move(stream.error()));
  if (!stream->open) {
    co_return fail(ErrorCode::kResourceNotFound,
                   fmt::format("Requested resource not found: Table: {} has no stream", reader.table));
  }
  const std::string id = reader.id;
  ShardCheckpoints marks = new_start(id, stream->label, latest);
  auto opened = std::make_shared<ShardedStream>(parts_, std::move(reader), std::move(*stream), std::move(marks), 1);
  auto done = co_await opened->open(latest);
  if (!done) co_return fail(std::move(done.error()));
  anew_[id] = opened;
  co_return opened;
}

std::vector<WriteInput> ShardedStreams::start_writes(ShardedStream& opened) const {
  const std::string& id = opened.checkpoints().reader();
  const auto current = open_.find(id);
  if (current != open_.end() && current->second.get() == &opened) return {};
  std::vector<WriteInput> writes = opened.checkpoints().start_writes();
  const ShardCheckpoints* before = known(id);
  const std::vector<WriteInput> gone = before ? before->removals() : std::vector<WriteInput>();
  // The item of the start is replaced.
  std::copy(gone.begin() + (gone.empty() ? 0 : 1), gone.end(), std::back_inserter(writes));
  return writes;
}

void ShardedStreams::started(const ShardedStreamPtr& opened) {
  const std::string& id = opened->checkpoints().reader();
  open_[id] = opened;
  stored_.erase(id);
  anew_.erase(id);
}

// Goes on where the reader stopped in this stream, or else begins at the oldest change that is kept. Such a start is
// not the reader's before it is stored.
Async<Result<ShardedStreamPtr>> ShardedStreams::go_on(ShardReader reader, EngineStream stream, uint64_t first) {
  const std::string id = reader.id;
  const auto stored = stored_.find(id);
  const bool has_begun = stored != stored_.end() && stored->second.label() == stream.label;
  ShardCheckpoints marks = has_begun ? stored->second : new_start(id, stream.label, false);
  auto opened = std::make_shared<ShardedStream>(parts_, std::move(reader), std::move(stream), std::move(marks), first);
  auto done = co_await opened->open(false);
  if (!done) co_return fail(std::move(done.error()));
  if (is_opened_anew(id) || open_.contains(id)) {
    co_return fail(ErrorCode::kResourceInUse, "the event source mapping is being changed");
  }
  if (has_begun) started(opened);
  co_return opened;
}

Async<Result<ShardedStreamPtr>> ShardedStreams::attach(ShardReader reader, Place place) {
  const auto open = open_.find(reader.id);
  if (open != open_.end() && !place.ended && open->second->table() == reader.table) co_return open->second;
  close(reader.id);
  if (const auto stored = stored_.find(reader.id); stored != stored_.end() && stored->second.label() != place.label) {
    place.label = stored->second.label();
    place.ended = false;
  }
  std::string table = reader.table;
  auto stream = co_await parts_.engine.stream_of(std::move(table));
  if (!stream) co_return fail(std::move(stream.error()));
  if (place.ended && stream->label == place.label) {
    co_return fail(ErrorCode::kResourceNotFound, fmt::format("Table {} has no stream", reader.table));
  }
  const bool is_latest = place.ended || place.label == stream->label;
  if (is_latest) co_return co_await go_on(std::move(reader), std::move(*stream), place.next);
  EngineStream own{with_label(*stream, place.label), place.label, stream->view, false};
  ShardReader same = reader;
  auto opened = co_await go_on(std::move(same), std::move(own), place.next);
  if (opened || opened.error().code != ErrorCode::kResourceNotFound) co_return opened;
  parts_.log.warn("STREAM_RECORDS_LOST", {{"table", reader.table},
                                          {"mapping", reader.id},
                                          {"stream", place.label},
                                          {"reason", "the stream is gone, with records that were not read"}});
  co_return co_await go_on(std::move(reader), std::move(*stream), place.next);
}

void ShardedStreams::close(const std::string& id) {
  const auto opened = open_.find(id);
  if (opened == open_.end()) return;
  stored_[id] = opened->second->checkpoints();
  open_.erase(opened);
}

std::vector<WriteInput> ShardedStreams::removals(const std::string& id) const {
  const ShardCheckpoints* stored = known(id);
  return stored ? stored->removals() : std::vector<WriteInput>();
}

void ShardedStreams::forget(const std::string& id) {
  open_.erase(id);
  stored_.erase(id);
  anew_.erase(id);
}

}  // namespace freshet
