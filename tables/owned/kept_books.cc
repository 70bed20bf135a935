#include "tables/owned/kept_books.h"

#include <algorithm>
#include <set>

namespace freshet {

namespace {

void add(std::map<std::string, uint64_t>& to, const std::string& status, uint64_t count) {
  to[status] += count;
}

// Returns true if there was less than that.
bool take(std::map<std::string, uint64_t>& from, const std::string& status, uint64_t count) {
  uint64_t& there = from[status];
  const bool lacks = there < count;
  there -= std::min(there, count);
  return lacks;
}

}  // namespace

void KeptBooks::count_as(uint64_t id, const At& at) {
  count_->known.insert(id);
  count_->waiting.erase(id);
  if (!at) return;
  add(count_->stock.items, at->status, 1);
  add(count_->stock.bytes, at->status, at->bytes);
}

void KeptBooks::over(uint64_t id, const std::optional<At>& now) {
  const auto flying = in_flight_.find(id);
  const bool is_last = flying != in_flight_.end() && --flying->second == 0;
  if (is_last) in_flight_.erase(flying);
  if (!count_) return;
  const auto waiting = count_->waiting.find(id);
  if (waiting != count_->waiting.end() && now) {
    count_as(id, *now);
  } else if (waiting != count_->waiting.end() && is_last) {
    is_doubted_ = true;
    const At at = waiting->second;
    count_as(id, at);
  }
  if (count_->is_read && count_->waiting.empty()) finish_count();
}

void KeptBooks::moved(uint64_t id, const At& from, const At& to, Cause cause) {
  if (count_ && !count_->known.contains(id)) {
    count_as(id, to);
  } else if (count_) {
    if (from) take(count_->stock.items, from->status, 1);
    if (from) take(count_->stock.bytes, from->status, from->bytes);
    if (to) add(count_->stock.items, to->status, 1);
    if (to) add(count_->stock.bytes, to->status, to->bytes);
  }
  // An item that a client put is not in the stock yet.
  if (from && take(books_.stock, from->status, 1)) {
    ++books_.flow[{"", from->status, Cause::kClient}];
    is_doubted_ = true;
  }
  if (from) take(books_.bytes, from->status, from->bytes);
  if (to) add(books_.stock, to->status, 1);
  if (to) add(books_.bytes, to->status, to->bytes);
  const std::string left = from ? from->status : "";
  const std::string entered = to ? to->status : "";
  if (left != entered) ++books_.flow[{left, entered, cause}];
}

void KeptBooks::begin_count() {
  count_ = std::make_unique<Count>();
  is_doubted_ = false;
}

void KeptBooks::counted(uint64_t id, const At& at) {
  if (!count_ || count_->known.contains(id)) return;
  if (in_flight_.contains(id)) {
    count_->waiting[id] = at;
  } else {
    count_as(id, at);
  }
}

uint64_t KeptBooks::memory_bytes() const {
  constexpr uint64_t kWaiting = 80;
  uint64_t bytes = in_flight_.capacity() * (sizeof(uint64_t) + sizeof(int) + 5);
  if (count_) bytes += count_->known.capacity() * (sizeof(uint64_t) + 1) + count_->waiting.capacity() * kWaiting;
  return bytes;
}

void KeptBooks::end_count() {
  if (!count_) return;
  count_->is_read = true;
  if (count_->waiting.empty()) finish_count();
}

// Other processes have caused the difference.
void KeptBooks::finish_count() {
  std::set<std::string> all;
  for (const auto& [status, items] : books_.stock) all.insert(status);
  for (const auto& [status, items] : count_->stock.items) all.insert(status);
  for (const auto& status : all) {
    const uint64_t before = books_.stock[status];
    const uint64_t now = count_->stock.items[status];
    if (now > before) books_.flow[{"", status, Cause::kClient}] += now - before;
    if (now < before) books_.flow[{status, "", Cause::kClient}] += before - now;
  }
  books_.stock = std::move(count_->stock.items);
  books_.bytes = std::move(count_->stock.bytes);
  count_.reset();
}

}  // namespace freshet
