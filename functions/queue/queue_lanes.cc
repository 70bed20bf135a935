// A queue with lanes (priority, group). docs/lifecycle.md, "Lanes".
//
// A queue has lanes from the first task on that names a priority or a group; from then on every PENDING task has one of
// them. What clients put gets its lane in queue_adopt.cc.
#include <algorithm>
#include <set>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr size_t kMaxLanes = 1000;
constexpr std::string_view kLaneIndex = "freshet-lane-index";
constexpr int64_t kLaneSlot = -2;  // In the system table: the names of the queue's lanes.

}  // namespace

// Of a task that becomes PENDING; empty if the queue does not know its lane: the stream will show the task then.
std::string Queue::lane_of(const ItemRef& task) const {
  if (lanes_.empty()) return {};
  auto name = lane_name(task);
  return lanes_.contains(name) ? name : std::string();
}

void Queue::lane_filled(const ItemRef& task) {
  if (lacks_lane(task)) scope_.spawn(adopt_one(task));  // The stream does not show the queue's own writes.
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

// Makes the names known, durably, before a task uses them. Of more than there is room for the first are known all the
// same, and the answer is an error.
Async<Result<void>> Queue::add_lanes(std::vector<std::string> names) {
  if (lanes_.empty()) names.insert(names.begin(), lane_name(0, ""));
  std::set<std::string> fresh;
  Result<void> out;
  for (auto& name : names) {
    if (lanes_.contains(name) || fresh.contains(name)) continue;
    if (lanes_.size() + fresh.size() < kMaxLanes) {
      fresh.insert(std::move(name));
    } else {
      out = fail(ErrorCode::kLimitExceeded, "queue '" + table_ +
                                                "' has no room for another lane: a queue may have at most " +
                                                std::to_string(kMaxLanes) + " different pairs of priority and group");
    }
  }
  if (fresh.empty()) co_return out;
  UpdateItemInput update;
  update.table = ShedLog::kTable;
  update.key.set("queue", Value(table_));
  update.key.set("slot", Value::number(kLaneSlot));
  update.update = "ADD lanes :l";
  update.placeholders.values.set(":l", Value(StringSet{{fresh.begin(), fresh.end()}}));
  update.cause = Cause::kQueue;
  auto added = co_await services_.tables.update_item(std::move(update));
  if (!added) co_return fail(added.error());
  bool first = lanes_.empty();
  for (const auto& name : fresh) lanes_[name].maybe = true;
  if (first) scope_.spawn(adopt_all());
  co_return out;
}

Async<Result<Page>> Queue::lane_heads(const std::string& lane, uint32_t limit, bool newest_first) {
  QueryInput query;
  query.table = table_;
  query.index = kLaneIndex;
  query.key_condition = "lane = :l AND taskCreated <= :t";
  query.filter = "taskStatus = :s";  // A client may have ended one and left its lane, until the stream tells.
  query.placeholders.values.append_sorted(":l", Value(lane));
  query.placeholders.values.append_sorted(":s", Value(state::kPending));
  query.placeholders.values.append_sorted(":t", Value::number(epoch_ms(created_bound())));
  query.forward = !newest_first;
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
  out.newest_first = order_.newest_first(boot());
  for (size_t i = 0; i < names.size() && out.tasks.empty();) {
    auto level = lane_level(names[i]);
    size_t end = i;
    while (end < names.size() && lane_level(names[end]) == level) ++end;
    auto limit = static_cast<uint32_t>(std::min<size_t>(wanted / (end - i) + 2 + claiming_.size(), 1000));
    std::vector<LaneHeads> heads;
    for (; i < end; ++i) {
      lanes_[names[i]].maybe = false;  // Until something comes, or something is found.
      auto page = co_await lane_heads(names[i], limit, out.newest_first);
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
    out.tasks = merge_lanes(std::move(heads), wanted, out.newest_first);
    out.more = true;
  }
  co_return out;
}

}  // namespace freshet
