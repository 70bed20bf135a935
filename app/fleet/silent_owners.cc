#include "app/fleet/silent_owners.h"

#include <utility>

namespace freshet {

void SilentOwners::silent(const std::string& queue, OwnerSign sign, BootTime now) {
  silent_[queue] = Silence{std::move(sign), now};
}

bool SilentOwners::is_silent(const std::string& queue, const OwnerSign& sign, BootTime now) {
  const auto found = silent_.find(queue);
  if (found == silent_.end()) return false;
  if (found->second.sign == sign && now - found->second.since < kRemembered) return true;
  silent_.erase(found);
  return false;
}

}  // namespace freshet
