// A remote engine's stream in simulation: a tree of shards that split, merge and are trimmed. Its answers come late;
// they have pages, and faults that the test sets or that are drawn. Seeded.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "streams/shards/engine_streams.h"

namespace freshet {

class FakeEngine final : public EngineStreams {
 public:
  struct Change {
    int item = 0;
    int version = 0;  // 1 is the item's first.
    uint64_t number = 0;
    WallTime at{};
    bool kept = true;
  };
  struct Shard {
    std::string id;
    std::vector<std::string> parents;
    std::set<int> items;  // It gets the changes of these.
    std::vector<Change> changes;
    bool closed = false;
    bool listed = true;
  };

  FakeEngine(Scheduler& scheduler, uint64_t seed, int items) : scheduler_(scheduler), random_(seed) {
    Shard& first = add_shard({});
    for (int item = 0; item < items; ++item) first.items.insert(item);
    versions.assign(static_cast<size_t>(items), 0);
  }

  // Changes of the table and of its stream.
  void write(int item) {
    Shard& shard = *std::find_if(tree.begin(), tree.end(),
                                 [&](const Shard& one) { return !one.closed && one.items.contains(item); });
    shard.changes.push_back(
        {item, ++versions[static_cast<size_t>(item)], ++last_number_, scheduler_.clock().wall() - behind, true});
  }
  void split(size_t which) {
    const Shard parent = close(which);
    std::vector<int> items(parent.items.begin(), parent.items.end());
    const size_t middle = items.size() / 2;
    add_shard({parent.id}).items.insert(items.begin(), items.begin() + static_cast<ptrdiff_t>(middle));
    add_shard({parent.id}).items.insert(items.begin() + static_cast<ptrdiff_t>(middle), items.end());
  }
  void merge(size_t one, size_t other) {
    const Shard a = close(one);
    const Shard b = close(other);
    Shard& child = add_shard({a.id, b.id});
    child.items = a.items;
    child.items.insert(b.items.begin(), b.items.end());
  }
  // Changes up to that number are no longer kept; a closed shard without any is no longer listed.
  void trim(uint64_t number) {
    for (Shard& shard : tree) {
      for (Change& change : shard.changes) change.kept = change.kept && change.number > number;
      const bool is_empty =
          std::none_of(shard.changes.begin(), shard.changes.end(), [](const Change& c) { return c.kept; });
      if (shard.closed && is_empty && !shard.changes.empty()) shard.listed = false;
    }
    trimmed = std::max(trimmed, number);
  }
  void switch_off() {
    is_on = false;
    for (Shard& shard : tree) shard.closed = true;
  }
  std::vector<size_t> open_shards() const {
    std::vector<size_t> open;
    for (size_t i = 0; i < tree.size(); ++i) {
      if (!tree[i].closed) open.push_back(i);
    }
    return open;
  }
  const Shard& shard(const std::string& id) const {
    return *std::find_if(tree.begin(), tree.end(), [&](const Shard& one) { return one.id == id; });
  }
  uint64_t last_number() const { return last_number_; }
  static std::string text(uint64_t number) { return std::to_string(100'000'000 + number); }

  // The engine's answers.
  Async<Result<EngineStream>> stream_of(std::string) override {
    co_await way();
    if (auto error = fault()) co_return fail(std::move(*error));
    co_return EngineStream{"arn/stream/L", "L", StreamView::kNewAndOldImages, is_on};
  }
  Async<Result<ShardPage>> shards(std::string, std::string after) override {
    co_await way();
    ++lists;
    if (auto error = fault()) co_return fail(std::move(*error));
    if (refuses_lists) co_return fail(*refuses_lists);
    ShardPage page{{"arn/stream/L", "L", StreamView::kNewAndOldImages, is_on}, {}, {}};
    for (const Shard& shard : tree) {
      if (!shard.listed || hidden.contains(shard.id) || shard.id <= after) continue;
      if (page.shards.size() == page_of_shards) {
        page.last = page.shards.back().id;
        break;
      }
      page.shards.push_back({shard.id, shard.parents, shard.closed});
    }
    co_return page;
  }

  Async<Result<std::string>> iterator(std::string, std::string id, ShardStart start, std::string after) override {
    co_await way();
    if (auto error = fault()) co_return fail(std::move(*error));
    const Shard& of = shard(id);
    if (!of.listed) co_return fail(ErrorCode::kResourceNotFound, "no such shard");
    size_t place = 0;
    if (start == ShardStart::kLatest) place = of.changes.size();
    if (start == ShardStart::kAfter) {
      while (place < of.changes.size() && text(of.changes[place].number) <= after) ++place;
      if (place < of.changes.size() && !of.changes[place].kept)
        co_return fail(ErrorCode::kTrimmedDataAccess, "trimmed");
    } else if (start == ShardStart::kHorizon) {
      while (place < of.changes.size() && !of.changes[place].kept) ++place;
    }
    ++iterators;
    broken_iterators = false;
    co_return id + "|" + std::to_string(place);
  }

  Async<Result<ShardRecords>> records(std::string iterator) override {
    struct InFlight {
      FakeEngine& engine;
      explicit InFlight(FakeEngine& e) : engine(e) {
        engine.most_in_flight = std::max(engine.most_in_flight, ++engine.in_flight);
      }
      ~InFlight() { --engine.in_flight; }
    };
    const InFlight in_flight_now(*this);
    co_await way();
    ++reads;
    if (auto error = fault()) co_return fail(std::move(*error));
    if (broken_iterators) co_return fail(ErrorCode::kInternal, "a broken iterator");
    if (expire_next || random_.unit() < expired) {
      expire_next = false;
      co_return fail(ErrorCode::kExpiredIterator, "expired");
    }
    const size_t bar = iterator.find('|');
    const std::string id = iterator.substr(0, bar);
    size_t place = std::stoul(iterator.substr(bar + 1));
    ++reads_of[id];
    if (const auto refused = refuses_shard.find(id); refused != refuses_shard.end()) co_return fail(refused->second);
    const Shard& of = shard(id);
    if (!of.listed) co_return fail(ErrorCode::kResourceNotFound, "no such shard");
    if (place < of.changes.size() && !of.changes[place].kept) co_return fail(ErrorCode::kTrimmedDataAccess, "trimmed");
    ShardRecords page;
    const size_t most = random_.unit() < empty ? 0 : 1 + random_.below(page_of_records);
    for (; place < of.changes.size() && page.records.size() < most; ++place) {
      page.records.push_back(record_of(of.changes[place]));
    }
    if (!of.closed || place < of.changes.size()) page.next = id + "|" + std::to_string(place);
    co_return page;
  }

  std::optional<WallTime> engine_time() const override {
    if (!says_time) return std::nullopt;
    return std::chrono::floor<seconds>(scheduler_.clock().wall() - behind);
  }

  double expired = 0;  // How likely each is, for one request.
  double fails = 0;
  double empty = 0;  // A page is empty although there is more.
  bool expire_next = false;
  bool broken_iterators = false;  // Those that it gave until now.
  std::optional<Error> refuses;   // Every request.
  std::optional<Error> refuses_lists;
  std::map<std::string, Error> refuses_shard;  // Reads of a shard.
  std::set<std::string> hidden;                // Lists lack these shards by mistake.
  seconds behind{};                            // Its clock is so much behind the daemon's.
  bool says_time = true;
  std::optional<milliseconds> slow;  // The time of each answer; else it is drawn.
  size_t page_of_shards = 3;
  size_t page_of_records = 5;
  bool is_on = true;
  uint64_t trimmed = 0;
  int lists = 0;
  int iterators = 0;
  int reads = 0;
  std::map<std::string, int> reads_of;  // By shard.
  size_t in_flight = 0;                 // Pages of records,
  size_t most_in_flight = 0;            // and the most of them at a time.

 private:
  Shard& add_shard(std::vector<std::string> parents) {
    Shard shard;
    shard.id = "shard-" + std::to_string(1000 + tree.size());
    shard.parents = std::move(parents);
    tree.push_back(std::move(shard));
    return tree.back();
  }
  Shard close(size_t which) {
    tree[which].closed = true;
    return tree[which];
  }
  static ShardRecord record_of(const Change& change) {
    ShardRecord out;
    out.record.kind = change.version == 1 ? ChangeRecord::Kind::kInsert : ChangeRecord::Kind::kModify;
    out.record.at = change.at;
    out.record.keys = Item{{"id", "i" + std::to_string(change.item)}};
    out.record.after = ItemRef::encode(
        Item{{"id", "i" + std::to_string(change.item)}, {"version", Value::number(int64_t{change.version})}});
    out.number = text(change.number);
    out.event_id = "e" + out.number;
    return out;
  }
  Async<void> way() {
    const milliseconds drawn(1 + static_cast<int64_t>(random_.below(20)));
    return sleep_for(scheduler_, slow.value_or(drawn));
  }
  std::optional<Error> fault() {
    if (refuses) return refuses;
    if (random_.unit() >= fails) return std::nullopt;
    return Error{ErrorCode::kThroughputExceeded, "busy", nullptr};
  }

  Scheduler& scheduler_;
  Random random_;
  uint64_t last_number_ = 0;

 public:
  std::vector<Shard> tree;
  std::vector<int> versions;  // By item: the number of its changes.
};

}  // namespace freshet
