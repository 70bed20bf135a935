// The built-in functions with their queues, for a replay.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "functions/capture/captures.h"
#include "functions/queue/queues.h"
#include "runtime/replay/replay.h"

namespace freshet {

// For one replay.
class QueueReplayProgram final : public ReplayProgram {
 public:
  // The settings of each queue, by table; other queues have the defaults.
  explicit QueueReplayProgram(std::map<std::string, QueueSettings> settings) : settings_(std::move(settings)) {}

  void install(Services& services, NativeRegistry& natives, EventLog log) override;
  // Checks the states of tasks.
  Result<void> check(const Fixture& fixture, const Deployment& deployment) override;
  Async<Result<void>> begin(const Deployment& deployment) override;
  void end() override;

 private:
  std::map<std::string, QueueSettings> settings_;
  std::unique_ptr<Queues> queues_;
  // Captured changes go to these files, which are in memory and are dropped at the end.
  std::unique_ptr<Files> files_;
  std::unique_ptr<BackgroundSync> sync_;
  std::unique_ptr<ObjectStore> objects_;
  std::unique_ptr<Captures> captures_;
};

}  // namespace freshet
