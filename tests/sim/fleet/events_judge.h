// Judges asynchronous events as docs/fleet.md promises them: each one that a daemon has accepted runs, whatever becomes
// of that daemon; without a death, once. An attempt whose event never came to its program counts, too, so an event with
// three of these is given up. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/sim/machine/verdict.h"

namespace freshet::fleet_sim {

class EventsJudge {
 public:
  // The verdict outlives it.
  explicit EventsJudge(sim::Verdict& verdict) : verdict_(verdict) {}

  // A client sends it, and knows later that it is accepted.
  void sent(const std::string& id) {
    Event& event = events_[id];
    if (!event.sent) event.lost_before = lost_;
    event.sent = true;
  }
  void accepted(const std::string& id) { events_[id].accepted = true; }
  // Its function begins, on any daemon.
  void started(const std::string& id) {
    ++events_[id].starts;
    verdict_.expect(events_[id].sent, "an event runs that nobody sent", id);
  }

  // A program has given up its request for an event, so its daemon may count an attempt that never begins.
  void lost_event() { ++lost_; }

  size_t starts(const std::string& id) const {
    const auto found = events_.find(id);
    return found == events_.end() ? 0 : found->second.starts;
  }
  // Empty: each accepted event has run.
  std::string unrun() const {
    for (const auto& [id, event] : events_) {
      const bool is_given_up = lost_ - event.lost_before >= kAttempts;
      if (event.accepted && event.starts == 0 && !is_given_up) return "event " + id + " has not run";
    }
    return {};
  }

 private:
  static constexpr int kAttempts = 3;
  struct Event {
    bool sent = false;
    bool accepted = false;
    size_t starts = 0;
    int lost_before = 0;  // How many of all events were lost when it was sent.
  };

  sim::Verdict& verdict_;
  std::map<std::string, Event> events_;
  int lost_ = 0;
};

}  // namespace freshet::fleet_sim
