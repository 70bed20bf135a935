// The common steps of the task API's calls on one queue.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "wire/tasks/answers.h"
#include "wire/tasks/exchanges.h"

namespace freshet::tasks {

// kNotFound, with the existing queues.
Error no_queue(const std::string& name, const TaskQueues& queues);

// Finds the queue, lets the operation work on it, and answers with its body or its error.
class TaskExchange : public Exchange {
 public:
  TaskExchange(Desk& desk, std::string queue) : desk_(desk), queue_(std::move(queue)) {}

  Async<void> run() final {
    auto queue = desk_.queues.find(queue_);
    if (queue == nullptr) return without_queue();
    Async<void> working = work(*queue);
    if (working.is_ready()) return working;
    return carry(std::move(queue), std::move(working));
  }
  HttpResponse respond() final { return error_ ? error_answer(*error_) : json_answer(body()); }

 protected:
  virtual Async<void> work(TaskQueue& queue) = 0;  // Loop thread.
  virtual std::string body() = 0;                  // I/O thread, if no error was set.
  // The queue is not open in this daemon. Loop thread.
  virtual Async<void> without_queue() {
    error_ = no_queue(queue_, desk_.queues);
    return {};
  }

  // Keeps the value, or sets the error.
  template <class T>
  void keep(Result<T> result, T& into) {
    if (result) {
      into = std::move(*result);
    } else {
      error_ = std::move(result.error());
    }
  }
  const std::string& queue_name() const { return queue_; }
  // Adds a line to the audit log, if there is one, or sets the error. Await it before you make the change.
  Async<void> note(AuditLine line) {
    if (desk_.audit == nullptr) co_return;
    auto added = co_await desk_.audit->add(std::move(line));
    if (!added) error_ = std::move(added.error());
  }

  Desk& desk_;
  std::optional<Error> error_;

 private:
  // Keeps the queue until its answer is there.
  static Async<void> carry(std::shared_ptr<TaskQueue> queue, Async<void> work) {
    const auto kept = std::move(queue);
    Async<void> working = std::move(work);  // Ends before the queue does.
    co_await working;
  }

  const std::string queue_;
};

}  // namespace freshet::tasks
