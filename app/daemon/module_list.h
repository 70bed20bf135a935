// Calls the modules of a daemon in order, up to the first that fails (module.h has the order of the calls). Loop
// thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/daemon/module.h"

namespace freshet {

class ModuleList {
 public:
  explicit ModuleList(std::vector<std::unique_ptr<Module>> modules) : modules_(std::move(modules)) {}
  ModuleList(const ModuleList&) = delete;
  ModuleList& operator=(const ModuleList&) = delete;
  ~ModuleList() { clear(); }

  // Calls open(), support(), join(), restore(), check() or start(): choose by a pointer to it.
  Result<void> each(Result<void> (Module::*call)(DaemonParts&), DaemonParts& parts);
  Async<Result<void>> each(Async<Result<void>> (Module::*call)());
  Async<Result<void>> deployed(const PlannedDeployment& planned);  // `planned` outlives the Async.
  Routes routes();                                                 // The routes of all modules.
  void begin();

  // The page of GET /metrics: the counted metrics, and the values that modules read now.
  Async<std::string> metrics_page(const Metrics& counted);  // `counted` outlives the Async.
  std::string broken() const;

  void drain();
  Async<bool> returned(BootTime deadline);
  Async<void> release(BootTime end);
  Async<void> finish();
  void leave();  // Calls the last module first; so does clear().
  void clear();

 private:
  std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace freshet
