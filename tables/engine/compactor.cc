#include "tables/engine/compactor.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "base/check.h"
#include "base/points.h"
#include "tables/engine/keys.h"
#include "tables/engine/recovery.h"

namespace freshet {
namespace {

// Log bytes looked at in one turn: it stays short, unless it wrote much itself.
constexpr size_t kLongStep = 256u << 10;
constexpr size_t kLongestStep = 512u << 10;
constexpr size_t kMoveItems = 256;  // Items moved at a time.
constexpr milliseconds kBlockedPause{100};
constexpr seconds kTidyPeriod{1};

}  // namespace

// Finds the items of one segment that are still the newest of their kind. Many are looked up together, so that their
// cache misses overlap.
class Compactor::Finder final : public BatchSink {
 public:
  Finder(const Catalog& catalog, uint32_t segment, std::deque<std::pair<uint32_t, ItemRef>>& found)
      : catalog_(catalog), segment_(segment), found_(found) {}

  Result<void> on_put(const StoredPut& put) override {
    const Table* table = catalog_.find_number(put.table);
    if (!table) return {};
    const auto key = table_key_of(put.item, table->definition().keys);
    FRESHET_CHECK(key.has_value(), "what was written has its key");
    if (puts_.size() == kTogether || (!puts_.empty() && puts_.back().table != table)) look_up();
    puts_.push_back({table, *key, put.item});
    return {};
  }
  // Looks up the items read since the last time, while their bytes are there.
  void look_up() {
    if (puts_.empty()) return;
    const OrderedItems& items = puts_.front().table->items();
    absl::InlinedVector<uint64_t, kTogether> hashes;
    for (const Put& put : puts_) hashes.push_back(items.hash(put.key.partition));
    items.prefetch(hashes);
    for (const Put& put : puts_) {
      const ItemRef* item = items.find(put.key);
      const bool newest = item && item->segment() == segment_ && item->encoded() == put.item;
      if (newest) found_.emplace_back(put.table->number(), *item);
    }
    puts_.clear();
  }
  Result<void> on_begin(WallTime) override { return {}; }
  Result<void> on_counters(const StoredCounters&) override { return {}; }
  Result<void> on_table(StoredTable) override { return {}; }
  Result<void> on_drop(uint32_t) override { return {}; }
  Result<void> on_delete(const StoredDelete&) override { return {}; }
  Result<void> on_flow(const StoredFlow&) override { return {}; }

 private:
  static constexpr size_t kTogether = 64;
  struct Put {
    const Table* table;
    KeyView key;
    std::string_view item;
  };

  const Catalog& catalog_;
  const uint32_t segment_;
  std::deque<std::pair<uint32_t, ItemRef>>& found_;
  absl::InlinedVector<Put, kTogether> puts_;  // Puts of one table that are not looked up yet.
};

bool Compactor::space_is_low() const {
  return committer_.room().space_left() < committer_.room().reserve_bytes() + 2 * options_.segment_bytes;
}

uint64_t Compactor::bound() const {
  const uint64_t live = committer_.room().live_bytes();
  const uint64_t segment = options_.segment_bytes;
  return space_is_low() ? live + live / 8 + segment : 2 * live + 4 * segment;
}

uint64_t Compactor::unretired_bytes() const {
  uint64_t bytes = 0;
  for (const auto& segment : committer_.log()->segments()) {
    if (!segment.retired && segment.id > retired_through_) bytes += segment.bytes;
  }
  return bytes;
}

std::optional<uint32_t> Compactor::choose() const {
  if (committer_.log()->bytes_used() <= bound() || unretired_bytes() <= bound()) return std::nullopt;
  const auto segments = committer_.log()->segments();
  const uint32_t oldest = std::max(segments.front().id, retired_through_ + 1);
  const auto it = std::find_if(segments.begin(), segments.end(),
                               [&](const SegmentInfo& segment) { return segment.id >= oldest && !segment.retired; });
  return it->id != segments.back().id ? std::optional(it->id) : std::nullopt;  // Never the open one.
}

void Compactor::run_due() {
  if (!committer_.log() || committer_.failed()) return;
  const BootTime now = clock_.boot();
  tidy();
  if (now < blocked_until_) return;
  const bool begins = !cursor_;
  if (begins) begin_segment();
  // The first read may wait for the next turn: the segment may be in memory by then.
  if (begins && !space_is_low()) return;
  if (cursor_ && !step()) blocked_until_ = now + kBlockedPause;
}

BootTime Compactor::next_due() const {
  if (!committer_.log() || committer_.failed()) return BootTime::max();
  if (cursor_ || choose()) return std::max(clock_.boot(), blocked_until_);
  return BootTime::max();
}

void Compactor::begin_segment() {
  const auto segment = choose();
  if (!segment) return;
  cursor_ = LogPosition{*segment, 0};
  // Without a free file descriptor the first read opens it.
  if (auto opened = committer_.log()->will_read(*segment); !opened) committer_.report(opened.error());
}

// Keeps pace with the writes: each examined byte frees only its share of garbage. The step is a quarter larger than
// that needs, and larger still the further the log is beyond its bound, because the oldest segments may have less
// garbage than their share.
bool Compactor::step() {
  const uint64_t appended = committer_.appended_bytes();
  const uint64_t live = committer_.room().live_bytes();
  const uint64_t used = unretired_bytes();
  const uint64_t garbage = std::max(used - std::min(used, live), options_.segment_bytes);
  const double beyond = static_cast<double>(used) / static_cast<double>(bound());
  const double share = static_cast<double>(garbage) / static_cast<double>(live + garbage);
  const auto written = static_cast<double>(appended - std::exchange(appended_before_, appended));
  const auto wanted = static_cast<uint64_t>(written * 1.25 / share * beyond * beyond);
  // The oldest segments may hold only live items, and tasks that are done newest first make their garbage in the newest
  // segments. When space is low, get through all of them before it runs out, at the price of a longer turn.
  const uint64_t most = std::clamp<uint64_t>(static_cast<uint64_t>(written), kLongStep, kLongestStep);
  const size_t budget = space_is_low() ? std::max<uint64_t>(wanted, kLongestStep)
                                       : std::clamp<uint64_t>(wanted, options_.move_step_bytes, most);
  const Log& log = *committer_.log();
  for (size_t done = 0; done < budget && cursor_;) {
    if (!waiting_.empty()) {
      const size_t before = waiting_.size();
      if (!move_some()) return false;
      done += (before - waiting_.size()) * 256;
      continue;
    }
    const auto segments = log.segments();
    const uint64_t end = segments[cursor_->segment - segments.front().id].bytes;
    const bool dead = !catalog_.live.has_any(cursor_->segment);
    if (dead && options_.check_dead_segments) check_dead();
    if (cursor_->offset >= end || dead) {
      // The write that made its last item dead may be pending: a header that retires the segment must not be on disk
      // before that is.
      if (!FRESHET_PLANTED("retired-before-its-deletes") && !committer_.flush()) return false;
      finish_segment();
      // Small segments: one in a turn may be less than what a turn writes.
      if (space_is_low() && committer_.room().space_left() > committer_.room().floor_bytes()) begin_segment();
      continue;
    }
    const uint64_t from = cursor_->offset;
    if (!find_live()) return false;
    done += cursor_->offset - from;
  }
  return true;
}

bool Compactor::find_live() {
  Finder finder(catalog_, cursor_->segment, waiting_);
  auto next = committer_.log()->read(*cursor_, options_.move_step_bytes, [&](const LogBatch& batch) {
    auto ok = read_batch(batch.payload, finder);
    finder.look_up();
    return ok;
  });
  if (!next) {
    committer_.report(next.error());  // The log was damaged while we used it: stop while everything is still in memory.
    return false;
  }
  *cursor_ = *next;
  return true;
}

void Compactor::check_dead() {
  if (!find_live()) return;
  FRESHET_CHECK(waiting_.empty(), "a segment that counts as dead has no live item");
}

bool Compactor::move_some() {
  std::vector<std::pair<uint32_t, ItemRef>> items;
  size_t bytes = 0;
  size_t taken = 0;
  for (; taken < waiting_.size() && items.size() < kMoveItems && bytes < options_.move_step_bytes; ++taken) {
    const auto& [number, item] = waiting_[taken];
    // It may have changed since, or been found twice.
    const Table* table = catalog_.find_number(number);
    if (FRESHET_PLANTED("compaction-forgets-an-item") && items.size() % 16 == 15) continue;
    const ItemRef* current = table ? table->find(key_of(item, table->definition().keys)) : nullptr;
    if (!current || current->identity() != item.identity() || item.segment() != cursor_->segment) continue;
    if (!items.empty() && items.back().second.identity() == item.identity()) continue;
    bytes += item.encoded().size();
    items.emplace_back(number, item);
  }
  if (!items.empty() && !(committer_.flush() && committer_.append_moves(items))) return false;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken));
  return true;
}

void Compactor::finish_segment() {
  retired_through_ = cursor_->segment;
  FRESHET_REACHED("segment retired");
  catalog_.live.forget(retired_through_);
  committer_.log()->retire_through(retired_through_);
  cursor_.reset();
}

// Removes retired segments that nobody needs. It runs seldom while there is plenty of space.
void Compactor::tidy() {
  const BootTime now = clock_.boot();
  const auto segments = committer_.log()->segments();
  if (segments.back().id == tidied_segment_ && now < tidied_ + kTidyPeriod && !space_is_low()) return;
  tidied_segment_ = segments.back().id;
  tidied_ = now;
  note_new(segments);
  trim(segments);
  remove_files();
  // Retired segments free their space only after the next header: do not wait for it when space is short.
  const bool pending = !segments.front().retired && segments.front().id <= retired_through_;
  if (pending && space_is_low() && committer_.flush() && !committer_.roll()) blocked_until_ = now + kBlockedPause;
}

bool Compactor::is_needed_before(uint32_t segment) const {
  bool needed = false;
  catalog_.each_stream(
      [&](uint32_t, ChangeStream& stream) { needed = needed || stream.needs_before_segment(segment); });
  return needed;
}

void Compactor::note_new(const std::vector<SegmentInfo>& segments) {
  began_.erase(began_.begin(), began_.lower_bound(segments.front().id));
  const uint32_t newest = segments.back().id;
  if (newest_seen_ == 0) newest_seen_ = newest;  // The first look: these segments are from earlier runs.
  for (; newest_seen_ < newest; ++newest_seen_) began_.emplace(newest_seen_ + 1, clock_.boot());
}

// True if everything before that segment is older than streams are kept.
bool Compactor::is_old(uint32_t segment) {
  const auto own = began_.find(segment);
  const BootTime since = own != began_.end() ? own->second : opened_;
  if (clock_.boot() - since >= options_.stream_retention) return true;
  if (own != began_.end()) return false;
  const auto start = start_of(segment);
  return start && *start <= guard_.earliest() - options_.stream_retention;
}

void Compactor::trim(const std::vector<SegmentInfo>& segments) {
  uint64_t retired = 0;
  for (const auto& segment : segments) retired += segment.retired ? segment.bytes : 0;
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    const uint32_t next = segments[i + 1].id;
    const bool needed = is_needed_before(next);
    if (needed) {
      const bool too_much = segments[i].retired && (retired > options_.stream_max_bytes || space_is_low());
      if (!too_much && !is_old(next)) return;
      catalog_.each_stream([next](uint32_t, ChangeStream& stream) { stream.trim_before(next); });
    }
    if (segments[i].retired) retired -= segments[i].bytes;
  }
}

void Compactor::remove_files() {
  for (;;) {
    const auto segments = committer_.log()->segments();
    if (segments.size() < 2 || !segments.front().retired) return;
    const uint32_t next = segments[1].id;
    if (is_needed_before(next)) return;
    FRESHET_REACHED("retired segment removed");
    if (auto ok = committer_.log()->remove_oldest(); !ok) return committer_.report(ok.error());
  }
}

std::optional<WallTime> Compactor::start_of(uint32_t segment) {
  if (known_start_ && known_start_->first == segment) return known_start_->second;
  auto start = read_segment_start(*committer_.log(), segment);
  if (!start) {
    committer_.report_read(start.error());
    return std::nullopt;
  }
  if (start->at == WallTime{}) return std::nullopt;  // Still empty.
  known_start_ = {segment, start->at};
  return start->at;
}

}  // namespace freshet
