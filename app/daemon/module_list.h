// The modules of a daemon as one: a call goes to each in its turn (module.h says which comes when), and stops at the
// first that fails. Loop thread.
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

  // open(), support() and join(), and restore(), check() and start(): say which by a pointer to it.
  Result<void> each(Result<void> (Module::*call)(DaemonParts&), DaemonParts& parts);
  Async<Result<void>> each(Async<Result<void>> (Module::*call)());
  Async<Result<void>> deployed(const PlannedDeployment& planned);  // Which outlives the Async.
  Routes routes();                                                 // Of all.
  void begin();

  // The page of GET /metrics: what is counted as things happen, and what modules read now.
  Async<std::string> metrics_page(const Metrics& counted);  // Which outlives the Async.
  std::string broken() const;

  void drain();
  Async<bool> returned(BootTime deadline);
  Async<void> each(Async<void> (Module::*call)());  // release() and finish().
  void leave();                                     // The last module first; so does clear().
  void clear();

 private:
  std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace freshet
