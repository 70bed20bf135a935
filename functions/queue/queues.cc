#include "functions/queue/queues.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/served_elsewhere.h"

namespace freshet {

namespace {
constexpr milliseconds kHeldLook{20};
constexpr milliseconds kClosedLook{100};

// Warns that nobody does the work, although you may expect the daemon to do it.
void log_runner(const EventLog& log, const std::string& queue, RunnerKind runner) {
  if (runner == RunnerKind::kNone) {
    log.info("QUEUE_WITHOUT_RUNNER",
             {{"queue", queue},
              {"message", "no task runner: tasks wait for workers that take them (POST /queues/" + queue +
                              "/take). To hand them to a handler or a program, set TASK_RUNNER of the queue's "
                              "process_tasks function (config/lifo.yaml: --parameter TaskRunner=http://HOST:PORT/)"}});
  }
  if (runner == RunnerKind::kFake) {
    log.warn("FAKE_RUNNER", {{"queue", queue},
                             {"message",
                              "TASK_RUNNER=fake: tasks end as SUCCESS with the result {\"fake\": true}, and "
                              "nothing is done"}});
  }
}
}  // namespace

Queues::Queues(Services& services, EventLog log, QueueIdentity identity, Metrics* metrics, WallGuard* wall,
               AuditLog* audit)
    : services_(services),
      log_(log),
      identity_(std::move(identity)),
      metrics_(metrics),
      own_audit_(services.tables, services.scheduler.clock()),
      audit_(audit ? *audit : own_audit_),
      own_wall_(services.scheduler.clock()),
      wall_(wall ? *wall : own_wall_) {}

Async<Result<std::shared_ptr<Queue>>> Queues::open(std::string table, QueueSettings settings) {
  if (auto queue = find_queue(table)) co_return queue;
  if (table.starts_with(kSystemTablePrefix)) {
    co_return invalid("names that start with '" + std::string(kSystemTablePrefix) +
                      "' are those of Freshet's own tables, which cannot be queues");
  }
  // A deployment and the first event of the table's stream may open it at the same time.
  co_await opening_.wait(table);
  const NamedTurns::Turn turn(opening_, table);  // While it lives, nobody else opens the queue.
  if (find_queue(table)) {
    auto again = open(std::move(table), std::move(settings));
    co_return co_await again;
  }
  if (!may_open(table)) co_return fail(served_elsewhere(table));
  const RunnerKind runner = settings.runner;
  // Work of a closed queue may go on beside this one, so no two have the same leases.
  QueueIdentity identity = identity_;
  if (const uint64_t opens = ++opens_[table]; opens > 1) identity.incarnation += "." + std::to_string(opens);
  auto opened = co_await Queue::open(services_, log_, std::move(identity), wall_, table, std::move(settings));
  if (!opened) co_return fail(std::move(opened.error()));
  const std::shared_ptr<Queue> queue = std::move(*opened);
  co_await queue->audit_with(audit_);
  if (!may_open(table)) co_return fail(served_elsewhere(table));
  queues_.emplace(table, queue);
  queue->opened();
  if (left_elsewhere_) queue->set_left_elsewhere([this, table] { return left_elsewhere(table); });
  if (metrics_) {
    queue->measure_pickup(metrics_->histogram(
        "freshet_queue_pickup_seconds", "Time from when a task was created, or its delay was over, to its first start",
        latency_bounds(), {{"queue", table}}));
  }
  log_runner(log_, table, runner);
  if (begun_) queue->begin();
  if (draining_) queue->drain();
  co_return queue;
}

Async<Result<std::shared_ptr<Queue>>> Queues::deploy(std::string table, QueueSettings settings) {
  co_await opening_.wait(table);
  const auto queue = find_queue(table);
  if (!queue) {
    auto opening = open(std::move(table), std::move(settings));
    co_return co_await opening;
  }
  if (settings.runner != queue->settings().runner) log_runner(log_, table, settings.runner);
  queue->set_settings(std::move(settings));
  co_return queue;
}

void Queues::close(const std::string& table) {
  auto closing = queues_.extract(table);
  if (closing.empty()) return;
  log_.info("QUEUE_CLOSED", {{"queue", table}, {"held", closing.mapped()->held()}});
  closing.mapped()->give_up();
  closed_.push_back(std::move(closing.mapped()));
  if (sweeps_.size() == 0) sweeps_.spawn(sweep());
}

size_t Queues::left_elsewhere(const std::string& table) const {
  size_t left = left_elsewhere_ ? left_elsewhere_(table) : 0;
  for (const auto& queue : closed_) {
    if (queue->name() == table && !FRESHET_PLANTED("fleet-own-left-ignored")) left += queue->in_work();
  }
  return left;
}

std::map<std::string, size_t> Queues::left_in_work() const {
  std::map<std::string, size_t> out;
  for (const auto& queue : closed_) {
    if (const size_t tasks = queue->in_work(); tasks > 0) out[queue->name()] += tasks;
  }
  return out;
}

// Destroys closed queues that nobody needs.
Async<void> Queues::sweep() {
  while (!closed_.empty()) {
    co_await sleep_for(services_.scheduler, kClosedLook);
    std::erase_if(closed_, [](const auto& queue) { return queue.use_count() == 1 && queue->is_over(); });
  }
}

std::shared_ptr<Queue> Queues::find_queue(std::string_view table) const {
  const auto found = queues_.find(table);
  return found == queues_.end() ? nullptr : found->second;
}

std::vector<std::string> Queues::names() const {
  std::vector<std::string> out;
  for (const auto& [name, queue] : queues_) out.push_back(name);
  return out;
}

std::vector<std::shared_ptr<Queue>> Queues::all() const {
  std::vector<std::shared_ptr<Queue>> out;
  for (const auto& [name, queue] : queues_) out.push_back(queue);
  return out;
}

std::string Queues::broken() const {
  std::string out;
  for (const auto& [name, queue] : queues_) {
    if (const Error* why = queue->broken()) out.append(why->message).append("\n");
  }
  return out;
}

void Queues::begin() {
  begun_ = true;
  for (auto& [name, queue] : queues_) queue->begin();
}

void Queues::drain() {
  draining_ = true;
  for (auto& [name, queue] : queues_) queue->drain();
}

Async<bool> Queues::all_returned(BootTime deadline) {
  const auto held = [this] {
    const auto holds = [](const std::shared_ptr<Queue>& queue) { return queue->held() > 0; };
    return std::ranges::any_of(queues_, [&](const auto& named) { return holds(named.second); }) ||
           std::ranges::any_of(closed_, holds);
  };
  while (held() && services_.scheduler.clock().boot() < deadline) {
    co_await sleep_for(services_.scheduler, kHeldLook);
  }
  co_return !held();
}

Async<void> Queues::release_held(BootTime end) {
  auto queues = all();
  queues.insert(queues.end(), closed_.begin(), closed_.end());
  std::vector<Promise<bool>> released;
  for (const auto& queue : queues) {
    released.emplace_back(services_.scheduler);
    releases_.spawn(release(queue, released.back()));
  }
  for (const auto& one : released) {
    if (!one.is_set()) services_.scheduler.call_at(end, [one] { one.set(false); });
  }
  for (size_t i = 0; i < queues.size(); ++i) {
    static_cast<void>(co_await released[i].future());
    const size_t held = queues[i]->held();  // Tasks are held here, too, if the store has refused to release them.
    if (held > 0) log_.warn("LEASES_NOT_RELEASED", {{"queue", queues[i]->name()}, {"tasks", held}});
  }
}

Async<void> Queues::release(std::shared_ptr<Queue> queue, Promise<bool> done) {
  co_await queue->release_held();
  done.set(true);
}

}  // namespace freshet
