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
  created(task);
  // The new task first, so that a crash in between leaves one too many and never none.
  if (task.replace) {
    auto replaced = co_await replace_waiting(key, out.id);
    if (!replaced) co_return fail(replaced.error());
  }
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

// The newest task that has the key; a null ref if none has.
Async<Result<ItemRef>> Queue::living_task(std::string key) {
  Item start;
  for (;;) {
    auto page = co_await living_page(key, std::move(start));
    if (!page) co_return fail(page.error());
    if (!page->items.empty()) co_return page->items.front();
    start = std::move(page->last_evaluated_key);
    if (start.empty()) co_return ItemRef();
  }
}

// Those that wait end; one in work goes on, but waits no more should it come back.
Async<Result<void>> Queue::replace_waiting(std::string key, std::string by) {
  constexpr int kTries = 5;
  for (int tries = 0; tries < kTries; ++tries) {
    bool all = true;
    Item start;
    do {
      auto page = co_await living_page(key, std::move(start));
      if (!page) co_return fail(page.error());
      start = std::move(page->last_evaluated_key);
      std::string newest = by;
      const bool done = co_await replace_page(std::move(*page), std::move(newest));
      all = all && done;
    } while (!start.empty());
    if (all) break;
  }
  co_return Result<void>();
}

// False if one of them moved meanwhile: taken, or given back.
Async<bool> Queue::replace_page(Page page, std::string by) {
  std::vector<EditItemInput> writes;
  for (const auto& old : page.items) {
    if (text_of(old, attribute::kId) == by) continue;
    if (text_of(old, attribute::kStatus) != state::kTaken) {
      writes.emplace_back(end_waiting(table_, old, state::kCancelled, attribute::kReplacedBy, by, wall()));
    } else if (!has(old, attribute::kReplacedBy)) {
      writes.emplace_back(mark_replaced(table_, old, by, wall()));
    }
  }
  if (writes.empty()) co_return true;
  auto answers = co_await services_.tables.edit_many(std::move(writes));
  bool all = true;
  for (auto& answer : answers) {
    if (!answer) {
      all = all && answer.error().code != ErrorCode::kConditionalCheckFailed;
      continue;
    }
    const auto& task = answer->attributes;
    const std::string id(text_of(task, attribute::kId));
    const Lease* lease = leases_.find(id);
    if (lease && lease->token == text_of(task, attribute::kLease)) leases_.update(id, task);
  }
  co_return all;
}

// Whether a task came to replace others and one of its key is in work, as far as this daemon knows, or being replaced.
bool Queue::waits_for_key(const ItemRef& task) {
  if (!leases_.holds_keys() && claiming_keys_.empty() && busy_keys_.empty()) return false;
  if (!comes_to_replace(task)) return false;
  const auto key = text_of(task, attribute::kLiveKey);
  if (key.empty()) return false;
  const bool busy = leases_.holds_key(key) || claiming_keys_.contains(key) || busy_keys_.contains(key);
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
