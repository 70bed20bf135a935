#include "tests/sim/machine/sim_world.h"

#include <utility>

#include "tests/sim/late_tables.h"

namespace freshet::sim {

SimWorld::SimWorld(uint64_t seed, WallTime start, LogSink& log)
    : clock_(start), random_(seed), files_(random_.next()), network_(clock_, random_.next()), log_(log) {}

Result<std::vector<std::unique_ptr<IoThread>>> SimWorld::make_io_threads(unsigned, Loop&, bool) {
  auto io = IoThread::without_thread(clock_, network_);
  if (!io) return fail(std::move(io.error()));
  io_ = io->get();
  std::vector<std::unique_ptr<IoThread>> threads;
  threads.push_back(std::move(*io));
  return threads;
}

// Their ends are timers of the loop, so that no call is needed to bring a turn.
std::unique_ptr<BackgroundSync> SimWorld::make_sync(Scheduler& scheduler, std::function<void()>) {
  return std::make_unique<SimSync>(files_, scheduler, longest_sync_);
}

std::unique_ptr<BackgroundWork> SimWorld::make_work(Scheduler& scheduler, std::function<void()>) {
  return std::make_unique<SimWork>(files_, scheduler, longest_sync_);
}

std::unique_ptr<Spawner> SimWorld::make_spawner(Scheduler& scheduler, Mailbox&, std::function<void()>) {
  return std::make_unique<SimPrograms>(scheduler, programs_);
}

std::unique_ptr<Tables> SimWorld::make_tables(Tables& store, Scheduler& scheduler) {
  if (latest_answer_ == milliseconds(0)) return nullptr;
  return std::make_unique<LateTables>(store, scheduler, random_.next(), latest_answer_);
}

}  // namespace freshet::sim
