#include "app/fleet/event_units.h"

#include <utility>

namespace freshet {

namespace {

constexpr seconds kLookAtDaemons{1};
constexpr int kLooksForARead = 10;
constexpr seconds kTakeAgain{60};  // Functions may be deployed later.
constexpr seconds kTakeRetry{1};

}  // namespace

Async<Result<void>> EventUnits::note(std::string life) {
  std::string daemon = units_.id();
  return note_events_of(tables_, std::move(daemon), std::move(life));
}

void EventUnits::begin() {
  scope_.spawn(keep_watch());
}

bool EventUnits::is_dead(const std::string& daemon) const {
  const FleetCore* fleet = units_.core();
  return fleet && fleet->membership() == Membership::kJoined && daemon != units_.id() && !fleet->is_alive(daemon);
}

Async<void> EventUnits::keep_watch() {
  offer();
  for (int looks = 0;; ++looks) {
    co_await sleep_for(units_.scheduler(), kLookAtDaemons);
    if (looks % kLooksForARead == 0) {
      auto read = co_await daemons_with_events(tables_);
      if (read) lives_ = std::move(*read);
    }
    offer();
  }
}

void EventUnits::offer() {
  std::set<std::string> daemons{units_.id()};
  for (const auto& [daemon, life] : lives_) {
    if (is_dead(daemon)) daemons.insert(daemon);
  }
  if (daemons == offered_) return;
  offered_ = daemons;
  units_.set_units(*this, std::move(daemons));
}

void EventUnits::serve(const std::string& daemon, bool is_mine) {
  if (daemon == units_.id()) return runtime_.serve_events(is_mine);
  taking_.erase(daemon);
  if (is_mine) taking_[daemon].spawn(take_over(daemon));
}

bool EventUnits::is_busy(const std::string& daemon) const {
  return daemon == units_.id() && runtime_.is_busy_with_events();
}

// Until the daemon is alive again. Once nothing is left, it is forgotten, so that others need not look for it.
Async<void> EventUnits::take_over(std::string daemon) {
  const std::string life = lives_[daemon];
  for (;;) {
    const auto has_function = [this](const std::string& function) {
      return runtime_.invoker().find(function) != nullptr;
    };
    auto moving = move_events(tables_, daemon, units_.id(), has_function);
    auto moved = co_await moving;
    if (moved && moved->moved > 0) {
      log_.info("EVENTS_TAKEN_OVER", {{"member", daemon}, {"events", moved->moved}, {"left", moved->left}});
      runtime_.look_for_events();
    }
    if (moved && moved->moved == 0 && moved->left == 0) {
      auto forgotten = co_await forget_events_of(tables_, daemon, life);
      if (forgotten) co_return;
    }
    co_await sleep_for(units_.scheduler(), moved && moved->moved == 0 ? kTakeAgain : kTakeRetry);
  }
}

}  // namespace freshet
