#include "streams/shards/sharded_streams.h"

#include <fmt/format.h>

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

ShardCheckpoints ShardedStreams::new_start(const std::string& id, const std::string& label, bool latest) const {
  const WallTime now = parts_.scheduler.clock().wall();
  return {id, label, epoch_ms(now), latest ? std::optional(now) : std::nullopt};
}

Async<Result<ShardedStreamPtr>> ShardedStreams::begin(ShardReader reader, EngineStream stream, ShardCheckpoints marks,
                                                      uint64_t first, bool latest) {
  const std::string id = reader.id;
  auto opened = std::make_shared<ShardedStream>(parts_, std::move(reader), std::move(stream), std::move(marks), first);
  auto done = co_await opened->open(latest);
  if (!done) co_return fail(std::move(done.error()));
  open_[id] = opened;
  stored_.erase(id);
  co_return opened;
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
  close(id);
  if (const auto stored = stored_.find(id); stored != stored_.end()) before_[id] = stored->second;
  ShardCheckpoints marks = new_start(id, stream->label, latest);
  auto opened = co_await begin(std::move(reader), std::move(*stream), std::move(marks), 1, latest);
  co_return opened;
}

std::vector<WriteInput> ShardedStreams::start_writes(const std::string& id) const {
  std::vector<WriteInput> writes;
  const auto opened = open_.find(id);
  if (opened == open_.end()) return writes;
  if (const auto before = before_.find(id); before != before_.end()) {
    const std::vector<WriteInput> gone = before->second.removals();
    // The item of the start is replaced.
    std::copy(gone.begin() + (gone.empty() ? 0 : 1), gone.end(), std::back_inserter(writes));
  }
  for (WriteInput& write : opened->second->checkpoints().start_writes()) writes.push_back(std::move(write));
  return writes;
}

// Goes on where the reader stopped in this stream, or else begins at the oldest change that is kept.
Async<Result<ShardedStreamPtr>> ShardedStreams::go_on(ShardReader reader, EngineStream stream, uint64_t first) {
  const std::string id = reader.id;
  const auto stored = stored_.find(id);
  if (stored != stored_.end() && stored->second.label() == stream.label) {
    ShardCheckpoints marks = stored->second;
    co_return co_await begin(std::move(reader), std::move(stream), std::move(marks), first, false);
  }
  if (stored != stored_.end()) before_[id] = stored->second;
  ShardCheckpoints marks = new_start(id, stream.label, false);
  auto opened = co_await begin(std::move(reader), std::move(stream), std::move(marks), first, false);
  if (!opened) co_return opened;
  std::vector<WriteInput> writes = start_writes(id);
  before_.erase(id);
  auto written = co_await write_together(parts_.tables, std::move(writes));
  if (written) co_return opened;
  close(id);
  co_return fail(std::move(written.error()));
}

Async<Result<ShardedStreamPtr>> ShardedStreams::attach(ShardReader reader, Place place) {
  before_.erase(reader.id);
  const auto known = open_.find(reader.id);
  if (known != open_.end() && !place.ended && known->second->table() == reader.table) co_return known->second;
  close(reader.id);
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
  if (const auto opened = open_.find(id); opened != open_.end()) return opened->second->checkpoints().removals();
  const auto stored = stored_.find(id);
  return stored == stored_.end() ? std::vector<WriteInput>() : stored->second.removals();
}

void ShardedStreams::forget(const std::string& id) {
  open_.erase(id);
  stored_.erase(id);
  before_.erase(id);
}

}  // namespace freshet
