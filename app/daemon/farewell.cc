#include "app/daemon/farewell.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "tables/engine/embedded.h"

namespace freshet {

namespace {

uint64_t depth_of(const QueueStats& stats, const char* state) {
  const auto found = stats.depth.find(state);
  return found == stats.depth.end() ? 0 : found->second;
}

std::string counts_text(const Farewell& farewell) {
  if (farewell.counted == Farewell::Counted::kStartCutShort) return "the start was not over yet";
  if (farewell.counted == Farewell::Counted::kNoQueue) return "there was no queue of tasks";
  if (farewell.counted == Farewell::Counted::kHandedOver)
    return "other daemons of the fleet may serve its queues and mappings now";
  if (farewell.counted == Farewell::Counted::kNoAnswer) return "the store did not answer, so nothing was counted";
  const auto number = [](uint64_t count, const char* one, const char* several) {
    return std::to_string(count) + (count == 1 ? one : several);
  };
  std::string out = number(farewell.done, " task was done", " tasks were done");
  if (farewell.failed > 0) out += ", " + number(farewell.failed, " failed", " failed");
  if (farewell.shed > 0) out += ", " + number(farewell.shed, " was shed", " were shed");
  out += ", " + number(farewell.waiting, " waits", " wait");
  if (farewell.held > 0)
    out += ", " + number(farewell.held, " is still held by a worker", " are still held by workers");
  return out;
}

}  // namespace

std::string farewell_text(const Farewell& farewell) {
  const std::string out = counts_text(farewell);
  const size_t left = farewell.waiting + farewell.held;
  if (!farewell.engine.empty()) {
    return out + ". The tasks are kept by the engine at " + farewell.engine +
           (left == 0 ? "" : ": a start goes on with what is left") +
           (farewell.durable ? "" : ". The disk did not take the last writes of the daemon's own tables");
  }
  if (farewell.data.empty()) return out + (left == 0 ? "" : "; what is left is gone, as nothing was kept on disk");
  if (!farewell.durable) return out + ". The disk did not take the last writes: what they changed may be lost";
  return out + ". All is kept in " + farewell.data +
         (left == 0 ? "" : ": a start with this folder goes on with what is left");
}

void say_farewell(Farewell farewell, const DaemonOptions& options, const EventLog& log, bool drained, bool durable) {
  farewell.durable = durable;
  const bool is_kept = options.data != kMemoryDirectory;  // A store in memory ends with the daemon.
  if (is_kept) farewell.data = std::filesystem::absolute(options.data).lexically_normal().string();
  if (!options.endpoints.empty()) farewell.engine = options.endpoints.front();
  if (options.fleet && farewell.counted == Farewell::Counted::kNoQueue) {
    farewell.counted = Farewell::Counted::kHandedOver;
  }
  const std::string what = farewell_text(farewell);
  log.info("STOPPED", {{"what", what}, {"drained", drained}, {"durable", farewell.durable && is_kept}});
  if (options.on_stopped) options.on_stopped(what);
}

Async<Farewell> farewell_of(TaskQueues& queues) {
  Farewell out;
  const std::vector<std::string> names = queues.names();
  if (names.empty()) out.counted = Farewell::Counted::kNoQueue;
  for (const std::string& name : names) {
    const auto queue = queues.find(name);
    if (queue == nullptr) continue;
    const auto stats = co_await queue->stats();
    if (!stats) continue;
    const InTimeCounts& all = stats->in_time.since_start;
    const InTimeCounts& put_back = stats->in_time.put_back;
    out.done += all.in_time + all.late;
    out.failed += all.failed - std::min(all.failed, put_back.failed);
    out.shed += all.shed - std::min(all.shed, put_back.shed);
    out.waiting += depth_of(*stats, "PENDING") + depth_of(*stats, "DELAYED");
    out.held += depth_of(*stats, "TAKEN");
  }
  co_return out;
}

}  // namespace freshet
