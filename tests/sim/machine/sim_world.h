// The world of a simulated daemon: simulated time, files, sockets and threads, all from one seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "app/daemon/world.h"
#include "base/random.h"
#include "tests/sim/machine/sim_network.h"
#include "tests/sim/machine/sim_programs.h"
#include "tests/sim/sim_files.h"

namespace freshet::sim {

class SimWorld final : public World {
 public:
  // `log` outlives it.
  SimWorld(uint64_t seed, WallTime start, LogSink& log);

  const Clock& clock() const override { return clock_; }
  const ClockSync& clock_sync() const override { return clock_sync_; }
  Files& files() override { return files_; }
  Network& network() override { return network_; }
  LogSink& log() override { return log_; }
  uint64_t seed() override { return random_.next(); }
  Waiter& waiter() override { return waiter_; }
  Result<std::vector<std::unique_ptr<IoThread>>> make_io_threads(unsigned count, Loop& loop, bool lend) override;
  std::unique_ptr<BackgroundSync> make_sync(Scheduler& scheduler, std::function<void()> on_over) override;
  std::unique_ptr<BackgroundWork> make_work(Scheduler& scheduler, std::function<void()> on_over) override;
  std::unique_ptr<Spawner> make_spawner(Scheduler& scheduler, Mailbox& mailbox, std::function<void()> on_lost) override;
  std::unique_ptr<Tables> make_tables(Tables& store, Scheduler& scheduler) override;

  SimClock& sim_clock() { return clock_; }
  SimClockSync& sim_clock_sync() { return clock_sync_; }
  SimFiles& sim_files() { return files_; }
  SimNetwork& sim_network() { return network_; }
  ProgramPlay& programs() { return programs_; }
  // The longest time of a sync beside the loop, from the next daemon on.
  void set_longest_sync(milliseconds longest) { longest_sync_ = longest; }
  // From the next daemon on, the store answers its runtime and its queues late and out of order: each way of a call
  // takes up to `most`.
  void answer_late(milliseconds most) { latest_answer_ = most; }
  // The I/O thread that was made last, whose turns the machine runs. Null before the first one; its daemon owns it.
  IoThread* io() { return io_; }
  void forget_io() { io_ = nullptr; }
  void set_io(IoThread* io) { io_ = io; }

 private:
  SimClock clock_;
  SimClockSync clock_sync_;
  Random random_;
  SimFiles files_;
  SimNetwork network_;
  LogSink& log_;
  SimWaiter waiter_{clock_};
  ProgramPlay programs_;
  milliseconds longest_sync_{3};
  milliseconds latest_answer_{0};  // 0: at once.
  IoThread* io_ = nullptr;
};

}  // namespace freshet::sim
