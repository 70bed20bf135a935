// A queue with lanes (priority, group). docs/lifecycle.md, "Lanes".
//
// A queue has lanes from the first task on that names a priority or a group; from then on every PENDING task has one of
// them. What clients put gets its lane in queue_adopt.cc.
#include <algorithm>
#include <set>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/queue_lane_reads.h"

namespace freshet {

namespace {

constexpr int64_t kLaneSlot = -2;  // In the system table: the names of the queue's lanes.

bool may_go_on(const FairShares::Given& given, const std::string& share) {
  const auto had = given.find(share);
  return had == given.end() || had->second != FairShares::kPassed;
}

}  // namespace

void Queue::lane_filled(const ItemRef& task) {
  if (core_.lanes.lacks(task)) scope_.spawn(adopt_one(task));  // The stream does not show the queue's own writes.
  core_.lanes.filled_by(task);
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
    core_.lanes.loaded(names->get_if<StringSet>()->members);
  }
  co_return Result<void>();
}

// Makes the names known before a task uses them. Of more than there is room for the first are known all the same, and
// the answer is an error. Lanes that are not stored are found again after a restart by adopt_all(), as that goes
// through all that waits, and are forgotten when they have been empty for a while.
Async<Result<void>> Queue::add_lanes(std::vector<std::string> names) {
  NewLanes lanes = core_.lanes.plan(std::move(names));
  if (lanes.stored.empty()) co_return lanes.room;
  UpdateItemInput update;
  update.table = ShedLog::kTable;
  update.key.set("queue", Value(table_));
  update.key.set("slot", Value::number(kLaneSlot));
  update.update = "ADD lanes :l";
  update.placeholders.values.set(":l", Value(StringSet{{lanes.stored.begin(), lanes.stored.end()}}));
  update.cause = Cause::kQueue;
  auto added = co_await services_.tables.update_item(std::move(update));
  if (!added) co_return fail(added.error());
  core_.lanes.stored(lanes);
  if (lanes.first) {
    scope_.spawn(adopt_all());
    core_.adopter.try_again();  // What is on its way without a lane may come behind that.
  }
  co_return lanes.room;
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
  const auto at = now();
  for (auto& task : page->items) {
    if (!core_.is_passed_over(task, at)) out.tasks.push_back(std::move(task));
  }
  out.next.key = std::move(page->last_evaluated_key);
  out.more = !out.next.key.empty();
  co_return out;
}

// Reads on until `wanted` more tasks than were given are there, or the lane has no more. What a client left in it is
// passed over, a bounded number of times.
Async<Result<void>> Queue::read_lane(std::string lane, LaneRead& read, size_t wanted, bool newest_first) {
  constexpr int kMostPages = 12;
  constexpr size_t kMost = 1000;  // Of a page.
  constexpr size_t kLonger = 4;   // The page after one of which nothing can be taken is that much longer.
  size_t least = 0;
  bool any = !read.tasks.empty();
  const uint64_t fillings = core_.lanes.shares().fillings(lane);
  for (int pages = 0; read.more && read.tasks.size() - read.given < wanted; ++pages) {
    if (pages == kMostPages) {
      read.more = false;
      co_return Result<void>();
    }
    // While the wall clock is not trusted, many tasks that look expired may stand before others.
    const size_t passed = wall_guard_.doubts() ? kMost : core_.passed_by_now();
    const auto limit = static_cast<uint32_t>(std::min(std::max(wanted + passed, least), kMost));
    std::string name = lane;
    auto reading = read.urgent ? urgent_page(std::move(name), limit, std::move(read.next))
                               : lane_page(std::move(name), limit, newest_first, std::move(read.next));
    auto page = co_await reading;
    if (!page) co_return fail(page.error());
    any = any || page->any;
    least = page->tasks.empty() ? kLonger * limit : 0;
    std::move(page->tasks.begin(), page->tasks.end(), std::back_inserter(read.tasks));
    read.next = std::move(page->next);
    read.more = page->more;
  }
  if (!any && core_.lanes.shares().fillings(lane) == fillings) core_.lanes.shares().emptied(lane);
  co_return Result<void>();
}

// The next task of those that were read from the lane of a group; null if there is none that may start.
ItemRef Queue::next_of_lane(std::string_view lane, LaneRead& read, ChosenByName& chosen) {
  while (read.given < read.tasks.size()) {
    const ItemRef& task = read.tasks[read.given++];
    if (!core_.limits.on() || core_.has_room(task, chosen, now_checked())) return task;
    if (core_.limits.name_of(task) == lane_group(lane) && !settings_.limits.by_key) return {};
    read.passed = true;
  }
  return {};
}

// The next tasks to take, as the lanes have their turns. Reads of no more lanes than it is to give tasks, but for those
// that turn out to be empty, which are not looked at again until something comes, and for those whose group or key is
// at its limit, which have no turn until it may start again.
Async<Result<Queue::Candidates>> Queue::lane_candidates(size_t wanted) {
  constexpr size_t kMostHeld = 1000;  // Looked at in vain, at a time.
  Candidates out;
  out.newest_first = settings_.order == Order::kDeadline || newest_first();
  std::map<std::string, LaneRead, std::less<>> reads;
  std::map<std::string, KeysRead, std::less<>> of_keys;
  ChosenByName chosen;
  FairShares::Given given;
  size_t held = 0;
  for (const auto group : core_.pauses.groups()) core_.lanes.shares().pass_group(group, given);
  while (out.tasks.size() < wanted && held < kMostHeld) {
    std::vector<std::string> turns;
    std::map<std::string, size_t, std::less<>> shares;
    for (const auto lane : core_.lanes.shares().turns(wanted - out.tasks.size(), given))
      ++shares[turns.emplace_back(lane)];
    if (turns.empty()) break;
    for (const auto& [lane, share] : shares) {
      if (core_.limits.on() && core_.limits.is_full(lane, boot())) {
        given[lane] = FairShares::kPassed;
        ++held;
      }
      if (core_.lanes.shares().is_divided(lane) || !may_go_on(given, lane)) continue;
      std::string name = lane;
      if (reads.find(lane) == reads.end()) reads[lane].urgent = by_deadline(lane);
      auto done = co_await read_lane(std::move(name), reads[lane], share, out.newest_first);
      if (!done) co_return fail(done.error());
    }
    for (auto& lane : turns) {
      if (!may_go_on(given, lane)) continue;
      ItemRef task;
      if (core_.lanes.shares().is_divided(lane)) {
        std::string name = lane;
        auto& read = of_keys.try_emplace(lane, wanted).first->second;
        auto next = co_await next_of_keys(std::move(name), read, chosen, out.newest_first);
        if (!next) co_return fail(next.error());
        task = std::move(*next);
        out.cut = out.cut || read.cut;
      } else {
        task = next_of_lane(lane, reads[lane], chosen);
      }
      if (task) {
        out.tasks.push_back(std::move(task));
        ++given[lane];
      } else if (!reads[lane].goes_on()) {
        given[lane] = FairShares::kPassed;
      }
    }
  }
  out.cut = out.cut || held >= kMostHeld;
  out.more = out.tasks.size() == wanted || out.cut;
  if (settings_.order == Order::kAdaptive && !out.newest_first && !out.tasks.empty()) {
    auto oldest = co_await heads(state::kPending, 1, true, Item());
    if (oldest && !oldest->items.empty()) out.oldest = int_of(oldest->items[0], attribute::kCreated, 0);
  }
  co_return out;
}

// Looks at lanes that are thought to be empty, whatever told so: a level, not an edge.
Async<void> Queue::check_lanes() {
  size_t looked = 0;
  for (auto names = core_.lanes.next_to_check(looked); !names.empty(); names = core_.lanes.next_to_check(looked)) {
    looked += names.size();
    for (auto& name : names) {
      std::string lane = name;
      auto page = co_await lane_heads(std::move(lane), 1, true, Item());
      std::optional<bool> holds;
      if (page) holds = !page->items.empty() || !page->last_evaluated_key.empty();
      core_.lanes.checked(std::move(name), holds, boot());
      if (holds && *holds) wake();
    }
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  core_.lanes.check_ended();
}

}  // namespace freshet
