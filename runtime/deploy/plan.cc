#include "runtime/deploy/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "streams/arn.h"

namespace freshet {
namespace {

// Collects the names of the parts in which two definitions differ.
class Difference {
 public:
  template <class T>
  Difference& part(std::string_view name, const T& a, const T& b) {
    if (!(a == b)) text_ += (text_.empty() ? "" : ", ") + std::string(name);
    return *this;
  }
  std::string text() const { return text_; }

 private:
  std::string text_;
};

std::vector<IndexDefinition> sorted(std::vector<IndexDefinition> indexes) {
  std::sort(indexes.begin(), indexes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (IndexDefinition& index : indexes) std::sort(index.included.begin(), index.included.end());
  return indexes;
}

std::string difference(const TableDefinition& a, const TableDefinition& b) {
  return Difference()
      .part("indexes", sorted(a.indexes), sorted(b.indexes))
      .part("stream", a.stream, b.stream)
      .part("time to live", a.ttl_attribute, b.ttl_attribute)
      .part("unit of time to live", a.ttl_in_milliseconds, b.ttl_in_milliseconds)
      .part("books", a.books, b.books)
      .text();
}

std::string difference(const FunctionDefinition& a, const FunctionDefinition& b) {
  return Difference()
      .part("host", a.host, b.host)
      .part("handler", a.handler, b.handler)
      .part("runtime", a.runtime, b.runtime)
      .part("code", a.code, b.code)
      .part("memory", a.memory_mib, b.memory_mib)
      .part("timeout", a.timeout, b.timeout)
      .part("reserved concurrency", a.reserved_concurrency, b.reserved_concurrency)
      .part("environment", a.environment, b.environment)
      .part("asynchronous events", a.async, b.async)
      .part("dead letters", a.dead_letter, b.dead_letter)
      .text();
}

std::string difference(const TopicDefinition& a, const TopicDefinition& b) {
  return Difference()
      .part("content-based deduplication", a.content_deduplication, b.content_deduplication)
      .part("deduplication by group", a.group_deduplication, b.group_deduplication)
      .text();
}

std::string difference(const SubscriptionDefinition& a, const SubscriptionDefinition& b) {
  return Difference()
      .part("endpoint", a.protocol + " " + endpoint_name(a), b.protocol + " " + endpoint_name(b))
      .part("filter", a.filter_policy, b.filter_policy)
      .part("filter scope", a.filter_on_body, b.filter_on_body)
      .part("raw delivery", a.raw_delivery, b.raw_delivery)
      .text();
}

std::string difference(const MappingDefinition& a, const MappingDefinition& b) {
  return Difference()
      .part("table", a.table, b.table)
      .part("function", function_name(a.function), function_name(b.function))
      .part("starting position", a.starting_position, b.starting_position)
      .part("batch size", a.batch_size, b.batch_size)
      .part("batching window", a.batching_window, b.batching_window)
      .part("filters", a.filters, b.filters)
      .part("record age", a.max_record_age, b.max_record_age)
      .part("retries", a.max_retries, b.max_retries)
      .part("parallelization factor", a.parallelization_factor, b.parallelization_factor)
      .part("tumbling window", a.tumbling_window, b.tumbling_window)
      .part("bisect", a.bisect_on_error, b.bisect_on_error)
      .part("response types", a.report_item_failures, b.report_item_failures)
      .part("on-failure destination", a.on_failure, b.on_failure)
      .part("enabled", a.enabled, b.enabled)
      .text();
}

std::string difference(const ScheduleDefinition& a, const ScheduleDefinition& b) {
  return Difference()
      .part("expression", a.expression, b.expression)
      .part("function", function_name(a.function), function_name(b.function))
      .part("input", a.input, b.input)
      .part("enabled", a.enabled, b.enabled)
      .text();
}

std::string part(const TableDefinition& table, std::string_view name) {
  return table.name + "/" + std::string(name);
}

std::vector<std::string> parts_of(const TableDefinition& table) {
  std::vector<std::string> out;
  if (table.stream) out.push_back(part(table, "stream"));
  if (table.ttl_attribute) out.push_back(part(table, "ttl"));
  if (table.books) out.push_back(part(table, "books"));
  for (const IndexDefinition& index : table.indexes) out.push_back(part(table, "index/" + index.name));
  return out;
}

TableDefinition with_parts_of_others(TableDefinition wanted, const TableDefinition& there,
                                     const std::vector<std::string>& ours) {
  auto keep = [&](std::string_view name) {
    return std::find(ours.begin(), ours.end(), part(wanted, name)) == ours.end();
  };
  wanted.settings = there.settings;  // Clients make these settings.
  if (!wanted.stream && keep("stream")) wanted.stream = there.stream;
  if (!wanted.books && keep("books")) wanted.books = there.books;
  if (!wanted.ttl_attribute && keep("ttl")) {
    wanted.ttl_attribute = there.ttl_attribute;
    wanted.ttl_in_milliseconds = there.ttl_in_milliseconds;
  }
  for (const IndexDefinition& index : there.indexes) {
    if (!wanted.index(index.name) && keep("index/" + index.name)) wanted.indexes.push_back(index);
  }
  return wanted;
}

const std::string& name_of(const TableDefinition& one) {
  return one.name;
}
const std::string& name_of(const TopicDefinition& one) {
  return one.name;
}
const std::string& name_of(const FunctionDefinition& one) {
  return one.name;
}
const std::string& name_of(const MappingDefinition& one) {
  return one.id;
}
const std::string& name_of(const ScheduleDefinition& one) {
  return one.name;
}
std::string name_of(const AliasDefinition& one) {
  return one.function + ":" + one.name;
}
std::string name_of(const SubscriptionDefinition& one) {
  return subscription_name(one);
}

// The elements of a list by their names. Must not outlive the list.
template <class List>
class Index {
 public:
  explicit Index(const List& list) {
    for (const auto& one : list) by_name_.emplace(name_of(one), &one);
  }
  const typename List::value_type* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  bool contains(const std::string& name) const { return by_name_.contains(name); }

 private:
  std::map<std::string, const typename List::value_type*> by_name_;
};

template <class List>
std::vector<std::string> names(const List& list) {
  std::vector<std::string> out;
  for (const auto& one : list) out.push_back(name_of(one));
  return out;
}

// Adds creations and changes for everything that `wanted` has and the current state lacks.
template <class List>
void bring(std::vector<DeploymentChange>& changes, const std::string& type, const List& wanted, const List& now) {
  const Index<List> known(now);
  for (const auto& one : wanted) {
    const auto* there = known.find(name_of(one));
    if (!there) {
      changes.push_back({DeploymentChange::Kind::kCreate, type, name_of(one), ""});
    } else if (std::string detail = difference(*there, one); !detail.empty()) {
      changes.push_back({DeploymentChange::Kind::kChange, type, name_of(one), std::move(detail)});
    }
  }
}

// The same for aliases. If an alias's function changes in this plan, the alias will point to the resulting version.
void bring_aliases(std::vector<DeploymentChange>& changes, const Deployment& wanted, const DeployedState& now) {
  std::set<std::string> changing;
  for (const DeploymentChange& change : changes) {
    if (change.type == "function") changing.insert(change.name);
  }
  const Index known(now.aliases);
  for (const AliasDefinition& one : wanted.aliases) {
    const AliasDefinition* there = known.find(name_of(one));
    if (!there) {
      changes.push_back({DeploymentChange::Kind::kCreate, "alias", name_of(one), ""});
      continue;
    }
    std::string detail = Difference()
                             .part("version", there->current && !changing.contains(one.function), true)
                             .part("asynchronous events", there->async, one.async)
                             .text();
    if (!detail.empty()) {
      changes.push_back({DeploymentChange::Kind::kChange, "alias", name_of(one), std::move(detail)});
    }
  }
}

// Adds removals for everything that the previous deployment made, that still exists, and that is no longer wanted.
template <class List>
void remove(std::vector<DeploymentChange>& changes, const std::string& type, const List& wanted, const List& now,
            const std::vector<std::string>& before) {
  const Index<List> still(wanted);
  const Index<List> there(now);
  for (const std::string& name : before) {
    if (still.contains(name) || !there.contains(name)) continue;
    changes.push_back({DeploymentChange::Kind::kRemove, type, name, ""});
  }
}

bool is_numbered(std::string_view id, std::string_view begin) {
  return id.starts_with(begin) && id.size() > begin.size() &&
         id.find_first_not_of("0123456789", begin.size()) == std::string_view::npos;
}

// The wanted subscriptions, with the ids that a topic's list of an earlier version gave them.
std::vector<SubscriptionDefinition> with_their_ids(const Deployment& wanted, const DeployedState& now) {
  const Index asked(wanted.subscriptions);
  const Index known(now.subscriptions);
  // Subscriptions that the last deployment made and that are no longer wanted under that name, by topic and endpoint.
  const auto what = [](const SubscriptionDefinition& one) {
    return topic_name(one.topic) + ' ' + one.protocol + ' ' + endpoint_name(one);
  };
  std::multimap<std::string, const SubscriptionDefinition*> left;
  for (const std::string& name : now.last.subscriptions) {
    const SubscriptionDefinition* there = asked.contains(name) ? nullptr : known.find(name);
    if (there) left.emplace(what(*there), there);
  }
  std::vector<SubscriptionDefinition> subscriptions = wanted.subscriptions;
  for (SubscriptionDefinition& one : subscriptions) {
    const std::string name = subscription_name(one);
    const auto listed = wanted.listed_subscriptions.find(name);
    if (listed == wanted.listed_subscriptions.end() || known.contains(name)) continue;
    const auto [first, last] = left.equal_range(what(one));
    const auto same =
        std::find_if(first, last, [&](const auto& entry) { return is_numbered(entry.second->id, listed->second); });
    if (same == last) continue;
    one.id = same->second->id;
    left.erase(same);
  }
  return subscriptions;
}

std::string show(const KeySchema& keys) {
  auto one = [](const KeyAttribute& key) { return key.name + " (" + std::string(type_name(key.type)) + ")"; };
  return one(keys.partition) + (keys.sort ? " and " + one(*keys.sort) : "");
}

}  // namespace

std::string subscription_name(const SubscriptionDefinition& subscription) {
  return topic_name(subscription.topic) + ":" + subscription.id;
}

std::string endpoint_name(const SubscriptionDefinition& subscription) {
  return subscription.protocol == "lambda" ? function_name(subscription.endpoint) : subscription.endpoint;
}

std::string_view change_name(DeploymentChange::Kind kind) {
  static constexpr std::string_view kNames[] = {"create", "change", "remove", "keep"};
  return kNames[static_cast<size_t>(kind)];
}

std::string DeploymentPlan::to_string() const {
  std::string out;
  for (const DeploymentChange& change : changes) {
    static constexpr std::string_view kSigns = "+~-=";
    out += kSigns[static_cast<size_t>(change.kind)];
    out += " " + change.type + " " + change.name;
    if (!change.detail.empty()) out += ": " + change.detail;
    if (change.kind == DeploymentChange::Kind::kKeep) out += " (no longer in the template; stays with its items)";
    out += "\n";
  }
  return out;
}

Result<DeploymentPlan> plan_deployment(const Deployment& wanted, const DeployedState& now) {
  DeploymentPlan plan;
  const Index tables(now.tables);
  const Index wanted_tables(wanted.tables);
  for (const TableDefinition& table : wanted.tables) {
    const TableDefinition* there = tables.find(table.name);
    if (!there) {
      plan.tables.push_back(table);
      continue;
    }
    plan.tables.push_back(with_parts_of_others(table, *there, now.last.parts));
    if (there->keys == table.keys) continue;
    return invalid("table " + table.name + " is there with the key " + show(there->keys) + "; the template wants " +
                   show(table.keys) +
                   ". Keys of a table cannot be changed: give the table another TableName, or delete it first");
  }
  plan.subscriptions = with_their_ids(wanted, now);
  bring(plan.changes, "table", plan.tables, now.tables);
  bring(plan.changes, "topic", wanted.topics, now.topics);
  bring(plan.changes, "function", wanted.functions, now.functions);
  bring_aliases(plan.changes, wanted, now);
  bring(plan.changes, "subscription", plan.subscriptions, now.subscriptions);
  bring(plan.changes, "mapping", wanted.mappings, now.mappings);
  bring(plan.changes, "schedule", wanted.schedules, now.schedules);
  remove(plan.changes, "schedule", wanted.schedules, now.schedules, now.last.schedules);
  remove(plan.changes, "mapping", wanted.mappings, now.mappings, now.last.mappings);
  remove(plan.changes, "subscription", plan.subscriptions, now.subscriptions, now.last.subscriptions);
  remove(plan.changes, "alias", wanted.aliases, now.aliases, now.last.aliases);
  remove(plan.changes, "function", wanted.functions, now.functions, now.last.functions);
  remove(plan.changes, "topic", wanted.topics, now.topics, now.last.topics);
  for (const std::string& name : now.last.tables) {
    if (wanted_tables.contains(name)) continue;
    plan.changes.push_back({DeploymentChange::Kind::kKeep, "table", name, ""});
  }
  std::vector<std::string> parts;
  for (const TableDefinition& table : wanted.tables) {
    for (std::string& one : parts_of(table)) parts.push_back(std::move(one));
  }
  plan.names = {names(wanted.tables),    std::move(parts),       names(wanted.topics),    names(plan.subscriptions),
                names(wanted.functions), names(wanted.mappings), names(wanted.schedules), names(wanted.aliases)};
  return plan;
}

}  // namespace freshet
