#include "functions/queue/shell/explanations.h"

#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/core/explainer.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/shell/parts.h"
#include "functions/queue/task_life.h"

namespace freshet {

namespace {

constexpr uint32_t kPage = 1000;
constexpr uint64_t kMostExplainedLooks = 50'000;  // The most tasks read; a filter may pass most over.
constexpr uint64_t kMostExplainedAhead = 10'000;  // A larger number is of no use to anybody.

}  // namespace

Async<Result<Explanation>> Explanations::explain(std::string id) {
  Explanation out;
  auto task = co_await parts_.admin.get(id);
  if (!task && task.error().code != ErrorCode::kNotFound) co_return fail(task.error());
  auto lines = co_await parts_.sheds.log().about(id);
  if (!lines) co_return fail(lines.error());
  out.id = std::move(id);
  const auto now = wall();
  out.life = life_of(task ? *task : ItemRef(), out.id, *lines, now);
  out.log = std::move(*lines);
  std::erase_if(out.log, [&out](const ItemRef& line) { return !names_task(line, out.id); });
  if (!task && out.log.empty()) co_return fail(task.error());
  for (auto& [name, value] : policy_environment(settings_)) out.policy.emplace_back(name, value);
  auto books = co_await services_.tables.books(table_);
  if (books) out.depth = books->stock[std::string(state::kPending)];
  if (!task) {
    out.why.push_back(
        {"gone", "it is not in the table: removed by its ttl, deleted by a client, or refused at its creation"});
    co_return out;
  }
  out.task = std::move(*task);
  out.age = now - WallTime(milliseconds(
                      std::clamp<int64_t>(int_of(out.task, attribute::kCreated, epoch_ms(now)), 0, epoch_ms(now))));
  if (const int64_t deadline = int_of(out.task, attribute::kDeadline, 0); deadline > 0) {
    out.deadline_in = WallTime(milliseconds(deadline)) - now;
  }
  if (const auto end = ttl_end(out.task, parts_.table.definition().ttl_in_milliseconds)) out.ttl_in = end->at - now;
  const bool pending = text_of(out.task, attribute::kStatus) == state::kPending;
  if (pending) {
    auto counted = co_await count_ahead(out);
    if (!counted) co_return fail(counted.error());
  }
  bool makes_room = false;
  if (text_of(out.task, attribute::kStatus) == state::kTaken && has(out.task, attribute::kReplacedBy)) {
    const auto known = co_await parts_.keyed.must_make_room(out.task);
    makes_room = !known || *known;
  }
  const Now at = now_checked();
  const bool stops = parts_.table.gone() || core_.agenda.draining();
  Explainer(core_, settings_)
      .explain(out, {at, stops, parts_.takes.anyone_waits(), makes_room, layout_.is_misplaced(out.task)});
  co_return out;
}

// The position of a task in an index, for a walk that begins beside it.
static Item place_in_index(const ItemRef& task, std::string_view partition, std::string_view sort) {
  Item place;
  for (const auto name : {std::string_view(attribute::kId), partition, sort}) {
    if (const auto value = task.find(name)) place.set(std::string(name), value->decode());
  }
  return place;
}

// The tasks of its lane that a take would choose before it. A walk begins at the task and goes back to the first one,
// so it counts the tasks of the same millisecond as takes do.
std::vector<QueryInput> Explanations::before_it(const ItemRef& task) {
  const auto lane = text_of(task, attribute::kLane);
  const auto partition = lane.empty() ? layout_.partition : attribute::kLane;
  const auto sort = lane.empty() ? layout_.sort : attribute::kCreated;
  if (core_.by_deadline(lane) && int_of(task, attribute::kDeadline, 0) > 0) {
    QueryInput query = parts_.finder.more_urgent(task);
    query.exclusive_start_key = place_in_index(task, partition, attribute::kDeadline);
    return {std::move(query)};
  }
  QueryInput query;
  query.table = table_;
  query.index = lane.empty() ? parts_.table.index() : std::string(TaskFinder::kLaneIndex);
  query.forward = core_.newest_first_in(lane, boot());
  query.key_condition =
      std::string(partition) + " = :p AND " + std::string(sort) + (query.forward ? " >= :t" : " <= :t");
  auto& values = query.placeholders.values;
  values.set(":p", Value(lane.empty() ? state::kPending : lane));
  values.set(":t", task.find(sort)->decode());
  query.exclusive_start_key = place_in_index(task, partition, sort);
  if (!lane.empty()) {
    // A client may have ended a task and left its lane; the stream shows that later.
    query.filter = "taskStatus = :s";
    values.set(":s", Value(state::kPending));
  }
  if (!core_.by_deadline(lane)) return {std::move(query)};
  query.filter += std::string(query.filter.empty() ? "" : " AND ") + "NOT deadline > :z";
  values.set(":z", Value::number(0));
  return {std::move(query), parts_.finder.with_deadline(lane)};
}

// The number of those tasks.
Async<Result<void>> Explanations::count_ahead(Explanation& out) {
  const auto created = out.task.find(attribute::kCreated);
  if (!created || created->type() != Type::kNumber) co_return Result<void>();  // In no index: never served.
  if (layout_.is_misplaced(out.task)) co_return Result<void>();                // In no index yet.
  uint64_t ahead = 0;
  uint64_t looked = 0;
  bool more = false;
  for (auto& query : before_it(out.task)) {
    query.limit = kPage;
    query.count_only = true;
    do {
      auto page = co_await parts_.table.read_index(query);
      if (!page) co_return fail(page.error());
      ahead += page->count;
      looked += page->scanned;
      query.exclusive_start_key = std::move(page->last_evaluated_key);
      more = !query.exclusive_start_key.empty();
      if (more) co_await sleep_for(services_.scheduler, nanoseconds(0));
    } while (more && ahead < kMostExplainedAhead && looked < kMostExplainedLooks);
    if (more) break;
  }
  out.ahead = ahead;
  out.ahead_at_least = more;
  co_return Result<void>();
}

}  // namespace freshet
