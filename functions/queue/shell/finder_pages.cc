// Reads the pages of a take: of the queue, of a lane (docs/lifecycle.md, "Lanes"), and of a walk by ORDER=deadline.
#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

WallTime deadline_of(const ItemRef& task) {
  return WallTime(milliseconds(std::max<int64_t>(int_of(task, attribute::kDeadline, 0), 0)));
}

}  // namespace

Async<Result<Page>> TaskFinder::read(PageAsk ask, bool to_take) {
  const bool oldest_first = ask.from == PageAsk::From::kOldest;
  if (ask.from == PageAsk::From::kDeadline) {
    QueryInput query = urgent_query(ask.lane, ask.walk);
    query.limit = ask.limit;
    query.exclusive_start_key = std::move(ask.walk.key);
    query.current_items = to_take && parts_.table.may_follow_another();
    return parts_.table.read_index(std::move(query));
  }
  if (ask.lane.empty() && to_take) return parts_.table.next_to_take(ask.limit, oldest_first, std::move(ask.walk.key));
  if (ask.lane.empty()) return parts_.table.heads(state::kPending, ask.limit, oldest_first, std::move(ask.walk.key));
  QueryInput query = lane_query(std::move(ask.lane), ask.limit, !oldest_first, std::move(ask.walk.key));
  query.current_items = to_take && parts_.table.may_follow_another();
  return parts_.table.read_index(std::move(query));
}

Async<Result<Page>> TaskFinder::lane_heads(std::string lane, uint32_t limit, bool newest_first, Item start) {
  return parts_.table.read_index(lane_query(std::move(lane), limit, newest_first, std::move(start)));
}

QueryInput TaskFinder::lane_query(std::string lane, uint32_t limit, bool newest_first, Item start) const {
  QueryInput query;
  query.table = table_;
  query.index = std::string(kLaneIndex);
  query.key_condition = "lane = :l AND taskCreated <= :t";
  query.filter = "taskStatus = :s";  // A client may have ended one and left its lane, until the stream shows it.
  query.placeholders.values.append_sorted(":l", Value(std::move(lane)));
  query.placeholders.values.append_sorted(":s", Value(state::kPending));
  query.placeholders.values.append_sorted(":t", Value::number(epoch_ms(parts_.table.created_bound())));
  query.forward = !newest_first;
  query.limit = limit;
  query.exclusive_start_key = std::move(start);
  return query;
}

// Tasks of one part of the walk: of a lane or, if `lane` is empty, of the queue.
QueryInput TaskFinder::urgent_query(std::string_view lane, const TaskWalk& walk) const {
  QueryInput query;
  query.table = table_;
  auto& values = query.placeholders.values;
  if (lane.empty() && walk.part == TaskWalk::Part::kNoDeadline) {
    return parts_.table.created_by(state::kPending, parts_.table.created_bound());
  }
  const std::string of_lane = std::string(lane.empty() ? layout_.partition : attribute::kLane) + " = :p AND ";
  values.set(":p", Value(lane.empty() ? state::kPending : lane));
  if (!lane.empty() || layout_.has_places) {
    // A client may have ended one and left its lane and its place, until they are corrected.
    query.filter = "taskStatus = :s";
    values.set(":s", Value(state::kPending));
  }
  if (walk.part == TaskWalk::Part::kNoDeadline) {
    query.index = kLaneIndex;
    query.key_condition = of_lane + "taskCreated <= :t";
    values.set(":t", Value::number(epoch_ms(parts_.table.created_bound())));
    return query;
  }
  query.index = lane.empty() ? layout_.deadline_index : kLaneDeadlineIndex;
  const int64_t enough = std::max<int64_t>(epoch_ms(*walk.enough), 1);
  values.set(":e", Value::number(enough));
  if (walk.part == TaskWalk::Part::kEnough) {
    query.key_condition = of_lane + "deadline >= :e";
  } else {
    query.key_condition = of_lane + "deadline BETWEEN :n AND :e";
    values.set(":n", Value::number(std::clamp<int64_t>(epoch_ms(walk.began), 1, enough)));
    query.forward = false;
  }
  return query;
}

// The tasks that a take would choose before a PENDING one that has a deadline: the walk from it back to the first.
QueryInput TaskFinder::more_urgent(const ItemRef& task) {
  const auto now = wall();
  TaskWalk walk;
  walk.enough = core_.times.enough(now, boot());
  QueryInput query = urgent_query(text_of(task, attribute::kLane), walk);
  const auto deadline = deadline_of(task);
  auto& values = query.placeholders.values;
  const bool is_by_state = query.index == layout_.deadline_index;
  const std::string of_lane = std::string(is_by_state ? layout_.partition : attribute::kLane) + " = :p AND ";
  values.set(":d", task.find(attribute::kDeadline)->decode());  // A client's deadline may have a fraction.
  query.forward = deadline < *walk.enough;
  if (query.forward) {
    // All tasks with enough time, and those with less time, but more than this one.
    query.key_condition = of_lane + "deadline >= :d";
    values.erase(":e");
  } else {
    query.key_condition = of_lane + "deadline BETWEEN :e AND :d";
  }
  return query;
}

// The tasks with a deadline that a take would choose before one without.
QueryInput TaskFinder::with_deadline(std::string_view lane) {
  TaskWalk walk;
  walk.enough = wall();
  return urgent_query(lane, walk);
}

}  // namespace freshet
