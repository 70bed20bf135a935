#include "app/daemon/modules.h"
#include "app/daemon/record_route.h"

namespace freshet {
namespace {

class NoQueues final : public TaskQueues {
 public:
  std::shared_ptr<TaskQueue> find(std::string_view) override { return nullptr; }
  std::vector<std::string> names() const override { return {}; }
};

class RecordModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    return {};
  }
  void add_routes(Routes& routes) override {
    TaskQueues& queues = parts_->task_queues ? *parts_->task_queues : none_;
    routes.push_back(make_record_route(*parts_->store, queues, parts_->loop, parts_->runtime->account()));
  }

 private:
  DaemonParts* parts_ = nullptr;
  NoQueues none_;
};

}  // namespace

ModuleKind record_module() {
  return {"record", make_module<RecordModule>};
}

}  // namespace freshet
