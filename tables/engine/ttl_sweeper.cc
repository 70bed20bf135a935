#include "tables/engine/ttl_sweeper.h"

#include "base/points.h"

#include <algorithm>

namespace freshet {
namespace {
// The wall clock may be set at any time: the longest sleep of a sweep.
constexpr seconds kLongestSleep{1};
}  // namespace

void TtlSweeper::run_due() {
  for (const auto& [name, table] : catalog_.tables()) {
    if (table->ttl()) warn(*table);
  }
  const BootTime now = clock_.boot();
  if (now < not_before_ || committer_.failed()) return;
  if (!guard_.trusted() && !FRESHET_PLANTED("ttl-by-a-doubted-clock")) {
    FRESHET_REACHED("ttl waits for a trusted clock");
    not_before_ = now + kLongestSleep;
    return;
  }
  const int64_t wall = epoch_s(clock_.wall());
  const auto& tables = catalog_.tables();
  size_t left = options_.ttl_step;
  // Each step begins behind the table where the last one ended: a table with a backlog may use a whole step.
  auto at = tables.upper_bound(last_swept_);
  for (size_t visits = tables.size(); visits > 0 && left > 0; --visits, ++at) {
    if (at == tables.end()) at = tables.begin();
    if (!at->second->ttl()) continue;
    left -= sweep(*at->second, wall, left);
    last_swept_ = at->first;
  }
  committer_.count_expired(options_.ttl_step - left);
  not_before_ = left == 0 ? now : now + options_.ttl_sweep;
}

size_t TtlSweeper::sweep(Table& table, int64_t now, size_t limit) {
  size_t swept = 0;
  for (; swept < limit; ++swept) {
    ItemRef item = table.ttl()->expired(now);
    if (!item) break;
    Mutation gone{Change{&table, std::move(item), {}, Cause::kTimeToLive, {}}};
    if (!committer_.admit(gone)) break;
    committer_.apply(std::move(gone));
  }
  return swept;
}

BootTime TtlSweeper::next_due() const {
  const WallTime wall = clock_.wall();
  std::optional<int64_t> earliest;
  for (const auto& [name, table] : catalog_.tables()) {
    const auto next = table->ttl() ? table->ttl()->next(epoch_s(wall)) : std::nullopt;
    if (next) earliest = std::min(earliest.value_or(*next), *next);
  }
  if (!earliest || committer_.failed()) return BootTime::max();
  const BootTime now = clock_.boot();
  // In milliseconds: an expiry in the year 2300 is further away than nanoseconds can express.
  const milliseconds until = WallTime(seconds(*earliest)) - wall;
  return std::max(not_before_, now + std::clamp<milliseconds>(until, milliseconds(0), kLongestSleep));
}

void TtlSweeper::warn(Table& table) {
  const auto suspect = table.ttl()->take_suspect();
  if (!suspect || !options_.on_warning) return;
  options_.on_warning(table.definition().name,
                      "the TTL attribute " + *table.definition().ttl_attribute + " of table " +
                          table.definition().name + " holds " + std::to_string(*suspect) +
                          ", which can only be milliseconds; TTL is read as epoch seconds, so that such items never "
                          "expire. Write seconds (" +
                          std::to_string(*suspect / 1000) +
                          "), or give the table in its template Metadata: {Freshet: {TtlInMilliseconds: true}}");
}

}  // namespace freshet
