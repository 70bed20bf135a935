#include "tables/engine/books_keeper.h"

#include "base/points.h"

namespace freshet {
namespace {
constexpr size_t kLongestStatus = 64;
constexpr size_t kMostStatuses = 100;
constexpr int64_t kLargestNumber = 999;

// "0" to "999".
std::string_view name_of_number(int64_t number) {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (int64_t i = 0; i <= kLargestNumber; ++i) names.push_back(std::to_string(i));
    return names;
  }();
  return kNames[static_cast<size_t>(number)];
}
}  // namespace

std::string_view status_of(const std::optional<ValueView>& status) {
  if (status && status->type() == Type::kNumber) {
    bool fits = false;
    const int64_t number = status->number().to_int64(fits);
    return fits && number >= 0 && number <= kLargestNumber ? name_of_number(number) : kNoStatus;
  }
  if (!status || status->type() != Type::kString) return kNoStatus;
  const std::string_view text = status->bytes();
  return text.empty() || text.size() > kLongestStatus ? kNoStatus : text;
}

uint32_t BooksKeeper::status(std::string_view name) {
  // There are usually few statuses: the walk is faster than the hash.
  for (uint32_t i = 0; i < statuses_.size() && i < 8; ++i) {
    if (statuses_[i].name == name) return i;
  }
  const auto known = status_numbers_.find(std::string(name));
  if (known != status_numbers_.end()) return known->second;
  // Once full, no name is added any more, so an unknown one has always been counted as "?".
  if (statuses_.size() >= kMostStatuses && !name.empty() && name != kNoStatus) return status(kNoStatus);
  const auto number = static_cast<uint32_t>(statuses_.size());
  status_numbers_.emplace(std::string(name), number);
  statuses_.push_back({std::string(name)});
  return number;
}

BooksKeeper::Counter& BooksKeeper::counter(uint32_t from, uint32_t to, Cause cause) {
  if (FRESHET_PLANTED("shed-not-in-the-books") && statuses_[to].name == "SHED") to = from;
  for (uint32_t i = 0; i < counters_.size() && i < 12; ++i) {
    Counter& known = counters_[i];
    if (known.from == from && known.to == to && known.cause == cause) return known;
  }
  const uint64_t key = (uint64_t{from} << 34) | (uint64_t{to} << 4) | static_cast<uint64_t>(cause);
  const auto [it, added] = counter_numbers_.try_emplace(key, static_cast<uint32_t>(counters_.size()));
  if (added) counters_.push_back({from, to, cause, false, 0});
  return counters_[it->second];
}

void BooksKeeper::mark(Counter& counter) {
  if (counter.changed) return;
  counter.changed = true;
  changed_.push_back(static_cast<uint32_t>(&counter - counters_.data()));
}

void BooksKeeper::change(Counted before, Counted after, Cause cause) {
  if (before.status == after.status && before.bytes == after.bytes) return;
  const uint32_t from = status(before.status);
  const uint32_t to = status(after.status);
  statuses_[from].bytes -= before.bytes;
  statuses_[to].bytes += after.bytes;
  if (from == to) return;
  if (!before.status.empty()) --statuses_[from].stock;
  if (!after.status.empty()) ++statuses_[to].stock;
  Counter& moved = counter(from, to, cause);
  ++moved.value;
  mark(moved);
}

void BooksKeeper::count(Counted item) {
  Status& counted = statuses_[status(item.status)];
  ++counted.stock;
  counted.bytes += item.bytes;
}

void BooksKeeper::set_flow(const Arrow& arrow, uint64_t value) {
  counter(status(arrow.from), status(arrow.to), arrow.cause).value = value;
}

void BooksKeeper::open_if_new() {
  if (!counters_.empty()) return;
  const uint32_t outside = status({});
  for (uint32_t i = 0; i < statuses_.size(); ++i) {
    if (i == outside || statuses_[i].stock == 0) continue;
    Counter& opened = counter(outside, i, Cause::kClient);
    opened.value = statuses_[i].stock;
    mark(opened);
  }
}

Books BooksKeeper::snapshot() const {
  Books books;
  for (const auto& status : statuses_) {
    if (status.name.empty() || status.stock == 0) continue;
    books.stock[status.name] = status.stock;
    books.bytes[status.name] = status.bytes;
  }
  visit_all([&](const Arrow& arrow, uint64_t value) { books.flow[arrow] = value; });
  return books;
}

}  // namespace freshet
