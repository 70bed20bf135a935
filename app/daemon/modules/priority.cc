#include <utility>

#include "app/daemon/modules.h"
#include "app/daemon/modules/definition_files.h"
#include "functions/priority/definition.h"
#include "functions/priority/table_queues.h"
#include "wire/priority/priority_route.h"

namespace freshet {
namespace {

class PriorityModule final : public Module {
 public:
  explicit PriorityModule(std::vector<priority::Definition> definitions) : definitions_(std::move(definitions)) {}

  Result<void> join(DaemonParts& parts) override {
    queues_ = std::make_unique<priority::TableQueues>(parts.runtime->services(), parts.log, &parts.store->wall_guard());
    return {};
  }
  Async<Result<void>> start() override {
    for (auto& definition : definitions_) {
      auto opened = co_await queues_->open(std::move(definition));
      if (!opened) co_return fail(opened.error());
    }
    co_return Result<void>();
  }
  void add_routes(Routes& routes) override { routes.push_back(make_priority_route(*queues_)); }
  void begin() override { queues_->begin(); }
  std::string broken() const override { return queues_->broken(); }
  void leave() override { queues_.reset(); }

 private:
  std::vector<priority::Definition> definitions_;  // Until they are opened.
  std::unique_ptr<priority::TableQueues> queues_;
};

Result<std::unique_ptr<Module>> make_priority(const DaemonOptions& options) {
  auto definitions = read_definition_files("--priority-queue", options.priority_queues, priority::read_definitions);
  if (!definitions) return fail(std::move(definitions.error()));
  return std::unique_ptr<Module>(std::make_unique<PriorityModule>(std::move(*definitions)));
}

void add_priority_options(cli::Command command, DaemonOptions& options) {
  command
      .add_option("--priority-queue", options.priority_queues,
                  "File that defines priority queues over tables (docs/priority-queue.md); repeatable")
      .one_value_each()
      .shipped_file()
      .envname("FRESHET_PRIORITY_QUEUES");
}

}  // namespace

ModuleKind priority_module() {
  return {"priority", make_priority, add_priority_options};
}

}  // namespace freshet
