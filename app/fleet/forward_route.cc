#include "app/fleet/forward_route.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/fleet/forwarded_take.h"
#include "app/fleet/owner_answers.h"
#include "app/fleet/silent_owners.h"
#include "base/points.h"
#include "runtime/fleet/load.h"
#include "wire/http/target.h"
#include "wire/service/api_route.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"
#include "wire/tasks/requests.h"

namespace freshet {
namespace {

using Json = nlohmann::json;

// The name of the queue that a request is about; empty: none, or all.
std::string queue_of(const HttpRequest& request) {
  auto target = parse_target(request.target);
  if (!target || target->segments.size() < 2 || target->segments[0] != "queues") return {};
  return std::move(target->segments[1]);
}
bool is_create(const HttpRequest& request) {
  const auto target = parse_target(request.target);
  return request.method == "POST" && target && target->segments.size() == 3 && target->segments[2] == "tasks";
}
bool is_list(const HttpRequest& request) {
  const auto target = parse_target(request.target);
  return request.method == "GET" && target && target->segments.size() == 1 && target->segments[0] == "queues";
}

// The name of a queue, as a list has it; empty for anything else.
std::string name_of(const Json& one) {
  if (one.is_string()) return one.get<std::string>();
  if (!one.is_object()) return {};
  const auto name = one.find("name");
  return name != one.end() && name->is_string() ? name->get<std::string>() : "";
}

// After that, the tasks are written here. A member that is frozen or lost is known to be dead no sooner.
constexpr milliseconds kLongestCreate{3000};
constexpr milliseconds kLongestList{1000};

// Adds the queues of another member's list.
void add_queues(Json& list, const std::string& body) {
  const Json other = Json::parse(body, nullptr, false);
  if (!other.is_object()) return;
  for (const char* member : {"queues", "details"}) {
    const auto found = other.find(member);
    if (found == other.end() || !found->is_array()) continue;
    for (const Json& one : *found) {
      if (!name_of(one).empty()) list[member].push_back(one);
    }
  }
}
void sort_queues(Json& list) {
  for (const char* member : {"queues", "details"}) {
    Json& all = list[member];
    std::sort(all.begin(), all.end(), [](const Json& a, const Json& b) { return name_of(a) < name_of(b); });
    all.erase(
        std::unique(all.begin(), all.end(), [](const Json& a, const Json& b) { return name_of(a) == name_of(b); }),
        all.end());
  }
}

// A request is parsed for the member's own route only once it is known to stay here.
class ForwardExchange final : public Exchange {
 public:
  ForwardExchange(HttpRequest request, Route& here, QueueUnits& units, MemberCalls& calls, SilentOwners& silent)
      : request_(std::move(request)), here_(here), units_(units), calls_(calls), silent_(silent) {}

  Async<void> run() override {
    const bool was_passed_on = !header(request_.headers, kForwardedBy).empty();
    if (is_list(request_) && !was_passed_on) return list();
    const std::string queue = queue_of(request_);
    if (queue.empty()) return answer_here();
    const QueueUnits::Place place = units_.place_of(queue);
    if (place.is == QueueUnits::Place::Is::kHere) return answer_here();
    const bool creates = is_create(request_) && units_.may_create(queue);
    if (place.is == QueueUnits::Place::Is::kThere && !was_passed_on) return pass_on(queue, place.url, creates);
    if (was_passed_on) FRESHET_REACHED("a request that was passed on finds no owner");
    if (creates) return answer_here();  // Other members do so in the same moment, so there is no use in asking one.
    answer_ = nobody_serves(queue);
    return {};
  }
  HttpResponse respond() override { return answer_ ? std::move(*answer_) : inner_->respond(); }

 private:
  Async<void> answer_here() {
    inner_ = here_.accept(request_);
    return inner_->run();
  }
  Async<void> pass_on(std::string queue, std::string url, bool creates) {
    if (creates) request_.headers.emplace_back(tasks::kNewTaskId, units_.new_id());
    if (creates && silent_.is_silent(queue, units_.owner_sign(queue), now())) {
      FRESHET_REACHED("a create does not wait for an owner that was silent");
      co_await create_here();
      if (answer_) co_return;  // Else it is for the owner alone.
    }
    auto passing = is_take(request_)
                       ? pass_take_on(request_, queue, url, units_, calls_)
                       : calls_.pass_on(request_, url, units_.id(), creates ? kLongestCreate : kLongestAnswer);
    auto answer = co_await passing;
    if (answer) {
      answer_ = std::move(*answer);
      silent_.answered(queue);
      co_return;
    }
    if (creates && answer.error().code == ErrorCode::kTimeout) silent_.silent(queue, units_.owner_sign(queue), now());
    answer_ = owner_gave_no_answer(queue, url, answer.error());
    if (creates) co_await create_here();
  }
  // The other member may have created the tasks, or may still do so. They have the same ids here, and each is put on
  // the condition that there is none of its id. If they cannot be written here either, the first error stays the
  // answer.
  Async<void> create_here() {
    auto here = answer_here();
    co_await here;
    HttpResponse mine = inner_->respond();
    if (mine.status < 429) answer_ = std::move(mine);
  }
  BootTime now() const { return units_.scheduler().clock().boot(); }
  Async<void> list() {
    auto here = answer_here();
    co_await here;
    HttpResponse mine = inner_->respond();
    Json list = Json::parse(mine.body, nullptr, false);
    if (mine.status == 200 && list.is_object()) {
      const std::vector<std::string> others = units_.others();
      for (const std::string& url : others) {
        auto answer = co_await calls_.pass_on(request_, url, units_.id(), kLongestList);
        if (answer && answer->status == 200) add_queues(list, answer->body);
      }
      sort_queues(list);
      mine.body = list.dump() + "\n";
    }
    answer_ = std::move(mine);
  }

  HttpRequest request_;
  Route& here_;
  QueueUnits& units_;
  MemberCalls& calls_;
  SilentOwners& silent_;
  std::unique_ptr<Exchange> inner_;
  std::optional<HttpResponse> answer_;
};

class ForwardRoute final : public Route {
 public:
  ForwardRoute(std::unique_ptr<Route> here, QueueUnits& units, MemberCalls& calls)
      : here_(std::move(here)), units_(units), calls_(calls) {}

  bool matches(const HttpRequest& request) const override { return here_->matches(request); }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    return std::make_unique<ForwardExchange>(std::move(request), *here_, units_, calls_, silent_);
  }
  bool changes(const HttpRequest& request) const override { return here_->changes(request); }
  bool is_slow() const override { return here_->is_slow(); }

 private:
  const std::unique_ptr<Route> here_;
  QueueUnits& units_;
  MemberCalls& calls_;
  SilentOwners silent_;
};

std::string_view state_of(const QueueUnits& units) {
  const FleetCore* fleet = units.core();
  if (!fleet) return "joining";
  switch (fleet->membership()) {
    case Membership::kJoined:
      if (units.is_clock_off()) return "clock-off";
      return fleet->leaving() ? "leaving" : "joined";
    case Membership::kFenced:
      return "unreachable";
    case Membership::kForgotten:
      return "joining";
    case Membership::kSuperseded:
      return "superseded";
  }
  return "";
}

void append_members(std::string& out, const FleetCore& fleet, const SharedRuns& runs) {
  out += '[';
  const char* between = "";
  for (const auto& [id, member] : fleet.view().members) {
    out += std::exchange(between, ",");
    JsonObject one(out);
    one.text("id", id);
    one.text("url", member.url);
    one.number("epoch", member.epoch);
    one.flag("alive", fleet.is_alive(id));
    one.flag("leaving", member.leaving);
    one.number("leaseMs", member.lease.count());
    one.number("load", member.load);
    one.number("runs", runs.running_at(id));
    const auto units = fleet.view().units.find(id);
    const bool has = fleet.is_alive(id) && units != fleet.view().units.end() && units->second.epoch == member.epoch;
    std::vector<std::string> holds;
    if (has) holds = units->second.holds;
    std::erase_if(holds, [&id = id](const std::string& unit) { return is_own_unit(unit, id); });
    one.texts("holds", holds);
  }
  out += ']';
}

void append_units(std::string& out, const FleetCore& fleet) {
  out += '[';
  const char* between = "";
  if (fleet.view().plan) {
    for (const auto& [unit, owner] : fleet.view().plan->owners) {
      if (is_own_unit(unit, owner)) continue;
      out += std::exchange(between, ",");
      JsonObject one(out);
      one.text("unit", unit);
      one.text("owner", owner);
    }
  }
  out += ']';
}

// `trouble`: why the daemon is not ready; empty if it is.
std::string fleet_json(const QueueUnits& units, const SharedRuns& runs, const std::string& trouble) {
  std::string out;
  {
    const FleetCore* fleet = units.core();
    JsonObject json(out);
    json.text("member", units.id());
    json.text("state", state_of(units));
    if (!trouble.empty()) json.text("trouble", trouble);
    if (fleet && fleet->view().plan) {
      json.text("leader", fleet->view().plan->leader);
      json.number("term", fleet->view().plan->term);
    }
    if (fleet) json.number("wanted", daemons_wanted(*fleet));
    std::string& members = json.raw("members");
    if (fleet) {
      append_members(members, *fleet, runs);
    } else {
      members += "[]";
    }
    std::string& plan = json.raw("units");
    if (fleet) {
      append_units(plan, *fleet);
    } else {
      plan += "[]";
    }
  }
  return out;
}

}  // namespace

std::unique_ptr<Route> make_forward_route(std::unique_ptr<Route> here, QueueUnits& units, MemberCalls& calls) {
  return std::make_unique<ForwardRoute>(std::move(here), units, calls);
}

std::vector<std::unique_ptr<Route>> make_fleet_routes(QueueUnits& units, const SharedRuns& runs,
                                                      std::function<std::string()> trouble) {
  std::vector<std::unique_ptr<Route>> out;
  auto answer = [&units, &runs, trouble = std::move(trouble)](const HttpRequest&) -> Async<HttpResponse> {
    return tasks::json_answer(fleet_json(units, runs, trouble()));
  };
  out.push_back(make_api_route(ApiCall::kFleet, std::move(answer)));
  out.push_back(make_api_route(ApiCall::kNudge, [&units](const HttpRequest&) -> Async<HttpResponse> {
    units.nudge();
    return tasks::json_answer("{}");
  }));
  return out;
}

}  // namespace freshet
