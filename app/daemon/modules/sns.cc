#include "app/daemon/modules.h"
#include "app/daemon/plan.h"
#include "app/fleet/topic_units.h"
#include "wire/sns/sns_route.h"

namespace freshet {
namespace {

class SnsModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    if (parts.fleet_units == nullptr) return {};
    topics_ = std::make_unique<TopicUnits>(*parts.fleet_units, *parts.member_calls, *parts.runtime);
    parts.runtime->share_topics(*topics_);
    return {};
  }
  void add_routes(Routes& routes) override {
    auto route = make_sns_route(*parts_->runtime, {parts_->plan.tls != nullptr, parts_->random.next()});
    if (topics_) {
      route = make_topic_route(std::move(route), *topics_, *parts_->fleet_units, *parts_->member_calls,
                               parts_->random.next());
    }
    routes.push_back(std::move(route));
  }

 private:
  DaemonParts* parts_ = nullptr;
  std::unique_ptr<TopicUnits> topics_;  // Null without a fleet.
};

}  // namespace

ModuleKind sns_module() {
  return {"sns", make_module<SnsModule>};
}

}  // namespace freshet
