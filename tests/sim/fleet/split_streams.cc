#include "tests/sim/fleet/split_streams.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "streams/stream_event.h"

namespace freshet::fleet_sim {

namespace {

constexpr size_t kPage = 3;
constexpr uint64_t kLeastChanges = 5;  // Between two changes of the shards.
constexpr uint64_t kMostChanges = 60;
constexpr size_t kMostOpen = 5;

int slot_of(const Item& keys) {
  uint64_t hash = 14695981039346656037ull;
  for (const char letter : ItemRef::encode(keys).encoded()) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ull;
  }
  return static_cast<int>((hash >> 32) % ShardTree::kSlots);
}

uint64_t number_of(const ShardRecord& record) {
  const auto number = parse_sequence_number(record.number);
  FRESHET_CHECK(number.has_value(), "the engine numbers its changes as Freshet does");
  return *number;
}

}  // namespace

ShardTree::ShardTree(uint64_t seed, size_t readers, sim::Trace& trace)
    : random_(seed), readers_(readers), trace_(trace) {
  add({}, 0, kSlots, 1);
  next_ = 2 + random_.below(kMostChanges);
}

void ShardTree::add(std::vector<std::string> parents, int from, int to, uint64_t first) {
  Shard shard;
  shard.id = "shardId-" + std::to_string(1'000 + shards_.size());
  shard.parents = std::move(parents);
  shard.from = from;
  shard.to = to;
  shard.first = first;
  shards_.push_back(std::move(shard));
}

std::vector<size_t> ShardTree::open() const {
  std::vector<size_t> out;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].end == 0) out.push_back(i);
  }
  std::sort(out.begin(), out.end(), [&](size_t a, size_t b) { return shards_[a].from < shards_[b].from; });
  return out;
}

void ShardTree::saw(uint64_t number) {
  while (number >= next_) {
    change(next_);
    next_ += kLeastChanges + random_.below(kMostChanges);
  }
}

void ShardTree::change(uint64_t number) {
  const auto there = open();
  const bool may_split = there.size() < kMostOpen;
  const bool may_merge = there.size() > 1;
  const size_t which = random_.below(may_merge ? there.size() - 1 : 1);
  if (may_split && (!may_merge || random_.below(5) < 3)) return split(there[random_.below(there.size())], number);
  merge(there[which], there[which + 1], number);
}

void ShardTree::split(size_t which, uint64_t number) {
  const Shard parent = shards_[which];
  if (parent.to - parent.from < 2) return;
  shards_[which].end = number;
  const int width = parent.to - parent.from;
  const int middle = parent.from + 1 + static_cast<int>(random_.below(static_cast<uint64_t>(width - 1)));
  add({parent.id}, parent.from, middle, number);
  add({parent.id}, middle, parent.to, number);
  trace_.saw("engine a shard is split");
}

void ShardTree::merge(size_t one, size_t other, uint64_t number) {
  shards_[one].end = shards_[other].end = number;
  add({shards_[one].id, shards_[other].id}, shards_[one].from, shards_[other].to, number);
  trace_.saw("engine two shards are merged");
}

void ShardTree::over(const std::string& mark) {
  const auto shard =
      std::find_if(shards_.begin(), shards_.end(), [&](const Shard& one) { return mark.ends_with(one.id); });
  if (shard == shards_.end() || shard->end == 0 || shard->is_trimmed) return;
  std::set<std::string>& readers = finished_by_[shard->id];
  readers.insert(mark.substr(0, mark.find('/')));
  // An engine keeps changes for a day: no reader is so far behind.
  if (readers.size() < readers_ || random_.below(20) != 0) return;
  shard->is_trimmed = true;
  trace_.saw("engine a shard is trimmed");
}

const ShardTree::Shard* ShardTree::find(const std::string& id) const {
  const auto shard = std::find_if(shards_.begin(), shards_.end(), [&](const Shard& one) { return one.id == id; });
  return shard == shards_.end() || shard->is_trimmed ? nullptr : &*shard;
}

ShardPage ShardTree::list(EngineStream stream, const std::string& after) {
  ShardPage page;
  page.stream = std::move(stream);
  auto next = shards_.begin();
  if (!after.empty()) {
    next = std::find_if(shards_.begin(), shards_.end(), [&](const Shard& one) { return one.id == after; });
    if (next != shards_.end()) ++next;
  }
  for (; next != shards_.end() && page.shards.size() < kPage; ++next) {
    if (next->is_trimmed) continue;
    if (lacks_some_ && next->end == 0 && random_.below(20) == 0) {
      trace_.saw("engine a list lacks a new shard");
      continue;
    }
    page.shards.push_back({next->id, next->parents, next->end != 0});
  }
  if (next != shards_.end() && !page.shards.empty()) page.last = page.shards.back().id;
  return page;
}

Async<Result<ShardPage>> SplitStreams::shards(std::string arn, std::string after) {
  auto real = co_await engine_.shards(std::move(arn), std::string());
  if (!real) co_return real;
  FRESHET_CHECK(real->shards.size() == 1 && real->last.empty(), "the simulated engine's own streams have one shard");
  whole_ = real->shards.front().id;
  co_return tree_.list(std::move(real->stream), after);
}

Async<Result<std::string>> SplitStreams::iterator(std::string arn, std::string shard, ShardStart start,
                                                  std::string after) {
  if (whole_.empty()) {
    std::string of = arn;
    auto listed = co_await shards(std::move(of), std::string());
    if (!listed) co_return fail(listed.error());
  }
  const ShardTree::Shard* one = tree_.find(shard);
  if (one == nullptr) co_return fail(ErrorCode::kResourceNotFound, "there is no shard " + shard);
  if (start == ShardStart::kHorizon && one->first > 1) {
    start = ShardStart::kAfter;
    after = sequence_number(one->first - 1);
  }
  std::string whole = whole_;
  auto real = co_await engine_.iterator(std::move(arn), std::move(whole), start, std::move(after));
  if (!real) co_return real;
  co_return shard + "@" + *real;
}

Async<Result<ShardRecords>> SplitStreams::records(std::string iterator) {
  const size_t at = iterator.find('@');
  const std::string id = iterator.substr(0, at);
  std::string of_engine = iterator.substr(at + 1);
  auto real = co_await engine_.records(std::move(of_engine));
  if (!real) co_return real;
  for (const ShardRecord& record : real->records) tree_.saw(number_of(record));
  const ShardTree::Shard* shard = tree_.find(id);
  if (shard == nullptr) co_return fail(ErrorCode::kResourceNotFound, "there is no shard " + id);
  ShardRecords out;
  bool is_over = real->next.empty();
  for (ShardRecord& record : real->records) {
    const uint64_t number = number_of(record);
    is_over = is_over || (shard->end != 0 && number >= shard->end);
    if (shard->has(slot_of(record.record.keys), number)) out.records.push_back(std::move(record));
  }
  if (!is_over) out.next = id + "@" + real->next;
  co_return out;
}

}  // namespace freshet::fleet_sim
