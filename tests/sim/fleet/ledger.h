// The clients' knowledge of tasks, and what follows from it: no acknowledged task is lost, nobody gets a task that
// another one holds, a stale holder settles nothing, and the newest is taken first. One thread.
//
// A lease is certain from the answer that brought it until `leaseMs` after its take was sent: the owner, whoever it is,
// begins to time it at the claim, which is later. A worker's settlement may end it from when it is sent. A daemon that
// begins again in its data folder ends the leases that it gave out in earlier lives (docs/lifecycle.md).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::fleet_sim {

struct Take {
  std::string queue;
  BootTime sent{};
  BootTime answered{};
  milliseconds lease{0};
};

struct Claim {
  std::string lease;
  Take take;
  std::optional<BootTime> settle_sent;  // The first time.
  std::optional<BootTime> void_since;
  bool completed = false;  // As an answer said.
};

struct Task {
  std::string queue;
  bool by_client = false;  // Put into the table: it is seen once an index shows it.
  BootTime first_sent{};
  std::optional<BootTime> acknowledged;
  std::vector<Claim> claims;
};

// As the engine has it in the end.
struct StoredTask {
  std::string status;
  int64_t attempt = 0;
};

class Ledger {
 public:
  explicit Ledger(sim::Verdict& verdict) : verdict_(verdict) {}

  void create_sent(const std::string& queue, const std::string& id, BootTime now);
  void put_sent(const std::string& queue, const std::string& id, BootTime now);
  void created(const std::string& id, BootTime now);
  void taken(const std::string& id, const std::string& lease, const Take& take);
  // A take without an answer: it may have claimed anything.
  void take_unknown(const Take& take) { unknown_.push_back(take); }
  void settle_sent(const std::string& id, const std::string& lease, BootTime now);
  // It was answered with success.
  void settled(const std::string& id, const std::string& lease, bool completed);
  // It was refused as a stale one, although no other settlement of this lease was sent.
  void settle_refused(const std::string& id, const std::string& lease, BootTime answered);
  // The member of that id begins a life.
  void life_begins(const std::string& member, BootTime now);

  // In the end, with everything that the engine has.
  void judge_end(const std::map<std::string, StoredTask>& items);
  // `calm(from, to)`: nothing went wrong in that time, and one member served the queue.
  void judge_order(const std::map<std::string, StoredTask>& items,
                   const std::function<bool(const std::string& queue, BootTime from, BootTime to)>& calm);

  size_t tasks() const { return tasks_.size(); }
  uint64_t order_checks() const { return order_checks_; }

 private:
  Claim* find(const std::string& id, const std::string& lease);
  void judge_first(const Task& newer, const std::string& id, const Task& older, const std::string& old_id,
                   const Claim& claim);

  sim::Verdict& verdict_;
  std::map<std::string, Task> tasks_;
  std::vector<Take> unknown_;
  uint64_t order_checks_ = 0;
};

}  // namespace freshet::fleet_sim
