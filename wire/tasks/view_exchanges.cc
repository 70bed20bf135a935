#include "wire/tasks/view_exchanges.h"

#include <utility>

#include "wire/tasks/task_exchange.h"
#include "wire/tasks/view_answers.h"

namespace freshet::tasks {
namespace {

class Series final : public TaskExchange {
 public:
  Series(Desk& desk, std::string queue, SeriesStep step, uint32_t points)
      : TaskExchange(desk, std::move(queue)), step_(step), points_(points) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    slice_.step = step_;
    const QueueSeries* series = desk_.series ? desk_.series->find(queue.name()) : nullptr;
    if (series) slice_ = series->last(step_, points_);
    // The label of a point is its distance from now, so a clock that was set moves all of them.
    const auto began = BootTime(length_of(step_) * slice_.first);
    const auto ago = std::chrono::duration_cast<milliseconds>(desk_.clock.boot() - began);
    begins_ = desk_.clock.wall() - ago;
    return {};
  }
  std::string body() override { return series_json(slice_, begins_); }

  const SeriesStep step_;
  const uint32_t points_;
  SeriesSlice slice_;
  WallTime begins_{};
};

class Shares final : public TaskExchange {
 public:
  Shares(Desk& desk, std::string queue, SharesInput input) : TaskExchange(desk, std::move(queue)), input_(input) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    auto shares = co_await queue.shares(input_);
    keep(std::move(shares), shares_);
  }
  std::string body() override { return shares_json(shares_, input_.by_key); }

  const SharesInput input_;
  QueueShares shares_;
};

class Holders final : public TaskExchange {
 public:
  Holders(Desk& desk, std::string queue, uint32_t limit) : TaskExchange(desk, std::move(queue)), limit_(limit) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    holders_ = queue.holders(limit_);
    return {};
  }
  std::string body() override { return holders_json(holders_); }

  const uint32_t limit_;
  QueueHolders holders_;
};

// A task that is gone may still have spans, and one that nobody knows has none.
class Trace final : public TaskExchange {
 public:
  static constexpr size_t kMost = 100;

  Trace(Desk& desk, std::string queue, std::string task)
      : TaskExchange(desk, std::move(queue)), task_(std::move(task)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    if (desk_.spans) spans_ = desk_.spans->of_task(queue.name(), task_, kMost);
    return {};
  }
  std::string body() override { return trace_json(spans_, desk_.spans != nullptr); }

  const std::string task_;
  RecentSpans::OfTask spans_;
};

}  // namespace

std::unique_ptr<Exchange> series(Desk& desk, std::string queue, SeriesStep step, uint32_t points) {
  return std::make_unique<Series>(desk, std::move(queue), step, points);
}
std::unique_ptr<Exchange> shares(Desk& desk, std::string queue, SharesInput input) {
  return std::make_unique<Shares>(desk, std::move(queue), input);
}
std::unique_ptr<Exchange> holders(Desk& desk, std::string queue, uint32_t limit) {
  return std::make_unique<Holders>(desk, std::move(queue), limit);
}
std::unique_ptr<Exchange> trace(Desk& desk, std::string queue, std::string task) {
  return std::make_unique<Trace>(desk, std::move(queue), std::move(task));
}

}  // namespace freshet::tasks
