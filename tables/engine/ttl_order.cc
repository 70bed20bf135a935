#include "tables/engine/ttl_order.h"

#include <algorithm>

#include "base/check.h"

namespace freshet {
namespace {
constexpr int64_t kFiveYears = 5LL * 365 * 86400;
constexpr int64_t kOnlyMilliseconds = 100'000'000'000;  // As seconds this would be the year 5138.
}  // namespace

std::optional<int64_t> TtlOrder::expiry(const Seen& seen) {
  if (!seen.ttl || seen.ttl->type() != Type::kNumber) return std::nullopt;
  if (!held_.empty() && seen.status == held_) return std::nullopt;
  int64_t at = seen.ttl->number().floor_int64();
  if (at > kOnlyMilliseconds && milliseconds_) {
    at = at / 1000 + (at % 1000 ? 1 : 0);  // Rounded up, so that it is never early.
  } else if (at > kOnlyMilliseconds) {
    if (!suspect_) suspect_ = at;
    return std::nullopt;  // Expires after the year 5138: never.
  }
  return at > 0 ? std::optional(at) : std::nullopt;  // Else more than five years ago.
}

void TtlOrder::change(const ItemRef& before, const Seen& old_seen, const ItemRef& after, const Seen& new_seen) {
  const auto old_expiry = expiry(old_seen);
  const bool same = old_seen.ttl && new_seen.ttl && old_seen.ttl->encoded() == new_seen.ttl->encoded() &&
                    (old_seen.status == held_) == (new_seen.status == held_);
  const auto new_expiry = same ? old_expiry : expiry(new_seen);
  if (old_expiry) {
    const auto it = set_.find(Entry{*old_expiry, before.creation(), {}});
    FRESHET_CHECK(it != set_.end(), "the TTL order has every item that expires");
    if (new_expiry == old_expiry) {
      it->item = after;
      return;
    }
    set_.erase(it);
  }
  // A new item mostly expires after all others.
  if (new_expiry) set_.insert(set_.end(), Entry{*new_expiry, after.creation(), after});
}

void TtlOrder::add_to(std::vector<Entry>& entries, const ItemRef& item, const Seen& seen) {
  if (const auto at = expiry(seen)) entries.push_back({*at, item.creation(), item});
}

void TtlOrder::fill(std::vector<Entry> entries) {
  FRESHET_CHECK(set_.empty(), "the TTL order is filled once");
  std::sort(entries.begin(), entries.end());
  for (auto& entry : entries) set_.insert(set_.end(), std::move(entry));
}

TtlOrder::Set::const_iterator TtlOrder::first(int64_t now) const {
  // Hardly ever is something that old.
  const auto oldest = set_.begin();
  if (oldest == set_.end() || oldest->expires >= now - kFiveYears) return oldest;
  return set_.lower_bound(Entry{now - kFiveYears, 0, {}});
}

ItemRef TtlOrder::expired(int64_t now) const {
  const auto it = first(now);
  return it != set_.end() && it->expires <= now ? it->item : ItemRef{};
}

std::optional<int64_t> TtlOrder::next(int64_t now) const {
  const auto it = first(now);
  if (it == set_.end()) return std::nullopt;
  return it->expires;
}

std::optional<int64_t> TtlOrder::take_suspect() {
  if (!suspect_ || suspect_reported_) return std::nullopt;
  suspect_reported_ = true;
  return suspect_;
}

}  // namespace freshet
