#include "tests/sim/fleet/changes_judge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/sim/fleet/fleet_plan.h"

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;

// A batch under way is finished after a daemon has given up its mapping. The function may take its timeout for it.
constexpr milliseconds kLastBatch{15'000};

std::vector<std::pair<std::string, int64_t>> changes_in(const Json& event) {
  std::vector<std::pair<std::string, int64_t>> changes;
  for (const Json& record : event.value("Records", Json::array())) {
    const Json& image = record.at("dynamodb").at("NewImage");
    changes.emplace_back(image.at("id").at("S").get<std::string>(),
                         std::stoll(image.at("version").at("N").get<std::string>()));
  }
  return changes;
}

}  // namespace

void ChangesJudge::started(const std::string& node, const Json& event, BootTime now) {
  verdict_.expect(units_.served_since(node, kMappingUnit, now - kLastBatch), "a function runs at another daemon",
                  node + " does not run " + kMappingUnit);
  std::map<std::string, std::set<int64_t>> before;  // Earlier records of the batch.
  for (const auto& [name, version] : changes_in(event)) {
    const auto found = items_.find(name);
    const bool is_known = found != items_.end() && version <= found->second.sent;
    verdict_.expect(is_known, "a function gets a change that nobody made", name + " " + std::to_string(version));
    if (!is_known) continue;
    for (const int64_t earlier : found->second.written) {
      if (earlier >= version) break;
      const bool came = found->second.processed.contains(earlier) || before[name].contains(earlier);
      verdict_.expect(came, "a change is passed over",
                      node + " is given " + name + " " + std::to_string(version) + " before " +
                          std::to_string(earlier) + " is processed");
    }
    before[name].insert(version);
    ++deliveries_;
  }
}

void ChangesJudge::done(const Json& event) {
  for (const auto& [name, version] : changes_in(event)) items_[name].processed.insert(version);
}

void ChangesJudge::position(const std::string& id, ShardMark mark) {
  ShardMark& before = positions_[id];
  verdict_.expect(!is_behind(mark, before), "a position goes back", id + " from " + before.after + " to " + mark.after);
  before = std::move(mark);
}

std::string ChangesJudge::unprocessed() const {
  for (const auto& [name, item] : items_) {
    for (const int64_t version : item.written) {
      if (!item.processed.contains(version)) return name + " " + std::to_string(version) + " is not processed";
    }
  }
  return {};
}

}  // namespace freshet::fleet_sim
