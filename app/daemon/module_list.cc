#include "app/daemon/module_list.h"

#include <iterator>

namespace freshet {

Result<void> ModuleList::each(Result<void> (Module::*call)(DaemonParts&), DaemonParts& parts) {
  for (auto& module : modules_) {
    if (auto done = ((*module).*call)(parts); !done) return done;
  }
  return {};
}

Async<Result<void>> ModuleList::each(Async<Result<void>> (Module::*call)()) {
  for (auto& module : modules_) {
    auto done = co_await ((*module).*call)();
    if (!done) co_return done;
  }
  co_return Result<void>();
}

Async<void> ModuleList::release(BootTime end) {
  for (auto& module : modules_) co_await module->release(end);
}

Async<void> ModuleList::finish() {
  for (auto& module : modules_) co_await module->finish();
}

Async<Result<void>> ModuleList::deployed(const PlannedDeployment& planned) {
  for (auto& module : modules_) {
    auto done = co_await module->deployed(planned);
    if (!done) co_return done;
  }
  co_return Result<void>();
}

Routes ModuleList::routes() {
  Routes routes;
  for (auto& module : modules_) module->add_routes(routes);
  return routes;
}

void ModuleList::begin() {
  for (auto& module : modules_) module->begin();
}

Async<std::string> ModuleList::metrics_page(const Metrics& counted) {
  Metrics metrics;  // For this page only, so that the values of what was deleted disappear.
  std::string histograms;
  for (auto& module : modules_) co_await module->measure(metrics, histograms);
  co_return counted.text() + metrics.text() + histograms;
}

std::string ModuleList::broken() const {
  std::string out;
  for (const auto& module : modules_) out += module->broken();
  return out;
}

void ModuleList::drain() {
  for (auto& module : modules_) module->drain();
}

Async<bool> ModuleList::returned(BootTime deadline) {
  bool all = true;
  for (auto& module : modules_) {
    const bool one = co_await module->returned(deadline);
    all = all && one;
  }
  co_return all;
}

void ModuleList::leave() {
  for (auto module = modules_.rbegin(); module != modules_.rend(); ++module) (*module)->leave();
}

void ModuleList::clear() {
  while (!modules_.empty()) modules_.pop_back();
}

}  // namespace freshet
