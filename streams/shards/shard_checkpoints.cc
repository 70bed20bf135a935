#include "streams/shards/shard_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/points.h"
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

std::string ShardCheckpoints::mark_id(const std::string& shard) const {
  return fmt::format("{}/{}/{}", start_.reader, start_.number, shard);
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

PutItemInput ShardCheckpoints::start_write() const {
  Item item = system_item(kStartKind, start_.reader);
  item.set("label", Value(start_.label));
  if (!start_.arn.empty()) item.set("arn", Value(start_.arn));
  if (!start_.table.empty()) item.set("table", Value(start_.table));
  item.set("start", Value::number(start_.number));
  List passed;
  for (const auto& [shard, stored] : marks_) {
    if (stored.rev == 0) passed.elements.emplace_back(shard);
  }
  if (!passed.elements.empty()) item.set("over", Value(std::move(passed)));
  if (start_.from) {
    item.set("from", Value::number(epoch_ms(*start_.from)));
    item.set("since", Value::number(epoch_ms(*start_.from + kSignatureMargin)));  // For versions that know only this.
  }
  return put_system_item(std::move(item));
}

PutItemInput ShardCheckpoints::start_write_after(const ShardCheckpoints* before) const {
  PutItemInput put = start_write();
  put.placeholders.names.emplace_back("#start", "start");
  put.condition = "attribute_not_exists(#start)";
  if (!before) return put;
  put.condition = "#start = :start";
  put.placeholders.values.set(":start", Value::number(before->start().number));
  return put;
}

std::vector<WriteInput> ShardCheckpoints::writes(const std::vector<std::pair<std::string, ShardMark>>& marks) const {
  std::vector<WriteInput> writes;
  for (const auto& [shard, mark] : marks) {
    const auto before = marks_.find(shard);
    const uint64_t rev = before == marks_.end() ? 0 : before->second.rev;
    Item item = system_item(kMarkKind, mark_id(shard));
    item.set("reader", Value(start_.reader));
    item.set("start", Value::number(start_.number));
    item.set("shard", Value(shard));
    item.set("rev", Value::number(static_cast<int64_t>(rev + 1)));
    if (!mark.after.empty()) item.set("after", Value(mark.after));
    if (mark.over) item.set("over", Value::boolean(true));
    if (lost_at_ > 0) item.set("lostAt", Value::number(lost_at_));
    PutItemInput put = put_system_item(std::move(item));
    if (!FRESHET_PLANTED("fleet-mark-unconditional")) put.condition = condition_on(rev, put.placeholders);
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

ShardCheckpoints ShardCheckpoints::begun_as(std::string reader, std::string table) const {
  ShardCheckpoints begun(start_);
  begun.start_.reader = std::move(reader);
  begun.start_.table = std::move(table);
  for (const auto& [shard, stored] : marks_) {
    if (stored.rev == 0) begun.marks_.emplace(shard, stored);
  }
  return begun;
}

std::vector<std::pair<std::string, ShardMark>> ShardCheckpoints::marks_with_items() const {
  std::vector<std::pair<std::string, ShardMark>> marks;
  for (const auto& [shard, stored] : marks_) {
    if (stored.rev > 0) marks.emplace_back(shard, stored.mark);
  }
  return marks;
}

void ShardCheckpoints::lose(int64_t now) {
  lost_at_ = std::max(lost_at_ + 1, now);
}

void ShardCheckpoints::learn(const ShardCheckpoints& now) {
  lost_at_ = std::max(lost_at_, now.lost_at_);
  for (auto& [shard, known] : marks_) known.rev = 0;
  for (const auto& [shard, stored] : now.marks_) marks_[shard] = stored;
}

std::optional<WriteInput> ShardCheckpoints::remove(const std::string& shard) {
  const auto gone = marks_.extract(shard);
  if (gone.empty() || gone.mapped().rev == 0) return std::nullopt;
  return WriteInput(delete_system_item(kMarkKind, mark_id(shard)));
}

std::vector<WriteInput> ShardCheckpoints::removals() const {
  std::vector<WriteInput> writes;
  if (start_.reader.empty()) return writes;
  writes.emplace_back(delete_system_item(kStartKind, start_.reader));
  for (const auto& [shard, stored] : marks_) {
    if (stored.rev > 0) writes.emplace_back(delete_system_item(kMarkKind, mark_id(shard)));
  }
  return writes;
}

void ShardCheckpoints::take(const Item& item) {
  const int64_t rev = item.int_or("rev", 0);
  if (rev <= 0 || item.int_or("start", 0) != start_.number) return;  // Left over from an earlier start.
  lost_at_ = std::max(lost_at_, item.int_or("lostAt", 0));
  ShardMark mark{std::string(item.string_or("after")), item.contains("over")};
  marks_[std::string(item.string_or("shard"))] = {std::move(mark), static_cast<uint64_t>(rev)};
}

ShardCheckpoints ShardCheckpoints::started(const Item& item) {
  ReaderStart start;
  start.reader = item.string_or("id");
  start.table = item.string_or("table");
  start.label = item.string_or("label");
  start.arn = item.string_or("arn");
  start.number = item.int_or("start", 0);
  if (item.contains("since")) start.from = WallTime(milliseconds(item.int_or("since", 0))) - kSignatureMargin;
  if (item.contains("from")) start.from = WallTime(milliseconds(item.int_or("from", 0)));
  ShardCheckpoints begun(std::move(start));
  begun.pass(shards_in(item.find("over")));
  return begun;
}

// The start is the last, so that another call finds what one that failed has left.
Async<Result<std::vector<WriteInput>>> all_removals(Tables& tables, std::string table, std::string reader) {
  std::string of = table;
  std::string kind(kMarkKind);
  std::string prefix = reader + "/";
  auto marks = co_await load_items_of(tables, std::move(of), std::move(kind), std::move(prefix));
  if (!marks) co_return fail(std::move(marks.error()));
  std::vector<WriteInput> writes;
  for (const ItemRef& ref : *marks) {
    const Item item = ref.decode();
    if (item.string_or("reader") != reader) continue;
    writes.emplace_back(delete_system_item(kMarkKind, item.string_or("id")));
  }
  writes.emplace_back(delete_system_item(kStartKind, reader));
  move_to_table(writes, table);
  co_return writes;
}

Async<Result<std::map<std::string, ShardCheckpoints>>> load_checkpoints(Tables& tables) {
  std::map<std::string, ShardCheckpoints> all;
  std::string kind(kStartKind);
  auto starts = co_await load_system_items(tables, std::move(kind));
  if (!starts) co_return fail(std::move(starts.error()));
  for (const ItemRef& ref : *starts) {
    ShardCheckpoints begun = ShardCheckpoints::started(ref.decode());
    std::string reader = begun.start().reader;
    all.emplace(std::move(reader), std::move(begun));
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

Async<Result<StoredReader>> load_reader(Tables& tables, std::string table, std::string reader) {
  StoredReader stored;
  GetItemInput get = get_system_item(kStartKind, reader);
  get.table = table;
  get.consistent = true;
  auto start = co_await tables.get_item(std::move(get));
  if (!start) co_return fail(std::move(start.error()));
  if (!*start) co_return stored;
  ShardCheckpoints begun = ShardCheckpoints::started(start->decode());
  std::string of = table;
  std::string kind(kMarkKind);
  std::string prefix = reader + "/";
  auto marks = co_await load_items_of(tables, std::move(of), std::move(kind), std::move(prefix));
  if (!marks) co_return fail(std::move(marks.error()));
  for (const ItemRef& ref : *marks) {
    const Item item = ref.decode();
    if (item.string_or("reader") != reader) continue;
    begun.take(item);
    // Those of a later start are not left over: that start was stored after this one was read.
    if (item.int_or("start", 0) >= begun.start().number) continue;
    stored.left_over.emplace_back(delete_system_item(kMarkKind, item.string_or("id")));
  }
  move_to_table(stored.left_over, table);
  stored.checkpoints = std::move(begun);
  co_return stored;
}

}  // namespace freshet
