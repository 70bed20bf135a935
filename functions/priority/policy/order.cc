#include "functions/priority/policy/order.h"

#include <fmt/format.h>

namespace freshet::priority {

std::string order_text(const Settings& settings, int64_t priority, const std::string& timestamp) {
  const bool rising = settings.lowest_first == settings.forward();
  return fmt::format("{:010}#{}", kLargestPriority + (rising ? priority : -priority), timestamp);
}

}  // namespace freshet::priority
