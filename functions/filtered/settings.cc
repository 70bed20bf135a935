#include "functions/filtered/settings.h"

#include <algorithm>

#include "functions/own_tables.h"

namespace freshet::filtered {
namespace {

constexpr int kMostAttempts = 1000;
constexpr milliseconds kLongest{int64_t{24} * 3600 * 1000};

// Pairs a name for messages with the setting's value.
using Named = std::vector<std::pair<std::string, std::string>>;

Result<void> check_different(Named names) {
  for (const auto& [what, value] : names) {
    if (value.empty()) return invalid("'" + what + "' must not be empty");
  }
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto twice =
      std::adjacent_find(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.second == b.second; });
  if (twice == names.end()) return {};
  return invalid("'" + twice->first + "' and '" + std::next(twice)->first + "' are both '" + twice->second +
                 "': they must differ");
}

Result<void> check_attribute(const FilterAttribute& attribute) {
  const std::string where = "'attributes': '" + attribute.name + "' ";
  if (attribute.values.empty()) return invalid(where + "has no values: list those that members may have");
  auto sorted = attribute.values;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front().empty()) return invalid(where + "has an empty value");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return invalid(where + "has the value '" + *twice + "' twice");
  if (attribute.max_values > attribute.values.size()) {
    return invalid(where + "has " + std::to_string(attribute.values.size()) + " values, so 'max_values' cannot be " +
                   std::to_string(attribute.max_values));
  }
  if (!attribute.set && attribute.max_values > 1) {
    return invalid(where + "has one value a member: 'max_values' is for sets");
  }
  return {};
}

Result<void> check_attributes(const Settings& s) {
  if (s.attributes.empty()) return invalid("'attributes' must name at least one");
  Named names{{"names.partition", s.names.partition},
              {"names.sort", s.names.sort},
              {"names.id", s.names.id},
              {"names.status", s.names.status},
              {"names.queued_at", s.names.queued_at},
              {"names.assignment", s.names.assignment},
              {"names.request", s.names.request}};
  for (size_t i = 0; i < s.attributes.size(); ++i) {
    names.emplace_back("attributes[" + std::to_string(i) + "].name", s.attributes[i].name);
  }
  for (size_t i = 0; i < s.copied.size(); ++i) {
    names.emplace_back("copied[" + std::to_string(i) + "]", s.copied[i]);
  }
  if (auto ok = check_different(std::move(names)); !ok) return ok;
  for (const auto& attribute : s.attributes) {
    if (auto ok = check_attribute(attribute); !ok) return ok;
  }
  const Names& n = s.names;
  return check_different({{"names.partition", n.partition},
                          {"names.sort", n.sort},
                          {"names.version", n.version},
                          {"names.depth", n.depth},
                          {"names.request_version", n.request_version},
                          {"names.request_depth", n.request_depth}});
}

Result<void> check_layout(const Settings& s) {
  const Layout& l = s.layout;
  auto ok = check_different({{"layout.members", l.members},
                             {"layout.queues", l.queues},
                             {"layout.requests", l.requests},
                             {"layout.queue_prefix", l.queue_prefix},
                             {"layout.waiting_prefix", l.waiting_prefix}});
  if (!ok) return ok;
  return check_different({{"states.available", s.states.available},
                          {"states.queued", s.states.queued},
                          {"states.assigned", s.states.assigned}});
}

Result<void> check_times(const Settings& s) {
  if (s.retry.attempts < 1 || s.retry.attempts > kMostAttempts) {
    return invalid("'retry.attempts' must be from 1 to " + std::to_string(kMostAttempts));
  }
  for (const auto& [what, time, least] : {std::tuple("retry.base_ms", s.retry.backoff.base, 0),
                                          {"retry.max_ms", s.retry.backoff.max, 0},
                                          {"matching_ms", s.matching, 1}}) {
    if (time.count() >= least && time <= kLongest) continue;
    return invalid("'" + std::string(what) + "' must be from " + std::to_string(least) + " ms to a day");
  }
  return {};
}

}  // namespace

Result<void> validate(const Settings& s) {
  if (s.name.empty()) return invalid("'name' of the queue must not be empty");
  const auto check = [&]() -> Result<void> {
    if (s.table.empty()) return invalid("'table' must not be empty");
    for (const std::string& table : {s.table, s.members_table, s.queues_table}) {
      if (auto ok = check_not_own_table(table); !ok) return ok;
    }
    if (auto ok = check_attributes(s); !ok) return ok;
    if (auto ok = check_layout(s); !ok) return ok;
    return check_times(s);
  };
  auto checked = check();
  if (!checked) return invalid("queue '" + s.name + "': " + checked.error().message);
  return {};
}

TableDefinition table_of(const Settings& settings, const std::string& name) {
  TableDefinition definition;
  definition.name = name;
  definition.keys = {{settings.names.partition, Type::kString}, KeyAttribute{settings.names.sort, Type::kString}};
  return definition;
}

}  // namespace freshet::filtered
