#include "runtime/invoke/event_source_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/points.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

constexpr milliseconds kAttachRetry{1000};
constexpr milliseconds kLongestAttachRetry{30'000};
constexpr size_t kMaxFilters = 10;  // The service's highest quota.
constexpr size_t kMaxFilterBytes = 4096;

Result<void> check_filters(const std::vector<std::string>& filters) {
  if (filters.size() > kMaxFilters) return invalid(fmt::format("there may be {} filters", kMaxFilters));
  for (const std::string& filter : filters) {
    if (filter.size() > kMaxFilterBytes) {
      return invalid(fmt::format("filter: a pattern has at most {} bytes", kMaxFilterBytes));
    }
    if (auto pattern = Pattern::parse(filter); !pattern) return invalid("filter: " + pattern.error().message);
  }
  return {};
}

}  // namespace

Result<void> EventSourceMapping::check(const MappingDefinition& d) {
  const auto bad = [&](std::string_view what) {
    return invalid(fmt::format("Event source mapping {} to {}: {}", d.table, d.function, what));
  };
  if (d.batch_size < 1 || d.batch_size > 10'000) return bad("the batch size must be 1 to 10000");
  if (d.batching_window < milliseconds(0) || d.batching_window > seconds(300)) {
    return bad("the batching window must be 0 to 300 s");
  }
  if (d.max_record_age && *d.max_record_age < seconds(1)) return bad("the maximum record age must be at least 1 s");
  if (d.max_retries && (*d.max_retries < 0 || *d.max_retries > 10'000)) {
    return bad("the number of retries must be 0 to 10000");
  }
  if (d.parallelization_factor < 1 || d.parallelization_factor > kMaxLanes) {
    return bad(fmt::format("the parallelization factor must be 1 to {}", kMaxLanes));
  }
  if (d.tumbling_window < seconds(0) || d.tumbling_window > seconds(900)) {
    return bad("the tumbling window must be 0 to 900 s");
  }
  if (d.tumbling_window > seconds(0) && d.parallelization_factor > 1) {
    return bad("a tumbling window needs a parallelization factor of 1");
  }
  if (auto good = check_filters(d.filters); !good) return bad(good.error().message);
  return {};
}

Result<void> EventSourceMapping::check_on_engine(const MappingDefinition& definition,
                                                 const FunctionDefinition& function, size_t others) {
  const std::string who = "the event source mapping of table '" + definition.table + "': ";
  if (definition.tumbling_window > seconds(0)) return invalid(who + "tumbling windows are not served on an engine");
  if (function.host == "native" && function.handler == "trigger") {
    return invalid(who + "the built-in function trigger does not read the streams of an engine");
  }
  if (others < ShardedStreams::kReaders) return {};
  return fail(ErrorCode::kLimitExceeded, who + "two others read it, and an engine's shard has at most two readers");
}

EventSourceMapping::EventSourceMapping(MappingParts parts, MappingDefinition definition,
                                       std::optional<MappingPosition> position)
    : parts_(std::move(parts)) {
  shared_.definition = std::move(definition);
  has_position_ = position.has_value();
  if (!position) return;
  shared_.position = std::move(*position);
  shared_.stale_parts = state_parts(shared_.position.lanes.front());
}

void EventSourceMapping::start() {
  if (running_ || paused_ || held_) return;
  running_ = true;
  work_.spawn(run());
}

void EventSourceMapping::change(MappingDefinition definition, std::optional<MappingPosition> position) {
  next_ = std::move(definition);
  if (position) next_position_ = std::move(position);
  interrupt();
  if (held_ && !running_) apply_change();
  start();
}

// Ends the work under way as soon as possible.
void EventSourceMapping::interrupt() {
  if (resting_) {
    resting_ = running_ = false;
    work_.clear();
  }
  stop_lanes();
}

void EventSourceMapping::hold() {
  if (FRESHET_PLANTED("fleet-mapping-goes-on")) return;
  held_ = is_stale_ = true;
  interrupt();
}

void EventSourceMapping::resume() {
  held_ = false;
  start();
}

void EventSourceMapping::pause() {
  paused_ = true;
  stop_lanes();
}

void EventSourceMapping::stop_lanes() {
  for (const auto& lane : lanes_) lane->stop();
}

bool EventSourceMapping::busy() const {
  return any_lane(&MappingLane::busy);
}

bool EventSourceMapping::any_lane(bool (MappingLane::*what)() const) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [what](const auto& lane) { return (*lane.*what)(); });
}

std::string EventSourceMapping::last_error() const {
  if (!attach_error_.empty()) return attach_error_;
  if (shared_.shards && !shared_.shards->trouble().empty()) return shared_.shards->trouble();
  for (const auto& lane : lanes_) {
    if (!lane->last_error().empty()) return lane->last_error();
  }
  return {};
}

std::string_view EventSourceMapping::state() const {
  const bool wanted = definition().enabled;
  if (!next_) return wanted ? "Enabled" : "Disabled";
  if (wanted == shared_.definition.enabled) return wanted ? "Updating" : "Disabled";
  return wanted ? "Enabling" : "Disabling";
}

std::string_view EventSourceMapping::last_result() const {
  if (any_lane(&MappingLane::failing)) return "PROBLEM: Function call failed";
  return delivered_any_ || any_lane(&MappingLane::delivered_any) ? "OK" : "No records processed";
}

void EventSourceMapping::apply_change() {
  const bool is_elsewhere = next_ && next_->table != shared_.definition.table;
  if (is_elsewhere && parts_.is_shared()) {  // attach() finds the position in the other table.
    shared_.position = {};
    has_position_ = false;
  }
  if (next_) shared_.definition = std::move(*next_);
  next_.reset();
  if (!next_position_) return;
  shared_.position = std::move(*next_position_);
  next_position_.reset();
  has_position_ = true;
}

Async<void> EventSourceMapping::run() {
  for (int tries = 0;;) {
    apply_change();
    if (!paused_ && std::exchange(is_stale_, false)) close_shards();
    if (paused_ || held_ || !shared_.definition.enabled) break;
    auto attaching = parts_.shards ? attach_to_shards() : attach();
    const bool attached = co_await attaching;
    if (is_interrupted()) continue;
    if (!attached) {
      resting_ = true;
      co_await sleep_for(parts_.scheduler, std::min<nanoseconds>(kAttachRetry * ++tries, kLongestAttachRetry));
      resting_ = false;
      continue;
    }
    tries = 0;
    co_await work();
  }
  if (!paused_) close_shards();
  running_ = false;
}

void EventSourceMapping::close_shards() {
  if (!parts_.shards) return;
  shared_.shards.reset();
  parts_.shards->close(shared_.definition.id);
}

// Reads the stream until every lane has ended.
Async<void> EventSourceMapping::work() {
  // Keeps the result of the previous lanes until the new ones have one.
  delivered_any_ = any_lane(&MappingLane::delivered_any) || delivered_any_;
  lanes_.clear();
  const size_t count = shared_.position.lanes.size();
  Promise<bool> over(parts_.scheduler);
  lanes_over_ = over;
  lanes_running_ = count;
  stream_over_ = shared_.stream_end || shared_.shards;
  for (size_t i = 0; i < count; ++i) {
    lanes_.push_back(std::make_unique<MappingLane>(parts_, shared_, i, [this](End how) { lane_ended(how); }));
  }
  for (const auto& lane : lanes_) lane->start();
  co_await over.future();
  if (stream_over_) shared_.position.ended = true;
  co_await save();
}

void EventSourceMapping::lane_ended(End how) {
  stream_over_ = stream_over_ && how == End::kStreamOver;
  if (--lanes_running_ == 0) {
    lanes_over_->set(true);
  } else if (how == End::kLookAgain) {
    stop_lanes();  // The other lanes would have the same result; all look for the stream together.
  }
}

Async<void> EventSourceMapping::save() {
  // Lanes of before may be more than those of a position that was changed meanwhile.
  for (size_t i = 0; i < std::min(lanes_.size(), shared_.position.lanes.size()); ++i) co_await lanes_[i]->save();
}

// The ARN of the stream to read now: that of the position, or the one after it. Empty if there is none.
Async<std::optional<std::string>> EventSourceMapping::next_stream() {
  ListStreamsInput of_table;
  of_table.table = shared_.definition.table;
  auto list = co_await parts_.streams.list(std::move(of_table));
  if (!list) {
    attach_error_ = list.error().message;
    co_return std::nullopt;
  }
  const std::string& label = shared_.position.label;
  std::vector<StreamList::Stream>& streams = list->streams;
  if (!has_position_) {
    if (streams.empty()) co_return std::nullopt;
    co_return streams.back().arn;
  }
  // Labels are the times at which streams were switched on.
  const auto next = std::find_if(streams.begin(), streams.end(), [&](const StreamList::Stream& stream) {
    return shared_.position.ended ? stream.label > label : stream.label >= label;
  });
  if (next == streams.end()) {
    auto open = co_await open_stream();
    if (open) co_return open;
    attach_error_ = fmt::format("Table {} has no stream", shared_.definition.table);
    co_return std::nullopt;
  }
  if (next->label != label && !shared_.position.ended) log_lost_stream();
  co_return next->arn;
}

// The table's open stream, by ARN, if it differs from the stream of the place. Labels rise within a table, but a table
// that was deleted and created again may have a lower one if the wall clock was set back in between.
Async<std::optional<std::string>> EventSourceMapping::open_stream() {
  std::string table = shared_.definition.table;
  auto open = co_await parts_.streams.stream_of(std::move(table));
  if (!open || open->label == shared_.position.label) co_return std::nullopt;
  if (!shared_.position.ended) log_lost_stream();
  co_return open->source.arn;
}

void EventSourceMapping::log_lost_stream() const {
  parts_.log.warn("STREAM_RECORDS_LOST", {{"table", shared_.definition.table},
                                          {"mapping", shared_.definition.id},
                                          {"stream", shared_.position.label},
                                          {"reason", "the stream is gone, with records that were not read"}});
}

// Finds the stream and the positions at which to continue. Returns false if there is none now.
Async<bool> EventSourceMapping::attach() {
  auto arn = co_await next_stream();
  if (!arn) co_return false;
  auto stream = co_await parts_.streams.describe(std::move(*arn));
  if (!stream) {
    attach_error_ = stream.error().message;
    co_return false;
  }
  attach_error_.clear();
  const MappingPosition before = shared_.position;
  go_to(*stream);
  shared_.source = stream->source;
  shared_.stream_end = stream->closed ? std::optional(stream->bounds.next) : std::nullopt;
  has_position_ = true;
  MappingPosition old = before;
  co_await keep_position(std::move(old));
  co_return true;
}

Async<void> EventSourceMapping::keep_position(MappingPosition before) {
  if (before == shared_.position || parts_.is_shared()) co_return;
  std::vector<WriteInput> writes = position_writes(shared_.definition.id, shared_.position, shared_.stale_parts);
  // Positions that are not written now are written by the lanes, or found again.
  co_await write_together(parts_.tables, std::move(writes));
  shared_.stale_parts = state_parts(shared_.position.lanes.front());
}

// The same for a remote engine, whose streams have shards. Numbers of records mean nothing beyond an open stream: where
// each shard was read to is stored beside them, and lanes begin together.
Async<bool> EventSourceMapping::attach_to_shards() {
  const MappingDefinition& definition = shared_.definition;
  const MappingPosition before = shared_.position;
  uint64_t highest = 1;
  for (const LanePosition& lane : before.lanes) highest = std::max(highest, lane.next);
  ShardReader reader{definition.id, definition.table};
  const bool latest = definition.starting_position == StartingPosition::kLatest;
  ShardedStreams::Place place{before.label, before.ended, highest, latest};
  auto stream = co_await parts_.shards->attach(std::move(reader), std::move(place));
  if (!stream) {
    attach_error_ = stream.error().message;
    co_return false;
  }
  if (is_interrupted()) co_return false;
  const EngineStream& facts = (*stream)->stream();
  const size_t count = definition.parallelization_factor;
  const bool is_same = shared_.shards == *stream;
  MappingPosition here = is_same ? before.with_lanes(count) : position_at(facts.label, (*stream)->oldest(), count);
  std::vector<WriteInput> start = parts_.shards->start_writes(**stream);
  const bool starts = !start.empty();
  if (starts) {
    MappingPosition begins = here;
    auto stored = co_await store_start(std::move(begins), std::move(start));
    if (is_interrupted() || !stored) co_return false;
    parts_.shards->started(*stream);
  }
  attach_error_.clear();
  shared_.position = std::move(here);
  shared_.shards = std::move(*stream);
  shared_.source = {parts_.account, shared_.shards->stream().arn, shared_.shards->stream().view};
  has_position_ = true;
  if (starts) co_return true;
  MappingPosition old = before;
  co_await keep_position(std::move(old));
  co_return true;
}

// Stores the start in a stream and the position there together; in a fleet, only the start. Returns false if that
// failed.
Async<bool> EventSourceMapping::store_start(MappingPosition position, std::vector<WriteInput> start) {
  std::vector<WriteInput> writes;
  if (!parts_.is_shared()) writes = position_writes(shared_.definition.id, position, shared_.stale_parts);
  std::move(start.begin(), start.end(), std::back_inserter(writes));
  auto written = co_await write_together(parts_.tables, std::move(writes));
  if (!written) attach_error_ = written.error().message;
  co_return written.has_value();
}

void EventSourceMapping::go_to(const StreamDescription& stream) {
  const MappingDefinition& definition = shared_.definition;
  const size_t count = definition.parallelization_factor;
  const StreamBounds& bounds = stream.bounds;
  if (!has_position_) {
    const bool latest = definition.starting_position == StartingPosition::kLatest;
    shared_.position = position_at(stream.label, latest ? bounds.next : bounds.oldest, count);
  } else if (shared_.position.label != stream.label) {
    shared_.position = position_at(stream.label, bounds.oldest, count);
  }
  uint64_t lost = 0;
  for (LanePosition& lane : shared_.position.lanes) {
    if (lane.next < bounds.oldest) lost = std::max(lost, bounds.oldest - lane.next);
    lane.next = std::max(lane.next, bounds.oldest);
    if (definition.tumbling_window == seconds(0)) lane.window.reset();
  }
  if (lost > 0) {
    parts_.log.warn("STREAM_RECORDS_LOST",
                    {{"table", definition.table}, {"mapping", definition.id}, {"records", lost}});
  }
  shared_.position = shared_.position.with_lanes(count);
}

}  // namespace freshet
