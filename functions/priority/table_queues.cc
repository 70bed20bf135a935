#include "functions/priority/table_queues.h"

#include <algorithm>

namespace freshet::priority {
namespace {

constexpr uint32_t kSweptAtOnce = 100;
constexpr milliseconds kIndexLook{1000};
constexpr milliseconds kBuildingLook{100};

}  // namespace

// Two queues of one table must tell their records apart.
Result<void> TableQueues::check_apart(const Settings& wanted) const {
  const Numbers& n = wanted.numbers;
  for (const auto& [name, queue] : queues_) {
    const Settings& other = queue->settings();
    if (name == wanted.name) return fail(ErrorCode::kConflict, "there are two priority queues '" + name + "'");
    if (other.states_in() != wanted.states_in()) continue;
    const Numbers& o = other.numbers;
    for (const int64_t number : {n.ready, n.in_flight, n.delayed}) {
      if (number != o.ready && number != o.in_flight && number != o.delayed) continue;
      return fail(ErrorCode::kConflict, "queues '" + name + "' and '" + wanted.name + "' of table '" +
                                            wanted.states_in() + "' both use the number " + std::to_string(number));
    }
    if (n.dead == o.dead && wanted.names.dead == other.names.dead) {
      return fail(ErrorCode::kConflict, "queues '" + name + "' and '" + wanted.name + "' of table '" +
                                            wanted.states_in() + "' both use the number " + std::to_string(n.dead) +
                                            " for their dead letters");
    }
  }
  return {};
}

Async<Result<TableQueue*>> TableQueues::open(Definition definition) {
  if (auto apart = check_apart(definition.settings); !apart) co_return fail(apart.error());
  auto opened = co_await TableQueue::open(services_, std::move(definition.settings), std::move(definition.table), wall_,
                                          log_, is_shared_);
  if (!opened) co_return fail(opened.error());
  for (auto& [name, other] : queues_) {
    if (other->settings().states_in() != (*opened)->settings().states_in()) continue;
    other->share_dead_index();
    (*opened)->share_dead_index();
  }
  co_return queues_.add(std::move(*opened));
}

void TableQueues::begin() {
  if (is_shared_) return;
  for (auto& [name, queue] : queues_) start_timers(name, *queue);
}

void TableQueues::start_timers(const std::string& name, TableQueue& queue) {
  Scope& timers = timers_[name];
  timers.spawn(keep_time(queue));
  timers.spawn(keep_indexes(queue));
}

void TableQueues::serve(const std::string& name, bool is_mine) {
  TableQueue* queue = queues_.find(name);
  if (queue == nullptr) return;
  timers_.erase(name);
  broken_.erase(name);
  if (is_mine) return start_timers(name, *queue);
  queue->give_up();
}

std::string TableQueues::table_of(const std::string& name) const {
  const TableQueue* queue = queues_.find(name);
  return queue == nullptr ? std::string() : queue->settings().states_in();
}

std::string TableQueues::broken() const {
  std::string out;
  for (const auto& [name, why] : broken_) out.append(why).append("\n");
  return out;
}

Async<void> TableQueues::keep_indexes(TableQueue& queue) {
  for (;;) {
    auto look = co_await queue.look_at_indexes();
    if (!look.lost.empty()) log_.warn("PRIORITY_INDEX_LOST", {{"queue", queue.name()}, {"lost", look.lost}});
    if (!look.broken.empty()) {
      std::string& logged = broken_[queue.name()];
      if (logged != look.broken) {
        log_.warn("PRIORITY_TABLE_BROKEN", {{"queue", queue.name()}, {"message", look.broken}});
      }
      logged = std::move(look.broken);
    } else if (broken_.erase(queue.name()) > 0 || !look.lost.empty()) {
      log_.info("PRIORITY_TABLE_MENDED", {{"queue", queue.name()}});
    }
    co_await sleep_for(services_.scheduler, look.building ? kBuildingLook : kIndexLook);
  }
}

Async<void> TableQueues::keep_time(TableQueue& queue) {
  bool logged = false;
  std::vector<std::string> named;  // The records that the last sweep had to skip.
  for (;;) {
    std::vector<std::string> passed;
    auto more = co_await queue.sweep(kSweptAtOnce, &passed);
    for (const auto& what : passed) {
      if (std::find(named.begin(), named.end(), what) != named.end()) continue;
      log_.warn("PRIORITY_RECORD_PASSED", {{"queue", queue.name()}, {"message", what}});
    }
    named = std::move(passed);
    if (!more && !logged) {
      log_.warn("PRIORITY_SWEEP_FAILED", {{"queue", queue.name()}, {"message", more.error().message}});
    }
    logged = !more.has_value();
    const milliseconds rest = more && *more ? milliseconds(0) : queue.settings().sweep;
    co_await sleep_for(services_.scheduler, rest);
  }
}

}  // namespace freshet::priority
