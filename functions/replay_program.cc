#include "functions/replay_program.h"

#include <algorithm>

#include "functions/queue/fixture_states.h"
#include "functions/register.h"

namespace freshet {
namespace {

// There is nothing to wait for.
class SyncAtOnce final : public BackgroundSync {
 public:
  void begin(File& file) override { outcome_ = file.sync(); }
  bool over() const override { return true; }
  Result<void> end() override { return std::move(outcome_); }

 private:
  Result<void> outcome_;
};

class NoObjects final : public ObjectStore {
 public:
  Async<Result<void>> put(ObjectTarget, std::string, std::string) override {
    return Result<void>(fail(ErrorCode::kUnavailable, "a replay puts nothing into buckets"));
  }
};

}  // namespace

void QueueReplayProgram::install(Services& services, NativeRegistry& natives, EventLog log) {
  queues_ = std::make_unique<Queues>(services, log, QueueIdentity{"replay", "1"});
  files_ = make_memory_files();
  sync_ = std::make_unique<SyncAtOnce>();
  objects_ = std::make_unique<NoObjects>();
  captures_ = std::make_unique<Captures>(CaptureParts{*files_, *sync_, services.scheduler, *objects_, log});
  register_functions(natives, {*queues_, *captures_, log});
}

Result<void> QueueReplayProgram::check(const Fixture& fixture, const Deployment& deployment) {
  const auto& queues = deployment.queues;
  const bool is_queue = std::find(queues.begin(), queues.end(), fixture.header.table) != queues.end();
  return is_queue ? check_states(fixture) : Result<void>();
}

Async<Result<void>> QueueReplayProgram::begin(const Deployment& deployment) {
  for (const std::string& table : deployment.queues) {
    auto settings = settings_.find(table);
    QueueSettings chosen = settings == settings_.end() ? QueueSettings{} : settings->second;
    auto opened = co_await queues_->open(table, std::move(chosen));
    if (!opened) co_return fail(std::move(opened.error()));
  }
  for (const FunctionDefinition& function : deployment.functions) {
    const auto capture = capture_settings(function.environment);
    if (!capture || !is_built_in(function.handler, "capture_changes")) continue;
    if (auto made = files_->create_directories(capture->folder); !made) co_return made;
  }
  queues_->begin();
  co_return Result<void>();
}

void QueueReplayProgram::end() {
  captures_.reset();
  queues_.reset();
}

}  // namespace freshet
