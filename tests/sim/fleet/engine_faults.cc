#include "tests/sim/fleet/engine_faults.h"

#include <utility>

namespace freshet::fleet_sim {

EngineFaults::Fault EngineFaults::draw(bool is_write, const std::string& table) {
  if (is_write && next_write_ && next_write_->table == table) {
    const Fault fault = next_write_->fault;
    if (fault == Fault::kLate) late_by_ = next_write_->late_by;
    next_write_.reset();
    return fault;
  }
  const uint64_t all = rates.throttled + rates.error_before + rates.error_after + rates.lost + rates.late + rates.slow;
  if (all == 0) return Fault::kNone;
  uint64_t at = random_.below(1'000);
  for (const auto& [share, fault] :
       {std::pair(rates.throttled, Fault::kThrottled), std::pair(rates.error_before, Fault::kErrorBefore),
        std::pair(rates.lost, Fault::kLost), std::pair(rates.error_after, Fault::kErrorAfter),
        std::pair(rates.late, Fault::kLate), std::pair(rates.slow, Fault::kSlow)}) {
    const bool is_for_writes = fault == Fault::kErrorAfter || fault == Fault::kLate;
    if (at < share) return is_for_writes && !is_write ? Fault::kNone : fault;
    at -= share;
  }
  return Fault::kNone;
}

void EngineFaults::plan_next_write(std::string table, Fault fault, milliseconds late_by) {
  next_write_ = NextWrite{std::move(table), fault, late_by};
}

milliseconds EngineFaults::late_by() {
  const auto planned = std::exchange(late_by_, std::nullopt);
  return planned ? *planned : draw_delay();
}

nanoseconds EngineFaults::draw_lag(size_t index_class) {
  return draw_time(lag[index_class]) / 2 + lag[index_class] / 2;
}

}  // namespace freshet::fleet_sim
