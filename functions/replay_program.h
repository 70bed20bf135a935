// The built-in functions and what they work on, for a replay.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "functions/capture/captures.h"
#include "functions/queue/queues.h"
#include "runtime/replay/replay.h"

namespace freshet {

// One replay each.
class QueueReplayProgram final : public ReplayProgram {
 public:
  // How each queue treats its tasks, by table; those that are not named have the defaults.
  explicit QueueReplayProgram(std::map<std::string, QueueSettings> settings) : settings_(std::move(settings)) {}

  void install(Services& services, NativeRegistry& natives, EventLog log) override;
  // The states of tasks.
  Result<void> check(const Fixture& fixture, const Deployment& deployment) override;
  Async<Result<void>> begin(const Deployment& deployment) override;
  void end() override;

 private:
  std::map<std::string, QueueSettings> settings_;
  std::unique_ptr<Queues> queues_;
  // Changes are captured in memory, and forgotten.
  std::unique_ptr<Files> files_;
  std::unique_ptr<BackgroundSync> sync_;
  std::unique_ptr<ObjectStore> objects_;
  std::unique_ptr<Captures> captures_;
};

}  // namespace freshet
