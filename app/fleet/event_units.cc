#include "app/fleet/event_units.h"

#include <optional>
#include <utility>

#include "base/points.h"

namespace freshet {

namespace {

constexpr seconds kLookAtDaemons{1};
constexpr int kLooksForARead = 10;
constexpr seconds kTakeAgain{10};
constexpr seconds kRest{60};  // At least so long, other daemons get those events that this one cannot run.

}  // namespace

Async<Result<void>> EventUnits::note() {
  std::string daemon = units_.id();
  std::string life = random_.uuid();
  return note_events_of(tables_, std::move(daemon), std::move(life));
}

void EventUnits::begin() {
  scope_.spawn(keep_watch());
}

bool EventUnits::is_dead(const std::string& daemon) const {
  const FleetCore* fleet = units_.core();
  return fleet && fleet->membership() == Membership::kJoined && daemon != units_.id() && !fleet->is_alive(daemon);
}

// It has been silent for so long that the fleet does not know it any more.
bool EventUnits::is_forgotten(const std::string& daemon) const {
  return is_dead(daemon) && !units_.core()->view().members.contains(daemon);
}

Async<void> EventUnits::keep_watch() {
  offer();
  for (int looks = 0;; ++looks) {
    co_await sleep_for(units_.scheduler(), kLookAtDaemons);
    if (looks % kLooksForARead == 0) co_await read_notes();
    offer();
  }
}

Async<void> EventUnits::note_again() {
  for (;;) {
    auto noting = note();
    const auto noted = co_await noting;
    if (noted) co_return;
    co_await sleep_for(units_.scheduler(), kLookAtDaemons);
  }
}

Async<void> EventUnits::read_notes() {
  auto read = co_await daemons_with_events(tables_);
  if (!read) co_return;
  lives_ = std::move(*read);
  // Another daemon has forgotten this one, which was away for long.
  if (!lives_.contains(units_.id())) static_cast<void>(co_await note());
}

void EventUnits::offer() {
  const BootTime now = units_.scheduler().clock().boot();
  std::erase_if(taking_, [](const auto& one) { return !one.second.is_wanted && !one.second.is_moving; });
  std::erase_if(resting_, [now](const auto& one) { return one.second <= now; });
  std::set<std::string> daemons{units_.id()};
  for (const auto& [daemon, life] : lives_) {
    if (!is_dead(daemon) || resting_.contains(daemon) || FRESHET_PLANTED("fleet-events-left")) continue;
    daemons.insert(daemon);
  }
  if (daemons == offered_) return;
  offered_ = daemons;
  units_.set_units(*this, std::move(daemons));
}

void EventUnits::serve(const std::string& daemon, bool is_mine) {
  if (daemon == units_.id()) {
    runtime_.serve_events(is_mine);
    // Others do not forget a daemon that has joined. One that was just about to do so forgets an earlier note.
    if (is_mine) scope_.spawn(note_again());
    return;
  }
  const auto known = taking_.find(daemon);
  if (!is_mine) {
    if (known == taking_.end()) return;
    known->second.is_wanted = false;
    if (!known->second.is_moving) taking_.erase(known);
    return;
  }
  if (known != taking_.end()) {
    known->second.is_wanted = true;  // It is still moving a page, and goes on.
    return;
  }
  Taking& taking = taking_[daemon];
  taking.scope.spawn(take_over(daemon, taking));
}

bool EventUnits::is_busy(const std::string& daemon) const {
  if (daemon == units_.id()) return runtime_.is_busy_with_events();
  const auto taking = taking_.find(daemon);
  return taking != taking_.end() && taking->second.is_moving;
}

// Until the daemon is alive again. One that has been away for long, and has no events left, is forgotten.
Async<void> EventUnits::take_over(std::string daemon, Taking& taking) {
  for (;;) {
    if (!taking.is_wanted) {  // It was taken away while a page was under way. offer() ends this soon.
      co_await sleep_for(units_.scheduler(), kLookAtDaemons);
      continue;
    }
    const auto found = lives_.find(daemon);
    const std::string life = found == lives_.end() ? std::string() : found->second;
    taking.is_moving = true;
    auto moving = take_all(daemon, taking);
    const bool is_empty = co_await moving;
    if (is_empty && taking.is_wanted && is_forgotten(daemon)) {
      static_cast<void>(co_await forget_events_of(tables_, daemon, life));
    }
    taking.is_moving = false;
    co_await sleep_for(units_.scheduler(), kTakeAgain);
  }
}

// Returns true if none is left.
Async<bool> EventUnits::take_all(std::string daemon, Taking& taking) {
  const auto has_function = [this](const std::string& function) {
    return runtime_.invoker().find(function) != nullptr;
  };
  MovedEvents sum;
  bool is_whole = false;
  for (bool is_first = true; is_first || (!sum.next.empty() && taking.is_wanted); is_first = false) {
    Item start = std::move(sum.next);
    std::optional<WallTime> now;
    if (wall_.trusted()) now = units_.scheduler().clock().wall();
    auto moving = move_events(tables_, daemon, units_.id(), std::move(start), now, has_function);
    auto moved = co_await moving;
    runtime_.look_for_events();  // A page that failed may have moved some, too.
    if (!moved) break;
    is_whole = moved->next.empty();
    sum.moved += moved->moved;
    sum.left += moved->left;
    sum.dropped += moved->dropped;
    sum.next = std::move(moved->next);
  }
  if (sum.moved + sum.dropped > 0) {
    log_.info("EVENTS_TAKEN_OVER",
              {{"member", daemon}, {"events", sum.moved}, {"left", sum.left}, {"dropped", sum.dropped}});
  }
  if (sum.left > 0) {
    const auto more = milliseconds(random_.below(static_cast<uint64_t>(milliseconds(kRest).count())));
    resting_[daemon] = units_.scheduler().clock().boot() + kRest + more;
  }
  co_return is_whole&& sum.left == 0;
}

}  // namespace freshet
