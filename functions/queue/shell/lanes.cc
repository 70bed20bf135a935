// A queue with lanes (priority, group). docs/lifecycle.md, "Lanes".
//
// A queue has lanes from the first task on that names a priority or a group; from then on every PENDING task has one of
// them. What clients put gets its lane in adoption.cc.
#include <algorithm>
#include <set>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

bool may_go_on(const FairShares::Given& given, const std::string& share) {
  const auto had = given.find(share);
  return had == given.end() || had->second != FairShares::kPassed;
}

}  // namespace

struct TaskFinder::LaneRead {
  static constexpr int kMostRounds = 6;

  std::vector<ItemRef> tasks;  // Those that can be taken.
  size_t given = 0;            // The number of them.
  Walk next;                   // From where there may be more.
  bool more = true;
  bool urgent = false;  // The order is ORDER=deadline.
  bool passed = false;  // Tasks were passed over whose group or key is at its limit.
  int rounds = 0;

  // True if it is worth while to read on after all that was read is given or passed over.
  bool goes_on() { return passed && more && ++rounds < kMostRounds; }
};

// The lanes of keys of a share are merged: those that were read have their heads in order, and a lane is read only if
// its next task may come before the first of these.
struct TaskFinder::KeysRead {
  explicit KeysRead(size_t wanted) : most(2 * wanted + 64) {}

  const size_t most;  // Lanes that it looks at.
  size_t looked = 0;
  // Lanes, besides, of which all tasks were passed over. There may be as many as there are keys in work. A take that
  // has looked at more does not go on at once: it would find the same.
  static constexpr size_t kMostPassed = 4096;
  size_t passed = 0;
  bool cut = false;  // There may be more than it may look at.
  std::map<std::string, LaneRead, std::less<>> lanes;
  std::set<FairShares::Place> heads;
  std::optional<FairShares::Place> last;  // The last one that was looked at.
};

Async<Result<Page>> TaskFinder::lane_heads(std::string lane, uint32_t limit, bool newest_first, Item start) {
  QueryInput query;
  query.table = table_;
  query.index = std::string(kLaneIndex);
  query.key_condition = "lane = :l AND taskCreated <= :t";
  query.filter = "taskStatus = :s";  // A client may have ended one and left its lane, until the stream tells.
  query.placeholders.values.append_sorted(":l", Value(std::move(lane)));
  query.placeholders.values.append_sorted(":s", Value(state::kPending));
  query.placeholders.values.append_sorted(":t", Value::number(epoch_ms(parts_.table.created_bound())));
  query.forward = !newest_first;
  query.limit = limit;
  query.exclusive_start_key = std::move(start);
  return parts_.table.read_index(std::move(query));
}

Async<Result<TaskFinder::WalkPage>> TaskFinder::lane_page(std::string lane, uint32_t limit, bool newest_first,
                                                          Walk walk) {
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
Async<Result<void>> TaskFinder::read_lane(std::string lane, LaneRead& read, size_t wanted, bool newest_first) {
  constexpr int kMostPages = 12;
  constexpr size_t kMost = 1000;  // Tasks in a page.
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
ItemRef TaskFinder::next_of_lane(std::string_view lane, LaneRead& read, ChosenByName& chosen) {
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
Async<Result<TaskFinder::Candidates>> TaskFinder::lane_candidates(size_t wanted) {
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
    for (const auto lane : core_.lanes.turns(wanted - out.tasks.size(), given, boot()))
      ++shares[turns.emplace_back(lane)];
    if (turns.empty()) break;
    for (const auto& [lane, share] : shares) {
      if (core_.limits.on() && core_.limits.is_full(lane, boot())) {
        given[lane] = FairShares::kPassed;
        ++held;
      }
      if (core_.lanes.shares().is_divided(lane) || !may_go_on(given, lane)) continue;
      std::string name = lane;
      if (reads.find(lane) == reads.end()) reads[lane].urgent = core_.by_deadline(lane);
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
    auto oldest = co_await parts_.table.heads(state::kPending, 1, true, Item());
    if (oldest && !oldest->items.empty()) out.oldest = int_of(oldest->items[0], attribute::kCreated, 0);
  }
  co_return out;
}

// Reads the lane of a key, or that of the share's tasks without one, from its beginning.
Async<Result<void>> TaskFinder::open_lane(std::string lane, KeysRead& read, bool newest_first) {
  if (is_key_lane(lane) && core_.pauses.holds_key(lane_key(lane))) co_return Result<void>();
  ++read.looked;
  LaneRead& its = read.lanes[lane];
  if (core_.limits.on() && core_.limits.is_full(lane, boot())) co_return Result<void>();
  its.urgent = core_.by_deadline(lane);
  std::string name = lane;
  auto done = co_await read_lane(std::move(name), its, 1, newest_first);
  if (!done) co_return fail(done.error());
  if (its.tasks.empty() && core_.lanes.shares().may_hold(lane)) {
    --read.looked;
    ++read.passed;
  }
  if (its.tasks.empty()) co_return Result<void>();
  const int64_t place = core_.lanes.place_of(its.tasks[0]);
  core_.lanes.shares().placed(lane, place);
  read.heads.emplace(place, std::move(lane));
  co_return Result<void>();
}

// The next task of a share whose keys have lanes, in the order of the queue as far as the lanes are known; null if
// there is none that may start.
Async<Result<ItemRef>> TaskFinder::next_of_keys(std::string share, KeysRead& read, ChosenByName& chosen,
                                                bool newest_first) {
  for (;;) {
    auto next = core_.lanes.shares().next(share, read.last);
    const bool comes_first = next && (read.heads.empty() || next->first <= read.heads.begin()->first);
    const bool may_pass = read.passed < KeysRead::kMostPassed;
    if (comes_first && read.looked < read.most && may_pass) {
      read.last = next;
      if (read.lanes.contains(next->second)) continue;
      auto opened = co_await open_lane(std::move(next->second), read, newest_first);
      if (!opened) co_return fail(opened.error());
      continue;
    }
    read.cut = read.cut || (comes_first && may_pass);
    if (read.heads.empty()) co_return ItemRef();
    const std::string lane = std::move(read.heads.extract(read.heads.begin()).value().second);
    LaneRead& its = read.lanes[lane];
    ItemRef task = its.tasks[its.given++];
    const bool room = !core_.limits.on() || core_.has_room(task, chosen, now_checked());
    if (!room && is_key_lane(lane)) continue;  // Nor may the others of its key.
    if (its.given == its.tasks.size() && its.more && ++read.looked <= read.most) {
      std::string name = lane;
      auto done = co_await read_lane(std::move(name), its, 1, newest_first);
      if (!done) co_return fail(done.error());
    }
    if (its.given < its.tasks.size()) read.heads.emplace(core_.lanes.place_of(its.tasks[its.given]), lane);
    if (room) co_return task;
  }
}

}  // namespace freshet
