#include "functions/count/item_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace freshet {

namespace {

constexpr std::string_view kItemPrefix = "item#";
constexpr std::string_view kShardPrefix = "shard#";
constexpr size_t kHalf = 16;  // The hexadecimal digits of half a hash.

std::string text_of(const KeyHash& hash) {
  return fmt::format("{:016x}{:016x}", hash.first, hash.second);
}

uint64_t half_of(std::string_view text) {
  uint64_t half = 0;
  std::from_chars(text.data(), text.data() + text.size(), half, 16);
  return half;
}

std::optional<KeyHash> hash_in(std::string_view metric) {
  if (!metric.starts_with(kItemPrefix) || metric.size() != kItemPrefix.size() + 2 * kHalf) return std::nullopt;
  metric.remove_prefix(kItemPrefix.size());
  return KeyHash{half_of(metric.substr(0, kHalf)), half_of(metric.substr(kHalf))};
}

ItemState item_state_of(const Item& item) {
  return {std::string(item.string_or("state")), std::string(item.string_or("round"))};
}

}  // namespace

Item ItemStates::key(const KeyHash& hash) const {
  const std::string text = text_of(hash);
  return Item{{"counted", Value(counted_ + "#items#" + text[0])}, {"metric", Value(std::string(kItemPrefix) + text)}};
}

Item ItemStates::shard_key(const std::string& name) const {
  return Item{{"counted", Value(counted_ + "#shards")}, {"metric", Value(std::string(kShardPrefix) + name)}};
}

Async<Result<std::vector<ItemRef>>> ItemStates::read(std::vector<Item> keys) {
  std::vector<GetItemInput> gets(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    gets[i].table = table_;
    gets[i].key = std::move(keys[i]);
  }
  auto answers = co_await tables_.read_many(std::move(gets));
  std::vector<ItemRef> found;
  for (auto& answer : answers) {
    if (!answer) co_return fail(std::move(answer.error()));
    if (answer->item) found.push_back(std::move(answer->item));
  }
  co_return found;
}

Async<Result<std::map<KeyHash, ItemState>>> ItemStates::items(std::vector<KeyHash> hashes) {
  std::vector<Item> keys;
  for (const KeyHash& hash : hashes) keys.push_back(key(hash));
  auto found = co_await read(std::move(keys));
  if (!found) co_return fail(std::move(found.error()));
  std::map<KeyHash, ItemState> states;
  for (const ItemRef& ref : *found) {
    const Item item = ref.decode();
    if (const auto hash = hash_in(item.string_or("metric"))) states[*hash] = item_state_of(item);
  }
  co_return states;
}

Async<Result<ItemStates::Page>> ItemStates::page(size_t part, Item start) {
  QueryInput query;
  query.table = table_;
  query.key_condition = "#h = :h AND begins_with(#r, :r)";
  query.placeholders.names = {{"#h", "counted"}, {"#r", "metric"}};
  query.placeholders.values =
      Map{{":h", Value(fmt::format("{}#items#{:x}", counted_, part))}, {":r", Value(std::string(kItemPrefix))}};
  query.exclusive_start_key = std::move(start);
  query.consistent = true;
  auto found = co_await tables_.query(std::move(query));
  if (!found) co_return fail(std::move(found.error()));
  Page page;
  for (const ItemRef& ref : found->items) {
    const Item item = ref.decode();
    if (const auto hash = hash_in(item.string_or("metric"))) page.items.emplace_back(*hash, item_state_of(item));
  }
  page.next = std::move(found->last_evaluated_key);
  co_return page;
}

WriteInput ItemStates::put(const KeyHash& hash, ItemState state) const {
  PutItemInput put;
  put.table = table_;
  put.item = key(hash);
  put.item.set("state", Value(std::move(state.state)));
  put.item.set("round", Value(std::move(state.round)));
  return put;
}

WriteInput ItemStates::removal(const KeyHash& hash) const {
  DeleteItemInput gone;
  gone.table = table_;
  gone.key = key(hash);
  return gone;
}

Async<Result<std::map<std::string, CountedShard>>> ItemStates::shards(std::vector<std::string> names) {
  std::vector<Item> keys;
  for (const std::string& name : names) keys.push_back(shard_key(name));
  auto found = co_await read(std::move(keys));
  if (!found) co_return fail(std::move(found.error()));
  std::map<std::string, CountedShard> shards;
  for (const ItemRef& ref : *found) {
    const Item item = ref.decode();
    const std::string_view metric = item.string_or("metric");
    shards[std::string(metric.substr(std::min(metric.size(), kShardPrefix.size())))] = {
        std::string(item.string_or("stream")), std::string(item.string_or("number")),
        WallTime(milliseconds(item.int_or("asOf", 0)))};
  }
  co_return shards;
}

WriteInput ItemStates::put_shard(const std::string& name, const CountedShard& shard) const {
  PutItemInput put;
  put.table = table_;
  put.item = shard_key(name);
  put.item.set("stream", Value(shard.stream));
  put.item.set("number", Value(shard.number));
  put.item.set("asOf", Value::number(epoch_ms(shard.as_of)));
  return put;
}

Async<void> ItemStates::forget_shards(WallTime before) {
  Item start;
  do {
    QueryInput query;
    query.table = table_;
    query.key_condition = "#h = :h AND begins_with(#r, :r)";
    query.placeholders.names = {{"#h", "counted"}, {"#r", "metric"}};
    query.placeholders.values = Map{{":h", Value(counted_ + "#shards")}, {":r", Value(std::string(kShardPrefix))}};
    query.exclusive_start_key = std::move(start);
    auto page = co_await tables_.query(std::move(query));
    if (!page) co_return;
    std::vector<WriteInput> gone;
    for (const ItemRef& ref : page->items) {
      const Item item = ref.decode();
      const int64_t as_of = item.int_or("asOf", 0);
      if (WallTime(milliseconds(as_of)) >= before) continue;
      DeleteItemInput one;
      one.table = table_;
      one.key = Item{{"counted", *item.find("counted")}, {"metric", *item.find("metric")}};
      one.condition = "#a = :a";  // It has not been counted further meanwhile.
      one.placeholders.names = {{"#a", "asOf"}};
      one.placeholders.values = Map{{":a", Value::number(as_of)}};
      gone.emplace_back(std::move(one));
    }
    co_await tables_.write_many(std::move(gone));
    start = std::move(page->last_evaluated_key);
  } while (!start.empty());
}

}  // namespace freshet
