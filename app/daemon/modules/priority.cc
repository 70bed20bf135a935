#include "app/daemon/modules/defined_tables.h"
#include "functions/priority/definition.h"
#include "functions/priority/table_queues.h"
#include "wire/priority/priority_route.h"

namespace freshet {
namespace {

class PriorityModule final : public DefinedTablesModule<priority::TableQueues, priority::Definition> {
 public:
  using DefinedTablesModule::DefinedTablesModule;

  Result<void> join(DaemonParts& parts) override {
    tables_ = std::make_unique<priority::TableQueues>(parts.runtime->services(), parts.log, &parts.store->wall_guard());
    return {};
  }
  void add_routes(Routes& routes) override { routes.push_back(make_priority_route(*tables_)); }
  void begin() override { tables_->begin(); }
  std::string broken() const override { return tables_->broken(); }
};

Result<std::unique_ptr<Module>> make(const DaemonOptions& options) {
  return make_from_files<PriorityModule>("--priority-queue", options.priority_queues, priority::read_definitions);
}

void add_options(cli::Command command, DaemonOptions& options) {
  add_definition_files(command, "--priority-queue", options.priority_queues,
                       "File that defines priority queues over tables (docs/priority-queue.md); repeatable",
                       "FRESHET_PRIORITY_QUEUES");
}

}  // namespace

ModuleKind priority_module() {
  return {"priority", make, add_options};
}

}  // namespace freshet
