// Which queues' owners have left a create without an answer, so that the next creates need not wait for them as long.
// Pure. Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"

namespace freshet {

// The owner of a queue as the fleet's items show it. It differs from what it was before once the owner has given a sign
// of life, or the assignment has changed.
struct OwnerSign {
  uint64_t plan = 0;  // The plan's version.
  std::string member;
  uint64_t epoch = 0;
  uint64_t beat = 0;
  bool operator==(const OwnerSign&) const = default;
};

class SilentOwners {
 public:
  static constexpr seconds kRemembered{5};

  // The queue's owner has not answered in time; `sign`: as it shows now.
  void silent(const std::string& queue, OwnerSign sign, BootTime now);
  // It has answered, or said at once that it cannot.
  void answered(const std::string& queue) { silent_.erase(queue); }
  // True if it has not answered, has given no sign of life since, and that was not long ago.
  bool is_silent(const std::string& queue, const OwnerSign& sign, BootTime now);

 private:
  struct Silence {
    OwnerSign sign;
    BootTime since{};
  };
  std::map<std::string, Silence> silent_;  // By queue.
};

}  // namespace freshet
