// The real machine, for the one daemon of a process.
#pragma once

#include <memory>

#include "app/daemon/secrets.h"
#include "app/daemon/world.h"
#include "app/spawner/spawner.h"
#include "wire/http/io_waiter.h"

namespace freshet {

class RealWorld final : public World {
 public:
  // The spawner process outlives it. `variables`: what hide_secrets() returned.
  RealWorld(SpawnerProcess& spawner, std::unique_ptr<LogSink> log, Variables variables);

  const Clock& clock() const override { return clock_; }
  const ClockSync& clock_sync() const override { return clock_sync_; }
  Files& files() override { return *files_; }
  Network& network() override { return system_network(); }
  LogSink& log() override { return *log_; }
  uint64_t seed() override;
  std::optional<std::string> variable(const std::string& name) const override;
  Waiter& waiter() override { return waiter_; }
  Result<std::vector<std::unique_ptr<IoThread>>> make_io_threads(unsigned count, Loop& loop, bool lend) override;
  std::unique_ptr<BackgroundSync> make_sync(Scheduler& scheduler, std::function<void()> on_over) override;
  std::unique_ptr<BackgroundWork> make_work(Scheduler& scheduler, std::function<void()> on_over) override;
  std::unique_ptr<Spawner> make_spawner(Scheduler& scheduler, Mailbox& mailbox, std::function<void()> on_lost) override;

 private:
  SpawnerProcess& spawner_;
  const Variables variables_;
  SystemClock clock_;
  KernelClockSync clock_sync_;
  const std::unique_ptr<LogSink> log_;
  const std::unique_ptr<Files> files_;
  IoWaiter waiter_;
};

}  // namespace freshet
