#include "functions/replay_program.h"

#include "functions/register.h"

namespace freshet {

void QueueReplayProgram::install(Services& services, NativeRegistry& natives, EventLog log) {
  queues_ = std::make_unique<Queues>(services, log, QueueIdentity{"replay", "1"});
  register_functions(natives, *queues_, log);
}

Async<Result<void>> QueueReplayProgram::begin(const Deployment& deployment) {
  for (const std::string& table : deployment.queues) {
    auto settings = settings_.find(table);
    QueueSettings chosen = settings == settings_.end() ? QueueSettings{} : settings->second;
    auto opened = co_await queues_->open(table, std::move(chosen));
    if (!opened) co_return fail(std::move(opened.error()));
  }
  queues_->begin();
  co_return Result<void>();
}

void QueueReplayProgram::end() {
  queues_.reset();
}

}  // namespace freshet
