#include <algorithm>
#include <array>

#include "base/cursor.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/where.h"
#include "functions/queue/queue.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

constexpr uint32_t kMaxPage = 1000;
constexpr uint64_t kMostLookedAt = 2000;  // By one list with a filter.

bool names_state(std::string_view name) {
  return std::find(state::kAll.begin(), state::kAll.end(), name) != state::kAll.end();
}

std::string state_names() {
  std::string out;
  for (auto name : state::kAll) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

// Sheds ever. The books count each at once: as the queue's own move to SHED, or as a waiting task that its ttl removed.
// The log knows the reasons of those that the queue shed; the rest passed their ttl.
std::map<std::string, uint64_t> shed_by_reason(const Books& books, const std::map<std::string, uint64_t>& known) {
  uint64_t left = 0;
  for (const auto& [arrow, count] : books.flow) {
    const bool waited = arrow.from == state::kPending || arrow.from == state::kDelayed;
    const bool by_queue = arrow.cause == Cause::kQueue && arrow.to == state::kShed;
    const bool swept = arrow.cause == Cause::kTimeToLive && arrow.to.empty();
    if (waited && (by_queue || swept)) left += count;
  }
  std::map<std::string, uint64_t> out;
  for (const auto& [reason, count] : known) {
    const auto told = reason == "ttl" ? 0 : std::min(count, left);
    if (told > 0) out[reason] = told;
    left -= told;
  }
  if (left > 0) out["ttl"] = left;
  return out;
}

// Who is refused in the middle must know what is done.
Error after(uint64_t redriven, Error error) {
  if (redriven == 0) return error;
  const std::string some = redriven == 1 ? " task was" : " tasks were";
  error.message += " (" + std::to_string(redriven) + some + " put back to PENDING before that)";
  return error;
}

constexpr std::string_view kTaskList = "tasks";

// The place where a page ended is the encoded key.
std::string to_cursor(const Item& key) {
  if (key.empty()) return {};
  std::string bytes;
  append_encoded(bytes, key);
  return make_cursor(kTaskList, bytes);
}

Result<Item> from_cursor(std::string_view cursor) {
  const auto bytes = place_of_cursor(kTaskList, cursor);
  if (!bytes) return fail(bytes.error());
  return bytes->empty() ? Result<Item>(Item()) : decode_item(*bytes);
}

bool is_listed(const ItemRef& task, const ListInput& input, WallTime now) {
  if (!matches(task, input.where)) return false;
  if (input.older_than) {
    const WallTime created(milliseconds(int_of(task, attribute::kCreated, 0)));
    if (now - created < *input.older_than) return false;
  }
  if (input.text.empty()) return true;
  std::string json;
  append_plain_json(json, task);
  return json.find(input.text) != std::string::npos;
}

}  // namespace

Async<Result<ItemRef>> Queue::get(std::string id) {
  if (gone_) co_return fail(*gone_);
  if (id.empty()) co_return invalid("taskId must not be empty");
  GetItemInput input;
  input.table = table_;
  input.key.set(attribute::kId, Value(id));
  auto task = co_await services_.tables.get_item(std::move(input));
  if (task && !*task) co_return fail(ErrorCode::kNotFound, "queue '" + table_ + "' has no task '" + id + "'");
  co_return task;
}

Async<Result<TaskPage>> Queue::list(ListInput input) {
  if (gone_) co_return fail(*gone_);
  if (!names_state(input.state)) {
    co_return invalid("state '" + input.state + "' is none of " + state_names());
  }
  if (input.limit < 1 || input.limit > kMaxPage) co_return invalid("limit must be from 1 to 1000");
  auto start = from_cursor(input.cursor);
  if (!start) co_return fail(start.error());
  QueryInput query;
  query.table = table_;
  query.index = index_;
  query.key_condition = "taskStatus = :s";
  query.placeholders.values.set(":s", Value(input.state));
  query.forward = input.oldest_first;
  query.limit = input.limit;
  query.exclusive_start_key = std::move(*start);
  TaskPage out;
  if (auto never = never_matches(input.where)) co_return fail(std::move(*never));
  bool is_first = input.cursor.empty();
  do {
    const uint64_t room = input.limit - out.tasks.size();
    query.limit = static_cast<uint32_t>(input.filters() ? std::min<uint64_t>(room, kMostLookedAt - out.looked) : room);
    // A cursor is the caller's, who may have made it up.
    auto reading = is_first ? read_index(query) : services_.tables.query(query);
    auto page = co_await reading;
    if (!page) co_return fail(page.error());
    is_first = false;
    out.looked += page->items.size();
    for (auto& task : page->items) {
      if (is_listed(task, input, wall())) out.tasks.push_back(std::move(task));
    }
    query.exclusive_start_key = std::move(page->last_evaluated_key);
    if (query.exclusive_start_key.empty() || out.tasks.size() >= input.limit || !input.filters()) break;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (out.looked < kMostLookedAt);
  out.cursor = to_cursor(query.exclusive_start_key);
  co_return out;
}

Async<std::vector<Result<ItemRef>>> Queue::cancel(std::vector<std::string> ids) {
  if (gone_) co_return std::vector<Result<ItemRef>>(ids.size(), fail(*gone_));
  std::vector<Result<ItemRef>> out;
  for (auto& id : ids) {
    auto cancelled = co_await cancel_one(std::move(id));
    out.push_back(std::move(cancelled));
  }
  co_return out;
}

Async<Result<ItemRef>> Queue::cancel_one(std::string id) {
  // A few times, as the task may move between the read and the write.
  for (int tries = 0; tries < 5; ++tries) {
    auto task = co_await get(id);
    if (!task) co_return fail(task.error());
    auto status = text_of(*task, attribute::kStatus);
    EditItemInput write;
    if (status == state::kPending || status == state::kDelayed) {
      write = kept(end_waiting(table_, *task, state::kCancelled, {}, {}, wall()), settings_.keep, wall());
    } else if (status == state::kTaken) {
      write = request_cancel(table_, *task, wall());
    } else if (status == state::kCancelled) {
      co_return *task;
    } else {
      co_return fail(ErrorCode::kConflict, "task '" + id + "' cannot be cancelled: it is " + std::string(status));
    }
    auto answer = co_await edit(std::move(write));
    if (answer) {
      core_.claims.saw_written(answer->attributes);
      co_return std::move(answer->attributes);
    }
    if (answer.error().code != ErrorCode::kConditionalCheckFailed) co_return fail(answer.error());
  }
  co_return fail(ErrorCode::kConflict, "task '" + id + "' keeps moving: try again");
}

Async<Result<uint64_t>> Queue::redrive(RedriveInput input) {
  if (gone_) co_return fail(*gone_);
  constexpr std::array kUndone = {state::kDead, state::kFailure, state::kCancelled, state::kShed};
  if (std::find(kUndone.begin(), kUndone.end(), input.state) == kUndone.end())
    co_return invalid("state '" + input.state + "' cannot be redriven: it must be DEAD, FAILURE, CANCELLED or SHED");
  if (input.limit < 1) co_return invalid("limit must be at least 1");
  if (auto never = never_matches(input.where)) co_return fail(std::move(*never));
  std::vector<ItemRef> tasks;
  for (auto& id : input.ids) {
    auto task = co_await get(std::move(id));
    if (!task) co_return fail(task.error());
    const bool chosen = text_of(*task, attribute::kStatus) == input.state && matches(*task, input.where);
    if (chosen && tasks.size() < input.limit) {
      tasks.push_back(std::move(*task));
    }
  }
  uint64_t done = 0;
  if (!input.ids.empty()) {
    auto moved = co_await redrive_tasks(std::move(tasks), done);
    if (!moved) co_return fail(after(done, moved.error()));
    co_return done;
  }
  Item start;
  while (done < input.limit) {
    const uint32_t left = input.limit - static_cast<uint32_t>(done);
    uint32_t most = kMaxPage;
    if (input.where.empty()) most = std::min(left, kMaxPage);
    auto page = co_await heads(input.state, most, false, std::move(start));
    if (!page) co_return fail(after(done, page.error()));
    std::erase_if(page->items, [&](const ItemRef& task) { return !matches(task, input.where); });
    if (page->items.size() > left) page->items.resize(left);
    auto moved = co_await redrive_tasks(std::move(page->items), done);
    if (!moved) co_return fail(after(done, moved.error()));
    start = std::move(page->last_evaluated_key);
    if (start.empty()) break;
    co_await sleep_for(services_.scheduler, nanoseconds(0));  // There may be many that do not match.
  }
  co_return done;
}

// Before a task that was seen at its end is put back: it is not to be replaced any more, whatever the store refused.
void Queue::redrives(const ItemRef& task) {
  const auto key = key_of(task);
  if (core_.keys.has_ended(task, key)) key_freed(key);
}

// Counts in `done` those that are PENDING then. The first refusal, if there is any.
Async<Result<void>> Queue::redrive_tasks(std::vector<ItemRef> tasks, uint64_t& done) {
  std::vector<EditItemInput> writes;
  for (const auto& task : tasks) {
    redrives(task);
    writes.emplace_back(
        freshet::redrive(definition_, task, core_.lanes.of_pending(task), settings_.default_ttl, wall()));
  }
  Result<void> out;
  auto answers = co_await services_.tables.edit_many(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) {
    auto& answer = answers[i];
    if (answer) {
      ++done;
      redriven(tasks[i], answer->attributes);
    } else if (answer.error().code != ErrorCode::kConditionalCheckFailed && out) {
      out = fail(answer.error());
    }
  }
  co_return out;
}

std::string Queue::state_now() {
  if (core_.agenda.draining()) return "draining";
  if (core_.pauses.all()) return "paused";
  return core_.limits.downstream().trouble ? "breaker open" : "running";
}

Async<Result<QueueStats>> Queue::stats() {
  if (gone_) co_return fail(*gone_);
  auto books = co_await services_.tables.books(table_);
  if (!books) co_return fail(books.error());
  QueueStats out;
  for (auto status : state::kAll) out.depth[std::string(status)] = 0;
  for (auto& [status, count] : books->stock) out.depth[status] = count;
  out.bytes = books->bytes;
  out.balanced = check_balance(*books).has_value();
  for (auto& [arrow, count] : books->flow) out.flow[arrow.from + "->" + arrow.to] += count;
  out.shed = shed_by_reason(*books, shed_log_->counts());
  out.shed_total = 0;
  for (const auto& [reason, count] : out.shed) out.shed_total += count;
  for (bool oldest : {false, true}) {
    auto page = co_await heads(state::kPending, 1, oldest, Item());
    if (!page) co_return fail(page.error());
    if (page->items.empty()) continue;
    // A client may have written any number.
    auto created = WallTime(milliseconds(std::max<int64_t>(int_of(page->items[0], attribute::kCreated, 0), 0)));
    (oldest ? out.oldest : out.newest) = created;
  }
  out.running = core_.claims.leases().mine();
  out.runner = runner_name(settings_.runner);
  out.runner_trouble = core_.limits.downstream().trouble;
  out.clock_doubted = !wall_guard_.trusted();
  out.state = state_now();
  if (core_.limits.on()) {
    const char* by = settings_.limits.by_key ? "key" : "group";
    out.key_limits = KeyLimitStats{by, core_.limits.by_name().at_limit(), core_.limits.by_name().known(),
                                   core_.limits.by_name().bytes()};
  }
  if (const double rate = core_.limits.downstream().starts_a_second(settings_.work); rate > 0) {
    auto& limit = out.rate_limit.emplace(RateLimitStats{rate});
    if (const auto& learner = core_.limits.downstream().rate) {
      const auto pause = std::chrono::ceil<milliseconds>(learner->paused_until() - boot());
      limit.learnt = true;
      limit.concurrency = learner->concurrency();
      limit.paused_ms = static_cast<uint64_t>(std::max(pause, milliseconds(0)).count());
    }
  }
  if (settings_.runner != RunnerKind::kNone) {
    const auto& learner = core_.limits.downstream().concurrency;
    const auto most = learner ? learner->limit() : static_cast<size_t>(settings_.work.concurrency);
    out.concurrency = ConcurrencyStats{most, learner.has_value()};
  }
  out.pauses = core_.pauses.list();
  out.in_time = punctuality_.stats(boot());
  out.guard = guard_state();
  co_return out;
}

}  // namespace freshet
