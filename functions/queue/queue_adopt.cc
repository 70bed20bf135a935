// Tasks that clients put lack what Freshet itself gives a task: its lane (in a queue with lanes), and the `liveKey` by
// which its `key` is found. They get it when the stream shows them; those that were there before the queue followed its
// stream, or before it had lanes, get it in the background, newest first. What is wrong (a lane that there is not, the
// lane or liveKey of a task that a client ended) is put right the same way, so that nothing stands in the way of others
// or waits for ever.
#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr uint32_t kAdoptedAtOnce = 1000;  // Tasks looked at before others get their turn.

}  // namespace

// Runs for every record of the stream, so it is cheap.
bool Queue::needs_adoption(const ItemRef& task) const {
  return Adopter::needs_adoption(task, core_.lanes.lacks(task));
}

Async<void> Queue::adopt_one(ItemRef task) {
  std::vector<ItemRef> one{std::move(task)};
  const bool given = co_await adopt(std::move(one));
  if (given) wake();
}

// True if a PENDING task got its lane, or is in one that was not known.
Async<bool> Queue::adopt(std::vector<ItemRef> tasks) {
  std::vector<std::string> names;
  const size_t known_before = core_.lanes.size();
  for (const auto& task : tasks) {
    if (core_.lanes.lacks(task)) names.push_back(core_.lanes.asked_by(task));
  }
  if (!names.empty()) {
    // Whatever the error is, only the names that are known by now matter.
    const auto known = co_await add_lanes(std::move(names));
    if (!known && known.error().code != ErrorCode::kLimitExceeded) core_.adopter.try_again();
  }
  std::vector<WriteInput> writes;
  std::vector<ItemRef> written;
  for (auto& task : tasks) {
    const bool lacks_lane = core_.lanes.lacks(task);
    auto update = core_.adopter.adoption(task, lacks_lane, lacks_lane ? core_.lanes.known_for(task) : std::string());
    if (!update) continue;
    writes.emplace_back(std::move(*update));
    written.push_back(std::move(task));
  }
  bool any = core_.lanes.size() > known_before;  // Of tasks that have their lane already, after a restart.
  if (writes.empty()) co_return any;
  auto answers = co_await services_.tables.write_many(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) {
    bool pending = text_of(written[i], attribute::kStatus) == state::kPending;
    if (answers[i]) {
      if (!pending || core_.lanes.empty()) continue;
      core_.lanes.shares().filled(core_.lanes.known_for(written[i]), core_.lanes.place_of(written[i]));
      any = true;
    } else if (answers[i].error().code == ErrorCode::kValidation) {
      // It has no room for its lane, so it could never be taken.
      if (pending) scope_.spawn(set_aside(written[i], std::move(answers[i].error().message)));
    } else if (answers[i].error().code != ErrorCode::kConditionalCheckFailed) {
      core_.adopter.try_again();  // The store is full, or away for a moment.
    }
  }
  co_return any;
}

// All that wait or are held.
Async<void> Queue::adopt_all() {
  if (!core_.adopter.begin_walk()) co_return;
  for (auto status : {state::kPending, state::kDelayed, state::kTaken}) {
    Item start;
    do {
      QueryInput query;
      query.table = table_;
      query.index = index_;
      query.key_condition = "taskStatus = :s";
      query.placeholders.values.set(":s", Value(status));
      query.forward = settings_.order == Order::kOldestFirst;
      query.limit = kAdoptedAtOnce;
      query.exclusive_start_key = std::move(start);
      auto page = co_await read_index(std::move(query));
      if (!page) {
        core_.adopter.try_again();
        break;
      }
      std::erase_if(page->items, [this](const ItemRef& task) { return !needs_adoption(task); });
      start = std::move(page->last_evaluated_key);
      if (!page->items.empty()) {
        auto given = co_await adopt(std::move(page->items));
        if (given) wake();
      }
      if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
    } while (!start.empty());
  }
  core_.adopter.end_walk();
}

}  // namespace freshet
