#include "tables/engine/snapshot.h"

#include <iterator>
#include <utility>

namespace freshet {

void Snapshot::change(const ItemRef& before, const ItemRef& after) {
  if (done_ || has_passed(after ? after : before)) return;
  if (before && younger_.erase(before.identity()) == 0) replaced_.push_back(before);
  if (after) younger_.insert(after.identity());
}

bool Snapshot::take(size_t count, size_t bytes, std::vector<ItemRef>& out) {
  out.insert(out.end(), std::make_move_iterator(replaced_.begin()), std::make_move_iterator(replaced_.end()));
  replaced_.clear();
  if (done_) return false;
  auto it = last_ ? items_.after(last_) : items_.begin();
  size_t taken = 0;
  for (; it != items_.end() && count > 0 && taken < bytes; ++it, --count) {
    last_ = it->item;
    if (younger_.erase(last_.identity()) != 0) continue;
    taken += last_.encoded().size();
    out.push_back(last_);
  }
  done_ = it == items_.end();
  if (done_) last_ = {};
  return !done_;
}

}  // namespace freshet
