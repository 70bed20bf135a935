// ORDER=deadline: the walk through what waits, the most urgent first that has enough time. policy/urgency.h says what
// is enough; docs/overload-experiments.md how well that does.
#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

// The least that is read beyond the first page, where many may have to be passed over. Of those that have enough time
// that are the ones dated ahead, of which there may be thousands.
constexpr uint32_t kSieved = 32;
constexpr uint32_t kEnoughSieved = 512;

WallTime created_at(const ItemRef& task) {
  return WallTime(milliseconds(std::max<int64_t>(int_of(task, attribute::kCreated, 0), 0)));
}

WallTime deadline_of(const ItemRef& task) {
  return WallTime(milliseconds(std::max<int64_t>(int_of(task, attribute::kDeadline, 0), 0)));
}

}  // namespace

// Tasks of one part of the walk, of a lane or, if that is empty, of the queue.
QueryInput TaskFinder::urgent_query(std::string_view lane, const Walk& walk) const {
  QueryInput query;
  query.table = table_;
  auto& values = query.placeholders.values;
  const std::string of_lane = lane.empty() ? "taskStatus = :p AND " : "lane = :p AND ";
  values.set(":p", Value(lane.empty() ? state::kPending : lane));
  if (!lane.empty()) {
    // A client may have ended one and left its lane, until the stream tells.
    query.filter = "taskStatus = :s";
    values.set(":s", Value(state::kPending));
  }
  if (walk.part == Walk::Part::kNoDeadline) {
    query.index = lane.empty() ? parts_.table.index() : std::string(kLaneIndex);
    query.key_condition = of_lane + "taskCreated <= :t";
    values.set(":t", Value::number(epoch_ms(parts_.table.created_bound())));
    return query;
  }
  query.index = lane.empty() ? kDeadlineIndex : kLaneDeadlineIndex;
  const int64_t enough = std::max<int64_t>(epoch_ms(*walk.enough), 1);
  values.set(":e", Value::number(enough));
  if (walk.part == Walk::Part::kEnough) {
    query.key_condition = of_lane + "deadline >= :e";
  } else {
    query.key_condition = of_lane + "deadline BETWEEN :n AND :e";
    values.set(":n", Value::number(std::clamp<int64_t>(epoch_ms(walk.began), 1, enough)));
    query.forward = false;
  }
  return query;
}

bool TaskFinder::is_next(const ItemRef& task, const Walk& walk, WallTime now, const Now& at) {
  if (core_.is_passed_over(task, at) ||
      int_of(task, attribute::kCreated, kNever) > epoch_ms(parts_.table.created_bound()))
    return false;
  switch (walk.part) {
    case Walk::Part::kEnough:
      return true;
    case Walk::Part::kLess:
      return deadline_of(task) > now && deadline_of(task) < *walk.enough &&
             core_.window.is_worth_it(created_at(task), deadline_of(task), now, boot());
    case Walk::Part::kNoDeadline:
      return int_of(task, attribute::kDeadline, 0) <= 0;
  }
  return false;
}

// A task past its deadline is in none of the parts: the queue's timer sheds it. Nor is one that is not worth a slot.
Async<Result<TaskFinder::WalkPage>> TaskFinder::urgent_page(std::string lane, uint32_t limit, Walk walk) {
  const auto now = wall();
  if (walk.enough) {
    limit = std::max(limit, walk.part == Walk::Part::kEnough ? kEnoughSieved : kSieved);
  } else {
    walk.enough = core_.window.enough(now, boot());
    walk.began = now;
  }
  QueryInput query = urgent_query(lane, walk);
  query.limit = limit;
  query.exclusive_start_key = std::move(walk.key);
  auto page = co_await parts_.table.read_index(std::move(query));
  if (!page) co_return fail(page.error());
  WalkPage out;
  out.any = !page->items.empty();
  const auto at = this->now();
  for (auto& task : page->items) {
    if (is_next(task, walk, now, at)) out.tasks.push_back(std::move(task));
  }
  out.next = std::move(walk);
  out.next.key = std::move(page->last_evaluated_key);
  // Those that have even less are hardly worth it where all of a page are not.
  if (out.next.part == Walk::Part::kLess && out.tasks.empty()) out.next.key = Item();
  if (out.next.key.empty()) {
    out.more = out.next.part != Walk::Part::kNoDeadline;
    out.next.part = out.next.part == Walk::Part::kEnough ? Walk::Part::kLess : Walk::Part::kNoDeadline;
  }
  co_return out;
}

// The tasks that a take would choose before a PENDING one that has a deadline: the walk from it back to the first.
QueryInput TaskFinder::more_urgent(const ItemRef& task) {
  const auto now = wall();
  Walk walk;
  walk.enough = core_.window.enough(now, boot());
  QueryInput query = urgent_query(text_of(task, attribute::kLane), walk);
  const auto deadline = deadline_of(task);
  auto& values = query.placeholders.values;
  const std::string of_lane = query.index == kDeadlineIndex ? "taskStatus = :p AND " : "lane = :p AND ";
  values.set(":d", task.find(attribute::kDeadline)->decode());  // A client's may have a fraction.
  query.forward = deadline < *walk.enough;
  if (query.forward) {
    // All that have enough, and those that have less but more than it.
    query.key_condition = of_lane + "deadline >= :d";
    values.erase(":e");
  } else {
    query.key_condition = of_lane + "deadline BETWEEN :e AND :d";
  }
  return query;
}

// The tasks with a deadline that a take would choose before one without.
QueryInput TaskFinder::with_deadline(std::string_view lane) {
  Walk walk;
  walk.enough = wall();
  return urgent_query(lane, walk);
}

}  // namespace freshet
