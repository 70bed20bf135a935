// The mapping of one filtered queue to its tables: attributes, keys, names, states. docs/filtered-queue.md has the
// table of all settings with their defaults; definition.h reads them from a file. The defaults are the call centre's.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "functions/settings.h"
#include "tables/definition.h"

namespace freshet::filtered {

// An attribute of members that requests filter by.
struct FilterAttribute {
  std::string name;
  bool set = false;  // True: a string set; the member waits under each of its values. False: one string.
  std::vector<std::string> values;
  size_t max_values = 0;  // For a set: the most values of one member; 0: any number.

  size_t most() const { return !set ? 1 : max_values == 0 ? values.size() : max_values; }
};

// How a queue's key is made from its values.
enum class Keys {
  kText,     // Q#Spanish#F
  kBitmask,  // Q#12: a bit for each value of each attribute, in the definition's order; the first bit is 1.
};

struct Names {
  std::string partition = "pk";
  std::string sort = "sk";
  std::string id = "AgentID";
  std::string status = "AgentStatus";
  std::string version = "QueueVersionId";
  std::string depth = "QueueDepth";
  // Not in the sample.
  std::string queued_at = "QueuedAt";
  std::string assignment = "AssignmentId";
  std::string request = "RequestId";
  std::string request_version = "RequestVersionId";
  std::string request_depth = "RequestDepth";
};

// The values of the partition key, and the prefixes of sort keys (and of entries' partition keys).
struct Layout {
  std::string members = "Agents";
  std::string member_prefix = "Agent#";
  std::string queues = "AllQueues";
  std::string queue_prefix = "Q#";
  std::string requests = "AllRequests";
  std::string request_prefix = "Request#";
  std::string waiting_prefix = "R#";
};

struct States {
  std::string available = "available";
  std::string queued = "queued";
  std::string assigned = "attendingCall";
};

struct Retry {
  int attempts = 30;
  BackoffSettings backoff{milliseconds(5), milliseconds(500), 2, 1};
};

struct Settings {
  std::string name;
  std::string table;          // Holds the entries and the requests.
  std::string members_table;  // Empty: the same.
  std::string queues_table;   // Empty: the same.
  std::vector<FilterAttribute> attributes;
  std::vector<std::string> copied;  // Attributes that entries copy from members, besides id and those above.
  Keys keys = Keys::kText;
  bool newest_first = false;
  Names names;
  Layout layout;
  States states;
  Retry retry;                  // The waits when other callers are faster.
  milliseconds matching{1000};  // How often waiting requests are matched with members that other programs have queued.

  const std::string& members_in() const { return members_table.empty() ? table : members_table; }
  const std::string& queues_in() const { return queues_table.empty() ? table : queues_table; }
};

// kValidation naming the setting: empty or equal names and prefixes, no attributes, empty or repeated values, retries
// and times out of range. policy/combinations.h checks the needs of transactions.
Result<void> validate(const Settings& settings);

// One of its tables, as it is made if it does not exist.
TableDefinition table_of(const Settings& settings, const std::string& name);

}  // namespace freshet::filtered
