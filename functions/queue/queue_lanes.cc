// A queue with lanes (priority, group). docs/lifecycle.md, "Lanes".
//
// A queue has lanes from the first task on that asks for a priority or a group; from then on every PENDING task has
// one. Tasks that clients put without a lane get theirs when the stream shows them; those that were there before get
// theirs newest first, in the background.
#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr size_t kMaxLanes = 1000;
constexpr std::string_view kLaneIndex = "freshet-lane-index";
constexpr int64_t kLaneSlot = -2;  // In the system table: the names of the queue's lanes.

}  // namespace

std::string Queue::lane_of(const ItemRef& task) const {
  return lanes_.empty() ? std::string() : lane_name(task);
}

void Queue::lane_filled(const ItemRef& task) {
  if (lanes_.empty()) return;
  auto it = lanes_.find(lane_name(task));
  if (it != lanes_.end()) it->second.maybe = true;
}

Async<Result<void>> Queue::load_lanes() {
  GetItemInput input;
  input.table = ShedLog::kTable;
  input.key.set("queue", Value(table_));
  input.key.set("slot", Value::number(kLaneSlot));
  auto stored = co_await services_.tables.get_item(std::move(input));
  if (!stored) co_return fail(stored.error());
  if (!*stored) co_return Result<void>();
  Item item = stored->decode();
  const Value* names = item.find("lanes");
  if (names && names->get_if<StringSet>()) {
    for (const auto& name : names->get_if<StringSet>()->members) lanes_[name].maybe = true;
  }
  co_return Result<void>();
}

// Makes the names known, durably, before a task uses them.
Async<Result<void>> Queue::add_lanes(std::vector<std::string> names) {
  StringSet fresh;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (auto& name : names) {
    if (!lanes_.contains(name)) fresh.members.push_back(std::move(name));
  }
  if (fresh.members.empty()) co_return Result<void>();
  if (lanes_.size() + fresh.members.size() > kMaxLanes) {
    co_return fail(ErrorCode::kLimitExceeded,
                   "queue '" + table_ + "' has " + std::to_string(lanes_.size()) +
                       " lanes: a queue may have at most 1000 different pairs of priority and group");
  }
  UpdateItemInput update;
  update.table = ShedLog::kTable;
  update.key.set("queue", Value(table_));
  update.key.set("slot", Value::number(kLaneSlot));
  update.update = "ADD lanes :l";
  update.placeholders.values.set(":l", Value(fresh));
  update.cause = Cause::kQueue;
  auto added = co_await services_.tables.update_item(std::move(update));
  if (!added) co_return fail(added.error());
  bool first = lanes_.empty();
  for (auto& name : fresh.members) lanes_[name].maybe = true;
  if (first) scope_.spawn(give_all_lanes());
  co_return Result<void>();
}

// Tasks that were here before the queue had lanes, or that came while nobody followed.
Async<void> Queue::give_all_lanes() {
  Item start;
  for (;;) {
    QueryInput query;
    query.table = table_;
    query.index = index_;
    query.key_condition = "taskStatus = :s";
    query.filter = "attribute_not_exists(lane)";
    query.placeholders.values.set(":s", Value(state::kPending));
    query.forward = settings_.order == Order::kOldestFirst;
    query.limit = 1000;
    query.exclusive_start_key = std::move(start);
    auto page = co_await services_.tables.query(std::move(query));
    if (!page) co_return;
    if (!page->items.empty()) {
      auto given = co_await give_lanes_to(std::move(page->items));
      if (given) wake();
    }
    start = std::move(page->last_evaluated_key);
    if (start.empty()) co_return;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
}

// To those of laneless_ that are PENDING without a lane.
Async<void> Queue::give_lanes() {
  std::vector<std::string> ids;
  ids.swap(laneless_);
  std::vector<ItemRef> tasks;
  for (auto& id : ids) {
    GetItemInput input;
    input.table = table_;
    input.key.set(attribute::kId, Value(std::move(id)));
    auto task = co_await services_.tables.get_item(std::move(input));
    if (!task || !*task) continue;
    bool laneless = text_of(*task, attribute::kStatus) == state::kPending && !has(*task, attribute::kLane);
    if (laneless) tasks.push_back(std::move(*task));
  }
  if (tasks.empty()) co_return;
  auto given = co_await give_lanes_to(std::move(tasks));
  if (given) wake();
}

Async<bool> Queue::give_lanes_to(std::vector<ItemRef> tasks) {
  std::vector<std::string> names;
  for (const auto& task : tasks) names.push_back(lane_name(task));
  auto known = co_await add_lanes(names);
  std::vector<WriteInput> writes;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!known && !lanes_.contains(names[i])) names[i] = lane_name(0, "");  // No room for its own.
    UpdateItemInput update;
    update.table = table_;
    update.key.set(attribute::kId, Value(text_of(tasks[i], attribute::kId)));
    update.update = "SET lane = :l";
    update.condition = "taskStatus = :s AND attribute_not_exists(lane)";
    update.placeholders.values.set(":l", Value(names[i]));
    update.placeholders.values.set(":s", Value(state::kPending));
    update.cause = Cause::kQueue;
    writes.emplace_back(std::move(update));
  }
  auto answers = co_await services_.tables.write_many(std::move(writes));
  bool any = false;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) continue;
    lanes_[names[i]].maybe = true;
    any = true;
  }
  co_return any;
}

Async<Result<Page>> Queue::lane_heads(const std::string& lane, uint32_t limit) {
  QueryInput query;
  query.table = table_;
  query.index = kLaneIndex;
  query.key_condition = "lane = :l AND taskCreated <= :t";
  query.placeholders.values.append_sorted(":l", Value(lane));
  query.placeholders.values.append_sorted(":t", Value::number(epoch_ms(created_bound())));
  query.forward = settings_.order == Order::kOldestFirst;
  query.limit = limit;
  return services_.tables.query(std::move(query));
}

// The next tasks to take: of the highest priority that has any. `more` says that asking again gives others, once these
// are gone.
Async<Result<Queue::Candidates>> Queue::lane_candidates(size_t wanted) {
  std::vector<std::string> names;
  for (const auto& [name, lane] : lanes_) {
    if (lane.maybe) names.push_back(name);
  }
  Candidates out;
  for (size_t i = 0; i < names.size() && out.tasks.empty();) {
    auto level = lane_level(names[i]);
    size_t end = i;
    while (end < names.size() && lane_level(names[end]) == level) ++end;
    auto limit = static_cast<uint32_t>(std::min<size_t>(wanted / (end - i) + 2 + claiming_.size(), 1000));
    std::vector<LaneHeads> heads;
    for (; i < end; ++i) {
      lanes_[names[i]].maybe = false;  // Until something comes, or something is found.
      auto page = co_await lane_heads(names[i], limit);
      if (!page) {
        lanes_[names[i]].maybe = true;
        co_return fail(page.error());
      }
      LaneHeads lane;
      lane.more = !page->last_evaluated_key.empty();
      lane.in_work = leases_.in_work(lane_group(names[i]));
      if (!page->items.empty() || lane.more) lanes_[names[i]].maybe = true;
      for (auto& task : page->items) {
        if (!is_claiming(task)) lane.tasks.push_back(std::move(task));
      }
      heads.push_back(std::move(lane));
    }
    out.tasks = merge_lanes(std::move(heads), wanted, settings_.order == Order::kNewestFirst);
    out.more = true;
  }
  co_return out;
}

}  // namespace freshet
