#include <utility>

#include "app/daemon/modules.h"
#include "app/daemon/modules/definition_files.h"
#include "functions/filtered/definition.h"
#include "functions/filtered/table_queues.h"
#include "wire/filtered/filtered_route.h"

namespace freshet {
namespace {

class FilteredModule final : public Module {
 public:
  explicit FilteredModule(std::vector<filtered::Settings> definitions) : definitions_(std::move(definitions)) {}

  Result<void> join(DaemonParts& parts) override {
    queues_ = std::make_unique<filtered::TableQueues>(parts.runtime->services(), parts.log);
    return {};
  }
  Async<Result<void>> start() override {
    for (auto& definition : definitions_) {
      auto opened = co_await queues_->open(std::move(definition));
      if (!opened) co_return fail(opened.error());
    }
    co_return Result<void>();
  }
  void add_routes(Routes& routes) override { routes.push_back(make_filtered_route(*queues_)); }
  void begin() override { queues_->begin(); }
  void leave() override { queues_.reset(); }

 private:
  std::vector<filtered::Settings> definitions_;  // Until they are opened.
  std::unique_ptr<filtered::TableQueues> queues_;
};

Result<std::unique_ptr<Module>> make_filtered(const DaemonOptions& options) {
  auto definitions = read_definition_files("--filtered-queue", options.filtered_queues, filtered::read_definitions);
  if (!definitions) return fail(std::move(definitions.error()));
  return std::unique_ptr<Module>(std::make_unique<FilteredModule>(std::move(*definitions)));
}

void add_filtered_options(cli::Command command, DaemonOptions& options) {
  command
      .add_option("--filtered-queue", options.filtered_queues,
                  "File that defines filtered queues (docs/filtered-queue.md); repeatable")
      .one_value_each()
      .shipped_file()
      .envname("FRESHET_FILTERED_QUEUES");
}

}  // namespace

ModuleKind filtered_module() {
  return {"filtered", make_filtered, add_filtered_options};
}

}  // namespace freshet
