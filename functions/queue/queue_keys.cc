// Tasks with a key: deduplication, and replacement by the latest. docs/lifecycle.md, "Keys".
//
// Of a key whose tasks replace each other at most one is in work: while that goes on takes pass over the one that
// waits, and it is marked as replaced, so that a failure ends it rather than let it run after the newer one.
#include "functions/queue/attributes.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {
constexpr std::string_view kKeyIndex = "freshet-key-index";
}  // namespace

// While it lives, no other create looks at that key.
class Queue::KeyGuard {
 public:
  KeyGuard(Queue& queue, std::string key) : queue_(queue), key_(std::move(key)) { queue_.busy_keys_[key_]; }
  KeyGuard(const KeyGuard&) = delete;
  KeyGuard& operator=(const KeyGuard&) = delete;
  ~KeyGuard() {
    auto waiting = queue_.busy_keys_.extract(key_);
    for (auto& promise : waiting.mapped()) promise.set(true);
    queue_.key_freed(key_);
  }

 private:
  Queue& queue_;
  const std::string key_;
};

Async<Result<CreatedTask>> Queue::create_keyed(NewTask task) {
  auto key = task.key;
  while (busy_keys_.contains(key)) {
    Promise<bool> free(services_.scheduler);
    busy_keys_[key].push_back(free);
    co_await free.future();
  }
  KeyGuard guard(*this, key);
  if (!task.replace) {
    auto living = co_await living_task(key);
    if (!living) co_return fail(living.error());
    if (*living) co_return CreatedTask{std::string(text_of(*living, attribute::kId)), false};
  }
  auto item = new_item(task);
  if (!item) co_return fail(item.error());
  CreatedTask out{task.id, true};
  auto put = put_new(std::move(*item));
  auto answer = co_await services_.tables.put_item(std::move(put));
  if (!answer) {
    Result<CreatedTask> result = out;
    refused(result, answer.error());
    co_return result;
  }
  created(task, out.id);
  // The new task first, so that a crash in between leaves one too many and never none.
  // It is the newest of its key: what a store refused to end before ends for it, too.
  if (task.replace || unreplaced_.contains(key)) co_await replace_waiting(key, out.id, !task.replace);
  co_return out;
}

// Tasks of that key that wait or are held, newest first; from `start` on. A client may have ended one and left its
// liveKey behind, until the stream tells.
Async<Result<Page>> Queue::living_page(std::string key, Item start) {
  QueryInput query;
  query.table = table_;
  query.index = kKeyIndex;
  query.key_condition = "liveKey = :k";
  query.filter = "taskStatus IN (:p, :d, :t)";
  query.placeholders.values.set(":k", Value(std::move(key)));
  query.placeholders.values.set(":p", Value(state::kPending));
  query.placeholders.values.set(":d", Value(state::kDelayed));
  query.placeholders.values.set(":t", Value(state::kTaken));
  query.forward = false;
  query.limit = 256;
  query.exclusive_start_key = std::move(start);
  return services_.tables.query(std::move(query));
}

// The newest task that has the key; a null ref if none has. One that was to make room for another is none.
Async<Result<ItemRef>> Queue::living_task(std::string key) {
  Item start;
  for (;;) {
    auto page = co_await living_page(key, std::move(start));
    if (!page) co_return fail(page.error());
    for (const auto& task : page->items) {
      if (!is_replaced(task, key)) co_return task;
    }
    start = std::move(page->last_evaluated_key);
    if (start.empty()) co_return ItemRef();
    co_await sleep_for(services_.scheduler, nanoseconds(0));  // Clients may have put many with that key.
  }
}

// Those that wait end; one in work goes on, but waits no more should it come back. What the store refuses to end is
// passed over by takes until it can be ended, so that it does not run after the newer one. `again`: only of those that
// were to end before; what has come since then (put by a client, redriven) was not there to be replaced.
Async<void> Queue::replace_waiting(std::string key, std::string by, bool again) {
  constexpr int kTries = 5;
  if (again) unreplaced_[key].by = by;
  Unreplaced left;
  Replaced result = Replaced::kMoved;
  for (int tries = 0; tries < kTries && result == Replaced::kMoved; ++tries) {
    result = Replaced::kAll;
    left = Unreplaced{by};
    Item start;
    do {
      auto page = co_await living_page(key, std::move(start));
      if (!page) {
        if (again) co_return;  // It stays as it was.
        result = Replaced::kRefused;
        left.all = true;
        break;
      }
      start = std::move(page->last_evaluated_key);
      if (again) std::erase_if(page->items, [&](const ItemRef& task) { return !is_replaced(task, key); });
      const auto of_page = co_await replace_page(std::move(*page), left);
      result = std::max(result, of_page);
      if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
    } while (!start.empty());
  }
  if (result != Replaced::kAll) {
    unreplaced_[key] = std::move(left);
    co_return;
  }
  if (unreplaced_.erase(key) > 0) key_freed(key);
}

Async<Queue::Replaced> Queue::replace_page(Page page, Unreplaced& left) {
  const std::string& by = left.by;
  std::vector<EditItemInput> writes;
  std::vector<ItemRef> tasks;
  for (const auto& old : page.items) {
    if (text_of(old, attribute::kId) == by) continue;
    if (text_of(old, attribute::kStatus) != state::kTaken) {
      writes.emplace_back(end_waiting(table_, old, state::kCancelled, attribute::kReplacedBy, by, wall()));
    } else if (!has(old, attribute::kReplacedBy)) {
      writes.emplace_back(mark_replaced(table_, old, by, wall()));
    } else {
      continue;
    }
    tasks.push_back(old);
  }
  if (writes.empty()) co_return Replaced::kAll;
  auto answers = co_await services_.tables.edit_many(std::move(writes));
  auto result = Replaced::kAll;
  for (size_t i = 0; i < answers.size(); ++i) {
    auto& answer = answers[i];
    if (!answer) {
      const bool moved = answer.error().code == ErrorCode::kConditionalCheckFailed;
      result = std::max(result, moved ? Replaced::kMoved : Replaced::kRefused);
      left.ids.emplace(text_of(tasks[i], attribute::kId));
      // It has no room for who replaced it.
      const bool never = answer.error().code == ErrorCode::kValidation;
      if (never && text_of(tasks[i], attribute::kStatus) != state::kTaken) {
        scope_.spawn(set_aside(tasks[i], std::move(answer.error().message)));
      }
      continue;
    }
    const auto& task = answer->attributes;
    const std::string id(text_of(task, attribute::kId));
    const Lease* lease = leases_.find(id);
    if (lease && lease->token == text_of(task, attribute::kLease)) leases_.update(id, task);
  }
  co_return result;
}

// At a look around: what the store refused to end. A newer task of a key may come between two of them.
Async<void> Queue::replace_again() {
  std::vector<std::string> keys;
  for (const auto& entry : unreplaced_) keys.push_back(entry.first);
  for (auto& key : keys) {
    const auto known = unreplaced_.find(key);
    if (known == unreplaced_.end() || busy_keys_.contains(key)) continue;  // Done, or a newer one comes just now.
    KeyGuard guard(*this, key);
    std::string newest = known->second.by;
    co_await replace_waiting(std::move(key), std::move(newest), true);
  }
  replacing_again_ = false;
}

// Whether a newer task of its key has come that it was to make room for.
bool Queue::is_replaced(const ItemRef& task, std::string_view key) const {
  const auto known = unreplaced_.find(key);
  if (known == unreplaced_.end()) return false;
  const Unreplaced& left = known->second;
  const std::string id(text_of(task, attribute::kId));
  return left.all ? id != left.by : left.ids.contains(id);
}

// Whether a task came to replace others and one of its key is in work, as far as this daemon knows, or being replaced;
// or was to make room for a newer one and could not be ended.
bool Queue::waits_for_key(const ItemRef& task) {
  if (!leases_.holds_keys() && claiming_keys_.empty() && busy_keys_.empty() && unreplaced_.empty()) return false;
  const auto key = text_of(task, attribute::kLiveKey);
  if (key.empty()) return false;
  const bool held = leases_.holds_key(key) || claiming_keys_.contains(key) || busy_keys_.contains(key);
  const bool busy = (held && comes_to_replace(task)) || is_replaced(task, key);
  if (busy) passed_keys_.emplace(key);
  return busy;
}

// Of a claim in flight.
void Queue::key_claimed(std::string_view key) {
  if (!key.empty()) ++claiming_keys_[std::string(key)];
}

// One less is in work, or looked at, that has the key.
void Queue::key_freed(std::string_view key) {
  const auto passed = passed_keys_.find(key);
  if (passed == passed_keys_.end()) return;
  passed_keys_.erase(passed);
  wake();
  if (processors_ == 0) start_soon(nanoseconds(0));
}

}  // namespace freshet
