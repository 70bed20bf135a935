#include "streams/shards/sharded_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/points.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

constexpr ptrdiff_t kMostPassed = 4000;
// The time of a record may be rounded down to the minute (DynamoDB Local does that), and the machines of an engine have
// clocks of their own.
constexpr seconds kRecordMargin{65};

// The ARN of another stream of the same table: its end is the stream's label.
std::string with_label(const EngineStream& latest, const std::string& label) {
  if (!latest.arn.ends_with(latest.label)) return {};
  return latest.arn.substr(0, latest.arn.size() - latest.label.size()) + label;
}

// The writes that remove marks of readers that are gone, and of earlier starts: they were stored while the reader was
// removed or began elsewhere.
std::vector<WriteInput> left_over(const std::vector<ItemRef>& marks,
                                  const std::map<std::string, ShardCheckpoints>& starts) {
  std::vector<WriteInput> writes;
  for (const ItemRef& ref : marks) {
    const Item mark = ref.decode();
    const auto reader = starts.find(std::string(mark.string_or("reader")));
    if (reader != starts.end() && mark.int_or("start", 0) == reader->second.start().number) continue;
    writes.emplace_back(delete_system_item("shard-mark", mark.string_or("id")));
  }
  return writes;
}

}  // namespace

Async<Result<void>> ShardedStreams::load() {
  auto stored = co_await load_checkpoints(parts_.tables);
  if (!stored) co_return fail(std::move(stored.error()));
  (is_shared() ? own_ : stored_) = std::move(*stored);
  if (is_shared()) co_return Result<void>();
  std::string kind("shard-mark");
  auto marks = co_await load_system_items(parts_.tables, std::move(kind));
  if (!marks) co_return fail(std::move(marks.error()));
  std::vector<WriteInput> writes = left_over(*marks, stored_);
  // If that fails, the next start of the daemon does it.
  if (!writes.empty()) co_await write_together(parts_.tables, std::move(writes));
  co_return Result<void>();
}

// In a fleet, some daemons may have a template already in which the reader has another table.
std::string ShardedStreams::stored_name(const ShardReader& reader) const {
  return is_shared() ? reader.id + "/" + reader.table : reader.id;
}

// The reader's stored start and marks; null: none.
const ShardCheckpoints* ShardedStreams::known(const std::string& id) const {
  if (const auto opened = open_.find(id); opened != open_.end()) return &opened->second->checkpoints();
  const auto stored = stored_.find(id);
  return stored == stored_.end() ? nullptr : &stored->second;
}

bool ShardedStreams::is_opened_anew(const std::string& id) const {
  const auto found = anew_.find(id);
  return found != anew_.end() && !found->second.expired();
}

ShardCheckpoints ShardedStreams::new_start(const ShardReader& reader, const EngineStream& stream, bool latest) const {
  const WallTime now = parts_.scheduler.clock().wall();
  const ShardCheckpoints* before = known(reader.id);
  const int64_t number = std::max(epoch_ms(now), before ? before->start().number + 1 : 0);
  std::optional<WallTime> from;
  if (latest) from = parts_.engine.engine_time().value_or(now - kSignatureMargin) - kRecordMargin;
  return ShardCheckpoints({stored_name(reader), reader.table, stream.label, stream.arn, number, from});
}

// Shards that get no more changes: a reader that begins with the latest changes does not want them, after a restart
// either. Beyond kMostPassed only the last ones, because one item stores them.
Async<Result<std::vector<std::string>>> ShardedStreams::closed_shards(std::string arn) {
  std::vector<std::string> closed;
  std::string after;
  do {
    std::string of = arn;
    auto page = co_await parts_.engine.shards(std::move(of), std::move(after));
    if (!page) co_return fail(std::move(page.error()));
    for (ListedShard& shard : page->shards) {
      if (shard.closed) closed.push_back(std::move(shard.id));
    }
    after = std::move(page->last);
  } while (!after.empty());
  if (std::ssize(closed) > kMostPassed) closed.erase(closed.begin(), closed.end() - kMostPassed);
  co_return closed;
}

Async<Result<ShardedStreams::Start>> ShardedStreams::find_start(ShardReader reader, bool latest) {
  std::string table = reader.table;
  auto stream = co_await parts_.engine.stream_of(std::move(table));
  if (!stream) co_return fail(std::move(stream.error()));
  if (!stream->open) {
    co_return fail(ErrorCode::kResourceNotFound,
                   fmt::format("Requested resource not found: Table: {} has no stream", reader.table));
  }
  std::vector<std::string> closed;
  if (latest) {
    std::string arn = stream->arn;
    auto found = co_await closed_shards(std::move(arn));
    if (!found) co_return fail(std::move(found.error()));
    closed = std::move(*found);
  }
  // The last answer has said what time it is at the engine.
  Start start{std::move(*stream), {}};
  start.marks = new_start(reader, start.stream, latest);
  start.marks.pass(closed);
  co_return start;
}

Async<Result<ShardedStreamPtr>> ShardedStreams::open_new(ShardReader reader, bool latest) {
  const std::string id = reader.id;
  auto start = co_await find_start(reader, latest);
  if (!start) co_return fail(std::move(start.error()));
  auto opened =
      std::make_shared<ShardedStream>(parts_, std::move(reader), std::move(start->stream), std::move(start->marks), 1);
  auto done = co_await opened->open(latest);
  if (!done) co_return fail(std::move(done.error()));
  anew_[id] = opened;
  co_return opened;
}

std::vector<WriteInput> ShardedStreams::start_writes(ShardedStream& opened) const {
  const std::string& id = opened.id();
  const auto current = open_.find(id);
  if (current != open_.end() && current->second.get() == &opened) return {};
  std::vector<WriteInput> writes;
  const ShardCheckpoints* before = known(id);
  if (is_shared()) {  // Marks of the start before are removed by the next daemon that reads them.
    writes.emplace_back(opened.checkpoints().start_write_after(before));
    move_to_table(writes, parts_.shared_table);
    return writes;
  }
  writes.emplace_back(opened.checkpoints().start_write());
  const std::vector<WriteInput> gone = before ? before->removals() : std::vector<WriteInput>();
  // The item of the start is replaced.
  std::copy(gone.begin() + (gone.empty() ? 0 : 1), gone.end(), std::back_inserter(writes));
  return writes;
}

void ShardedStreams::started(const ShardedStreamPtr& opened) {
  const std::string& id = opened->id();
  open_[id] = opened;
  stored_.erase(id);
  anew_.erase(id);
}

// Goes on where the reader stopped in this stream, or else begins at the oldest change that is kept. Such a start is
// not the reader's before it is stored.
Async<Result<ShardedStreamPtr>> ShardedStreams::go_on(ShardReader reader, EngineStream stream, uint64_t first) {
  const std::string id = reader.id;
  const auto stored = stored_.find(id);
  const bool has_begun = stored != stored_.end() && stored->second.start().label == stream.label;
  ShardCheckpoints marks = has_begun ? stored->second : new_start(reader, stream, false);
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
  const bool is_kept = FRESHET_PLANTED("fleet-old-position-kept") && stored_.contains(reader.id);
  if (is_shared() && !is_kept) {
    auto loaded = co_await load_shared(reader);
    if (!loaded) co_return fail(std::move(loaded.error()));
    auto brought = co_await bring_along(reader);
    if (!brought) co_return fail(std::move(brought.error()));
  }
  // Nobody in the fleet has stored a start yet, or this daemon has left a fleet before it stored one.
  if (!stored_.contains(reader.id) && (is_shared() || place.label.empty())) {
    co_return co_await open_new(std::move(reader), place.latest);
  }
  if (const auto stored = stored_.find(reader.id);
      stored != stored_.end() && stored->second.start().label != place.label) {
    place.label = stored->second.start().label;
    place.ended = false;
  }
  const uint64_t first = place.next;
  ShardReader same = reader;
  auto own = co_await find_stream(std::move(same), std::move(place));
  if (!own) co_return fail(std::move(own.error()));
  const std::string label = own->label;
  same = reader;
  auto opened = co_await go_on(std::move(same), std::move(*own), first);
  if (opened || opened.error().code != ErrorCode::kResourceNotFound) co_return opened;
  std::string table = reader.table;
  auto latest = co_await parts_.engine.stream_of(std::move(table));
  if (!latest) co_return fail(std::move(latest.error()));
  if (latest->label == label) co_return opened;
  parts_.log.warn("STREAM_RECORDS_LOST", {{"table", reader.table},
                                          {"mapping", reader.id},
                                          {"stream", label},
                                          {"reason", "the stream is gone, with records that were not read"}});
  co_return co_await go_on(std::move(reader), std::move(*latest), first);
}

// Loads the position again, because other daemons may have moved it.
Async<Result<void>> ShardedStreams::load_shared(ShardReader reader) {
  std::string table = parts_.shared_table;
  auto stored = co_await load_reader(parts_.tables, std::move(table), stored_name(reader));
  if (!stored) co_return fail(std::move(stored.error()));
  stored_.erase(reader.id);
  if (stored->checkpoints) stored_[reader.id] = std::move(*stored->checkpoints);
  // If that fails, the next daemon does it.
  if (!stored->left_over.empty()) co_await write_together(parts_.tables, std::move(stored->left_over));
  co_return Result<void>();
}

// Its positions from the time before the fleet; null: this daemon has none, or of another table.
const ShardCheckpoints* ShardedStreams::own(const ShardReader& reader) const {
  const auto mine = own_.find(reader.id);
  if (mine == own_.end()) return nullptr;
  const std::string& table = mine->second.start().table;
  return table.empty() || table == reader.table ? &mine->second : nullptr;
}

Async<Result<void>> ShardedStreams::bring_along(ShardReader reader) {
  const ShardCheckpoints* mine = own(reader);
  if (mine == nullptr || stored_.contains(reader.id)) co_return Result<void>();
  auto stored = co_await store_own(reader, *mine);
  if (!stored) co_return stored;
  co_return co_await load_shared(std::move(reader));
}

// Stores in the shared table what this daemon has of a reader that is not there. Marks come first: no daemon uses them
// before their start is there. If another daemon stores a start meanwhile, these marks are left over.
Async<Result<void>> ShardedStreams::store_own(ShardReader reader, const ShardCheckpoints& mine) {
  const ShardCheckpoints begun = mine.begun_as(stored_name(reader), reader.table);
  for (auto& mark : begun.writes(mine.marks_with_items())) {
    std::vector<WriteInput> one;
    one.push_back(std::move(mark));
    move_to_table(one, parts_.shared_table);
    auto written = co_await write_together(parts_.tables, std::move(one));
    const bool is_there = !written && written.error().code == ErrorCode::kConditionalCheckFailed;
    if (!written && !is_there) co_return written;
  }
  std::vector<WriteInput> start;
  start.emplace_back(begun.start_write_after(nullptr));
  move_to_table(start, parts_.shared_table);
  co_return co_await write_together(parts_.tables, std::move(start));
}

Async<Result<bool>> ShardedStreams::has_start(ShardReader reader) const {
  std::string table = parts_.shared_table;
  auto stored = co_await load_reader(parts_.tables, std::move(table), stored_name(reader));
  if (!stored) co_return fail(std::move(stored.error()));
  co_return stored->checkpoints.has_value();
}

Async<Result<void>> ShardedStreams::begin_for_all(ShardReader reader, bool latest) {
  auto there = co_await has_start(reader);
  if (!there) co_return fail(std::move(there.error()));
  if (*there) co_return Result<void>();
  auto start = co_await find_start(std::move(reader), latest);
  if (!start) co_return fail(std::move(start.error()));
  std::vector<WriteInput> writes;
  writes.emplace_back(start->marks.start_write_after(nullptr));
  move_to_table(writes, parts_.shared_table);
  auto written = co_await write_together(parts_.tables, std::move(writes));
  const bool is_begun = !written && written.error().code == ErrorCode::kConditionalCheckFailed;
  co_return is_begun ? Result<void>() : written;
}

Async<Result<void>> ShardedStreams::bring_for_all(ShardReader reader) {
  const ShardCheckpoints* mine = own(reader);
  if (mine == nullptr) co_return Result<void>();
  auto there = co_await has_start(reader);
  if (!there) co_return fail(std::move(there.error()));
  if (*there) co_return Result<void>();
  auto stored = co_await store_own(std::move(reader), *mine);
  const bool is_begun = !stored && stored.error().code == ErrorCode::kConditionalCheckFailed;
  co_return is_begun ? Result<void>() : stored;
}

Async<Result<void>> ShardedStreams::remove_for_all(ShardReader reader) {
  std::string table = parts_.shared_table;
  auto gone = co_await all_removals(parts_.tables, std::move(table), stored_name(reader));
  if (!gone) co_return fail(std::move(gone.error()));
  co_return co_await write_together(parts_.tables, std::move(*gone));
}

std::vector<WriteInput> ShardedStreams::own_removals(const std::string& id) const {
  const auto mine = own_.find(id);
  return mine == own_.end() ? std::vector<WriteInput>() : mine->second.removals();
}

// The stream to read at this place. A stored ARN finds it even if the table is gone.
Async<Result<EngineStream>> ShardedStreams::find_stream(ShardReader reader, Place place) {
  const auto stored = stored_.find(reader.id);
  if (!place.ended && stored != stored_.end() && !stored->second.start().arn.empty()) {
    co_return EngineStream{stored->second.start().arn, place.label};
  }
  auto stream = co_await parts_.engine.stream_of(reader.table);
  if (!stream) co_return stream;
  if (place.ended && stream->label == place.label) {
    co_return fail(ErrorCode::kResourceNotFound, fmt::format("Table {} has no stream", reader.table));
  }
  if (place.ended || place.label == stream->label) co_return stream;
  co_return EngineStream{with_label(*stream, place.label), place.label, stream->view, false};
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
