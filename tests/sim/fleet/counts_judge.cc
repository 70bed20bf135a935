#include "tests/sim/fleet/counts_judge.h"

#include <map>

#include "tests/sim/fleet/change_clients.h"

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;
using Counters = std::map<std::string, int64_t>;

constexpr milliseconds kCountsPatience{10'000};

int64_t number_in(const Json& item, const std::string& name) {
  return std::stoll(item.value(Json::json_pointer("/" + name + "/N"), "0"));
}

// Each item has had each of its versions, one after the other.
void add_moves(Counters& wanted, int64_t version) {
  std::string before = "(created)";
  for (int64_t i = 1; i <= version; ++i) {
    const std::string now = state_of_version(i);
    if (before != now) ++wanted["transition#" + before + "#" + now];
    before = now;
  }
}

std::string difference(const Counters& wanted, const Counters& counted) {
  for (const auto& [metric, number] : wanted) {
    const auto found = counted.find(metric);
    const int64_t has = found == counted.end() ? 0 : found->second;
    if (has != number) return metric + " is " + std::to_string(has) + " instead of " + std::to_string(number);
  }
  for (const auto& [metric, number] : counted) {
    if (!wanted.contains(metric)) return metric + " is " + std::to_string(number) + " instead of 0";
  }
  return {};
}

}  // namespace

Async<std::string> miscounted(FleetStage& stage) {
  Json scan = {{"TableName", kChangedTable}, {"ConsistentRead", true}};
  const Reply items = co_await stage.caller.store(stage.engine, "Scan", std::move(scan), kCountsPatience);
  Json query = {{"TableName", kCountsTable}, {"ConsistentRead", true}, {"KeyConditionExpression", "counted = :c"}};
  query["ExpressionAttributeValues"] = {{":c", {{"S", std::string(kChangedTable) + "#state"}}}};
  const Reply metrics = co_await stage.caller.store(stage.engine, "Query", std::move(query), kCountsPatience);
  if (!items.ok() || !metrics.ok()) co_return "no answer to a read of the counters";
  Counters wanted;
  for (const Json& item : items.body["Items"]) {
    ++wanted["state#" + item.value("/state/S"_json_pointer, "")];
    add_moves(wanted, number_in(item, "version"));
  }
  Counters counted;
  for (const Json& item : metrics.body["Items"]) {
    const std::string metric = item.value("/metric/S"_json_pointer, "");
    if (metric == "position") continue;
    const int64_t number = number_in(item, "itemCount") + number_in(item, "moves");
    if (number != 0) counted[metric] = number;
  }
  co_return difference(wanted, counted);
}

}  // namespace freshet::fleet_sim
