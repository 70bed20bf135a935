#include "app/daemon/modules/fleet_tables.h"
#include "app/fleet/unit_route.h"
#include "functions/priority/definition.h"
#include "functions/priority/table_queues.h"
#include "wire/priority/priority_route.h"

namespace freshet {
namespace {

class PriorityModule final : public FleetTablesModule<priority::TableQueues, priority::Definition> {
 public:
  using FleetTablesModule::FleetTablesModule;

  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    tables_ = std::make_unique<priority::TableQueues>(parts.runtime->services(), parts.log, &parts.store->wall_guard());
    join_fleet(parts);
    return {};
  }
  void add_routes(Routes& routes) override {
    auto route = make_priority_route(*tables_);
    if (units_ == nullptr) return routes.push_back(std::move(route));
    routes.push_back(make_unit_route(std::move(route), *this,
                                     {ApiCall::kPriorityPut, ApiCall::kPriorityUpsert, ApiCall::kPriorityRecord},
                                     *units_, *parts_->member_calls));
  }
  void begin() override { tables_->begin(); }
  std::string broken() const override { return tables_->broken(); }

 private:
  std::string_view kind() const override { return "priority"; }
  // Another daemon may have changed the table meanwhile.
  void serve(const std::string& name, bool is_mine) override {
    const std::string table = tables_->table_of(name);
    if (is_mine && !table.empty()) parts_->start_over(table);
    FleetTablesModule::serve(name, is_mine);
  }

  DaemonParts* parts_ = nullptr;
};

Result<std::unique_ptr<Module>> make_priority(const DaemonOptions& options) {
  return make_from_files<PriorityModule>("--priority-queue", options.priority_queues, priority::read_definitions);
}

void add_priority_options(cli::Command command, DaemonOptions& options) {
  add_definition_files(command, "--priority-queue", options.priority_queues,
                       "File that defines priority queues over tables (docs/priority-queue.md); repeatable",
                       "FRESHET_PRIORITY_QUEUES");
}

}  // namespace

ModuleKind priority_module() {
  return {"priority", make_priority, add_priority_options};
}

}  // namespace freshet
