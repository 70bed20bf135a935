#include "app/daemon/modules/defined_tables.h"
#include "functions/filtered/definition.h"
#include "functions/filtered/table_queues.h"
#include "wire/filtered/filtered_route.h"

namespace freshet {
namespace {

class FilteredModule final : public DefinedTablesModule<filtered::TableQueues, filtered::Settings> {
 public:
  using DefinedTablesModule::DefinedTablesModule;

  Result<void> join(DaemonParts& parts) override {
    tables_ = std::make_unique<filtered::TableQueues>(parts.runtime->services(), parts.log);
    return {};
  }
  void add_routes(Routes& routes) override { routes.push_back(make_filtered_route(*tables_)); }
  void begin() override { tables_->begin(); }
};

Result<std::unique_ptr<Module>> make(const DaemonOptions& options) {
  return make_from_files<FilteredModule>("--filtered-queue", options.filtered_queues, filtered::read_definitions);
}

void add_options(cli::Command command, DaemonOptions& options) {
  add_definition_files(command, "--filtered-queue", options.filtered_queues,
                       "File that defines filtered queues (docs/filtered-queue.md); repeatable",
                       "FRESHET_FILTERED_QUEUES");
}

}  // namespace

ModuleKind filtered_module() {
  return {"filtered", make, add_options};
}

}  // namespace freshet
