// Bounds how often clients may try a wrong secret: ten times at once from one network and then once in six seconds, and
// sixty times at once from all networks and then once a second. A network with no wrong try of its own is exempt from
// the second bound, so that somebody who goes on trying keeps nobody else out. An IPv4 address is a network by itself;
// of an IPv6 address its first 64 bits are, because one client usually has all addresses behind them. One thread at a
// time.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace freshet {

class WrongTries {
 public:
  static constexpr int kAtOnce = 10;
  static constexpr seconds kEach{6};
  static constexpr int kAtOnceOfAll = 60;
  static constexpr seconds kEachOfAll{1};
  // Beyond this number, the network that would be forgiven first is dropped.
  static constexpr size_t kMostNetworks = 4096;

  // The time after which a client at this address may try again; 0: now. `address` has no port; an IPv6 address may
  // stand in brackets.
  nanoseconds wait(std::string_view address, BootTime now) const;
  // Counts a wrong try of that address.
  void count(std::string_view address, BootTime now);
  // The number of networks that are remembered.
  size_t networks() const { return forgiven_at_.size(); }

 private:
  // By network: when its wrong tries are forgiven. Each wrong try moves that time.
  std::map<std::string, BootTime, std::less<>> forgiven_at_;
  BootTime all_forgiven_at_{};
};

}  // namespace freshet
