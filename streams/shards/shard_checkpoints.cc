#include "streams/shards/shard_checkpoints.h"

#include <fmt/format.h>

#include "streams/system_table.h"

namespace freshet {

namespace {

constexpr std::string_view kStartKind = "shard-reader";
constexpr std::string_view kMarkKind = "shard-mark";

// An item without a rev is one that is not there.
std::string condition_on(uint64_t rev, Placeholders& placeholders) {
  placeholders.names.emplace_back("#rev", "rev");
  if (rev == 0) return "attribute_not_exists(#rev)";
  placeholders.values.set(":rev", Value::number(static_cast<int64_t>(rev)));
  return "#rev = :rev";
}

std::vector<std::string> shards_in(const Value* value) {
  std::vector<std::string> shards;
  const List* list = value ? value->get_if<List>() : nullptr;
  if (!list) return shards;
  for (const Value& one : list->elements) {
    if (const auto* shard = one.get_if<std::string>()) shards.push_back(*shard);
  }
  return shards;
}

}  // namespace

ShardCheckpoints::ShardCheckpoints(std::string reader, std::string label, std::string arn, int64_t start,
                                   std::optional<WallTime> since)
    : reader_(std::move(reader)), label_(std::move(label)), arn_(std::move(arn)), start_(start), since_(since) {}

std::string ShardCheckpoints::mark_id(const std::string& shard) const {
  return fmt::format("{}/{}/{}", reader_, start_, shard);
}

const ShardMark* ShardCheckpoints::find(const std::string& shard) const {
  const auto found = marks_.find(shard);
  return found == marks_.end() ? nullptr : &found->second.mark;
}

std::vector<std::pair<std::string, ShardMark>> ShardCheckpoints::all() const {
  std::vector<std::pair<std::string, ShardMark>> out;
  for (const auto& [shard, stored] : marks_) out.emplace_back(shard, stored.mark);
  return out;
}

void ShardCheckpoints::pass(const std::vector<std::string>& shards) {
  for (const std::string& shard : shards) marks_[shard] = {ShardMark{{}, true}, 0};
}

std::vector<WriteInput> ShardCheckpoints::start_writes() const {
  Item item = system_item(kStartKind, reader_);
  item.set("label", Value(label_));
  if (!arn_.empty()) item.set("arn", Value(arn_));
  item.set("start", Value::number(start_));
  List passed;
  for (const auto& [shard, stored] : marks_) {
    if (stored.rev == 0) passed.elements.emplace_back(shard);
  }
  if (!passed.elements.empty()) item.set("over", Value(std::move(passed)));
  if (since_) item.set("since", Value::number(epoch_ms(*since_)));
  std::vector<WriteInput> writes;
  writes.emplace_back(put_system_item(std::move(item)));
  return writes;
}

std::vector<WriteInput> ShardCheckpoints::writes(const std::vector<std::pair<std::string, ShardMark>>& marks) const {
  std::vector<WriteInput> writes;
  for (const auto& [shard, mark] : marks) {
    const auto before = marks_.find(shard);
    const uint64_t rev = before == marks_.end() ? 0 : before->second.rev;
    Item item = system_item(kMarkKind, mark_id(shard));
    item.set("reader", Value(reader_));
    item.set("start", Value::number(start_));
    item.set("shard", Value(shard));
    item.set("rev", Value::number(static_cast<int64_t>(rev + 1)));
    if (!mark.after.empty()) item.set("after", Value(mark.after));
    if (mark.over) item.set("over", Value::boolean(true));
    PutItemInput put = put_system_item(std::move(item));
    put.condition = condition_on(rev, put.placeholders);
    writes.emplace_back(std::move(put));
  }
  return writes;
}

void ShardCheckpoints::stored(const std::vector<std::pair<std::string, ShardMark>>& marks) {
  for (const auto& [shard, mark] : marks) {
    Stored& stored = marks_[shard];
    stored.mark = mark;
    ++stored.rev;
  }
}

std::optional<WriteInput> ShardCheckpoints::remove(const std::string& shard) {
  const auto gone = marks_.extract(shard);
  if (gone.empty() || gone.mapped().rev == 0) return std::nullopt;
  return WriteInput(delete_system_item(kMarkKind, mark_id(shard)));
}

std::vector<WriteInput> ShardCheckpoints::removals() const {
  std::vector<WriteInput> writes;
  if (reader_.empty()) return writes;
  writes.emplace_back(delete_system_item(kStartKind, reader_));
  for (const auto& [shard, stored] : marks_) {
    if (stored.rev > 0) writes.emplace_back(delete_system_item(kMarkKind, mark_id(shard)));
  }
  return writes;
}

void ShardCheckpoints::take(const Item& item) {
  const int64_t rev = item.int_or("rev", 0);
  if (rev <= 0 || item.int_or("start", 0) != start_) return;  // Left over from an earlier start.
  ShardMark mark{std::string(item.string_or("after")), item.contains("over")};
  marks_[std::string(item.string_or("shard"))] = {std::move(mark), static_cast<uint64_t>(rev)};
}

Async<Result<std::map<std::string, ShardCheckpoints>>> load_checkpoints(Tables& tables) {
  std::map<std::string, ShardCheckpoints> all;
  std::string kind(kStartKind);
  auto starts = co_await load_system_items(tables, std::move(kind));
  if (!starts) co_return fail(std::move(starts.error()));
  for (const ItemRef& ref : *starts) {
    const Item item = ref.decode();
    const std::string reader(item.string_or("id"));
    std::optional<WallTime> since;
    if (item.contains("since")) since = WallTime(milliseconds(item.int_or("since", 0)));
    const int64_t start = item.int_or("start", 0);
    ShardCheckpoints begun(reader, std::string(item.string_or("label")), std::string(item.string_or("arn")), start,
                           since);
    begun.pass(shards_in(item.find("over")));
    all.emplace(reader, std::move(begun));
  }
  kind = kMarkKind;
  auto marks = co_await load_system_items(tables, std::move(kind));
  if (!marks) co_return fail(std::move(marks.error()));
  for (const ItemRef& ref : *marks) {
    const Item item = ref.decode();
    const auto reader = all.find(std::string(item.string_or("reader")));
    if (reader != all.end()) reader->second.take(item);
  }
  co_return all;
}

}  // namespace freshet
