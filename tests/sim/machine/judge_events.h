// Judges asynchronous events by their promises (docs/functions.md, docs/compatibility.md). An event or message that was
// accepted starts at least once, and at most once for each attempt and each life of a daemon. One that was refused
// never starts. A schedule makes one event for each of its times.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::sim {

class EventsJudge {
 public:
  explicit EventsJudge(Verdict& verdict) : verdict_(verdict) {}

  // An event, or a message, with this id is about to be sent.
  void sent(const std::string& id) { events_[id].lost_before = lost_; }
  void accepted(const std::string& id) { events_[id].accepted = true; }
  void refused(const std::string& id);
  // A new daemon starts. The one before may have left an attempt uncounted.
  void life_begins() { ++lives_; }
  void clock_stepped(milliseconds by) {
    if (by < milliseconds(0)) set_back_ -= by;
  }
  // A program has given up its request for an event. The daemon may have sent it one, which is an attempt without a
  // start.
  void lost_event() { ++lost_; }

  // Judges the start of an event if the input of a program is one. Returns false otherwise.
  bool started(const nlohmann::json& input, WallTime now);
  // Call it when nothing waits or runs any more.
  void at_rest() const;
  uint64_t count() const { return events_.size(); }

 private:
  struct Event {
    bool accepted = false;
    bool refused = false;
    int starts = 0;
    int lost_before = 0;
  };
  void started(const std::string& id);
  void judge_scheduled(const std::string& time, const std::string& id, WallTime now);

  Verdict& verdict_;
  std::map<std::string, Event> events_;
  struct Scheduled {
    std::string id;
    milliseconds set_back{0};  // The total by which the wall clock had been set back before.
    bool by_old_time = false;  // It went by the time before a step back that was not trusted yet.
  };
  std::map<std::string, Scheduled> scheduled_;  // By time: the event of the schedule.
  milliseconds set_back_{0};
  int lives_ = 0;
  int lost_ = 0;
};

}  // namespace freshet::sim
