#include "functions/count/engine_count.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/points.h"
#include "functions/count/counted_table.h"
#include "functions/count/counter_table.h"
#include "functions/count/engine_table_count.h"
#include "functions/count/item_states.h"
#include "streams/shards/shard_order.h"

namespace freshet {

namespace {

constexpr std::chrono::hours kSurelyKept{20};  // An engine keeps changes for 24 hours.
// The clock of the engine, which dates its records, is that of this daemon to within a quarter of an hour, or it would
// accept no signature. Some engines round the times down to the minute.
constexpr std::chrono::hours kSurelyBefore{1};
constexpr std::chrono::hours kShardsKept{
    48};  // By then the mapping has stored that it is past the shard's last record.
constexpr size_t kRecordsATurn = 40;
// A record writes its item's state and its shard, too.
constexpr size_t kWritesOfRecord = kChangesOfRecord + 2;

// The next records that one transaction counts.
struct Step {
  StateChanges changes;
  std::map<KeyHash, std::optional<std::string>> states;  // Empty: the item does not count any more.
  std::map<std::string, CountedShard> shards;
  CountPosition next;
  size_t seen_before = 0;
  size_t size() const { return changes.size() + states.size() + shards.size(); }
};

// One batch. Lives as long as the handler waits for it.
class EngineCounter {
 public:
  EngineCounter(Context& context, const EventLog& log, const CountSettings& settings, StreamName stream,
                const StreamBatch& batch)
      : context_(context),
        log_(log),
        settings_(settings),
        stream_(std::move(stream)),
        batch_(batch),
        counters_(context.services.tables, settings.metrics_table, stream_.table + "#" + settings.attribute),
        states_(context.services.tables, settings.metrics_table, stream_.table + "#" + settings.attribute) {}

  Async<Result<CountTally>> take() {
    auto good = co_await counters_.check();
    if (!good) co_return fail(good.error());
    auto position = co_await counters_.position();
    if (!position) co_return fail(position.error());
    position_ = std::move(*position);
    if (!goes_on()) {
      auto counted = co_await count_table();
      if (!counted) co_return fail(counted.error());
      if (!*counted) {
        tally_.left_out = batch_.records.size();
        co_return tally_;
      }
    }
    for (size_t i = 0; i < batch_.records.size();) {
      auto next = co_await add(i);
      if (!next) co_return fail(next.error());
      i = *next;
    }
    if (has_new_shard_) {
      co_await states_.forget_shards(position_->as_of - kShardsKept);
    }
    co_return tally_;
  }

 private:
  WallTime now() const { return context_.services.scheduler.clock().wall(); }
  bool is_in_stream() const {
    return position_ && position_->stream == stream_.label && position_->continuity == batch_.continuity &&
           now() - std::max(position_->as_of, position_->counted_at) < kSurelyKept;
  }
  bool goes_on() const { return is_in_stream() && position_->counting.empty(); }

  // Counts as many records from `first` on as one transaction holds. Returns the index of the next one.
  Async<Result<size_t>> add(size_t first) {
    const size_t end = std::min(batch_.records.size(), first + kRecordsATurn);
    auto loaded = co_await load(first, end);
    if (!loaded) co_return fail(loaded.error());
    Step step;
    step.next = *position_;
    ++step.next.sequence;
    size_t i = first;
    for (; i < end && step.size() + kWritesOfRecord <= CounterTable::kMost; ++i) {
      if (auto good = take_record(step, i); !good) co_return fail(good.error());
    }
    if (!step.shards.empty()) {
      auto written = co_await write(step);
      if (!written) co_return fail(written.error());
    }
    tally_.seen_before += step.seen_before;
    tally_.counted += i - first - step.seen_before;
    co_return i;
  }

  // The states of the items and shards of these records, as far as they are not known.
  Async<Result<void>> load(size_t first, size_t end) {
    std::set<KeyHash> items;
    std::set<std::string> shards;
    for (size_t i = first; i < end; ++i) {
      const KeyHash hash = hash_of_key(batch_.records[i].keys);
      if (!item_states_.contains(hash)) items.insert(hash);
      if (!shards_.contains(batch_.names[i].shard)) shards.insert(batch_.names[i].shard);
    }
    if (!items.empty()) {
      std::vector<KeyHash> hashes(items.begin(), items.end());
      auto found = co_await states_.items(std::move(hashes));
      if (!found) co_return fail(found.error());
      for (const KeyHash& hash : items) item_states_[hash] = std::nullopt;
      for (auto& [hash, state] : *found) item_states_[hash] = std::move(state.state);
    }
    if (!shards.empty()) {
      std::vector<std::string> names(shards.begin(), shards.end());
      auto found = co_await states_.shards(std::move(names));
      if (!found) co_return fail(found.error());
      for (const std::string& shard : shards) shards_[shard] = std::nullopt;
      for (auto& [shard, counted] : *found) shards_[shard] = std::move(counted);
    }
    co_return Result<void>();
  }

  Result<void> take_record(Step& step, size_t i) {
    const ChangeRecord& record = batch_.records[i];
    const RecordName& name = batch_.names[i];
    if (is_counted(step, name)) {
      ++step.seen_before;
      return {};
    }
    if (auto good = count_record(step, record); !good) return good;
    step.shards[name.shard] = {stream_.label, name.number, record.at};
    step.next.as_of = std::max(step.next.as_of, std::min(record.at, now()));
    return {};
  }

  // The table count has surely seen what the record did. It must not set the item back: what followed may be lost.
  Result<void> count_record(Step& step, const ChangeRecord& record) {
    const bool is_seen = record.at + kSurelyBefore < position_->counted_at;
    if (is_seen) return step.changes.add_move(record, settings_.attribute);
    const KeyHash hash = hash_of_key(record.keys);
    const auto [state, is_first] = step.states.try_emplace(hash, item_states_[hash]);
    return step.changes.add_to(state->second, record, settings_.attribute);
  }

  bool is_counted(const Step& step, const RecordName& name) {
    if (FRESHET_PLANTED("fleet-change-counted-again")) return false;
    const auto now = step.shards.find(name.shard);
    const std::optional<CountedShard>& stored = shards_[name.shard];
    if (now == step.shards.end() && (!stored || stored->stream != stream_.label)) return false;
    const std::string& last = now != step.shards.end() ? now->second.number : stored->number;
    return name.number == last || is_behind({name.number}, {last});
  }

  Async<Result<void>> write(Step& step) {
    std::vector<WriteInput> writes;
    for (const auto& [hash, state] : step.states) {
      if (state == item_states_[hash]) continue;
      writes.push_back(state ? states_.put(hash, {*state, position_->round}) : states_.removal(hash));
    }
    for (const auto& [shard, counted] : step.shards) writes.push_back(states_.put_shard(shard, counted));
    StateChanges changes = std::move(step.changes);
    CountPosition next = step.next;
    std::optional<CountPosition> seen = position_;
    auto written = co_await counters_.add(std::move(changes), std::move(seen), std::move(next), std::move(writes));
    if (!written) co_return written;
    position_ = std::move(step.next);
    for (auto& [hash, state] : step.states) item_states_[hash] = std::move(state);
    for (auto& [shard, counted] : step.shards) {
      has_new_shard_ = has_new_shard_ || !shards_[shard];
      shards_[shard] = std::move(counted);
    }
    co_return Result<void>();
  }

  // Returns false if only another stream of the table can tell how many there are.
  Async<Result<bool>> count_table() {
    auto table = co_await counted_table(context_, log_, stream_);
    if (!table) co_return fail(table.error());
    if (!*table) co_return false;
    EngineTableCount count(context_, settings_.attribute, counters_, states_, position_);
    TableDescription described = std::move(**table);
    CountPosition begun = beginning();
    auto states = co_await count.run(std::move(described), std::move(begun));
    if (!states) co_return fail(states.error());
    log_.info("COUNT_TABLE", {{"function", context_.function.name},
                              {"table", stream_.table},
                              {"attribute", settings_.attribute},
                              {"states", *states}});
    ++tally_.table_counts;
    co_return true;
  }

  // The beginning of a new table count, or the place where an interrupted one goes on.
  CountPosition beginning() const {
    CountPosition begun;
    if (is_in_stream()) {
      begun = *position_;
    } else {
      begun.round = context_.invocation.request_id;
      begun.counted_at = now();
    }
    begun.stream = stream_.label;
    begun.continuity = batch_.continuity;
    begun.sequence = position_ ? position_->sequence : 0;
    begun.as_of = std::min(batch_.records.front().at, now());
    return begun;
  }

  Context& context_;
  const EventLog& log_;
  const CountSettings& settings_;
  const StreamName stream_;
  const StreamBatch& batch_;
  CounterTable counters_;
  ItemStates states_;
  std::optional<CountPosition> position_;
  // As they are stored, or as this batch has stored them. Right for as long as the position is what this object knows.
  std::map<KeyHash, std::optional<std::string>> item_states_;
  std::map<std::string, std::optional<CountedShard>> shards_;
  bool has_new_shard_ = false;
  CountTally tally_;
};

Result<void> check_batch(const StreamBatch& batch) {
  if (batch.lanes > 1 || batch.leaves_out) {
    return invalid(
        "count_states needs all records of the stream: its event source mapping must have a ParallelizationFactor of "
        "1, and no FilterCriteria, MaximumRetryAttempts and MaximumRecordAgeInSeconds");
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t i = 0; i < batch.records.size(); ++i) {
    const std::string& number = batch.names[i].number;
    if (number.empty() || !std::all_of(number.begin(), number.end(), is_digit)) {
      return invalid("count_states needs sequence numbers of digits, and a record of the stream has '" + number + "'");
    }
    if (batch.records[i].at == WallTime{}) {
      return invalid("count_states needs the times of changes, and record " + number +
                     " of the stream has no ApproximateCreationDateTime");
    }
  }
  return {};
}

}  // namespace

Async<Result<CountTally>> count_on_engine(Context& context, const EventLog& log, const CountSettings& settings,
                                          StreamName stream, const StreamBatch& batch) {
  if (auto good = check_batch(batch); !good) co_return fail(good.error());
  EngineCounter counter(context, log, settings, std::move(stream), batch);
  co_return co_await counter.take();
}

}  // namespace freshet
