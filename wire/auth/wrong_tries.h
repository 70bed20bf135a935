// Bounds how often clients may try a wrong secret: ten times at once from one address and then once in six seconds, and
// sixty times at once from all addresses and then once a second. One thread at a time.
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

  // The time after which a client at this address may try again; 0: now. `address` has no port.
  nanoseconds wait(std::string_view address, BootTime now) const;
  // Counts a wrong try of that address.
  void count(std::string_view address, BootTime now);
  // The number of addresses that are remembered. The bound on all tries bounds it, too.
  size_t addresses() const { return forgiven_at_.size(); }

 private:
  // Each wrong try moves the time at which everything is forgiven.
  std::map<std::string, BootTime, std::less<>> forgiven_at_;
  BootTime all_forgiven_at_{};
};

}  // namespace freshet
