// The plan of a run, drawn from its seed: how many members and queues, which clients, and which faults how often.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"

namespace freshet::fleet_sim {

inline constexpr const char* kScheduledQueue = "Scheduled";
inline constexpr milliseconds kSchedulePeriod{10'000};
inline constexpr const char* kChangedTable = "Changes";
inline constexpr const char* kChangedFunction = "WatchFunction";
inline constexpr const char* kCountsTable = "ChangeCounts";
inline constexpr const char* kMappingUnit = "mapping/WatchFunctionChange";
inline constexpr const char* kRunQueue = "Runs";
inline constexpr const char* kTopic = "Orders.fifo";
inline constexpr const char* kTopicUnit = "topic/Orders.fifo";
inline constexpr const char* kSubscribers[] = {"OrderFunction", "LedgerFunction"};
inline constexpr milliseconds kFleetLease{3'000};

struct FleetRunPlan {
  uint64_t seed = 0;
  int members = 2;
  std::vector<std::string> queues;  // Table names.
  int creators = 1;
  int putters = 0;  // Clients that put tasks into the tables by themselves.
  int workers = 1;
  bool has_schedule = false;  // The template has a schedule, which puts tasks into a queue of its own.
  bool has_mapping = false;   // The changes of a table drive a function.
  int lanes = 1;              // Its parallelization factor.
  bool has_splits = false;    // Its stream has several shards, which are split, merged and trimmed.
  bool has_counts = false;    // A second function counts the states of that table's items.
  bool has_events = false;    // Clients invoke that function asynchronously.
  bool is_sparse = false;     // The first queue has layout `fleet`.
  bool has_runs = false;      // There is a further queue, whose tasks are done by programs on all members.
  int run_limit = 3;          // How many of them may be in work at once.
  milliseconds run_timeout{3'000};
  milliseconds run_active{60'000};  // A processor goes on for so long.
  milliseconds length{20'000};      // Until the last fault.
  std::vector<milliseconds> lags;   // A lag for each class of the engine's indexes; empty: they show a write at once.
  // By name, in a thousand seconds of simulated time.
  std::map<std::string, int> faults;

  bool has_topic = false;  // There is a FIFO topic.
  int subscribers = 1;     // The functions that get its messages.
  int publishers = 1;
  bool has_policies = false;  // Clients change the queues' policies.
  // `what`: a fault, or a part of the plan ("lag", "runs", "topic", "policies", "splits", "counts").
  bool has(const std::string& what) const;
  // All queues but that of the schedule.
  std::vector<std::string> judged_queues() const;
};

// `without`: faults that are left out; all else stays as the seed has it.
FleetRunPlan draw_fleet_plan(uint64_t seed, const std::set<std::string>& without);
std::string to_string(const FleetRunPlan& plan);

}  // namespace freshet::fleet_sim
