#include "runtime/invoke/process_host.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <utility>

#include "base/under_way.h"
#include "runtime/invoke/http_host.h"
#include "runtime/invoke/native_host.h"

namespace freshet {

// Ends an invocation together with its caller.
class ProcessHost::Caller {
 public:
  Caller(ProcessHost& host, const FunctionDefinition& function, const Invocation& invocation)
      : host_(host), function_(function.name) {
    if (invocation.ends_with_caller) request_id_ = invocation.request_id;
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() {
    if (!request_id_.empty()) host_.abandon(function_, request_id_);
  }
  void answered() { request_id_.clear(); }

 private:
  ProcessHost& host_;
  const std::string function_;
  std::string request_id_;  // Empty: nothing has to be ended.
};

Async<InvokeOutcome> ProcessHost::invoke(const FunctionDefinition& function, Invocation invocation) {
  if (parts_.api == nullptr || ended_) {
    co_return failed_outcome(std::string(kHostUnavailable), "programs cannot be run here");
  }
  const UnderWay counted(invocations_);
  const auto code = use(function.code);
  FunctionPtr& known = pools_[function.name].function;
  if (!known || !(*known == function)) known = std::make_shared<const FunctionDefinition>(function);
  FunctionPtr definition = known;
  auto durable = co_await parts_.tables.durable();
  if (!durable) co_return failed_outcome(std::string(kHostUnavailable), std::move(durable.error().message));
  Promise<InvokeOutcome> done(parts_.scheduler);
  Caller caller(*this, *definition, invocation);
  ProcessJob job{std::move(definition), std::move(invocation), done};
  place_or_wait(std::move(job));
  InvokeOutcome outcome = co_await done.future();
  caller.answered();
  co_return outcome;
}

void ProcessHost::serve(ProgramSettings settings) {
  settings_ = std::move(settings);
  serving_ = true;
  place_waiting();
}

bool ProcessHost::place(ProcessJob& job) {
  if (!serving_ || ended_) return false;
  Pool& pool = pools_[job.function->name];
  if (job.invocation.only_starts) {
    // One process is enough, also a busy one.
    const auto serves = [&job](const auto& process) { return process->stays() && process->serves(job.function); };
    if (std::any_of(pool.processes.begin(), pool.processes.end(), serves)) {
      job.done.set({"null", std::nullopt});
      return true;
    }
  }
  using Takes = bool (FunctionProcess::*)() const;
  for (const Takes takes : {&FunctionProcess::ready, &FunctionProcess::settling, &FunctionProcess::getting_ready}) {
    for (const auto& process : pool.processes) {
      if (!(process.get()->*takes)() || !process->serves(job.function)) continue;
      process->run(std::move(job));
      return true;
    }
  }
  if (processes_ >= parts_.options.max_processes && !make_room()) return false;
  ++processes_;
  pool.processes.push_front(std::make_unique<FunctionProcess>(
      FunctionProcess::Parts{*this, parts_.spawner, *parts_.api, parts_.scheduler, settings_, parts_.options.times,
                             pool.stats, parts_.log, use(job.function->code)},
      std::move(job)));
  pool.processes.front()->begin();
  if (sweep_ == 0) sweep();
  return true;
}

void ProcessHost::place_or_wait(ProcessJob job) {
  if (waiting_.empty() && place(job)) return;
  const uint64_t number = ++last_waiting_;
  const nanoseconds longest = job.function->timeout;
  Waiting& entry = waiting_.emplace(number, Waiting{std::move(job), 0}).first->second;
  entry.timer = parts_.scheduler.call_after(longest, [this, number] { give_up(number); });
  place_waiting();
}

// One function's jobs must not hold up another's, so each waiting job is tried, oldest first. Hundreds may wait for one
// function: once there is no place for one of them, the others are skipped.
void ProcessHost::place_waiting() {
  absl::flat_hash_set<const FunctionDefinition*> without_place;
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto entry = next++;
    const FunctionDefinition* function = entry->second.job.function.get();
    if (without_place.contains(function)) continue;
    if (!place(entry->second.job)) {
      without_place.insert(function);
      continue;
    }
    parts_.scheduler.cancel(entry->second.timer);
    waiting_.erase(entry);
  }
}

void ProcessHost::give_up(uint64_t number) {
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) return;
  found->second.job.done.set(failed_outcome(std::string(kHostBusy), "No process is free for it"));
  waiting_.erase(found);
}

void ProcessHost::abandon(const std::string& function, const std::string& request_id) {
  for (auto entry = waiting_.begin(); entry != waiting_.end(); ++entry) {
    if (entry->second.job.invocation.request_id != request_id) continue;
    parts_.scheduler.cancel(entry->second.timer);
    waiting_.erase(entry);
    return;
  }
  const auto pool = pools_.find(function);
  if (pool == pools_.end()) return;
  for (const auto& process : pool->second.processes) {
    if (process->abandon(request_id)) return;
  }
}

// Stops the process that has been idle for longest. Returns false if none is idle.
bool ProcessHost::make_room() {
  FunctionProcess* longest = nullptr;
  for (const auto& [name, pool] : pools_) {
    for (const auto& process : pool.processes) {
      if (process->idle() && (!longest || process->idle_since() < longest->idle_since())) longest = process.get();
    }
  }
  if (longest != nullptr) longest->stop();
  return longest != nullptr;
}

void ProcessHost::place_waiting_soon() {
  if (waiting_.empty()) return;
  parts_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.lock()) place_waiting();
  });
}

// The most recently used process is used first, so that unnecessary ones become old.
void ProcessHost::on_idle(FunctionProcess& process) {
  auto& processes = pools_[process.function().name].processes;
  const auto self =
      std::find_if(processes.begin(), processes.end(), [&](const auto& p) { return p.get() == &process; });
  processes.splice(processes.begin(), processes, self);
  place_waiting_soon();
}

void ProcessHost::on_ended(FunctionProcess& process, std::optional<ProcessJob> unstarted) {
  auto& processes = pools_[process.function().name].processes;
  const auto self =
      std::find_if(processes.begin(), processes.end(), [&](const auto& p) { return p.get() == &process; });
  --processes_;
  // It is still on the call stack.
  parts_.scheduler.post([ended = std::move(*self)] {});
  processes.erase(self);
  if (unstarted) place_or_wait(std::move(*unstarted));
  place_waiting_soon();
}

void ProcessHost::forget(const std::string& function) {
  const auto pool = pools_.find(function);
  if (pool == pools_.end()) return;
  std::vector<FunctionProcess*> all;  // Processes that end at once remove themselves from the pool's list.
  for (const auto& process : pool->second.processes) all.push_back(process.get());
  for (FunctionProcess* process : all) process->retire();
}

std::shared_ptr<const void> ProcessHost::use(const std::string& folder) {
  ++code_uses_[folder];
  return {this, [this, folder, alive = std::weak_ptr(alive_)](const void*) {
            if (alive.expired()) return;
            const auto uses = code_uses_.find(folder);
            if (--uses->second > 0) return;
            code_uses_.erase(uses);
            if (!parts_.on_code_left) return;
            parts_.scheduler.post([this, folder, alive] {
              if (alive.lock()) parts_.on_code_left(folder);
            });
          }};
}

void ProcessHost::sweep() {
  const BootTime now = parts_.scheduler.clock().boot();
  std::vector<FunctionProcess*> old;
  for (const auto& [name, pool] : pools_) {
    for (const auto& process : pool.processes) {
      if (process->idle() && now - process->idle_since() >= parts_.options.times.idle) old.push_back(process.get());
    }
  }
  for (FunctionProcess* process : old) process->stop();
  sweep_ = 0;
  if (processes_ == 0) return;
  const nanoseconds interval = std::max<nanoseconds>(parts_.options.times.idle / 4, milliseconds(1));
  sweep_ = parts_.scheduler.call_after(interval, [this] { sweep(); });
}

void ProcessHost::end_all() {
  ended_ = true;
  parts_.scheduler.cancel(std::exchange(sweep_, 0));
  for (auto& [number, entry] : waiting_) parts_.scheduler.cancel(entry.timer);
  waiting_.clear();
  for (auto& [name, pool] : pools_) {
    processes_ -= pool.processes.size();
    pool.processes.clear();
  }
}

std::map<std::string, ProcessStats> ProcessHost::stats() const {
  std::map<std::string, ProcessStats> all;
  for (const auto& [name, pool] : pools_) {
    all[name] = pool.stats;
    all[name].running = pool.processes.size();
  }
  return all;
}

}  // namespace freshet
