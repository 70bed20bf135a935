// Judges a FIFO topic of a fleet, as docs/fleet.md promises it ("FIFO topics"): each subscription gets the messages of
// a group in the order of their numbers, each accepted one at least once, and the next only once the one before was
// delivered or given up; numbers rise, and none comes twice; a message that is sent again within five minutes keeps its
// number; and only the daemon that serves the topic delivers. One thread.
//
// A message is given up after three attempts. An attempt may be lost without reaching the function.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/clock.h"
#include "tests/sim/fleet/units_judge.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::fleet_sim {

class TopicJudge {
 public:
  // Both outlive it. `units`: who serves the topic.
  TopicJudge(sim::Verdict& verdict, const UnitsJudge& units) : verdict_(verdict), units_(units) {}

  void subscribed(const std::string& function) { groups_[function]; }
  // A client sends it, perhaps not for the first time, and knows later that it is accepted, with that number.
  void sent(const std::string& id, const std::string& group, BootTime now);
  void accepted(const std::string& id, const std::string& number, BootTime answered);
  // A program of the node has given up its request for an event, so its daemon may count an attempt that never begins.
  void lost_event(const std::string& node, BootTime now);
  // The node stands still until then, or is cut off: what it was delivering goes on later, beside the next owner's, but
  // it begins nothing else before it knows that the topic is still its own.
  void shaken(BootTime from, BootTime to, const std::string& node);
  void life_ended(const std::string& node);

  static bool is_message(const nlohmann::json& event);
  // A function begins with that event on the node. False if it is no message of a topic.
  bool started(const std::string& node, const nlohmann::json& event, BootTime now);
  // The function is about to answer that it has done its work.
  void done(const std::string& node, const nlohmann::json& event);

  // Empty: each accepted message has been delivered to each subscription, or was given up.
  std::string undelivered() const;
  // How often it has been delivered, to all subscriptions together.
  size_t deliveries(const std::string& id) const;
  std::string number_of(const std::string& id) const;  // Empty if none is known.
  size_t subscriptions() const { return groups_.size(); }

 private:
  struct Message {
    std::string group;
    BootTime first_sent{};
    int lost_before = 0;
    std::string number;                    // Empty until it is known.
    bool accepted = false;                 // As an answer said.
    std::map<std::string, size_t> starts;  // By function.
  };
  struct Group {
    std::string last;               // The highest number that has begun.
    std::set<std::string> waiting;  // Numbers of accepted messages of which no later one has begun.
  };
  struct Shake {
    BootTime from;
    BootTime to;
    std::string node;
  };

  struct Place {
    std::string node;
    std::string function;
    std::string group;
    auto operator<=>(const Place&) const = default;
  };
  using UnderWay = std::map<Place, std::string>;  // The id of the message that begun last, unless it is done.

  std::string function_of(const nlohmann::json& record) const;  // Empty if it is none of the subscribers.
  void judge_late(const Place& place, const std::string& id);
  void set_number(const std::string& id, Message& message, const std::string& number);
  bool may_be_given_up(const Message& message) const;
  bool is_late(const std::string& node, BootTime now) const;
  void judge_order(const std::string& function, const std::string& node, const Message& message, const std::string& id);

  sim::Verdict& verdict_;
  const UnitsJudge& units_;
  std::map<std::string, Message> messages_;
  std::map<std::string, std::string> ids_;                      // By number.
  std::map<std::string, std::map<std::string, Group>> groups_;  // By function, and name.
  std::vector<Shake> shakes_;
  UnderWay under_way_;
  UnderWay before_;      // When the node was cut off last.
  std::string highest_;  // The highest number that an answer gave, and when.
  BootTime highest_at_{};
  int lost_ = 0;
};

}  // namespace freshet::fleet_sim
