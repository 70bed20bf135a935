#include <utility>

#include "app/daemon/modules.h"
#include "app/daemon/modules/definition_files.h"
#include "functions/ordered/definition.h"
#include "functions/ordered/ordered_tables.h"
#include "wire/ordered/ordered_route.h"

namespace freshet {
namespace {

class OrderedModule final : public Module {
 public:
  explicit OrderedModule(std::vector<ordered::Definition> definitions) : definitions_(std::move(definitions)) {}

  Result<void> join(DaemonParts& parts) override {
    tables_ = std::make_unique<ordered::OrderedTables>(*parts.store, parts.loop.clock());
    return {};
  }
  Async<Result<void>> start() override {
    for (auto& definition : definitions_) {
      auto opened = co_await tables_->open(std::move(definition));
      if (!opened) co_return fail(opened.error());
    }
    co_return Result<void>();
  }
  void add_routes(Routes& routes) override { routes.push_back(make_ordered_route(*tables_)); }
  void leave() override { tables_.reset(); }

 private:
  std::vector<ordered::Definition> definitions_;  // Until they are opened.
  std::unique_ptr<ordered::OrderedTables> tables_;
};

Result<std::unique_ptr<Module>> make_ordered(const DaemonOptions& options) {
  auto definitions = read_definition_files("--ordered-writes", options.ordered_writes, ordered::read_definitions);
  if (!definitions) return fail(std::move(definitions.error()));
  return std::unique_ptr<Module>(std::make_unique<OrderedModule>(std::move(*definitions)));
}

void add_ordered_options(cli::Command command, DaemonOptions& options) {
  command
      .add_option("--ordered-writes", options.ordered_writes,
                  "File that defines tables with ordered writes (docs/ordered-writes.md); repeatable")
      .one_value_each()
      .shipped_file()
      .envname("FRESHET_ORDERED_WRITES");
}

}  // namespace

ModuleKind ordered_module() {
  return {"ordered", make_ordered, add_ordered_options};
}

}  // namespace freshet
