// A module for an option whose files each define several tables or queues over tables: it opens them all at the start.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/daemon/modules.h"
#include "app/daemon/modules/definition_files.h"

namespace freshet {

// A subclass makes `tables_` in join() and adds its routes.
template <class Tables, class Definition>
class DefinedTablesModule : public Module {
 public:
  explicit DefinedTablesModule(std::vector<Definition> definitions) : definitions_(std::move(definitions)) {}

  Async<Result<void>> start() override {
    for (auto& definition : definitions_) {
      auto opened = co_await tables_->open(std::move(definition));
      if (!opened) co_return fail(opened.error());
    }
    co_return Result<void>();
  }
  void leave() override { tables_.reset(); }

 protected:
  std::unique_ptr<Tables> tables_;

 private:
  std::vector<Definition> definitions_;  // Until they are opened.
};

// The module `M` with the definitions in the files of the option.
template <class M, class Definition>
Result<std::unique_ptr<Module>> make_from_files(const std::string& option, const std::vector<std::string>& files,
                                                Result<std::vector<Definition>> (*read)(std::string_view)) {
  auto definitions = read_definition_files(option, files, read);
  if (!definitions) return fail(std::move(definitions.error()));
  return std::unique_ptr<Module>(std::make_unique<M>(std::move(*definitions)));
}

// Adds the option. `variable`: the environment variable that sets it, too.
inline void add_definition_files(cli::Command command, const std::string& option, std::vector<std::string>& files,
                                 const std::string& what, const std::string& variable) {
  command.add_option(option, files, what).one_value_each().shipped_file().envname(variable);
}

}  // namespace freshet
