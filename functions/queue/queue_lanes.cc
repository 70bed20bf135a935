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
constexpr int64_t kLaneSlot = -2;  // In the system table: the names of the queue's lanes.

}  // namespace

// The lane of a task that becomes PENDING; empty if the queue does not know it: the stream will show the task then.
std::string Queue::lane_of(const ItemRef& task) const {
  if (lanes_.empty()) return {};
  auto name = lane_name(task);
  return lanes_.contains(name) ? name : std::string();
}

void Queue::lane_filled(const ItemRef& task) {
  if (lacks_lane(task)) scope_.spawn(adopt_one(task));  // The stream does not show the queue's own writes.
  if (!lanes_.empty()) lanes_.filled(lane_name(task));
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
    for (const auto& name : names->get_if<StringSet>()->members) lanes_.add(name);
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
  for (const auto& name : fresh) lanes_.add(name);
  if (first) scope_.spawn(adopt_all());
  co_return out;
}

Async<Result<Page>> Queue::lane_heads(std::string lane, uint32_t limit, bool newest_first, Item start) {
  QueryInput query;
  query.table = table_;
  query.index = std::string(kLaneIndex);
  query.key_condition = "lane = :l AND taskCreated <= :t";
  query.filter = "taskStatus = :s";  // A client may have ended one and left its lane, until the stream tells.
  query.placeholders.values.append_sorted(":l", Value(std::move(lane)));
  query.placeholders.values.append_sorted(":s", Value(state::kPending));
  query.placeholders.values.append_sorted(":t", Value::number(epoch_ms(created_bound())));
  query.forward = !newest_first;
  query.limit = limit;
  query.exclusive_start_key = std::move(start);
  return read_index(std::move(query));
}

Async<Result<Queue::WalkPage>> Queue::lane_page(std::string lane, uint32_t limit, bool newest_first, Walk walk) {
  auto page = co_await lane_heads(std::move(lane), limit, newest_first, std::move(walk.key));
  if (!page) co_return fail(page.error());
  WalkPage out;
  out.any = !page->items.empty();
  for (auto& task : page->items) {
    if (!is_passed_over(task)) out.tasks.push_back(std::move(task));
  }
  out.next.key = std::move(page->last_evaluated_key);
  out.more = !out.next.key.empty();
  co_return out;
}

struct Queue::LaneRead {
  std::vector<ItemRef> tasks;  // Those that can be taken.
  size_t given = 0;            // Of them.
  Walk next;                   // From where there may be more.
  bool more = true;
  bool urgent = false;  // The order is ORDER=deadline.
};

// Reads on until `wanted` more tasks than were given are there, or the lane has no more. What a client left in it is
// passed over, a bounded number of times.
Async<Result<void>> Queue::read_lane(std::string lane, LaneRead& read, size_t wanted, bool newest_first) {
  constexpr int kMostPages = 6;
  bool any = !read.tasks.empty();
  const uint64_t fillings = lanes_.fillings(lane);
  for (int pages = 0; read.more && read.tasks.size() - read.given < wanted; ++pages) {
    if (pages == kMostPages) {
      read.more = false;
      co_return Result<void>();
    }
    // While the wall clock is not trusted, many tasks that look expired may stand before others.
    const size_t passed = wall_guard_.doubts() ? 1000 : claiming_.size() + passed_keys_.size();
    const auto limit = static_cast<uint32_t>(std::min<size_t>(wanted + passed, 1000));
    std::string name = lane;
    auto reading = read.urgent ? urgent_page(std::move(name), limit, std::move(read.next))
                               : lane_page(std::move(name), limit, newest_first, std::move(read.next));
    auto page = co_await reading;
    if (!page) co_return fail(page.error());
    any = any || page->any;
    std::move(page->tasks.begin(), page->tasks.end(), std::back_inserter(read.tasks));
    read.next = std::move(page->next);
    read.more = page->more;
  }
  if (!any && lanes_.fillings(lane) == fillings) lanes_.emptied(lane);
  co_return Result<void>();
}

// The next tasks to take, as the lanes have their turns. Reads of no more lanes than it is to give tasks, but for those
// that turn out to be empty, which are not looked at again until something comes.
Async<Result<Queue::Candidates>> Queue::lane_candidates(size_t wanted) {
  Candidates out;
  out.newest_first = settings_.order == Order::kDeadline || newest_first();
  std::map<std::string, LaneRead, std::less<>> reads;
  FairShares::Given given;
  while (out.tasks.size() < wanted) {
    std::vector<std::string> turns;
    std::map<std::string, size_t, std::less<>> shares;
    for (const auto lane : lanes_.turns(wanted - out.tasks.size(), given)) ++shares[turns.emplace_back(lane)];
    if (turns.empty()) break;
    for (const auto& [lane, share] : shares) {
      std::string name = lane;
      if (reads.find(lane) == reads.end()) reads[lane].urgent = by_deadline(lane);
      auto done = co_await read_lane(std::move(name), reads[lane], share, out.newest_first);
      if (!done) co_return fail(done.error());
    }
    for (auto& lane : turns) {
      LaneRead& read = reads[lane];
      if (read.given < read.tasks.size()) {
        out.tasks.push_back(read.tasks[read.given++]);
        ++given[lane];
      } else {
        given[lane] = FairShares::kPassed;
      }
    }
  }
  out.more = out.tasks.size() == wanted;
  if (settings_.order == Order::kAdaptive && !out.newest_first && !out.tasks.empty()) {
    auto oldest = co_await heads(state::kPending, 1, true, Item());
    if (oldest && !oldest->items.empty()) out.oldest = int_of(oldest->items[0], attribute::kCreated, 0);
  }
  co_return out;
}

// Lanes that are thought to be empty, whatever told so: a level, not an edge.
Async<void> Queue::check_lanes() {
  constexpr size_t kAtOnce = 32;
  std::string last;
  for (;;) {
    auto names = lanes_.idle(last, kAtOnce);
    if (names.empty()) break;
    for (auto& name : names) {
      std::string lane = name;
      auto page = co_await lane_heads(std::move(lane), 1, true, Item());
      if (page && (!page->items.empty() || !page->last_evaluated_key.empty())) {
        lanes_.filled(name);
        wake();
      }
      last = std::move(name);
    }
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  checking_lanes_ = false;
}

}  // namespace freshet
