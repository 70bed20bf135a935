#include "wire/auth/wrong_tries.h"

#include <algorithm>

namespace freshet {
namespace {

nanoseconds wait_until_allowed(BootTime forgiven_at, BootTime now, int at_once, seconds each) {
  return std::max<nanoseconds>(forgiven_at - now - (at_once - 1) * nanoseconds(each), nanoseconds(0));
}

}  // namespace

nanoseconds WrongTries::wait(std::string_view address, BootTime now) const {
  const nanoseconds of_all = wait_until_allowed(all_forgiven_at_, now, kAtOnceOfAll, kEachOfAll);
  const auto found = forgiven_at_.find(address);
  if (found == forgiven_at_.end()) return of_all;
  return std::max(of_all, wait_until_allowed(found->second, now, kAtOnce, kEach));
}

void WrongTries::count(std::string_view address, BootTime now) {
  std::erase_if(forgiven_at_, [now](const auto& one) { return one.second <= now; });
  BootTime& own = forgiven_at_[std::string(address)];
  own = std::max(own, now) + kEach;
  all_forgiven_at_ = std::max(all_forgiven_at_, now) + kEachOfAll;
}

}  // namespace freshet
