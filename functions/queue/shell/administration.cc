#include "functions/queue/shell/administration.h"

#include <algorithm>
#include <array>

#include "base/cursor.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/where.h"
#include "functions/queue/shell/parts.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

constexpr uint32_t kMaxPage = 1000;
constexpr uint64_t kMostLookedAt = 2000;  // The most tasks that one list with a filter reads.

bool names_state(std::string_view name) {
  return std::find(state::kAll.begin(), state::kAll.end(), name) != state::kAll.end();
}

std::string state_names() {
  std::string out;
  for (auto name : state::kAll) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

// A client whose request fails in the middle must learn what is already done.
Error after(uint64_t redriven, Error error) {
  if (redriven == 0) return error;
  const std::string some = redriven == 1 ? " task was" : " tasks were";
  error.message += " (" + std::to_string(redriven) + some + " put back to PENDING before that)";
  return error;
}

constexpr std::string_view kTaskList = "tasks";

// The cursor is the encoded key at which the page ended.
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

Async<Result<ItemRef>> Administration::get(std::string id) {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
  if (id.empty()) co_return invalid("taskId must not be empty");
  GetItemInput input;
  input.table = table_;
  input.key.set(attribute::kId, Value(id));
  auto task = co_await services_.tables.get_item(std::move(input));
  if (task && !*task) co_return fail(ErrorCode::kNotFound, "queue '" + table_ + "' has no task '" + id + "'");
  co_return task;
}

Async<Result<TaskPage>> Administration::list(ListInput input) {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
  if (!names_state(input.state)) {
    co_return invalid("state '" + input.state + "' is none of " + state_names());
  }
  if (input.limit < 1 || input.limit > kMaxPage) co_return invalid("limit must be from 1 to 1000");
  auto start = from_cursor(input.cursor);
  if (!start) co_return fail(start.error());
  QueryInput query = parts_.table.in_state(input.state);
  query.forward = input.oldest_first;
  query.limit = input.limit;
  query.exclusive_start_key = std::move(*start);
  TaskPage out;
  if (auto never = never_matches(input.where)) co_return fail(std::move(*never));
  bool is_first = input.cursor.empty();
  const bool is_indexed = layout_.indexes(input.state);
  const bool sifts = input.filters() || !is_indexed;
  do {
    const uint64_t room = input.limit - out.tasks.size();
    query.limit = static_cast<uint32_t>(sifts ? std::min<uint64_t>(room, kMostLookedAt - out.looked) : room);
    // The caller may have made the cursor up.
    auto reading = is_first || !is_indexed ? parts_.table.read_state(query) : services_.tables.query(query);
    auto page = co_await reading;
    if (!page) co_return fail(page.error());
    is_first = false;
    out.looked += is_indexed ? page->items.size() : page->scanned;
    query.exclusive_start_key = std::move(page->last_evaluated_key);
    for (auto& task : page->items) {
      if (text_of(task, attribute::kStatus) != input.state || !is_listed(task, input, wall())) continue;
      if (out.tasks.size() == input.limit) {  // A scan brings more than it was asked for.
        query.exclusive_start_key = Item();
        query.exclusive_start_key.set(attribute::kId, Value(text_of(out.tasks.back(), attribute::kId)));
        break;
      }
      out.tasks.push_back(std::move(task));
    }
    if (query.exclusive_start_key.empty() || out.tasks.size() >= input.limit || !sifts) break;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (out.looked < kMostLookedAt);
  out.cursor = to_cursor(query.exclusive_start_key);
  co_return out;
}

Async<std::vector<Result<ItemRef>>> Administration::cancel(std::vector<std::string> ids) {
  if (parts_.table.gone()) co_return std::vector<Result<ItemRef>>(ids.size(), fail(*parts_.table.gone()));
  std::vector<Result<ItemRef>> out;
  for (auto& id : ids) {
    auto cancelled = co_await cancel_one(std::move(id));
    out.push_back(std::move(cancelled));
  }
  co_return out;
}

Async<Result<ItemRef>> Administration::cancel_one(std::string id) {
  // It tries a few times, because the task may move between the read and the write.
  for (int tries = 0; tries < 5; ++tries) {
    auto task = co_await get(id);
    if (!task) co_return fail(task.error());
    auto status = text_of(*task, attribute::kStatus);
    EditItemInput write;
    if (status == state::kPending || status == state::kDelayed) {
      write = kept(end_waiting(table_, *task, state::kCancelled, {}, {}, wall()), settings_.keep, counted_from());
    } else if (status == state::kTaken) {
      write = request_cancel(table_, *task, wall());
    } else if (status == state::kCancelled) {
      co_return *task;
    } else {
      co_return fail(ErrorCode::kConflict, "task '" + id + "' cannot be cancelled: it is " + std::string(status));
    }
    auto answer = co_await parts_.table.edit(std::move(write));
    if (answer) {
      core_.claims.saw_written(answer->attributes);
      co_return std::move(answer->attributes);
    }
    if (answer.error().code != ErrorCode::kConditionalCheckFailed) co_return fail(answer.error());
  }
  co_return fail(ErrorCode::kConflict, "task '" + id + "' keeps moving: try again");
}

Async<Result<uint64_t>> Administration::redrive(RedriveInput input) {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
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
    auto page = co_await parts_.table.heads(input.state, most, false, std::move(start));
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

// Counts in `done` the tasks that became PENDING. Returns the first refusal, if there is one.
Async<Result<void>> Administration::redrive_tasks(std::vector<ItemRef> tasks, uint64_t& done) {
  std::vector<EditItemInput> writes;
  for (const auto& task : tasks) {
    parts_.keyed.redrives(task);
    writes.emplace_back(freshet::redrive(parts_.table.definition(), task, core_.lanes.of_pending(task),
                                         settings_.default_ttl, wall(), counted_from()));
  }
  Result<void> out;
  auto answers = co_await sure_.edit(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) {
    auto& answer = answers[i];
    if (answer) {
      ++done;
      parts_.counts.redriven(tasks[i], answer->attributes);
    } else if (answer.error().code != ErrorCode::kConditionalCheckFailed && out) {
      out = fail(answer.error());
    }
  }
  co_return out;
}

}  // namespace freshet
