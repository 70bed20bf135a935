#include "base/background_work.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "base/check.h"
#include "base/files.h"
#include "base/mutex.h"

namespace freshet {
namespace {

// The kernel's layout; no library declares it.
struct SchedulerAttributes {
  uint32_t size = sizeof(SchedulerAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // For an ordinary thread: nanoseconds of computation at a time. Ignored before Linux 6.12.
  uint64_t deadline = 0;
  uint64_t period = 0;
};

// Asks the kernel for short time slices: a thread that computes briefly then runs as soon as it wakes up, even if the
// thread that woke it continues on the same processor. Otherwise a sync may begin later than it would have ended. Has
// no effect if the kernel refuses.
void compute_little_at_a_time() {
  SchedulerAttributes mine;
  if (syscall(SYS_sched_getattr, 0, &mine, sizeof mine, 0) != 0 || mine.policy != SCHED_OTHER) return;
  mine.runtime = 100'000;
  syscall(SYS_sched_setattr, 0, &mine, 0);
}

class WorkThread final : public BackgroundWork {
 public:
  explicit WorkThread(std::function<void()> on_over) : on_over_(std::move(on_over)), thread_([this] { run(); }) {}
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;
  ~WorkThread() override {
    {
      const MutexLock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void begin(Work work) override {
    {
      const MutexLock lock(mutex_);
      FRESHET_CHECK(state_ == State::kIdle, "one piece of work at a time");
      work_ = std::move(work);
      state_ = State::kRunning;
    }
    changed_.notify_all();
  }

  bool over() const override {
    const MutexLock lock(mutex_);
    return state_ == State::kOver;
  }

  Result<void> end() override {
    MutexLock lock(mutex_);
    FRESHET_CHECK(state_ != State::kIdle, "no work was begun");
    while (!(state_ == State::kOver)) changed_.wait(lock);
    state_ = State::kIdle;
    return std::move(outcome_);
  }

 private:
  enum class State { kIdle, kRunning, kOver };

  void run() {
    compute_little_at_a_time();
    MutexLock lock(mutex_);
    for (;;) {
      while (!(ending_ || state_ == State::kRunning)) changed_.wait(lock);
      if (state_ != State::kRunning) return;
      lock.unlock();
      Result<void> outcome = work_();
      lock.lock();
      outcome_ = std::move(outcome);
      state_ = State::kOver;
      lock.unlock();
      changed_.notify_all();
      on_over_();
      lock.lock();
    }
  }

  const std::function<void()> on_over_;
  mutable Mutex mutex_;
  Condition changed_;
  State state_ FRESHET_GUARDED_BY(mutex_) = State::kIdle;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
  Work work_;  // Used by the thread while it runs, otherwise by the owner.
  Result<void> outcome_ FRESHET_GUARDED_BY(mutex_);
  std::thread thread_;  // The last member: it uses the others.
};

class SyncThread final : public BackgroundSync {
 public:
  explicit SyncThread(std::function<void()> on_over) : thread_(std::move(on_over)) {}
  void begin(File& file) override {
    thread_.begin([&file] { return file.sync(); });
  }
  bool over() const override { return thread_.over(); }
  Result<void> end() override { return thread_.end(); }

 private:
  WorkThread thread_;
};

}  // namespace

std::unique_ptr<BackgroundWork> make_work_thread(std::function<void()> on_over) {
  return std::make_unique<WorkThread>(std::move(on_over));
}

std::unique_ptr<BackgroundSync> make_sync_thread(std::function<void()> on_over) {
  return std::make_unique<SyncThread>(std::move(on_over));
}

}  // namespace freshet
