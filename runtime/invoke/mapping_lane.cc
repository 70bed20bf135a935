#include "runtime/invoke/mapping_lane.h"

#include <algorithm>
#include <utility>

#include "base/let_others_in.h"
#include "streams/shards/named_records.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

constexpr milliseconds kSaveEvery{50};
constexpr milliseconds kSaveSharedEvery{200};
constexpr milliseconds kSaveSkipped{1000};
constexpr uint32_t kRecordsPerRead = 1000;
constexpr size_t kMaxBatchBytes = 5u << 20;  // The bytes of keys and images; below the bound of an invocation.
constexpr milliseconds kReadRetry{1000};
constexpr milliseconds kEarlyAnswer{20};
constexpr size_t kPieceWork = 100'000;  // Steps of filters before other work gets its turn.

size_t size_of(const ChangeRecord& record) {
  size_t size = 256;
  if (record.before) size += record.before.encoded().size();
  if (record.after) size += record.after.encoded().size();
  return size;
}

}  // namespace

MappingLane::MappingLane(const MappingParts& parts, MappingShared& shared, size_t index, std::function<void(End)> ended)
    : parts_(parts),
      shared_(shared),
      index_(index),
      ended_with_(std::move(ended)),
      saved_(place()),
      read_from_(place().next) {
  for (const std::string& filter : definition().filters) {
    auto pattern = Pattern::parse(filter, PatternNumbers::kAlsoInText);
    if (!pattern) continue;  // The definition has been checked.
    filters_see_items_ = filters_see_items_ || pattern->looks_at("dynamodb") || pattern->looks_at("eventID");
    filters_.push_back(std::move(*pattern));
  }
}

void MappingLane::stop() {
  if (ended_) return;
  stop_ = true;
  if (!resting_) return;
  work_.clear();
  end(End::kStopped);
}

void MappingLane::end(End how) {
  ended_ = true;
  ended_with_(how);
}

Async<void> MappingLane::rest(nanoseconds time) {
  resting_ = true;
  co_await sleep_for(parts_.scheduler, time);
  resting_ = false;
}

Async<void> MappingLane::run() {
  End how = End::kStopped;
  while (!stop_) {
    const auto ended = co_await fill();
    if (ended) {
      how = *ended;
      break;
    }
    if (stop_) break;
    if (window_is_over()) {
      co_await finish_window();
    } else if (std::vector<Pending> batch = cut_batch(); !batch.empty()) {
      co_await deliver(std::move(batch));
    }
    // A busy stream must not cost a write to the shared store for each batch.
    const bool saves_now = buffer_.empty() && !parts_.is_shared();
    const milliseconds save_every = parts_.is_shared() ? kSaveSharedEvery : kSaveEvery;
    if (saves_now || clock().boot() - saved_at_ >= save_every) co_await save();
    co_await let_others_in(parts_.scheduler);
  }
  if (how == End::kStopped) co_await pass_others();
  co_await save();
  end(how);
}

// Marks of shards are at the place of the lane that is furthest behind. A lane that stops with all its records
// processed therefore passes those that the others have processed since its last batch began.
Async<void> MappingLane::pass_others() {
  while (shared_.shards && place().next == read_from_) {
    const uint64_t before = read_from_;
    const auto broken = co_await read_page(BootTime{});
    if (broken || read_from_ == before) co_return;
    place().next = next_of_own();
  }
}

// Reads until a batch is complete or a window has ended. Returns how the lane ends, or empty.
Async<std::optional<MappingLane::End>> MappingLane::fill() {
  while (!stop_) {
    if (batch_is_full() || window_is_over()) co_return std::nullopt;
    BootTime wait_until{};  // Do not wait: take what is there.
    if (stream_end()) {
      // A closed stream gets no more records.
      if (read_from_ >= *stream_end() && buffer_.empty() && !place().window) co_return End::kStreamOver;
    } else if (buffer_.empty()) {
      wait_until = saved_ != place() ? saved_at_ + kSaveSkipped : BootTime::max();
    } else if (!batch_is_due()) {
      wait_until = buffer_since_ + definition().batching_window;
    }
    if (const auto end = window_end(); end && buffer_.empty()) wait_until = std::min(wait_until, *end);
    const uint64_t before = read_from_;
    const auto broken = co_await read_page(wait_until);
    if (broken) co_return broken;
    const bool early = read_from_ == before && clock().boot() < wait_until;
    if (stream_end() && read_from_ >= *stream_end() && !buffer_.empty()) co_return std::nullopt;
    if (stream_end() && read_from_ == before) {
      co_await rest(kEarlyAnswer);  // Its window may end by the clock meanwhile.
    } else if (early) {
      // A store may answer early: a failed store always does, and so does one whose stream is gone.
      co_await rest(kEarlyAnswer);
      const bool there = co_await same_stream();
      if (!there) co_return End::kLookAgain;
    }
    const bool drained = read_from_ - before < kRecordsPerRead;
    if (!buffer_.empty() && batch_is_due() && drained) co_return std::nullopt;
    if (buffer_.empty() && saved_ != place() && saved_at_ + kSaveSkipped <= clock().boot()) co_await save();
    if (!drained) co_await let_others_in(parts_.scheduler);
  }
  co_return std::nullopt;
}

bool MappingLane::batch_is_full() const {
  if (buffer_.size() >= definition().batch_size || buffer_bytes_ >= kMaxBatchBytes) return true;
  // A batching window must not wait for what is read only after these records.
  return !buffer_.empty() && shared_.shards && shared_.shards->is_full_at(read_from_);
}

bool MappingLane::batch_is_due() const {
  return buffer_since_ + definition().batching_window <= clock().boot();
}

Async<bool> MappingLane::same_stream() {
  if (shared_.shards) co_return true;
  std::string table = definition().table;
  auto stream = co_await parts_.streams.stream_of(std::move(table));
  co_return stream && stream->label == shared_.position.label;
}

Async<std::optional<MappingLane::End>> MappingLane::read_page(BootTime wait_until) {
  ReadStreamInput read;
  read.table = definition().table;
  read.label = shared_.position.label;
  read.from = read_from_;
  read.limit = kRecordsPerRead;
  read.wait_until = wait_until;
  for (size_t kind = 0; kind < passing_.size(); ++kind) read.skip.kinds[kind] = passing_[kind] == false;
  resting_ = true;
  auto reading = shared_.shards ? shared_.shards->read(std::move(read)) : parts_.tables.read_stream(std::move(read));
  auto page = co_await reading;
  resting_ = false;
  if (!page) {
    last_error_ = page.error().message;
    if (page.error().code != ErrorCode::kTrimmedDataAccess) co_await rest(kReadRetry);
    co_return End::kLookAgain;
  }
  co_await take(std::move(*page));
  co_return std::nullopt;
}

Async<void> MappingLane::take(StreamPage page) {
  const BootTime now = clock().boot();
  size_t work = 0;
  const WallTime wall = parts_.wall.earliest();  // A clock that jumps ahead must not make a record too old.
  for (ChangeRecord& record : page.records) {
    if (work >= kPieceWork) {
      co_await let_others_in(parts_.scheduler);
      work = 0;
    }
    if (!is_mine(record) || !passes(record, work)) continue;
    if (buffer_.empty()) buffer_since_ = now;
    buffer_bytes_ += size_of(record);
    const nanoseconds age = std::max<nanoseconds>(wall - record.at, nanoseconds(0));
    buffer_.push_back({std::move(record), now - age});
  }
  read_from_ = std::max(read_from_, page.next);
  if (buffer_.empty()) place().next = read_from_;
}

bool MappingLane::is_mine(const ChangeRecord& record) const {
  const size_t lanes = shared_.position.lanes.size();
  const std::vector<uint64_t>& done = shared_.position.done;
  if (lanes == 1 && done.empty()) return true;
  const uint64_t hash = lane_hash(record.keys);
  if (hash % lanes != index_) return false;
  return done.empty() || record.sequence >= done[hash % done.size()];
}

bool MappingLane::passes(const ChangeRecord& record, size_t& done) {
  if (filters_.empty()) return true;
  const auto evaluate = [&] {
    const Map value = shared_.shards ? named_record_value(record, shared_.source, filters_see_items_, *shared_.shards)
                                     : stream_record_value(record, shared_.source, filters_see_items_);
    if (filters_see_items_) done += size_of(record) / 64;
    return std::any_of(filters_.begin(), filters_.end(), [&](const Pattern& filter) {
      MatchWork work(kMaxMatchWork);
      const bool matches = filter.matches(value, work);
      done += kMaxMatchWork - work.left();
      // An unwanted record is better than a record that the function never sees.
      return matches || work.spent();
    });
  };
  if (filters_see_items_) return evaluate();
  // Such filters cannot tell records of one kind apart.
  std::optional<bool>& known = passing_[StreamSkip::kind_index(record.kind, record.by_ttl)];
  if (!known) known = evaluate();
  return *known;
}

std::vector<MappingLane::Pending> MappingLane::cut_batch() {
  std::vector<Pending> batch;
  size_t bytes = 0;
  while (!buffer_.empty() && batch.size() < definition().batch_size) {
    const ChangeRecord& record = buffer_.front().record;
    if (windowed()) {
      std::optional<TumblingWindow>& window = place().window;
      if (!window) window = TumblingWindow{window_start(record), "{}"};
      if (window_start(record) > window->start) break;
    }
    const size_t size = size_of(record);
    bytes += size;
    if (!batch.empty() && bytes > kMaxBatchBytes) break;
    buffer_bytes_ -= size;
    batch.push_back(std::move(buffer_.front()));
    buffer_.pop_front();
  }
  if (!buffer_.empty()) buffer_since_ = clock().boot();
  return batch;
}

// The position is written again with the next batch; what a restart finds until then is older.
void MappingLane::note_saved(const Result<void>& written) {
  const std::string error = written ? std::string() : written.error().message;
  if (error == save_error_) return;
  save_error_ = error;
  if (!written) parts_.log.warn("MAPPING_POSITION_NOT_STORED", {{"mapping", definition().id}, {"error", error}});
}

Async<void> MappingLane::save() {
  // One write at a time: of two writes in progress, the older might arrive last.
  if (saving_) co_return;
  saving_ = true;
  const ShardedStreamPtr shards = shared_.shards;  // The mapping may close it meanwhile.
  while (saved_ != place()) {
    saved_at_ = clock().boot();
    LanePosition position = place();
    std::vector<WriteInput> writes;
    if (!parts_.is_shared()) {
      writes = lane_writes(definition().id, shared_.position, index_, shared_.stale_parts);
    }
    const size_t parts = state_parts(position);
    const uint64_t processed = shared_.position.next();
    auto writing =
        shards ? shards->save(processed, std::move(writes)) : write_together(parts_.tables, std::move(writes));
    auto written = co_await writing;
    note_saved(written);
    if (!written) break;
    if (windowed()) shared_.stale_parts = parts;
    saved_ = std::move(position);
  }
  saving_ = false;
}

}  // namespace freshet
