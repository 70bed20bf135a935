#include "app/daemon/modules/defined_tables.h"
#include "functions/ordered/definition.h"
#include "functions/ordered/ordered_tables.h"
#include "wire/ordered/ordered_route.h"

namespace freshet {
namespace {

class OrderedModule final : public DefinedTablesModule<ordered::OrderedTables, ordered::Definition> {
 public:
  using DefinedTablesModule::DefinedTablesModule;

  Result<void> join(DaemonParts& parts) override {
    tables_ = std::make_unique<ordered::OrderedTables>(*parts.tables, parts.loop.clock());
    return {};
  }
  void add_routes(Routes& routes) override { routes.push_back(make_ordered_route(*tables_)); }
};

Result<std::unique_ptr<Module>> make_ordered(const DaemonOptions& options) {
  return make_from_files<OrderedModule>("--ordered-writes", options.ordered_writes, ordered::read_definitions);
}

void add_ordered_options(cli::Command command, DaemonOptions& options) {
  add_definition_files(command, "--ordered-writes", options.ordered_writes,
                       "File that defines tables with ordered writes (docs/ordered-writes.md); repeatable",
                       "FRESHET_ORDERED_WRITES");
}

}  // namespace

ModuleKind ordered_module() {
  return {"ordered", make_ordered, add_ordered_options};
}

}  // namespace freshet
