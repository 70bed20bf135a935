#include "wire/tasks/admin_exchanges.h"

#include <utility>
#include <vector>

#include "base/number_text.h"
#include "wire/tasks/admin_answers.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/task_exchange.h"

namespace freshet::tasks {
namespace {

class PauseExchange final : public TaskExchange {
 public:
  PauseExchange(Desk& desk, std::string queue, PauseInput input, Actor actor)
      : TaskExchange(desk, std::move(queue)), input_(std::move(input)), actor_(std::move(actor)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    auto paused = co_await queue.pause(std::move(input_), std::move(actor_));
    keep(std::move(paused), pause_);
  }
  std::string body() override { return R"({"paused":)" + pause_json(pause_) + "}"; }

  PauseInput input_;
  Actor actor_;
  Pause pause_;
};

class ResumeExchange final : public TaskExchange {
 public:
  ResumeExchange(Desk& desk, std::string queue, PausedPart part, Actor actor)
      : TaskExchange(desk, std::move(queue)), part_(std::move(part)), actor_(std::move(actor)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    std::string name = part_.name;
    auto resumed = co_await queue.resume(part_.of, std::move(name), std::move(actor_));
    if (!resumed) error_ = std::move(resumed.error());
  }
  std::string body() override { return R"({"resumed":)" + part_json(part_.of, part_.name) + "}"; }

  const PausedPart part_;
  Actor actor_;
};

class StartJob final : public TaskExchange {
 public:
  StartJob(Desk& desk, std::string queue, BulkInput input, Actor actor)
      : TaskExchange(desk, std::move(queue)), input_(std::move(input)), actor_(std::move(actor)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    auto begun = co_await queue.start_job(std::move(input_), std::move(actor_));
    keep(std::move(begun), job_);
  }
  std::string body() override { return job_json(job_); }

  BulkInput input_;
  Actor actor_;
  BulkJob job_;
};

class Jobs final : public TaskExchange {
 public:
  using TaskExchange::TaskExchange;

 private:
  Async<void> work(TaskQueue& queue) override {
    jobs_ = queue.jobs();
    return {};
  }
  std::string body() override { return jobs_json(jobs_); }

  std::vector<BulkJob> jobs_;
};

// Looks at one job, or stops it.
class OneJob final : public TaskExchange {
 public:
  OneJob(Desk& desk, std::string queue, uint64_t id, std::optional<Actor> stopped_by)
      : TaskExchange(desk, std::move(queue)), id_(id), stopped_by_(std::move(stopped_by)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    keep(stopped_by_ ? queue.stop_job(id_, *stopped_by_) : queue.job(id_), job_);
    return {};
  }
  std::string body() override { return job_json(job_); }

  const uint64_t id_;
  const std::optional<Actor> stopped_by_;
  BulkJob job_;
};

class Audit final : public Exchange {
 public:
  Audit(Desk& desk, std::string queue, uint32_t limit) : desk_(desk), queue_(std::move(queue)), limit_(limit) {}

  Async<void> run() override {
    if (desk_.audit == nullptr) co_return;
    std::string queue = queue_;
    lines_ = co_await desk_.audit->newest(limit_, std::move(queue));
  }
  HttpResponse respond() override { return lines_ ? json_answer(audit_json(*lines_)) : error_answer(lines_.error()); }

 private:
  Desk& desk_;
  const std::string queue_;
  const uint32_t limit_;
  Result<std::vector<ItemRef>> lines_;
};

std::unique_ptr<Exchange> one_job(Desk& desk, std::string queue, const std::string& id, std::optional<Actor> actor) {
  uint64_t number = 0;
  if (!read_number_in(id, number))
    return refuse(Error{ErrorCode::kValidation, "the id of a job is a number: '" + id + "'", nullptr});
  return std::make_unique<OneJob>(desk, std::move(queue), number, std::move(actor));
}

}  // namespace

std::unique_ptr<Exchange> pause(Desk& desk, std::string queue, PauseInput input, Actor actor) {
  return std::make_unique<PauseExchange>(desk, std::move(queue), std::move(input), std::move(actor));
}
std::unique_ptr<Exchange> resume(Desk& desk, std::string queue, PausedPart part, Actor actor) {
  return std::make_unique<ResumeExchange>(desk, std::move(queue), std::move(part), std::move(actor));
}
std::unique_ptr<Exchange> start_job(Desk& desk, std::string queue, BulkInput input, Actor actor) {
  return std::make_unique<StartJob>(desk, std::move(queue), std::move(input), std::move(actor));
}
std::unique_ptr<Exchange> jobs(Desk& desk, std::string queue) {
  return std::make_unique<Jobs>(desk, std::move(queue));
}
std::unique_ptr<Exchange> job(Desk& desk, std::string queue, const std::string& id) {
  return one_job(desk, std::move(queue), id, std::nullopt);
}
std::unique_ptr<Exchange> stop_job(Desk& desk, std::string queue, const std::string& id, Actor actor) {
  return one_job(desk, std::move(queue), id, std::move(actor));
}
std::unique_ptr<Exchange> audit(Desk& desk, std::string queue, uint32_t limit) {
  return std::make_unique<Audit>(desk, std::move(queue), limit);
}

}  // namespace freshet::tasks
