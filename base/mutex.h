// A mutex whose use clang checks: a member that says FRESHET_GUARDED_BY(mutex_) cannot be touched without a MutexLock
// of it. tests/house/thread_safety.py runs that check; GCC ignores it all.
//
// Most of the program needs none of this: one loop owns all state (docs/ARCHITECTURE.md names the threads beside it).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define FRESHET_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define FRESHET_THREAD_ATTRIBUTE(x)
#endif

#define FRESHET_GUARDED_BY(mutex) FRESHET_THREAD_ATTRIBUTE(guarded_by(mutex))
// Mark a function whose caller must hold the mutex, or must not hold it.
#define FRESHET_REQUIRES(mutex) FRESHET_THREAD_ATTRIBUTE(requires_capability(mutex))
#define FRESHET_EXCLUDES(mutex) FRESHET_THREAD_ATTRIBUTE(locks_excluded(mutex))

namespace freshet {

class FRESHET_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds the mutex for its lifetime, except between unlock() and lock().
class FRESHET_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FRESHET_THREAD_ATTRIBUTE(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~MutexLock() FRESHET_THREAD_ATTRIBUTE(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() FRESHET_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }
  void lock() FRESHET_THREAD_ATTRIBUTE(acquire_capability()) { lock_.lock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

// A condition variable. A wait may end without a reason, so wait in a loop that checks the condition.
class Condition {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  // Returns false once `end` has passed.
  bool wait_until(MutexLock& lock, Time end) {
    return changed_.wait_until(lock.lock_, end) == std::cv_status::no_timeout;
  }
  static Time after(std::chrono::nanoseconds time) {
    return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
  }
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace freshet
