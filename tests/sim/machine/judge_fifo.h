// Judges a FIFO topic by its promises (docs/compatibility.md, "FIFO topics"). A subscription gets the messages of a
// group one at a time, in the order of their numbers: the next one when the one before has succeeded or was given up,
// and none again after that. A message that was accepted is delivered, and one that was refused is not. Sent again
// within five minutes by the wall clock, it is the same message, with the same number, and nobody gets it twice.
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
  // Nobody answered: it may have been accepted, or may be accepted later.
  void unknown(const std::string& id) { messages_.at(id).unsure = true; }
  // Each daemon that ends may leave an attempt uncounted.
  void life_begins() { ++lives_; }
  // A program gave up a request for an event: an attempt without a start.
  void lost_event() { ++lost_; }

  // True if the input of a program is such a message; then its start is judged.
  bool started(const nlohmann::json& input, BootTime now);
  // Nothing waits any more, and nothing runs.
  void at_rest(BootTime now) const;

 private:
  struct Message {
    std::string group;
    BootTime first_sent{};
    bool unsure = false;
    bool refused = false;
    int lost_before = 0;
    std::set<std::string> accepted;     // The numbers that answers told.
    std::map<std::string, int> starts;  // By number: there are two if it was accepted again after the window.
  };
  struct Group {
    std::string last;                            // The highest number that has started.
    std::map<std::string, std::string> waiting;  // By number: accepted, and none behind it has started.
  };
  // The five minutes may be over.
  bool may_be_new(const Message& message, BootTime now) const;
  // Its attempts may all have been lost, or it may be too old.
  bool may_be_given_up(const Message& message, BootTime now) const;
  void judge_start(const std::string& id, const std::string& number, BootTime now);

  Verdict& verdict_;
  const WallHistory& wall_;
  std::map<std::string, Message> messages_;
  std::map<std::string, Group> groups_;
  std::string highest_;  // The highest number that was told, and since when.
  BootTime highest_at_{};
  int lives_ = 0;
  int lost_ = 0;
};

}  // namespace freshet::sim
