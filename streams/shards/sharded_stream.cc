#include "streams/shards/sharded_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/limits.h"
#include "base/points.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

// Amazon's own event source mappings read a shard four times a second. DescribeStream is allowed ten times a second.
constexpr milliseconds kAfterRecords{100};
constexpr milliseconds kAfterPassed{20};
constexpr milliseconds kFirstIdle{250};
constexpr milliseconds kLongestIdle{1000};
constexpr milliseconds kFirstRetry{100};
constexpr milliseconds kLongestRetry{30'000};
constexpr milliseconds kListSoon{1000};
constexpr milliseconds kListEvery{60'000};
constexpr int kListsSoon = 5;  // After the end of a shard: its children may be listed a little later.
constexpr int kFailuresALine = 20;
constexpr int kFailuresAnIterator = 3;  // Then it is made again, unless the engine only needs time.
constexpr size_t kMarksAWrite = limits::kMaxTransactionActions / 2;
constexpr int kMostLearnt = 3;  // In one save.

milliseconds doubled(milliseconds first, int times, milliseconds longest) {
  return std::min(first * (1 << std::clamp(times, 0, 16)), longest);
}

// DynamoDB's streams answer LimitExceeded to readers that ask too often.
bool needs_time(const Error& error) {
  return is_passing(error) || error.code == ErrorCode::kLimitExceeded;
}

// True if what is stored may differ from what the writer knows, or if the write may have been made.
bool may_be_outdated(const Error& error) {
  return error.code == ErrorCode::kConditionalCheckFailed || error.code == ErrorCode::kTransactionCanceled ||
         error.code == ErrorCode::kUnknownOutcome;
}

}  // namespace

ShardedStream::ShardedStream(const ShardedParts& parts, ShardReader reader, EngineStream stream,
                             ShardCheckpoints checkpoints, uint64_t first)
    : parts_(parts),
      reader_(std::move(reader)),
      stream_(std::move(stream)),
      checkpoints_(std::move(checkpoints)),
      order_(first),
      stored_loss_(checkpoints_.lost_at()) {}

// Finding shards.

Async<Result<void>> ShardedStream::open(bool latest) {
  for (const auto& [shard, mark] : checkpoints_.all()) plan_.known(shard, mark.over);
  auto all = co_await list();
  if (!all) co_return fail(std::move(all.error()));
  if (latest) {
    std::vector<ListedShard> copy = *all;
    auto taken = co_await take_latest(std::move(copy));
    if (!taken) co_return taken;
  }
  take_list(*all);
  begin();
  work_.spawn(watch());
  co_return Result<void>();
}

Async<Result<std::vector<ListedShard>>> ShardedStream::list() {
  listed_at_ = parts_.scheduler.clock().boot();
  std::vector<ListedShard> all;
  std::string after;
  bool open = false;  // On any page: a stream that is switched off while it is listed counts as open.
  do {
    std::string arn = stream_.arn;
    auto page = co_await parts_.engine.shards(std::move(arn), std::move(after));
    if (!page) co_return fail(std::move(page.error()));
    open = open || page->stream.open;
    stream_.view = page->stream.view;
    std::move(page->shards.begin(), page->shards.end(), std::back_inserter(all));
    after = std::move(page->last);
  } while (!after.empty());
  stream_.open = open;
  co_return all;
}

Async<Result<void>> ShardedStream::take_latest(std::vector<ListedShard> all) {
  for (const ListedShard& shard : all) {
    if (shard.closed) {
      plan_.known(shard.id, true);
      continue;
    }
    std::string arn = stream_.arn;
    std::string id = shard.id;
    auto iterator = co_await parts_.engine.iterator(std::move(arn), std::move(id), ShardStart::kLatest, std::string());
    if (!iterator) co_return fail(std::move(iterator.error()));
    latest_[shard.id] = std::move(*iterator);
  }
  co_return Result<void>();
}

void ShardedStream::take_list(const std::vector<ListedShard>& all) {
  const ShardPlan::Gone gone = plan_.listed(all);
  for (const std::string& shard : gone.lost) lost(shard, "the shard is gone, with changes that were not read");
  // Their marks have no use any more, and are removed together with the next ones that are stored.
  for (const auto* shards : {&gone.lost, &gone.forgotten}) {
    for (const std::string& shard : *shards) unneeded_.push_back(shard);
  }
}

void ShardedStream::begin() {
  for (std::string& shard : plan_.begin()) work_.spawn(follow(std::move(shard)));
}

// Looks for new shards: soon after one has ended, and from time to time.
Async<void> ShardedStream::watch() {
  for (int failures = 0; !end_;) {
    const Clock& clock = parts_.scheduler.clock();
    const bool soon = plan_.reading() == 0 || plan_.misses_any() || lists_soon_ > 0 || failures > 0;
    const milliseconds longest = soon ? kListSoon : kListEvery;
    if (lists_soon_ < kListsSoon) co_await news(ends_, clock.boot() + longest);
    lists_soon_ = std::max(0, lists_soon_ - 1);
    const milliseconds least = doubled(kListSoon, failures, kLongestRetry);
    if (listed_at_ + least > clock.boot()) co_await sleep_until(parts_.scheduler, listed_at_ + least);
    const bool was_over = plan_.all_over();
    auto all = co_await list();
    if (all || all.error().code == ErrorCode::kResourceNotFound) {
      failures = 0;
      trouble_.erase(std::string());
      if (!all) stream_.open = false;
      take_list(all ? *all : std::vector<ListedShard>());
      begin();
      if (was_over) finish_if_over();
    } else {
      in_trouble({}, ++failures, all.error());
    }
  }
}

// A list is complete only if the stream was off before it began, and children are listed only after their parents.
void ShardedStream::finish_if_over() {
  if (stream_.open || !plan_.all_over()) return;
  end_ = order_.next();
  wake(readers_);
}

std::string ShardedStream::continuity() const {
  const ReaderStart& start = checkpoints_.start();
  return fmt::format("{}/{}/{}", start.reader, start.number, checkpoints_.lost_at());
}

void ShardedStream::lost(const std::string& shard, std::string_view reason) {
  checkpoints_.lose(epoch_ms(parts_.scheduler.clock().wall()));
  parts_.log.warn("STREAM_RECORDS_LOST",
                  {{"table", reader_.table}, {"mapping", reader_.id}, {"shard", shard}, {"reason", reason}});
}

// Reading a shard.

Async<void> ShardedStream::follow(std::string shard) {
  Place place;
  const ShardMark* mark = checkpoints_.find(shard);
  if (mark) place.after = mark->after;
  if (auto iterator = latest_.extract(shard)) {
    place.iterator = std::move(iterator.mapped());
    place.by_time = false;
  }
  for (bool ended = false; !ended;) {
    const Found found = co_await read_in_turn(shard, place);
    milliseconds wait = place.passes ? kAfterPassed : kAfterRecords;
    if (found == Found::kFailure) wait = doubled(kFirstRetry, place.failures - 1, kLongestRetry);
    if (place.empty_pages > 0) wait = std::max(wait, doubled(kFirstIdle, place.empty_pages - 1, kLongestIdle));
    ended = found == Found::kEnd;
    if (!ended) co_await sleep_for(parts_.scheduler, wait);
  }
  trouble_.erase(shard);
  order_.end(shard);
  plan_.over(shard);
  begin();
  wake(readers_);
  lists_soon_ = kListsSoon;
  wake(ends_);
}

// A shard that waits for room keeps its turn, so that no shard is passed over.
Async<ShardedStream::Found> ShardedStream::read_in_turn(const std::string& shard, Place& place) {
  co_await turn();
  struct Turn {
    ShardedStream& stream;
    ~Turn() { stream.end_turn(); }
  };
  const Turn mine{*this};
  while (!has_room()) co_await news(rooms_, BootTime::max());
  co_return co_await read_once(shard, place);
}

Async<void> ShardedStream::turn() {
  if (turns_ < kMostPages) {
    ++turns_;
    co_return;
  }
  Promise<bool> mine(parts_.scheduler);
  queue_.push_back(mine);
  co_await mine.future();
}

// Hands the turn to the first that waits.
void ShardedStream::end_turn() {
  if (queue_.empty()) {
    --turns_;
    return;
  }
  const Promise<bool> first = std::move(queue_.front());
  queue_.pop_front();
  first.set(true);
}

Async<ShardedStream::Found> ShardedStream::read_once(const std::string& shard, Place& place) {
  if (place.iterator.empty()) {
    std::string arn = stream_.arn;
    std::string id = shard;
    std::string after = place.after;
    const ShardStart start = after.empty() ? ShardStart::kHorizon : ShardStart::kAfter;
    auto iterator = co_await parts_.engine.iterator(std::move(arn), std::move(id), start, std::move(after));
    if (!iterator) co_return failed(shard, place, iterator.error());
    place.iterator = std::move(*iterator);
    place.by_time = place.by_time || start == ShardStart::kHorizon;
  }
  std::string iterator = place.iterator;
  auto page = co_await parts_.engine.records(std::move(iterator));
  if (!page) co_return failed(shard, place, page.error());
  place.failures = 0;
  place.passes = false;
  trouble_.erase(shard);
  place.empty_pages = page->records.empty() ? place.empty_pages + 1 : 0;
  place.iterator = page->next;
  take(shard, place, std::move(*page));
  co_return place.iterator.empty() ? Found::kEnd : Found::kRecords;
}

ShardedStream::Found ShardedStream::failed(const std::string& shard, Place& place, const Error& error) {
  ++place.failures;
  place.empty_pages = 0;
  switch (error.code) {
    case ErrorCode::kExpiredIterator:
      parts_.log.info("STREAM_ITERATOR_EXPIRED", {{"table", reader_.table}, {"mapping", reader_.id}, {"shard", shard}});
      place.iterator.clear();
      break;
    case ErrorCode::kTrimmedDataAccess:
      lost(shard, "the engine no longer keeps what follows the last change that was read");
      place.iterator.clear();
      place.after.clear();
      break;
    case ErrorCode::kResourceNotFound:
      lost(shard, "the shard is gone while it was read");
      return Found::kEnd;
    default:
      in_trouble(shard, place.failures, error);
      if (!needs_time(error) && place.failures % kFailuresAnIterator == 0) place.iterator.clear();
  }
  return Found::kFailure;
}

void ShardedStream::in_trouble(const std::string& shard, int failures, const Error& error) {
  trouble_[shard] = error.message;
  if (failures % kFailuresALine != 1) return;
  const std::string_view code = error_name(error.code);
  if (shard.empty()) {
    parts_.log.warn("STREAM_READ_FAILED",
                    {{"table", reader_.table}, {"mapping", reader_.id}, {"error", code}, {"message", error.message}});
  } else {
    parts_.log.warn("STREAM_READ_FAILED", {{"table", reader_.table},
                                           {"mapping", reader_.id},
                                           {"shard", shard},
                                           {"error", code},
                                           {"message", error.message}});
  }
}

bool ShardedStream::is_too_old(const ChangeRecord& record) const {
  const std::optional<WallTime>& from = checkpoints_.start().from;
  return from && record.at != WallTime{} && record.at < *from;  // An engine may not say the time.
}

void ShardedStream::take(const std::string& shard, Place& place, ShardRecords page) {
  if (page.records.empty()) return;
  place.after = page.records.back().number;
  place.passes = place.by_time && is_too_old(page.records.back().record);
  for (ShardRecord& record : page.records) {
    if (place.by_time && is_too_old(record.record)) continue;
    order_.add(shard, std::move(record));
  }
  if (place.passes) order_.pass(shard, place.after);
  wake(readers_);
}

// Handing on.

Async<Result<StreamPage>> ShardedStream::read(ReadStreamInput input) {
  for (;;) {
    if (input.from < order_.oldest()) {
      co_return fail(ErrorCode::kTrimmedDataAccess, "these records were processed, and are no longer kept");
    }
    StreamPage page = order_.page(input.from, input.limit, input.max_bytes);
    if (page.next > input.from || end_ || parts_.scheduler.clock().boot() >= input.wait_until) co_return page;
    co_await news(readers_, input.wait_until);
  }
}

// A waiter that is woken, or whose time is over, stops waiting.
Async<void> ShardedStream::news(std::vector<Promise<bool>>& waiters, BootTime until) {
  std::erase_if(waiters, [](const Promise<bool>& one) { return one.is_set(); });
  Promise<bool> woken(parts_.scheduler);
  waiters.push_back(woken);
  struct Cancel {
    Scheduler& scheduler;
    TimerId id = 0;
    ~Cancel() {
      if (id) scheduler.cancel(id);
    }
  };
  Cancel timer{parts_.scheduler};
  if (until != BootTime::max()) timer.id = parts_.scheduler.call_at(until, [woken] { woken.set(true); });
  co_await woken.future();
}

void ShardedStream::wake(std::vector<Promise<bool>>& waiters) {
  for (const Promise<bool>& waiter : std::exchange(waiters, {})) waiter.set(true);
}

// Storing.

void ShardedStream::merge(std::vector<std::pair<std::string, ShardMark>> marks) {
  for (auto& [shard, mark] : marks) {
    const auto before =
        std::find_if(unsaved_.begin(), unsaved_.end(), [&name = shard](const auto& one) { return one.first == name; });
    if (before != unsaved_.end()) {
      if (mark.after.empty()) mark.after = before->second.after;
      unsaved_.erase(before);
    }
    if (mark.after.empty()) {
      if (const ShardMark* stored = checkpoints_.find(shard)) mark.after = stored->after;
    }
    unsaved_.emplace_back(shard, std::move(mark));
  }
}

Async<Result<void>> ShardedStream::save(uint64_t processed, std::vector<WriteInput> with) {
  merge(order_.processed(processed));
  wake(rooms_);
  // One save stores marks at a time. The next one stores those of all that wait.
  while (saving_) co_await news(savers_, BootTime::max());
  if (!unsaved_.empty() || !unneeded_.empty()) co_return co_await store_marks(std::move(with));
  co_return co_await write(std::move(with));
}

Async<Result<void>> ShardedStream::write(std::vector<WriteInput> writes) {
  if (parts_.is_shared()) move_to_table(writes, parts_.shared_table);
  return write_together(parts_.tables, std::move(writes));
}

// A group of marks is stored wholly or not at all, and before the next: a child's mark never without its parent's.
Async<Result<void>> ShardedStream::store_marks(std::vector<WriteInput> with) {
  struct Saving {
    ShardedStream& stream;
    explicit Saving(ShardedStream& s) : stream(s) { stream.saving_ = true; }
    ~Saving() {
      stream.saving_ = false;
      wake(stream.savers_);
    }
  };
  const Saving saving(*this);
  int learnt = 0;
  for (bool more = true; more;) {
    if (parts_.is_shared() && !FRESHET_PLANTED("fleet-mark-moved-back")) drop_passed_marks();
    const size_t count = std::min(unsaved_.size(), kMarksAWrite);
    const std::vector<std::pair<std::string, ShardMark>> group(unsaved_.begin(),
                                                               unsaved_.begin() + static_cast<ptrdiff_t>(count));
    std::vector<WriteInput> writes = checkpoints_.writes(group);
    const int64_t loss = count > 0 ? checkpoints_.lost_at() : stored_loss_;
    more = count < unsaved_.size();
    if (!more) std::move(with.begin(), with.end(), std::back_inserter(writes));
    auto written = co_await write(std::move(writes));
    if (!written && may_be_outdated(written.error()) && parts_.is_shared() && ++learnt <= kMostLearnt) {
      auto now = co_await learn_marks();
      if (!now) co_return now;
      more = true;
      continue;
    }
    if (!written) co_return written;
    checkpoints_.stored(group);
    stored_loss_ = loss;
    std::erase_if(unsaved_, [&](const auto& one) { return std::find(group.begin(), group.end(), one) != group.end(); });
  }
  // The mark of a lost shard is the only trace of the loss until another mark has it.
  if (checkpoints_.lost_at() > stored_loss_) co_return Result<void>();
  co_return co_await remove_unneeded();
}

// Others have stored marks, or an earlier write was made whose answer did not come.
Async<Result<void>> ShardedStream::learn_marks() {
  std::string table = parts_.shared_table;
  std::string reader = checkpoints_.start().reader;
  auto stored = co_await load_reader(parts_.tables, std::move(table), std::move(reader));
  if (!stored) co_return fail(std::move(stored.error()));
  if (!stored->checkpoints || stored->checkpoints->start().number != checkpoints_.start().number) {
    co_return fail(ErrorCode::kConditionalCheckFailed, "another daemon has begun to read this table anew");
  }
  FRESHET_REACHED("a mark was stored meanwhile");
  checkpoints_.learn(*stored->checkpoints);
  co_return Result<void>();
}

// Another daemon has processed more of these shards already.
void ShardedStream::drop_passed_marks() {
  std::erase_if(unsaved_, [this](const auto& one) {
    const ShardMark* now = checkpoints_.find(one.first);
    return now && (*now == one.second || is_behind(one.second, *now));
  });
}

Async<Result<void>> ShardedStream::remove_unneeded() {
  std::vector<WriteInput> writes;
  for (const std::string& shard : std::exchange(unneeded_, {})) {
    if (auto write = checkpoints_.remove(shard)) writes.push_back(std::move(*write));
  }
  if (writes.empty()) co_return Result<void>();
  co_return co_await write(std::move(writes));
}

}  // namespace freshet
