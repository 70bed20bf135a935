#include "wire/auth/wrong_tries.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace freshet {
namespace {

nanoseconds wait_until_allowed(BootTime forgiven_at, BootTime now, int at_once, seconds each) {
  return std::max<nanoseconds>(forgiven_at - now - (at_once - 1) * nanoseconds(each), nanoseconds(0));
}

// Text that is no IPv6 address is its own network. An address may have a zone behind '%'.
std::string network_of(std::string_view address) {
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  const std::string text(address.substr(0, address.find('%')));
  in6_addr parsed{};
  if (inet_pton(AF_INET6, text.c_str(), &parsed) != 1) return std::string(address);
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (IN6_IS_ADDR_V4MAPPED(&parsed)) {
    inet_ntop(AF_INET, &parsed.s6_addr[12], out.data(), out.size());
  } else {
    std::memset(&parsed.s6_addr[8], 0, 8);
    inet_ntop(AF_INET6, &parsed, out.data(), out.size());
  }
  return out.data();
}

}  // namespace

nanoseconds WrongTries::wait(std::string_view address, BootTime now) const {
  const auto found = forgiven_at_.find(network_of(address));
  if (found == forgiven_at_.end() || found->second <= now) return nanoseconds(0);
  return std::max(wait_until_allowed(all_forgiven_at_, now, kAtOnceOfAll, kEachOfAll),
                  wait_until_allowed(found->second, now, kAtOnce, kEach));
}

void WrongTries::count(std::string_view address, BootTime now) {
  std::erase_if(forgiven_at_, [now](const auto& one) { return one.second <= now; });
  const std::string network = network_of(address);
  if (forgiven_at_.size() >= kMostNetworks && !forgiven_at_.contains(network)) {
    forgiven_at_.erase(std::min_element(forgiven_at_.begin(), forgiven_at_.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  BootTime& own = forgiven_at_[network];
  own = std::max(own, now) + kEach;
  // Tries of networks that are exempt count, too, so the bound itself needs one.
  const BootTime most = now + kAtOnceOfAll * kEachOfAll;
  all_forgiven_at_ = std::min(std::max(all_forgiven_at_, now) + kEachOfAll, most);
}

}  // namespace freshet
