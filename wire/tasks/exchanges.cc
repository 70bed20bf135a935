#include "wire/tasks/exchanges.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tables/value/json.h"
#include "wire/tasks/admin_answers.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/task_exchange.h"

namespace freshet::tasks {
namespace {

// As the commands show it too, which have a queue's name by default.
std::string no_queue_text(const std::string& name, const std::vector<std::string>& there) {
  constexpr size_t kShown = 10;
  const std::string what = "there is no queue '" + name + "'; ";
  if (there.empty()) {
    return what +
           "this daemon has none: freshet serve NAME starts one with a queue, and so does freshet run with a template "
           "that has one or with --queue TABLE";
  }
  std::string names;
  for (size_t i = 0; i < std::min(there.size(), kShown); ++i) names += (i == 0 ? "" : ", ") + there[i];
  return what + "this daemon has " + names + (there.size() > kShown ? " and more (GET /queues)" : "");
}

class Refusal final : public Exchange {
 public:
  explicit Refusal(Error error) : error_(std::move(error)) {}
  Async<void> run() override { return {}; }
  HttpResponse respond() override { return error_answer(error_); }

 private:
  const Error error_;
};

class Create final : public TaskExchange {
 public:
  Create(Desk& desk, std::string queue, CreateRequest request)
      : TaskExchange(desk, std::move(queue)), request_(std::move(request)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    results_ = co_await queue.create(std::move(request_.tasks));
    if (request_.single && !results_.at(0)) error_ = results_.at(0).error();
  }
  Async<void> without_queue() override {
    return desk_.create_elsewhere ? create_elsewhere() : TaskExchange::without_queue();
  }
  Async<void> create_elsewhere() {
    auto created = co_await desk_.create_elsewhere(queue_name(), std::move(request_.tasks));
    if (!created && created.error().code == ErrorCode::kNotFound) {
      error_ = no_queue(queue_name(), desk_.queues);
      co_return;
    }
    keep(std::move(created), results_);
    if (error_) co_return;
    // Nobody else has an id that was made for this request: if the task is there, the daemon that serves the queue has
    // written it, and its answer was lost.
    for (const size_t i : request_.named) {
      if (results_[i]) results_[i]->created = true;
    }
    if (request_.single && !results_.at(0)) error_ = results_.at(0).error();
  }
  std::string body() override { return created_json(results_, request_.single); }

  CreateRequest request_;
  std::vector<Result<CreatedTask>> results_;
};

std::vector<std::string> ids_of(const std::vector<Settlement>& settlements) {
  std::vector<std::string> ids;
  ids.reserve(settlements.size());
  for (const auto& settlement : settlements) ids.push_back(settlement.id);
  return ids;
}

class Take final : public TaskExchange {
 public:
  Take(Desk& desk, std::string queue, TakeRequest request)
      : TaskExchange(desk, std::move(queue)), request_(std::move(request)), ids_(ids_of(request_.settle)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    if (!request_.settle.empty()) settled_ = co_await queue.settle(std::move(request_.settle));
    auto taken = co_await queue.take(std::move(request_.take));
    // A task that was settled stays settled: the answer must say so, even if nothing could be taken.
    if (!taken && !ids_.empty()) {
      refused_ = std::move(taken.error());
    } else {
      keep(std::move(taken), taken_);
    }
  }
  std::string body() override {
    const std::string settled = request_.settles ? settled_json(ids_, settled_) : "";
    return taken_json(taken_, request_.settles ? &settled : nullptr, refused_ ? &*refused_ : nullptr);
  }

  TakeRequest request_;
  const std::vector<std::string> ids_;
  std::vector<Result<ItemRef>> settled_;
  std::vector<TakenTask> taken_;
  std::optional<Error> refused_;  // The take's error, when the settling answers.
};

class Settle final : public TaskExchange {
 public:
  Settle(Desk& desk, std::string queue, std::vector<Settlement> settlements)
      : TaskExchange(desk, std::move(queue)), settlements_(std::move(settlements)), ids_(ids_of(settlements_)) {}

 private:
  Async<void> work(TaskQueue& queue) override { results_ = co_await queue.settle(std::move(settlements_)); }
  std::string body() override { return R"({"settled":)" + settled_json(ids_, results_) + "}"; }

  std::vector<Settlement> settlements_;
  const std::vector<std::string> ids_;
  std::vector<Result<ItemRef>> results_;
};

// "a b c and 7 more": of many ids the first ten.
std::string some_of(const std::vector<std::string>& ids) {
  constexpr size_t kMost = 10;
  std::string out;
  for (size_t i = 0; i < std::min(ids.size(), kMost); ++i) out += (i == 0 ? "" : " ") + ids[i];
  if (ids.size() > kMost) out += " and " + std::to_string(ids.size() - kMost) + " more";
  return out;
}

class Cancel final : public TaskExchange {
 public:
  Cancel(Desk& desk, std::string queue, std::vector<std::string> ids, Actor actor)
      : TaskExchange(desk, std::move(queue)), ids_(std::move(ids)), actor_(std::move(actor)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    // Named, as GCC 12 would destroy a temporary in this place twice.
    AuditLine line{"cancel", std::move(actor_), queue_name(), some_of(ids_), ids_.size(), {}};
    co_await note(std::move(line));
    if (!error_) results_ = co_await queue.cancel(ids_);
  }
  std::string body() override { return cancelled_json(ids_, results_); }

  const std::vector<std::string> ids_;
  Actor actor_;
  std::vector<Result<ItemRef>> results_;
};

class Redrive final : public TaskExchange {
 public:
  Redrive(Desk& desk, std::string queue, RedriveInput input, Actor actor)
      : TaskExchange(desk, std::move(queue)), input_(std::move(input)), actor_(std::move(actor)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    AuditLine line{"redrive", std::move(actor_), queue_name(), "from " + input_.state, {}, {}};
    for (const auto& [name, value] : input_.where) line.detail += " " + name + "=" + value;
    if (!input_.ids.empty()) {
      line.detail += ": " + some_of(input_.ids);
      line.count = input_.ids.size();
    }
    co_await note(std::move(line));
    if (error_) co_return;
    auto count = co_await queue.redrive(std::move(input_));
    keep(std::move(count), count_);
  }
  std::string body() override { return R"({"redriven":)" + std::to_string(count_) + "}"; }

  RedriveInput input_;
  Actor actor_;
  uint64_t count_ = 0;
};

class Get final : public TaskExchange {
 public:
  Get(Desk& desk, std::string queue, std::string id) : TaskExchange(desk, std::move(queue)), id_(std::move(id)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    auto task = co_await queue.get(id_);
    keep(std::move(task), task_);
  }
  std::string body() override {
    std::string out;
    append_plain_json(out, task_);
    return out;
  }

  const std::string id_;
  ItemRef task_;
};

class Explain final : public TaskExchange {
 public:
  Explain(Desk& desk, std::string queue, std::string id) : TaskExchange(desk, std::move(queue)), id_(std::move(id)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    auto explanation = co_await queue.explain(id_);
    keep(std::move(explanation), explanation_);
  }
  std::string body() override { return explanation_json(explanation_); }

  const std::string id_;
  Explanation explanation_;
};

class Policy final : public TaskExchange {
 public:
  // Without changes it only reads.
  Policy(Desk& desk, std::string queue, PolicyRequest request, Actor actor)
      : TaskExchange(desk, std::move(queue)), request_(std::move(request)), actor_(std::move(actor)) {}

 private:
  // The change's line in the audit log is there before the change.
  Async<void> work(TaskQueue& queue) override {
    if (request_.changes.empty()) co_return co_await keep_policy(queue);
    keep(queue.check_policy(request_.changes), policy_);
    // Taken before the line is written: meanwhile it might become too little.
    InTimeCounts before;
    if (!error_ && request_.guard) keep(queue.check_guard(*request_.guard), before);
    if (error_ || request_.dry_run) co_return;
    AuditLine noted = line();
    co_await note(std::move(noted));
    if (error_) co_return;
    if (request_.guard) {
      keep(queue.change_policy_guarded(request_.changes, *request_.guard, before), policy_);
      co_return;
    }
    QueuePolicy changes = request_.changes;
    auto changed = co_await queue.change_policy_for_all(std::move(changes));
    keep(std::move(changed), policy_);
  }
  // Only reads, or ends a guard. The guard ends before its line in the audit log is written, because it might undo the
  // change meanwhile. A crash in between does no harm: a guard ends with the daemon.
  Async<void> keep_policy(TaskQueue& queue) {
    policy_ = queue.policy();
    if (!request_.keeps || request_.dry_run) co_return;
    if (queue.end_guard()) {
      AuditLine noted = line();
      co_await note(std::move(noted));
      if (error_) co_return queue.restore_guard();
    }
    const auto kept = co_await queue.keep_policy();
    if (!kept) error_ = kept.error();
  }
  AuditLine line() {
    AuditLine line{"policy", std::move(actor_), queue_name(), {}, request_.changes.size(), {}};
    for (const auto& [name, value] : request_.changes) {
      line.detail += (line.detail.empty() ? "" : " ") + name + "=" + value;
    }
    if (request_.changes.empty()) line.detail = "kept, without its guard";
    if (const auto& guard = request_.guard) {
      line.detail += fmt::format(" (goes back if the share in time falls by more than {:.4g} points within {} s)",
                                 guard->points, std::chrono::ceil<std::chrono::seconds>(guard->within).count());
    }
    return line;
  }
  std::string body() override { return policy_json(policy_); }

  const PolicyRequest request_;
  Actor actor_;
  QueuePolicy policy_;
};

class List final : public TaskExchange {
 public:
  List(Desk& desk, std::string queue, ListInput input)
      : TaskExchange(desk, std::move(queue)), input_(std::move(input)) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    auto page = co_await queue.list(std::move(input_));
    keep(std::move(page), page_);
  }
  std::string body() override { return page_json(page_); }

  ListInput input_;
  TaskPage page_;
};

class Stats final : public TaskExchange {
 public:
  using TaskExchange::TaskExchange;

 private:
  Async<void> work(TaskQueue& queue) override {
    now_ = desk_.clock.wall();
    auto stats = co_await queue.stats();
    keep(std::move(stats), stats_);
  }
  std::string body() override { return stats_json(stats_, now_); }

  WallTime now_{};
  QueueStats stats_;
};

class Backlog final : public TaskExchange {
 public:
  using TaskExchange::TaskExchange;

 private:
  Async<void> work(TaskQueue& queue) override {
    auto stats = co_await queue.stats();
    keep(std::move(stats), stats_);
  }
  std::string body() override { return backlog_json(stats_); }

  QueueStats stats_;
};

class Sheds final : public TaskExchange {
 public:
  Sheds(Desk& desk, std::string queue, uint32_t limit) : TaskExchange(desk, std::move(queue)), limit_(limit) {}

 private:
  Async<void> work(TaskQueue& queue) override {
    auto lines = co_await queue.sheds(limit_);
    auto stats = co_await queue.stats();
    keep(std::move(lines), lines_);
    keep(std::move(stats), stats_);
  }
  std::string body() override { return sheds_json(lines_, stats_); }

  const uint32_t limit_;
  std::vector<ItemRef> lines_;
  QueueStats stats_;
};

// The names of all queues, and the state of each.
class Names final : public Exchange {
 public:
  explicit Names(Desk& desk) : desk_(desk) {}
  Async<void> run() override {
    names_ = desk_.queues.names();
    now_ = desk_.clock.wall();
    for (const std::string& name : names_) {
      const auto queue = desk_.queues.find(name);
      if (queue == nullptr) continue;
      auto stats = co_await queue->stats();
      queues_.push_back({name, std::move(stats), queue->policy(), shed_of(name)});
    }
  }
  HttpResponse respond() override { return json_answer(queues_json(names_, queues_, now_)); }

 private:
  std::map<std::string, uint64_t> shed_of(const std::string& queue) const {
    constexpr std::string_view kShed = "shed.";
    std::map<std::string, uint64_t> out;
    const QueueSeries* series = desk_.series ? desk_.series->find(queue) : nullptr;
    if (series == nullptr) return out;
    for (const SeriesPoint& point : series->last(SeriesStep::kSecond, 60).points) {
      for (size_t i = 0; i < kQueueFlows; ++i) {
        if (point.flows[i] == 0 || !kQueueFlowNames[i].starts_with(kShed)) continue;
        out[std::string(kQueueFlowNames[i].substr(kShed.size()))] += point.flows[i];
      }
    }
    return out;
  }

  Desk& desk_;
  std::vector<std::string> names_;
  std::vector<QueueSummary> queues_;
  WallTime now_{};
};

}  // namespace

Error no_queue(const std::string& name, const TaskQueues& queues) {
  return {ErrorCode::kNotFound, no_queue_text(name, queues.names()), nullptr};
}

std::unique_ptr<Exchange> refuse(Error error) {
  return std::make_unique<Refusal>(std::move(error));
}
std::unique_ptr<Exchange> create(Desk& desk, std::string queue, CreateRequest request) {
  return std::make_unique<Create>(desk, std::move(queue), std::move(request));
}
std::unique_ptr<Exchange> take(Desk& desk, std::string queue, TakeRequest request) {
  return std::make_unique<Take>(desk, std::move(queue), std::move(request));
}
std::unique_ptr<Exchange> settle(Desk& desk, std::string queue, std::vector<Settlement> settlements) {
  return std::make_unique<Settle>(desk, std::move(queue), std::move(settlements));
}
std::unique_ptr<Exchange> cancel(Desk& desk, std::string queue, std::vector<std::string> ids, Actor actor) {
  return std::make_unique<Cancel>(desk, std::move(queue), std::move(ids), std::move(actor));
}
std::unique_ptr<Exchange> redrive(Desk& desk, std::string queue, RedriveInput input, Actor actor) {
  return std::make_unique<Redrive>(desk, std::move(queue), std::move(input), std::move(actor));
}
std::unique_ptr<Exchange> get(Desk& desk, std::string queue, std::string id) {
  return std::make_unique<Get>(desk, std::move(queue), std::move(id));
}
std::unique_ptr<Exchange> explain(Desk& desk, std::string queue, std::string id) {
  return std::make_unique<Explain>(desk, std::move(queue), std::move(id));
}
std::unique_ptr<Exchange> policy(Desk& desk, std::string queue) {
  return std::make_unique<Policy>(desk, std::move(queue), PolicyRequest(), Actor());
}
std::unique_ptr<Exchange> change_policy(Desk& desk, std::string queue, PolicyRequest request, Actor actor) {
  return std::make_unique<Policy>(desk, std::move(queue), std::move(request), std::move(actor));
}
std::unique_ptr<Exchange> list(Desk& desk, std::string queue, ListInput input) {
  return std::make_unique<List>(desk, std::move(queue), std::move(input));
}
std::unique_ptr<Exchange> backlog(Desk& desk, std::string queue) {
  return std::make_unique<Backlog>(desk, std::move(queue));
}
std::unique_ptr<Exchange> stats(Desk& desk, std::string queue) {
  return std::make_unique<Stats>(desk, std::move(queue));
}
std::unique_ptr<Exchange> sheds(Desk& desk, std::string queue, uint32_t limit) {
  return std::make_unique<Sheds>(desk, std::move(queue), limit);
}
std::unique_ptr<Exchange> names(Desk& desk) {
  return std::make_unique<Names>(desk);
}

}  // namespace freshet::tasks
