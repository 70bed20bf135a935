#include "tables/engine/change_stream.h"

#include <algorithm>

#include "base/check.h"
#include "base/points.h"
#include "tables/engine/keys.h"

namespace freshet {
namespace {

constexpr uint64_t kMarkSpacing = 64u << 10;  // Log bytes between two entries of the sparse index.
constexpr uint64_t kMostLookedAt = 16'384;    // Records of one read, skipped ones included.
constexpr size_t kReadStep = 256u << 10;      // Log bytes read in one call,
constexpr size_t kMostRead = 8u << 20;        // and by one page, once it has found a record.
constexpr size_t kRecordsFetchedAhead = 8;    // Records.

// Picks one table's change records out of batches.
class RecordReader final : public BatchSink {
 public:
  using Take =
      std::function<Result<void>(const StoredChange&, std::string_view keys, std::string_view after, WallTime)>;
  RecordReader(uint32_t table, Take take) : table_(table), take_(std::move(take)) {}

  Result<void> on_begin(WallTime at) override {
    at_ = at;
    return {};
  }
  Result<void> on_put(const StoredPut& put) override {
    if (put.table != table_ || put.change.sequence == 0) return {};
    return take_(put.change, {}, put.item, at_);
  }
  Result<void> on_delete(const StoredDelete& del) override {
    if (del.table != table_ || del.change.sequence == 0) return {};
    return take_(del.change, del.keys, {}, at_);
  }
  Result<void> on_counters(const StoredCounters&) override { return {}; }
  Result<void> on_table(StoredTable) override { return {}; }
  Result<void> on_drop(uint32_t) override { return {}; }
  Result<void> on_flow(const StoredFlow&) override { return {}; }

 private:
  const uint32_t table_;
  const Take take_;
  WallTime at_{};
};

size_t size_of(const StreamRecord& record) {
  size_t bytes = 64;
  for (const ItemRef* item : {&record.before, &record.after}) {
    if (*item) bytes += item->encoded().size();
  }
  return bytes;
}

size_t memory_of(const StreamRecord& record) {
  size_t bytes = sizeof(StreamRecord) + sizeof(ChangeStream*) + record.keys_of.memory();
  if (record.before && record.before.identity() != record.keys_of.identity()) bytes += record.before.memory();
  if (record.after && record.after.identity() != record.keys_of.identity()) bytes += record.after.memory();
  return bytes;
}

// The log does not say who wrote a record.
bool is_skipped(const StreamRecord& record, const StreamSkip& skip) {
  return (skip.queue_writes && record.by_queue) || skip.kinds[StreamSkip::kind_index(record.kind, record.by_ttl)];
}

Result<StreamRecord> decode_record(const StoredChange& change, std::string_view keys, std::string_view after,
                                   WallTime at) {
  StreamRecord record{change.sequence, change.kind, change.by_ttl, at, {}, {}, {}};
  if (!change.before.empty()) {
    auto item = ItemRef::from_encoded(change.before);
    if (!item) return fail(item.error());
    record.before = std::move(*item);
  }
  auto item = ItemRef::from_encoded(after.empty() ? keys : after);
  if (!item) return fail(item.error());
  record.keys_of = *item;
  if (!after.empty()) record.after = std::move(*item);
  return record;
}

}  // namespace

bool needs_before(StreamView view) {
  return view == StreamView::kOldImage || view == StreamView::kNewAndOldImages;
}

void StreamMemory::added(ChangeStream& stream, size_t bytes) {
  bytes_ += bytes;
  order_.push_back(&stream);
  shrink();
}

void StreamMemory::shrink() {
  while (bytes_ > budget_) {
    ChangeStream* oldest = order_.front();
    // Records that are not in the log yet are kept nowhere else.
    if (oldest->tail_.front().sequence >= oldest->logged_next_) return;
    order_.pop_front();
    bytes_ -= oldest->drop_oldest();
  }
}

size_t StreamMemory::forget(ChangeStream& stream, size_t most) {
  const size_t records = std::min(most, stream.tail_.size());
  if (records == 0) return 0;
  size_t left = records;
  std::erase_if(order_, [&](const ChangeStream* entry) { return entry == &stream && left > 0 && left-- > 0; });
  for (size_t i = 0; i < records; ++i) bytes_ -= stream.drop_oldest();
  return records;
}

size_t ChangeStream::drop_oldest() {
  const size_t bytes = tail_.front().memory;
  const uint64_t sequence = tail_.front().sequence;
  // If there is no position in the log (trimmed, or no log), records that memory drops are lost. Memory may have some
  // that were trimmed before: those stay so.
  if (marks_.empty() || marks_.front().sequence > sequence) oldest_ = std::max(oldest_, sequence + 1);
  tail_.pop_front();
  // These images have not been used for long: load the next ones into the cache before their turn comes.
  if (tail_.size() > kRecordsFetchedAhead) tail_[kRecordsFetchedAhead].keys_of.prefetch();
  return bytes;
}

void ChangeStream::add(StreamRecord record) {
  const size_t bytes = memory_of(record);
  record.memory = static_cast<uint32_t>(bytes);
  tail_.push_back(std::move(record));
  memory_.added(*this, bytes);
}

void ChangeStream::add_mark(uint64_t sequence, LogPosition at) {
  const auto after = std::partition_point(marks_.begin(), marks_.end(), [&](const Mark& m) { return m.at <= at; });
  if (after != marks_.begin()) {
    const Mark& previous = *std::prev(after);
    if (previous.at.segment == at.segment && at.offset - previous.at.offset < kMarkSpacing) return;
  }
  if (after != marks_.end() && after->sequence <= sequence) return;
  marks_.insert(after, {sequence, at});
  count_marks(0, 1);
}

void ChangeStream::logged(LogPosition at) {
  if (logged_next_ == next_) return;
  add_mark(logged_next_, at);
  logged_next_ = next_;
}

void ChangeStream::release_before(uint64_t sequence) {
  if (sequence <= readable_) return;
  readable_ = sequence;
  logged_next_ = std::max(logged_next_, sequence);
  wake();
}

void ChangeStream::restore(uint64_t next, uint64_t oldest) {
  next_ = std::max(next_, next);
  oldest_ = std::max(oldest_, oldest);
  logged_next_ = readable_ = next_;
}

void ChangeStream::restored(StreamRecord record, LogPosition at) {
  if (record.sequence < next_) return;  // The record is repeated.
  add_mark(record.sequence, at);
  next_ = logged_next_ = readable_ = std::max(next_, record.sequence + 1);
  add(std::move(record));
}

void ChangeStream::mark(uint64_t sequence, LogPosition at) {
  add_mark(sequence, at);
}

ChangeRecord ChangeStream::expose(const StreamRecord& record) const {
  return {record.sequence, record.kind,  record.at,    keys_only(record.keys_of, keys_),
          record.before,   record.after, record.by_ttl};
}

bool ChangeStream::full(const ReadStreamInput& input, size_t records, size_t bytes) {
  return records >= std::max<uint32_t>(input.limit, 1) ||
         (records > 0 && (bytes > input.max_bytes || FRESHET_OFTEN("a page of a stream ends early")));
}

Result<StreamPage> ChangeStream::read(const ReadStreamInput& input, Log* log) {
  StreamPage page;
  page.next = std::max<uint64_t>(input.from, 1);
  if (page.next < oldest_) {
    return fail(ErrorCode::kTrimmedDataAccess,
                "The operation attempted to read past the oldest stream record: sequence " + std::to_string(page.next) +
                    " is trimmed, the oldest is " + std::to_string(oldest_));
  }
  if (page.next >= readable_) return page;
  if (page.next < tail_first()) {
    FRESHET_CHECK(log != nullptr, "without a log, memory has all that is not trimmed");
    if (auto ok = read_log(input, *log, page); !ok) return fail(ok.error());
    return page;
  }
  size_t bytes = 0;
  const uint64_t end = std::min(readable_, page.next + kMostLookedAt);
  for (size_t i = page.next - tail_first(); i < tail_.size() && page.next < end; ++i) {
    const StreamRecord& record = tail_[i];
    if (!is_skipped(record, input.skip)) {
      bytes += size_of(record);
      if (full(input, page.records.size(), bytes)) {
        if (FRESHET_PLANTED("stream-loses-at-a-page-end")) ++page.next;
        break;
      }
      page.records.push_back(expose(record));
    }
    page.next = record.sequence + 1;
  }
  return page;
}

// The last mark before that record.
LogPosition ChangeStream::place_before(uint64_t sequence) const {
  const auto after =
      std::partition_point(marks_.begin(), marks_.end(), [&](const Mark& m) { return m.sequence <= sequence; });
  FRESHET_CHECK(after != marks_.begin(), "every record that is not trimmed lies behind a mark");
  return std::prev(after)->at;
}

Result<void> ChangeStream::read_log(const ReadStreamInput& input, Log& log, StreamPage& page) {
  FRESHET_REACHED("stream read from the log");
  const uint64_t first = page.next;
  LogPosition at;
  size_t bytes = 0;
  size_t looked_at = 0;
  bool done = false;
  uint64_t first_of_batch = 0;
  RecordReader reader(
      table_,
      [&](const StoredChange& change, std::string_view keys, std::string_view item, WallTime when) -> Result<void> {
        if (first_of_batch == 0) first_of_batch = change.sequence;
        if (done || change.sequence < page.next) return {};
        done = change.sequence >= readable_;
        if (done) return {};
        FRESHET_CHECK(change.sequence == page.next, "a stream has no gaps");
        auto record = decode_record(change, keys, item, when);
        if (!record) return fail(record.error());
        bytes += size_of(*record);
        done = full(input, looked_at, bytes);
        if (done) return {};
        ++looked_at;  // Skipped ones are read like others.
        if (!is_skipped(*record, input.skip)) page.records.push_back(expose(*record));
        page.next = change.sequence + 1;
        return {};
      });
  const auto visit = [&](const LogBatch& batch) -> Result<void> {
    if (batch.kind != BatchKind::kCommit || done) return {};
    first_of_batch = 0;
    auto ok = read_batch(batch.payload, reader);
    if (ok && first_of_batch != 0) add_mark(first_of_batch, batch.at);
    return ok;
  };
  // Reads until the page is full or memory has the rest. Between two records of a rarely written stream, nearly all of
  // the log may belong to other writes: the marks tell where to continue.
  for (size_t read = 0; !done && page.next < tail_first() && page.next < readable_;) {
    if (read >= kMostRead && page.next > first) break;
    at = std::max(at, place_before(page.next));
    const uint32_t segment = at.segment;
    const auto segments = log.segments();
    const auto info = std::find_if(segments.begin(), segments.end(), [&](const auto& s) { return s.id >= segment; });
    FRESHET_CHECK(info != segments.end(), "the log ends before the stream does");
    if (info->id != segment) at = {info->id, 0};
    auto next = log.read(at, kReadStep, visit);
    if (!next) return fail(next.error());
    read += next->offset - at.offset;
    at = next->segment == at.segment && next->offset >= info->bytes ? LogPosition{at.segment + 1, 0} : *next;
  }
  return {};
}

void ChangeStream::wait(const Promise<bool>& waiter) {
  std::erase_if(waiters_, [](const auto& old) { return old.is_set(); });
  waiters_.push_back(waiter);
}

void ChangeStream::wake() {
  for (const auto& waiter : waiters_) waiter.set(true);
  waiters_.clear();
}

void ChangeStream::trim_before(uint32_t segment) {
  const size_t before = marks_.size();
  while (!marks_.empty() && marks_.front().at.segment < segment) marks_.pop_front();
  count_marks(before, marks_.size());
  // Records between the cut and the next mark cannot be reached any more.
  const uint64_t reachable = marks_.empty() ? logged_next_ : marks_.front().sequence;
  oldest_ = std::max(oldest_, reachable);  // Memory may still have earlier records, but a restart would not.
}

void ChangeStream::trim_all() {
  count_marks(marks_.size(), 0);
  marks_.clear();
  memory_.forget(*this, SIZE_MAX);
  oldest_ = logged_next_ = readable_ = next_;
  wake();
}

bool ChangeStream::needs_before_segment(uint32_t segment) const {
  return !marks_.empty() && marks_.front().at.segment < segment;
}

}  // namespace freshet
