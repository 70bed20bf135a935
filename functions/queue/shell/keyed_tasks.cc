#include "functions/queue/shell/keyed_tasks.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/new_item.h"
#include "functions/queue/shell/parts.h"
#include "runtime/api/cancel_mark.h"

namespace freshet {

namespace {
constexpr std::string_view kKeyIndex = "freshet-key-index";

// True if the task was cancelled just as it was given back. It ends as soon as somebody looks at it.
bool ends_as_cancelled(const ItemRef& task) {
  const auto status = text_of(task, attribute::kStatus);
  return (status == state::kPending || status == state::kDelayed) && is_cancel_requested(task);
}

// True if the task ends with its attempt unless that succeeds.
bool is_marked(const ItemRef& task) {
  return text_of(task, attribute::kStatus) == state::kTaken && has(task, attribute::kReplacedBy);
}

// A redrive leaves `replace` as false.
bool was_redriven(const ItemRef& task) {
  return has(task, attribute::kReplace) && !comes_to_replace(task);
}
}  // namespace

// While a guard lives, nobody else looks at its key.
class KeyedTasks::KeyGuard {
 public:
  KeyGuard(KeyedTasks& tasks, std::string key) : tasks_(tasks), key_(std::move(key)) {
    turn_.emplace(tasks_.turns_, key_);
    tasks_.core_.keys.look_began(key_);
  }
  KeyGuard(const KeyGuard&) = delete;
  KeyGuard& operator=(const KeyGuard&) = delete;
  ~KeyGuard() {
    tasks_.core_.keys.look_ended(key_);
    turn_.reset();  // The next guard marks the key again.
    tasks_.key_freed(key_);
  }

  // The create of the task `by`, which replaces others, is repeated: a crash may have kept it from ending them.
  Async<Result<void>> finish_replacing(std::string by);

 private:
  Async<Result<void>> forget_if_gone();
  Async<Result<Unreplaced>> older_than(std::string by, int64_t created);

  KeyedTasks& tasks_;
  const std::string key_;
  std::optional<NamedTurns::Turn> turn_;
};

Async<Result<CreatedTask>> KeyedTasks::create_keyed(NewTask task) {
  auto key = task.key;
  co_await turns_.wait(key);
  KeyGuard guard(*this, key);
  if (!task.replace && !FRESHET_PLANTED("key-not-looked-for")) {
    auto living = co_await living_task(key);
    if (!living) co_return fail(living.error());
    if (living->task) FRESHET_REACHED("a key is kept by a living task");
    if (living->task) co_return CreatedTask{std::string(text_of(living->task, attribute::kId)), false};
    if (!living->doomed.empty()) FRESHET_REACHED("doomed tasks of a key shed");
    if (!living->doomed.empty()) co_await shed_doomed(std::move(living->doomed));
  }
  const bool had_lanes = !core_.lanes.empty();
  const WallTime now = wall();
  auto item = parts_.creation.new_item(task, now);
  if (!item) co_return fail(item.error());
  CreatedTask out{task.id, true};
  std::vector<WriteInput> put;
  put.emplace_back(parts_.creation.put_new(std::move(*item)));
  auto answers = co_await sure_.create(std::move(put));
  auto& answer = answers.front();
  if (!answer) {
    const bool is_there = answer.error().code == ErrorCode::kConditionalCheckFailed;
    Result<CreatedTask> result = out;
    refuse_create(result, answer.error());
    if (!is_there || !task.replace) co_return result;
    auto finished = co_await guard.finish_replacing(std::move(out.id));
    if (!finished) co_return fail(finished.error());
    co_return result;
  }
  parts_.creation.created(task, out.id, now);
  // create() does that, and wakes takes, but its client may have hung up.
  if (!had_lanes && !core_.lanes.empty()) core_.adopter.try_again();
  // The new task is written first, so that a crash in between leaves one task too many and never none. The task is the
  // newest of its key, so it also replaces what a store refused to end before.
  const bool replaces = task.replace || core_.keys.has_unreplaced(key);
  if (replaces && FRESHET_OFTEN("a new task waits before it replaces others")) {
    co_await sleep_for(services_.scheduler, seconds(1));
  }
  if (replaces && !FRESHET_PLANTED("nothing-replaced")) co_await replace_waiting(key, out.id, !task.replace);
  parts_.takes.wake();
  co_return out;
}

// Ends the tasks that `by` should have replaced, unless nothing of it is left to run after them. Tasks that came later
// stay.
Async<Result<void>> KeyedTasks::KeyGuard::finish_replacing(std::string by) {
  auto task = co_await tasks_.parts_.admin.get(by);
  if (!task && task.error().code != ErrorCode::kNotFound) co_return fail(task.error());
  if (!task || key_of(*task) != key_ || !comes_to_replace(*task)) co_return Result<void>();
  auto known = co_await forget_if_gone();
  if (!known) co_return fail(known.error());
  auto older = co_await older_than(by, int_of(*task, attribute::kCreated, 0));
  if (!older) co_return fail(older.error());
  if (older->ids.empty()) co_return Result<void>();
  // This check comes only now, because the task may have been replaced many times since.
  auto left = co_await tasks_.is_left(std::move(by));
  if (!left) co_return fail(left.error());
  if (!*left) co_return Result<void>();
  FRESHET_REACHED("a repeated create replaces what was left");
  std::string newest = older->by;
  tasks_.core_.keys.not_replaced(key_, std::move(*older));
  co_await tasks_.replace_waiting(key_, std::move(newest), true);
  co_return Result<void>();
}

// If the task for which the store refused to end others is gone, those live on.
Async<Result<void>> KeyedTasks::KeyGuard::forget_if_gone() {
  auto newest = tasks_.core_.keys.replacing(key_);
  if (!newest) co_return Result<void>();
  auto left = co_await tasks_.is_left(std::move(*newest));
  if (!left) co_return fail(left.error());
  if (!*left && tasks_.core_.keys.all_replaced(key_)) tasks_.key_freed(key_);
  co_return Result<void>();
}

// The living tasks of the key that came before `by`, and those that were to end anyway, which may include `by`. Tasks
// that clients put or that were redriven may have come later, whatever their taskCreated says.
Async<Result<Unreplaced>> KeyedTasks::KeyGuard::older_than(std::string by, int64_t created) {
  Unreplaced out{tasks_.core_.keys.replacing(key_).value_or(by)};
  bool behind = false;
  Item start;
  do {
    auto page = co_await tasks_.living_page(key_, std::move(start));
    if (!page) co_return fail(page.error());
    for (const auto& other : page->items) {
      const std::string id(text_of(other, attribute::kId));
      if (id == by) behind = true;  // The following tasks are older, also those of the same millisecond.
      const bool is_older = id != by && (behind || int_of(other, attribute::kCreated, 0) < created);
      const bool came_before = is_older && has(other, attribute::kAttempt) && !was_redriven(other) && !is_marked(other);
      if (came_before || tasks_.core_.keys.is_replaced(other, key_)) out.ids.insert(id);
    }
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(tasks_.services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return out;
}

// Tasks of the key that wait or are held, newest first, from `start` on. A client may have ended a task and left its
// liveKey; the stream shows that later.
Async<Result<Page>> KeyedTasks::living_page(std::string key, Item start) {
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
  return parts_.table.read_index(std::move(query));
}

// The newest task that has the key. A task that was to make room for another has lost the key, and so has one that
// will never be started or that was cancelled.
Async<Result<KeyedTasks::Living>> KeyedTasks::living_task(std::string key) {
  Living out;
  Item start;
  for (;;) {
    auto page = co_await living_page(key, std::move(start));
    if (!page) co_return fail(page.error());
    for (auto& task : page->items) {
      if (core_.keys.is_replaced(task, key) || ends_as_cancelled(task)) continue;
      if (doom_of(task).empty()) {
        out.task = std::move(task);
        co_return out;
      }
      out.doomed.push_back(std::move(task));
    }
    start = std::move(page->last_evaluated_key);
    if (start.empty()) co_return out;
    co_await sleep_for(services_.scheduler, nanoseconds(0));  // Clients may have put many tasks with that key.
  }
}

// The reason why a waiting task will certainly be shed: it has expired, or will have when its delay is over. Empty if
// the task may be started or does not wait.
std::string_view KeyedTasks::doom_of(const ItemRef& task) {
  const auto status = text_of(task, attribute::kStatus);
  auto at = wall_guard_.earliest();
  if (status == state::kDelayed) {
    at = std::max(at, WallTime(milliseconds(int_of(task, attribute::kNotBefore, 0))));
  } else if (status != state::kPending) {
    return {};
  }
  return expired(task, at, parts_.table.definition().ttl_in_milliseconds);
}

// Sheds them, because they would only get in the way of the next look at their key.
Async<void> KeyedTasks::shed_doomed(std::vector<ItemRef> tasks) {
  std::vector<EditItemInput> writes;
  std::vector<std::string_view> reasons;
  for (const auto& task : tasks) {
    const auto reason = reasons.emplace_back(doom_of(task));
    auto write = end_waiting(table_, task, state::kShed, attribute::kShedReason, reason, wall());
    writes.emplace_back(kept(std::move(write), settings_.keep, counted_from()));
  }
  auto answers = co_await sure_.edit(std::move(writes));
  std::vector<ShedLine> lines;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) lines.push_back(parts_.sheds.shed_line(tasks[i], reasons[i], "create", wall()));
  }
  if (!lines.empty()) co_await parts_.sheds.log_sheds(std::move(lines));
}

// Ends the waiting tasks, and marks the one in work, which will not wait again. Takes pass over a task that the store
// refuses to end until it can be ended, so that it does not run after the newer one. `again`: only tasks that were to
// end before. Those that have come since then (put by a client, redriven) are not to be replaced.
Async<void> KeyedTasks::replace_waiting(std::string key, std::string by, bool again) {
  constexpr int kTries = 5;
  if (again) core_.keys.replaces_again(key, by);
  Unreplaced left;
  Replaced result = Replaced::kMoved;
  for (int tries = 0; tries < kTries && result == Replaced::kMoved; ++tries) {
    result = Replaced::kAll;
    left = Unreplaced{by};
    Item start;
    do {
      auto page = co_await living_page(key, std::move(start));
      if (!page) {
        if (again) co_return;  // The rest stays as it was.
        result = Replaced::kRefused;
        left.all = true;
        break;
      }
      start = std::move(page->last_evaluated_key);
      if (again) std::erase_if(page->items, [&](const ItemRef& task) { return !core_.keys.is_replaced(task, key); });
      const auto of_page = co_await replace_page(std::move(*page), left);
      result = std::max(result, of_page);
      if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
    } while (!start.empty());
  }
  if (result != Replaced::kAll && !FRESHET_PLANTED("unreplaced-forgotten")) {
    FRESHET_REACHED("a task could not be replaced");
    core_.keys.not_replaced(key, std::move(left));
    co_return;
  }
  if (core_.keys.all_replaced(key)) key_freed(key);
}

Async<Replaced> KeyedTasks::replace_page(Page page, Unreplaced& left) {
  std::vector<EditItemInput> writes;
  std::vector<ItemRef> tasks;
  for (const auto& old : page.items) {
    auto write = Keys::replacement(table_, old, left.by, settings_.keep, wall(), counted_from());
    if (!write) continue;
    writes.emplace_back(std::move(*write));
    tasks.push_back(old);
  }
  if (writes.empty()) co_return Replaced::kAll;
  auto answers = co_await sure_.edit(std::move(writes));
  auto result = Replaced::kAll;
  for (size_t i = 0; i < answers.size(); ++i) {
    auto& answer = answers[i];
    if (answer) {
      core_.claims.saw_written(answer->attributes);
      continue;
    }
    result = std::max(result, Keys::refused(tasks[i], answer.error().code, left));
    // The task has no room for the id of its replacement.
    const bool never = answer.error().code == ErrorCode::kValidation;
    if (never && text_of(tasks[i], attribute::kStatus) != state::kTaken) {
      scope_.spawn(parts_.settlements.set_aside(tasks[i], std::move(answer.error().message)));
    }
  }
  co_return result;
}

// At a look around, tries again to end what the store refused to end. A newer task of a key may come between two
// attempts.
Async<void> KeyedTasks::replace_again() {
  auto keys = core_.keys.unreplaced_keys();
  for (auto& key : keys) {
    auto newest = core_.keys.replacing(key);
    if (!newest || core_.keys.is_looked_at(key)) continue;  // It is done, or a newer task is just being created.
    KeyGuard guard(*this, key);
    std::string by = *newest;
    const auto left = co_await is_left(std::move(by));
    if (!left) continue;
    if (*left) {
      co_await replace_waiting(std::move(key), std::move(*newest), true);
    } else if (core_.keys.all_replaced(key)) {
      key_freed(key);
    }
  }
  core_.keys.replaced_again();
}

// True if a task that was to replace others waits, is in work or has been in work, or if that is true of a task that
// has replaced it since. Then the replaced tasks must not run any more.
Async<Result<bool>> KeyedTasks::is_left(std::string id) {
  constexpr int kLongest = 20'000;  // Clients may have written a cycle.
  for (int steps = 0; steps < kLongest && !id.empty(); ++steps) {
    std::string next = id;
    auto task = co_await parts_.admin.get(std::move(next));
    if (!task && task.error().code != ErrorCode::kNotFound) co_return fail(task.error());
    if (!task) co_return false;
    const auto status = text_of(*task, attribute::kStatus);
    if (status == state::kShed || !doom_of(*task).empty()) co_return false;
    if (status != state::kCancelled && !ends_as_cancelled(*task)) co_return true;
    id = text_of(*task, attribute::kReplacedBy);
    if (steps % 64 == 63) co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  co_return false;
}

// The same for a task that was marked as replaced; any newer task of its key counts, too. Call it under the key's
// guard, so that no other task comes meanwhile.
Async<Result<bool>> KeyedTasks::must_make_room(ItemRef task) {
  const std::string key(key_of(task));
  if (key.empty()) co_return false;  // A client has written the mark, or removed the key.
  const auto id = text_of(task, attribute::kId);
  Item start;
  do {
    auto page = co_await living_page(key, std::move(start));
    if (!page) co_return fail(page.error());
    for (const auto& other : page->items) {
      const bool came_later = text_of(other, attribute::kId) != id && comes_to_replace(other) &&
                              !core_.keys.is_replaced(other, key) && doom_of(other).empty() &&
                              !ends_as_cancelled(other);
      if (came_later) co_return true;
    }
    start = std::move(page->last_evaluated_key);
  } while (!start.empty());
  std::string by(text_of(task, attribute::kReplacedBy));
  auto left = co_await is_left(std::move(by));
  co_return left;
}

// Ends the claim on a task that a newer one of its key was to replace; `outcome` says so.
Async<Result<WriteOutput>> KeyedTasks::end_replaced(ItemRef task, Outcome outcome, EndOfClaim how, std::string error) {
  std::string key(key_of(task));
  co_await turns_.wait(key);
  const KeyGuard guard(*this, key);
  auto makes_room = co_await must_make_room(task);
  if (!makes_room) co_return fail(makes_room.error());
  if (!*makes_room) {
    FRESHET_REACHED("what was to replace has gone");
    outcome.to = outcome.if_not_replaced;
    outcome.lives_on = true;
  }
  auto write = kept(end_claim(table_, task, outcome, how.history, error, core_.lanes.of_pending(task), wall()),
                    settings_.keep, counted_from());
  auto answer = co_await parts_.table.edit(std::move(write), how.end);
  co_return answer;
}

// For PENDING tasks that were marked as replaced just as they were given back: ends those that must make room. True if
// one of them lives on.
Async<bool> KeyedTasks::end_marked(std::vector<ItemRef> tasks) {
  bool any = false;
  for (auto& task : tasks) {
    std::string key(key_of(task));
    co_await turns_.wait(key);
    const KeyGuard guard(*this, key);
    auto makes_room = co_await must_make_room(task);
    if (!makes_room) continue;
    auto write =
        *makes_room ? end_waiting(table_, task, state::kCancelled, {}, {}, wall()) : not_replaced(table_, task, wall());
    write = kept(std::move(write), settings_.keep, counted_from());
    const auto answer = co_await parts_.table.edit(std::move(write));
    any = any || (answer && !*makes_room);
  }
  co_return any;
}

// One task fewer of the key is in work or looked at.
void KeyedTasks::key_freed(std::string_view key) {
  if (!core_.keys.freed(key)) return;
  parts_.takes.wake();
  if (!core_.agenda.has_processor()) parts_.timer.start_soon(nanoseconds(0));
}

void KeyedTasks::redrives(const ItemRef& task) {
  const auto key = key_of(task);
  if (core_.keys.has_ended(task, key)) key_freed(key);
}

}  // namespace freshet
