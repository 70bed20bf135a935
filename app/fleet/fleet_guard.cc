#include "app/fleet/fleet_guard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/points.h"
#include "tables/lease/fleet_items.h"

namespace freshet {

namespace {

constexpr seconds kClocksDiffer{2};

bool may_be_alive(const MemberBeat& member, WallTime now) {
  if (member.leaving) return false;
  const auto age = now > member.wall ? now - member.wall : member.wall - now;
  return age < member.lease + kClocksDiffer;
}

// The first of these queues that the member can serve.
std::optional<std::string> queue_of_both(const MemberUnits& member,
                                         const std::map<std::string, QueueSettings>& queues) {
  for (const auto& [queue, settings] : queues) {
    if (std::binary_search(member.serves.begin(), member.serves.end(), "queue/" + queue)) return queue;
  }
  return std::nullopt;
}

}  // namespace

Async<Result<void>> check_no_fleet(Tables& engine, const Clock& clock, std::map<std::string, QueueSettings> queues) {
  const auto view = co_await read_fleet(engine);
  if (!view) co_return Result<void>();
  for (const auto& [id, member] : view->members) {
    const auto units = view->units.find(id);
    if (units == view->units.end() || !may_be_alive(member, clock.wall())) continue;
    const auto queue = queue_of_both(units->second, queues);
    if (!queue) continue;
    FRESHET_REACHED("a daemon without a fleet finds one");
    co_return fail(ErrorCode::kConflict, "queue '" + *queue + "' is served by a fleet of daemons: the one at " +
                                             member.url +
                                             " is alive. Start this daemon with --fleet, or stop those of the fleet "
                                             "first; one that was killed counts as alive for a lease");
  }
  co_return Result<void>();
}

}  // namespace freshet
