#include "streams/shards/shard_order.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace freshet {

namespace {

bool is_decimal(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Both are decimal, and too long for a number.
bool is_less(std::string_view one, std::string_view other) {
  one.remove_prefix(std::min(one.find_first_not_of('0'), one.size()));
  other.remove_prefix(std::min(other.find_first_not_of('0'), other.size()));
  return one.size() != other.size() ? one.size() < other.size() : one < other;
}

constexpr size_t kEntryBytes = 300;

size_t bytes_of(const ChangeRecord& record) {
  size_t bytes = kEntryBytes;
  if (record.before) bytes += record.before.encoded().size();
  if (record.after) bytes += record.after.encoded().size();
  return bytes;
}

}  // namespace

bool is_behind(const ShardMark& mark, const ShardMark& other) {
  if (mark.over || other.over) return !mark.over;
  if (other.after.empty()) return false;
  if (mark.after.empty()) return true;
  return is_decimal(mark.after) && is_decimal(other.after) && is_less(mark.after, other.after);
}

void ShardOrder::push(Entry entry) {
  bytes_ += entry.bytes;
  entries_.push_back(std::move(entry));
}

void ShardOrder::add(const std::string& shard, ShardRecord record) {
  const size_t bytes = bytes_of(record.record);
  record.record.sequence = next();
  push({{shard, std::move(record.number), std::move(record.event_id)}, std::move(record.record), false, bytes});
}

void ShardOrder::pass(const std::string& shard, std::string number) {
  push({{shard, std::move(number), {}}, std::nullopt, false, kEntryBytes});
}

void ShardOrder::end(const std::string& shard) {
  push({{shard, {}, {}}, std::nullopt, true, kEntryBytes});
}

StreamPage ShardOrder::page(uint64_t from, uint32_t limit, size_t max_bytes) const {
  FRESHET_CHECK(from >= oldest_, "a record is kept until it is processed");
  StreamPage page;
  page.next = from;
  size_t bytes = 0;
  for (; page.next < next() && page.records.size() < limit; ++page.next) {
    const Entry& entry = entries_[page.next - oldest_];
    if (!entry.record) continue;
    bytes += entry.bytes;
    if (!page.records.empty() && bytes > max_bytes) break;
    page.records.push_back(*entry.record);
  }
  return page;
}

const ShardOrder::Name* ShardOrder::name(uint64_t sequence) const {
  if (sequence < oldest_ || sequence >= next()) return nullptr;
  return &entries_[sequence - oldest_].name;
}

std::vector<std::pair<std::string, ShardMark>> ShardOrder::processed(uint64_t next) {
  std::vector<std::pair<std::string, ShardMark>> marks;
  for (; oldest_ < next && !entries_.empty(); ++oldest_) {
    Entry& entry = entries_.front();
    std::string shard = std::move(entry.name.shard);
    ShardMark mark{std::move(entry.name.number), entry.over};
    const auto before = std::find_if(marks.begin(), marks.end(), [&](const auto& one) { return one.first == shard; });
    if (before != marks.end()) {
      if (mark.over) mark.after = std::move(before->second.after);
      marks.erase(before);
    }
    marks.emplace_back(std::move(shard), std::move(mark));
    bytes_ -= entry.bytes;
    entries_.pop_front();
  }
  return marks;
}

}  // namespace freshet
