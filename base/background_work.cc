#include "base/background_work.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/files.h"

namespace freshet {
namespace {

class WorkThread final : public BackgroundWork {
 public:
  explicit WorkThread(std::function<void()> on_over) : on_over_(std::move(on_over)), thread_([this] { run(); }) {}
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;
  ~WorkThread() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void begin(Work work) override {
    {
      const std::lock_guard lock(mutex_);
      FRESHET_CHECK(state_ == State::kIdle, "one piece of work at a time");
      work_ = std::move(work);
      state_ = State::kRunning;
    }
    changed_.notify_all();
  }

  bool over() const override {
    const std::lock_guard lock(mutex_);
    return state_ == State::kOver;
  }

  Result<void> end() override {
    std::unique_lock lock(mutex_);
    FRESHET_CHECK(state_ != State::kIdle, "no work was begun");
    changed_.wait(lock, [this] { return state_ == State::kOver; });
    state_ = State::kIdle;
    return std::move(outcome_);
  }

 private:
  enum class State { kIdle, kRunning, kOver };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || state_ == State::kRunning; });
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
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kIdle;
  bool ending_ = false;
  Work work_;
  Result<void> outcome_;
  std::thread thread_;  // Last: it uses the others.
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
