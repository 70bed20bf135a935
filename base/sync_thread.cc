#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/files.h"

namespace freshet {
namespace {

class SyncThread final : public BackgroundSync {
 public:
  explicit SyncThread(std::function<void()> on_over) : on_over_(std::move(on_over)), thread_([this] { run(); }) {}
  SyncThread(const SyncThread&) = delete;
  SyncThread& operator=(const SyncThread&) = delete;
  ~SyncThread() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void begin(File& file) override {
    {
      const std::lock_guard lock(mutex_);
      FRESHET_CHECK(state_ == State::kIdle, "one sync at a time");
      file_ = &file;
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
    FRESHET_CHECK(state_ != State::kIdle, "no sync was begun");
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
      Result<void> outcome = file_->sync();
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
  File* file_ = nullptr;
  Result<void> outcome_;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace

std::unique_ptr<BackgroundSync> make_sync_thread(std::function<void()> on_over) {
  return std::make_unique<SyncThread>(std::move(on_over));
}

}  // namespace freshet
