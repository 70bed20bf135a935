// Coroutines of the one loop. Single-threaded: everything here belongs to the loop thread.
//
//   Async<T>    what an asynchronous function returns. Starts at once and runs to its first real wait; may be ready
//               without ever suspending. Owns the coroutine: destroying it ends the coroutine where it waits.
//   Promise<T>  the other end, for code that is not a coroutine: make one, hand out future(), set() it later.
//   sleep_for / sleep_until   wait on the scheduler.
//   Scope       where work is left to run on its own: scope.spawn(f()). Destroying the scope ends what still waits.
//
// Two rules keep GCC 12 safe (its coroutines mishandle braced temporaries inside a co_await expression):
//   1. bind arguments to named locals, then `co_await f(std::move(input))`;
//   2. coroutines take parameters by value (or a reference to something that outlives the loop) and are never lambdas
//      with captures.
#pragma once

#include <coroutine>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/scheduler.h"

namespace freshet {

template <class T>
class Async;

namespace async_detail {

struct PromiseBase {
  std::coroutine_handle<> continuation;
  std::suspend_never initial_suspend() noexcept { return {}; }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) noexcept {
      auto next = self.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  // Expected failures are values; an exception that reaches here is a broken invariant.
  [[noreturn]] void unhandled_exception() { std::terminate(); }
};

template <class T>
struct PromiseOf : PromiseBase {
  std::optional<T> value;
  Async<T> get_return_object();
  template <class U>
  void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
};
template <>
struct PromiseOf<void> : PromiseBase {
  Async<void> get_return_object();
  void return_void() {}
};

}  // namespace async_detail

template <class T>
class [[nodiscard]] Async {
 public:
  using promise_type = async_detail::PromiseOf<T>;

  // A result that is already there: no coroutine, no allocation.
  Async(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose, so that `return value;` reads well.
  explicit Async(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  Async(Async&& other) noexcept : value_(std::move(other.value_)), frame_(std::exchange(other.frame_, nullptr)) {
    other.value_.reset();
  }
  Async& operator=(Async&&) = delete;
  ~Async() {
    if (frame_) frame_.destroy();
  }

  bool is_ready() const { return value_.has_value() || (frame_ && frame_.done()); }
  // Moves the result out. Call it once, and only while is_ready() is true.
  T take() {
    FRESHET_CHECK(is_ready(), "the result is not there yet");
    return frame_ ? std::move(*frame_.promise().value) : std::move(*value_);
  }

  bool await_ready() const noexcept { return is_ready(); }
  void await_suspend(std::coroutine_handle<> waiter) { frame_.promise().continuation = waiter; }
  T await_resume() { return take(); }

 private:
  std::optional<T> value_;
  std::coroutine_handle<promise_type> frame_;
};

template <>
class [[nodiscard]] Async<void> {
 public:
  using promise_type = async_detail::PromiseOf<void>;
  Async() = default;  // Makes one that is already done.
  explicit Async(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  Async(Async&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Async& operator=(Async&&) = delete;
  ~Async() {
    if (frame_) frame_.destroy();
  }
  bool is_ready() const { return !frame_ || frame_.done(); }
  bool await_ready() const noexcept { return is_ready(); }
  void await_suspend(std::coroutine_handle<> waiter) { frame_.promise().continuation = waiter; }
  void await_resume() {}

 private:
  std::coroutine_handle<promise_type> frame_;
};

namespace async_detail {
template <class T>
Async<T> PromiseOf<T>::get_return_object() {
  return Async<T>(std::coroutine_handle<PromiseOf>::from_promise(*this));
}
inline Async<void> PromiseOf<void>::get_return_object() {
  return Async<void>(std::coroutine_handle<PromiseOf>::from_promise(*this));
}

template <class T>
struct Shared {
  Scheduler* scheduler;
  std::optional<T> value;
  std::coroutine_handle<> waiter;
};
}  // namespace async_detail

// Awaits a Promise. One waiter. The waiter is resumed through the scheduler, never inside set().
template <class T>
class [[nodiscard]] Future {
 public:
  explicit Future(std::shared_ptr<async_detail::Shared<T>> shared) : shared_(std::move(shared)) {}
  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) = delete;
  ~Future() {
    if (shared_) shared_->waiter = nullptr;
  }
  bool await_ready() const { return shared_->value.has_value(); }
  void await_suspend(std::coroutine_handle<> waiter) { shared_->waiter = waiter; }
  T await_resume() { return std::move(*shared_->value); }

 private:
  std::shared_ptr<async_detail::Shared<T>> shared_;
};

// Copyable handle to a result that somebody will give. A promise that is dropped leaves its waiter waiting.
template <class T>
class Promise {
 public:
  explicit Promise(Scheduler& scheduler)
      : shared_(std::make_shared<async_detail::Shared<T>>(async_detail::Shared<T>{&scheduler, {}, {}})) {}
  Future<T> future() const { return Future<T>(shared_); }
  bool is_set() const { return shared_->value.has_value(); }
  // Sets the result. Later calls have no effect, so that a timeout and an answer may race.
  void set(T value) const {
    if (shared_->value) return;
    shared_->value.emplace(std::move(value));
    if (!shared_->waiter) return;
    shared_->scheduler->post([shared = shared_] {
      if (auto waiter = std::exchange(shared->waiter, nullptr)) waiter.resume();
    });
  }

 private:
  std::shared_ptr<async_detail::Shared<T>> shared_;
};

// Suspends until boot time `when`.
inline Async<void> sleep_until(Scheduler& scheduler, BootTime when) {
  Promise<bool> due(scheduler);
  struct Cancel {
    Scheduler& scheduler;
    TimerId id;
    ~Cancel() { scheduler.cancel(id); }
  };
  Cancel cancel{scheduler, scheduler.call_at(when, [due] { due.set(true); })};
  co_await due.future();
}
inline Async<void> sleep_for(Scheduler& scheduler, nanoseconds delay) {
  return sleep_until(scheduler, scheduler.clock().boot() + delay);
}

// Owns work that runs on its own. Finished work is dropped; destroying the scope ends work that still waits (and
// destroys its locals).
class Scope {
 public:
  Scope() = default;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { clear(); }

  void spawn(Async<void> work) {
    if (work.is_ready()) return;
    running_.emplace_back();
    auto self = std::prev(running_.end());
    self->root = run(*this, self, std::move(work)).handle;
  }
  size_t size() const { return running_.size(); }
  void clear() {
    while (!running_.empty()) {
      auto root = running_.front().root;
      running_.pop_front();
      root.destroy();
    }
  }

 private:
  struct Entry {
    std::coroutine_handle<> root;
  };
  struct Root {
    struct promise_type {
      Root get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() {}
      [[noreturn]] void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<> handle;
  };
  static Root run(Scope& scope, std::list<Entry>::iterator self, Async<void> work) {
    co_await work;
    scope.running_.erase(self);
  }

  std::list<Entry> running_;
};

}  // namespace freshet
