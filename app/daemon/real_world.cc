#include "app/daemon/real_world.h"

#include <cstdlib>
#include <utility>

#include "base/random.h"

namespace freshet {

RealWorld::RealWorld(SpawnerProcess& spawner, std::unique_ptr<LogSink> log, Variables variables)
    : spawner_(spawner),
      variables_(std::move(variables)),
      log_(std::move(log)),
      files_(make_posix_files()),
      waiter_(clock_) {}

uint64_t RealWorld::seed() {
  return random_seed();
}

std::optional<std::string> RealWorld::variable(const std::string& name) const {
  const auto there = variables_.find(name);
  if (there != variables_.end()) return there->second;
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<std::vector<std::unique_ptr<IoThread>>> RealWorld::make_io_threads(unsigned count, Loop& loop, bool lend) {
  std::vector<std::unique_ptr<IoThread>> threads;
  for (unsigned i = 0; i < count; ++i) {
    auto thread = IoThread::start(clock_, network());
    if (!thread) return fail(std::move(thread.error()));
    threads.push_back(std::move(*thread));
  }
  if (lend && count == 1) waiter_.attach(*threads[0], loop);
  return threads;
}

std::unique_ptr<BackgroundSync> RealWorld::make_sync(Scheduler&, std::function<void()> on_over) {
  return make_sync_thread(std::move(on_over));
}

std::unique_ptr<BackgroundWork> RealWorld::make_work(Scheduler&, std::function<void()> on_over) {
  return make_work_thread(std::move(on_over));
}

std::unique_ptr<Spawner> RealWorld::make_spawner(Scheduler& scheduler, Mailbox& mailbox,
                                                 std::function<void()> on_lost) {
  SpawnerOptions options;
  options.on_lost = std::move(on_lost);
  return freshet::make_spawner(spawner_, scheduler, mailbox, std::move(options));
}

}  // namespace freshet
