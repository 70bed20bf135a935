#include "functions/filtered/table_queues.h"

namespace freshet::filtered {
namespace {

// True if keys that begin with one prefix could be keys of the other.
bool overlap(const std::string& a, const std::string& b) {
  return a.starts_with(b) || b.starts_with(a);
}

}  // namespace

// Two queues of one table must tell their items apart.
Result<void> TableQueues::check_apart(const Settings& wanted) const {
  const auto clash = [&](const std::string& other, const std::string& table, const std::string& what) {
    return fail(ErrorCode::kConflict, "queues '" + other + "' and '" + wanted.name + "' both have " + what +
                                          " in table '" + table + "': set another 'layout'");
  };
  for (const auto& [name, queue] : queues_) {
    const Settings& other = queue->settings();
    if (name == wanted.name) return fail(ErrorCode::kConflict, "there are two filtered queues '" + name + "'");
    const Layout& a = wanted.layout;
    const Layout& b = other.layout;
    if (wanted.queues_in() == other.queues_in() && a.queues == b.queues) {
      return clash(name, wanted.queues_in(), "queues in '" + a.queues + "'");
    }
    if (wanted.table != other.table) continue;
    if (a.requests == b.requests) return clash(name, wanted.table, "requests in '" + a.requests + "'");
    for (const auto& mine : {a.queue_prefix, a.waiting_prefix}) {
      for (const auto& theirs : {b.queue_prefix, b.waiting_prefix}) {
        if (overlap(mine, theirs)) return clash(name, wanted.table, "keys that begin with '" + mine + "'");
      }
    }
  }
  return {};
}

Async<Result<TableQueue*>> TableQueues::open(Settings settings) {
  if (auto apart = check_apart(settings); !apart) co_return fail(apart.error());
  auto opened = co_await TableQueue::open(services_, std::move(settings));
  if (!opened) co_return fail(opened.error());
  co_return queues_.add(std::move(*opened));
}

void TableQueues::begin() {
  if (is_shared_) return;
  for (auto& [name, queue] : queues_) timers_[name].spawn(keep_matching(*queue));
}

void TableQueues::serve(const std::string& name, bool is_mine) {
  timers_.erase(name);
  TableQueue* queue = queues_.find(name);
  if (queue != nullptr && is_mine) timers_[name].spawn(keep_matching(*queue));
}

Async<void> TableQueues::keep_matching(TableQueue& queue) {
  bool logged = false;
  for (;;) {
    auto matched = co_await queue.match_waiting();
    if (!matched && !logged) {
      log_.warn("FILTERED_MATCHING_FAILED", {{"queue", queue.name()}, {"message", matched.error().message}});
    }
    logged = !matched.has_value();
    const bool more = matched && *matched > 0;
    const milliseconds rest = more ? milliseconds(0) : queue.settings().matching;
    co_await sleep_for(services_.scheduler, rest);
  }
}

}  // namespace freshet::filtered
