#include "tests/sim/fleet/engine_faults.h"

#include <utility>

namespace freshet::fleet_sim {

EngineFaults::Fault EngineFaults::draw(bool is_write) {
  const uint64_t all = rates.throttled + rates.error_before + rates.error_after + rates.lost + rates.late;
  if (all == 0) return Fault::kNone;
  uint64_t at = random_.below(1'000);
  for (const auto& [share, fault] :
       {std::pair(rates.throttled, Fault::kThrottled), std::pair(rates.error_before, Fault::kErrorBefore),
        std::pair(rates.lost, Fault::kLost), std::pair(rates.error_after, Fault::kErrorAfter),
        std::pair(rates.late, Fault::kLate)}) {
    const bool is_for_writes = fault == Fault::kErrorAfter || fault == Fault::kLate;
    if (at < share) return is_for_writes && !is_write ? Fault::kNone : fault;
    at -= share;
  }
  return Fault::kNone;
}

nanoseconds EngineFaults::draw_lag(size_t index_class) {
  return draw_time(lag[index_class]) / 2 + lag[index_class] / 2;
}

}  // namespace freshet::fleet_sim
