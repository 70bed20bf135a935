#include "functions/runners/run_sharing.h"

#include <utility>

namespace freshet {

namespace {

class SharedRunner final : public Runner {
 public:
  SharedRunner(std::unique_ptr<Runner> here, milliseconds timeout, RunSharing& sharing, RunOrder order)
      : here_(std::move(here)), timeout_(timeout), sharing_(sharing), order_(std::move(order)) {}

  Async<RunResult> run(ItemRef task, std::string lease) override {
    RunOrder order = order_;
    order.task = std::move(task);
    order.lease = std::move(lease);
    return sharing_.run(std::move(order), timeout_, *here_);
  }

 private:
  const std::unique_ptr<Runner> here_;
  const milliseconds timeout_;
  RunSharing& sharing_;
  const RunOrder order_;
};

}  // namespace

bool is_work_of_machine(const RunnerSettings& settings) {
  return settings.kind == RunnerSettings::Kind::kFunction || settings.kind == RunnerSettings::Kind::kExec;
}

std::unique_ptr<Runner> share_runs(std::unique_ptr<Runner> here, const RunnerSettings& settings, RunSharing* sharing,
                                   RunOrder order) {
  if (sharing == nullptr || !here || !is_work_of_machine(settings)) return here;
  order.place = place_of(settings);
  return std::make_unique<SharedRunner>(std::move(here), settings.timeout, *sharing, std::move(order));
}

}  // namespace freshet
