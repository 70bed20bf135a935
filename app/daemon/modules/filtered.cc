#include "app/daemon/modules/fleet_tables.h"
#include "functions/filtered/definition.h"
#include "functions/filtered/table_queues.h"
#include "wire/filtered/filtered_route.h"

namespace freshet {
namespace {

// Every daemon of a fleet answers requests; one at a time matches those that wait.
class FilteredModule final : public FleetTablesModule<filtered::TableQueues, filtered::Settings> {
 public:
  using FleetTablesModule::FleetTablesModule;

  Result<void> join(DaemonParts& parts) override {
    tables_ = std::make_unique<filtered::TableQueues>(parts.runtime->services(), parts.log);
    join_fleet(parts);
    return {};
  }
  void add_routes(Routes& routes) override { routes.push_back(make_filtered_route(*tables_)); }
  void begin() override { tables_->begin(); }

 private:
  std::string_view kind() const override { return "filtered"; }
};

Result<std::unique_ptr<Module>> make_filtered(const DaemonOptions& options) {
  return make_from_files<FilteredModule>("--filtered-queue", options.filtered_queues, filtered::read_definitions);
}

void add_filtered_options(cli::Command command, DaemonOptions& options) {
  add_definition_files(command, "--filtered-queue", options.filtered_queues,
                       "File that defines filtered queues (docs/filtered-queue.md); repeatable",
                       "FRESHET_FILTERED_QUEUES");
}

}  // namespace

ModuleKind filtered_module() {
  return {"filtered", make_filtered, add_filtered_options};
}

}  // namespace freshet
