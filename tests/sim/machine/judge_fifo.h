// Judges a FIFO topic by its promises (docs/compatibility.md, "FIFO topics"). A subscription gets the messages of a
// group one at a time, in the order of their numbers. It gets the next message only when the one before has succeeded
// or was given up, and never gets that one again. A message that was accepted is delivered, and one that was refused is
// not. A message that is sent again within five minutes by the wall clock keeps its number, and nobody gets it twice.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/sim/machine/judge_tasks.h"
#include "tests/sim/machine/verdict.h"
#include "tests/sim/machine/wall_history.h"

namespace freshet::sim {

class FifoJudge {
 public:
  // `wall` outlives it.
  FifoJudge(Verdict& verdict, const WallHistory& wall) : verdict_(verdict), wall_(wall) {}

  // A message with this id is about to be sent, perhaps not for the first time.
  void sent(const std::string& id, const std::string& group, BootTime now);
  void accepted(const std::string& id, const std::string& number, const Span& span);
  void refused(const std::string& id);
  // There was no answer: the message may have been accepted, or may be accepted later.
  void unknown(const std::string& id) { messages_.at(id).unsure = true; }
  // A new daemon starts. The one before may have left an attempt uncounted.
  void life_begins() { ++lives_; }
  // A program has given up its request for an event, so the daemon may count an attempt that never starts.
  void lost_event() { ++lost_; }

  // Judges the start of a message if the input of a program is one. Returns false otherwise.
  bool started(const nlohmann::json& input, BootTime now);
  // Call it when nothing waits or runs any more.
  void at_rest(BootTime now) const;

 private:
  struct Message {
    std::string group;
    BootTime first_sent{};
    bool unsure = false;
    bool refused = false;
    int lost_before = 0;
    std::set<std::string> accepted;     // The numbers that answers gave.
    std::map<std::string, int> starts;  // By number. There are two numbers if it was accepted again after the window.
  };
  struct Group {
    std::string last;                            // The highest number that has started.
    std::map<std::string, std::string> waiting;  // By number: accepted messages of which no later one has started.
  };
  // True if the five minutes may be over.
  bool may_be_new(const Message& message, BootTime now) const;
  // True if all its attempts may have been lost, or if it may be too old.
  bool may_be_given_up(const Message& message, BootTime now) const;
  void judge_start(const std::string& id, const std::string& number, BootTime now);

  Verdict& verdict_;
  const WallHistory& wall_;
  std::map<std::string, Message> messages_;
  std::map<std::string, Group> groups_;
  std::string highest_;  // The highest number that an answer gave, and when.
  BootTime highest_at_{};
  int lives_ = 0;
  int lost_ = 0;
};

}  // namespace freshet::sim
