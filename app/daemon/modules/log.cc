#include "app/daemon/modules.h"
#include "app/daemon/recent_log.h"

namespace freshet {
namespace {

class LogModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    return {};
  }
  void add_routes(Routes& routes) override {
    routes.push_back(make_log_route(parts_->recent_log, parts_->loop, parts_->loop));
  }

 private:
  DaemonParts* parts_ = nullptr;
};

}  // namespace

ModuleKind log_module() {
  return {"log", make_module<LogModule>};
}

}  // namespace freshet
