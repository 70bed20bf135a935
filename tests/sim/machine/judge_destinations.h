// Judges the outcomes of asynchronous events (docs/compatibility.md). Each accepted event has one outcome, which its
// destination gets: success after a program has answered, or failure after all attempts. A failed event also goes to
// the dead-letter topic, unchanged. An event does not start again after its outcome.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/sim/machine/verdict.h"
#include "tests/sim/machine/wall_history.h"

namespace freshet::sim {

class DestinationsJudge {
 public:
  // `wall` outlives it.
  DestinationsJudge(Verdict& verdict, const WallHistory& wall) : verdict_(verdict), wall_(wall) {}

  void sent(const std::string& id, BootTime now);
  void accepted(const std::string& id) { events_.at(id).accepted = true; }
  void refused(const std::string& id) { events_.at(id).refused = true; }
  void life_begins() { ++lives_; }
  // A program has given up its request for an event, so the daemon may count an attempt that never starts.
  void lost_event() { ++lost_; }

  // Judges the input of a program if it is such an event, or the outcome of one. Returns false otherwise.
  bool started(const nlohmann::json& input);
  // Names the kind of such an input, for the trace.
  static std::string kind_of(const nlohmann::json& input);
  // A program that has this input is about to answer `result`. A destination gets an answer that is no JSON as a text.
  void answers(const nlohmann::json& input, const std::string& result);
  // Call it when nothing waits or runs any more.
  void at_rest(BootTime now) const;

 private:
  struct Event {
    BootTime sent{};
    bool accepted = false;
    bool refused = false;
    std::set<nlohmann::json> answers;
    int starts = 0;
    int lost_before = 0;
    std::string request;  // Its id, as its outcome named it. `condition`: the outcome.
    std::string condition;
    int documents = 0;
    int letters = 0;
  };
  Event* find(const nlohmann::json& payload);
  void outcome_came(const nlohmann::json& document);
  void letter_came(const nlohmann::json& message);
  void same_request(Event& event, const std::string& id, const std::string& request);

  Verdict& verdict_;
  const WallHistory& wall_;
  std::map<std::string, Event> events_;
  int lives_ = 0;
  int lost_ = 0;
};

}  // namespace freshet::sim
