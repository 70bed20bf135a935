#include "app/daemon/modules.h"
#include "app/daemon/plan.h"
#include "wire/sns/sns_route.h"

namespace freshet {
namespace {

class SnsModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    return {};
  }
  void add_routes(Routes& routes) override {
    routes.push_back(make_sns_route(*parts_->runtime, {parts_->plan.tls != nullptr, parts_->random.next()}));
  }

 private:
  DaemonParts* parts_ = nullptr;
};

}  // namespace

ModuleKind sns_module() {
  return {"sns", make_module<SnsModule>};
}

}  // namespace freshet
