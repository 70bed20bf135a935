#include "functions/queue/core/take_choice.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"

namespace freshet {

namespace {

constexpr size_t kLongerPage = 4;  // If no task of a page can be taken, the next page is longer by this factor.
// The least number of tasks that ORDER=deadline reads after the first page, as many may have to be passed over. Among
// tasks with enough time, those are the ones that are dated ahead, of which there may be thousands.
constexpr uint32_t kSieved = 32;
constexpr uint32_t kEnoughSieved = 512;
constexpr int kMostLanePages = 12;  // The most pages of one lane, so that what clients left in it costs a bounded time.
constexpr size_t kMostHeld = 1000;  // The most lanes that one take looks at in vain.

WallTime time_in(const ItemRef& task, std::string_view name) {
  return WallTime(milliseconds(std::max<int64_t>(int_of(task, name, 0), 0)));
}

}  // namespace

bool is_next_by_deadline(QueueCore& core, const ItemRef& task, const TaskWalk& walk, WallTime asked, const Now& now) {
  if (core.is_passed_over(task, now) ||
      int_of(task, attribute::kCreated, kNeverMs) > epoch_ms(core.times.bound(now.wall)))
    return false;
  const WallTime deadline = time_in(task, attribute::kDeadline);
  switch (walk.part) {
    case TaskWalk::Part::kEnough:
      return true;
    case TaskWalk::Part::kLess:
      return deadline > asked && deadline < *walk.enough &&
             core.times.is_worth_it(time_in(task, attribute::kCreated), deadline, asked, now.boot);
    case TaskWalk::Part::kNoDeadline:
      return int_of(task, attribute::kDeadline, 0) <= 0;
  }
  return false;
}

TakeChoice::TakeChoice(QueueCore& core, const QueueSettings& settings, size_t wanted, bool by_deadline, TaskWalk start,
                       Purpose purpose)
    : core_(core), settings_(settings), wanted_(wanted), purpose_(purpose), by_lanes_(!core.lanes.empty()) {
  out_.next = std::move(start);
  ask_.emplace();
  ask_->from = by_deadline ? PageAsk::From::kDeadline : PageAsk::From::kNewest;
}

std::optional<PageAsk> TakeChoice::next(const Now& now) {
  if (is_made_) return std::nullopt;
  if (by_lanes_) {
    read_lanes(now);
  } else {
    read_queue(now);
  }
  if (is_made_) return std::nullopt;
  asked_at_ = now.wall;
  return ask_;
}

void TakeChoice::came(Page page, const Now& now) {
  if (!by_lanes_) return queue_came(std::move(page), now);
  if (reading_ == nullptr) {
    if (!page.items.empty()) out_.oldest = int_of(page.items[0], attribute::kCreated, 0);
    is_made_ = true;
    return;
  }
  LaneRead& read = *std::exchange(reading_, nullptr);
  const size_t before = read.tasks.size();
  read.any = read.any || !page.items.empty();
  take_page(std::move(page), read.next, read.tasks, read.more, now);
  read.least = read.tasks.size() == before ? kLongerPage * page_ : 0;
}

// Adds the tasks of a page that may be taken, and notes where the next page begins. A walk by deadline leaves out tasks
// past their deadline, which the queue's timer sheds, and tasks that are not worth a slot.
void TakeChoice::take_page(Page page, TaskWalk& walk, std::vector<ItemRef>& into, bool& more, const Now& now) {
  const bool by_deadline = ask_->from == PageAsk::From::kDeadline;
  bool any = false;
  for (auto& task : page.items) {
    const bool fits =
        by_deadline ? is_next_by_deadline(core_, task, ask_->walk, asked_at_, now) : !core_.is_passed_over(task, now);
    if (!fits) continue;
    into.push_back(std::move(task));
    any = true;
  }
  walk = std::move(ask_->walk);
  walk.key = std::move(page.last_evaluated_key);
  more = !walk.key.empty();
  if (!by_deadline) return;
  // If no task of a page is worth a slot, tasks with even less time are hardly worth it.
  if (walk.part == TaskWalk::Part::kLess && !any) walk.key = Item();
  more = true;
  if (!walk.key.empty()) return;
  more = walk.part != TaskWalk::Part::kNoDeadline;
  walk.part = walk.part == TaskWalk::Part::kEnough ? TaskWalk::Part::kLess : TaskWalk::Part::kNoDeadline;
}

bool TakeChoice::begins_newest_first(BootTime now) {
  if (purpose_ == Purpose::kTake) core_.times.take_begins(now);
  return core_.times.newest_first(now);
}

// Asks for one page, in a queue without lanes.
void TakeChoice::read_queue(const Now& now) {
  TaskWalk& walk = out_.next;
  size_t more = core_.passed_by_now();
  if (ask_->from != PageAsk::From::kDeadline) {
    out_.newest_first = begins_newest_first(now.boot);
    ask_->from = out_.newest_first ? PageAsk::From::kNewest : PageAsk::From::kOldest;
    // While the wall clock is not trusted, many tasks that look expired may stand before others.
    if (now.doubted) more = kMostTaken;
    // One more task than wanted shows if the last wanted one is the last of the queue.
    if (settings_.deadline_margin == DeadlineMargin::kYield && !out_.newest_first) ++more;
  }
  const size_t least = walk.least;
  ask_for(wanted_ + more, std::move(walk), least, now);
}

// Sets the rest of a request whose lane and end are set.
void TakeChoice::ask_for(size_t tasks, TaskWalk walk, size_t least, const Now& now) {
  page_ = std::min<size_t>(std::max(tasks, least), kMostTaken);
  ask_->walk = std::move(walk);
  ask_->limit = static_cast<uint32_t>(page_);
  if (ask_->from == PageAsk::From::kDeadline) ask_->limit = begin_walk(ask_->walk, ask_->limit, now);
}

void TakeChoice::queue_came(Page page, const Now& now) {
  take_page(std::move(page), out_.next, out_.tasks, out_.more, now);
  out_.next.least = out_.tasks.empty() ? kLongerPage * page_ : 0;
  is_made_ = true;
}

// The walk's bounds are those of its first page. Returns the number to read.
uint32_t TakeChoice::begin_walk(TaskWalk& walk, uint32_t limit, const Now& now) {
  if (walk.enough) return std::max(limit, walk.part == TaskWalk::Part::kEnough ? kEnoughSieved : kSieved);
  walk.enough = core_.times.enough(now.wall, now.boot);
  walk.began = now.wall;
  return limit;
}

bool TakeChoice::may_go_on(const std::string& share) const {
  const auto had = given_.find(share);
  return had == given_.end() || had->second != FairShares::kPassed;
}

// Chooses the next tasks as the lanes have their turns. It reads no more lanes than it is to give tasks, except two
// kinds: lanes that turn out to be empty, which are not read again until a task comes, and lanes whose group or key is
// at its limit, which have no turn until it may start again.
void TakeChoice::read_lanes(const Now& now) {
  if (!has_begun_) {
    has_begun_ = true;
    out_.newest_first = settings_.order == Order::kDeadline || begins_newest_first(now.boot);
    for (const auto group : core_.pauses.groups()) core_.lanes.shares().pass_group(group, given_);
  }
  while (!turns_.empty() || (out_.tasks.size() < wanted_ && held_ < kMostHeld)) {
    if (turns_.empty()) begin_round(now);
    if (turns_.empty()) break;
    for (; share_ < shares_.size(); ++share_) {
      if (!read_share(shares_[share_].first, shares_[share_].second, now)) return;
    }
    for (; turn_ < turns_.size(); ++turn_) {
      if (!give_turn(turns_[turn_], now)) return;
    }
    turns_.clear();
  }
  end_lanes();
}

void TakeChoice::begin_round(const Now& now) {
  std::map<std::string, size_t, std::less<>> shares;
  for (const auto lane : core_.lanes.turns(wanted_ - out_.tasks.size(), given_, now.boot)) {
    ++shares[turns_.emplace_back(lane)];
  }
  shares_.assign(shares.begin(), shares.end());
  share_ = turn_ = 0;
}

// Reads a lane that has turns in this round. False: a page must be read first.
bool TakeChoice::read_share(const std::string& lane, size_t wanted, const Now& now) {
  const auto known = reads_.find(lane);
  if (known != reads_.end() && known->second.filling) return fill(lane, known->second, wanted, now);
  if (core_.limits.on() && core_.limits.is_full(lane, now.boot)) {
    given_[lane] = FairShares::kPassed;
    ++held_;
  }
  if (core_.lanes.shares().is_divided(lane) || !may_go_on(lane)) return true;
  LaneRead& read = reads_[lane];
  if (known == reads_.end()) read.by_deadline = core_.by_deadline(lane);
  return fill(lane, read, wanted, now);
}

// Gives a lane its turn. False: a page must be read first.
bool TakeChoice::give_turn(const std::string& lane, const Now& now) {
  if (!in_turn_) {
    if (!may_go_on(lane)) return true;
    by_keys_ = core_.lanes.shares().is_divided(lane);
  }
  ItemRef task;
  if (by_keys_) {
    KeysRead& read = of_keys_.try_emplace(lane, wanted_).first->second;
    in_turn_ = !next_of_keys(lane, read, now, task);
    if (in_turn_) return false;
    out_.cut = out_.cut || read.cut;
  } else {
    task = next_of_lane(lane, reads_[lane], now);
  }
  if (task) {
    out_.tasks.push_back(std::move(task));
    ++given_[lane];
  } else if (!reads_[lane].goes_on()) {
    given_[lane] = FairShares::kPassed;
  }
  return true;
}

// Reads on until the lane has `wanted` tasks that are not given yet, or it has no more. What a client left in it is
// passed over, a bounded number of times. False: a page must be read first.
bool TakeChoice::fill(const std::string& lane, LaneRead& read, size_t wanted, const Now& now) {
  FairShares& shares = core_.lanes.shares();
  if (!read.filling) begin_fill(lane, read);
  if (read.more && read.tasks.size() - read.given < wanted) {
    if (read.pages++ == kMostLanePages) {
      read.filling = read.more = false;
      return true;
    }
    ask_lane(lane, read, wanted, now);
    return false;
  }
  read.filling = false;
  if (!read.any && shares.fillings(lane) == read.fillings) shares.emptied(lane);
  return true;
}

void TakeChoice::begin_fill(const std::string& lane, LaneRead& read) {
  read.filling = true;
  read.pages = 0;
  read.least = 0;
  read.any = !read.tasks.empty();
  read.fillings = core_.lanes.shares().fillings(lane);
}

void TakeChoice::ask_lane(const std::string& lane, LaneRead& read, size_t wanted, const Now& now) {
  // While the wall clock is not trusted, many tasks that look expired may stand before others.
  const size_t passed = now.doubted ? kMostTaken : core_.passed_by_now();
  reading_ = &read;
  ask_->lane = lane;
  ask_->from = read.by_deadline    ? PageAsk::From::kDeadline
               : out_.newest_first ? PageAsk::From::kNewest
                                   : PageAsk::From::kOldest;
  ask_for(wanted + passed, std::move(read.next), read.least, now);
}

// Returns the next of the tasks that were read from the lane of a group; null if none of them may start.
ItemRef TakeChoice::next_of_lane(std::string_view lane, LaneRead& read, const Now& now) {
  while (read.given < read.tasks.size()) {
    const ItemRef& task = read.tasks[read.given++];
    if (!core_.limits.on() || core_.has_room(task, chosen_, now)) return task;
    if (core_.limits.name_of(task) == lane_group(lane) && !settings_.limits.by_key) return {};
    read.passed = true;
  }
  return {};
}

// Sets `task` to the next task of a share whose keys have lanes, in the order of the queue as far as the lanes are
// known; null if none may start. False: a page must be read first.
bool TakeChoice::next_of_keys(const std::string& share, KeysRead& read, const Now& now, ItemRef& task) {
  for (;;) {
    if (!read.opening.empty()) {
      if (!fill(read.opening, read.lanes[read.opening], 1, now)) return false;
      end_open(std::exchange(read.opening, {}), read);
    }
    if (read.refill) {
      LaneRead& its = read.lanes[read.refill->lane];
      if (its.filling && !fill(read.refill->lane, its, 1, now)) return false;
      const auto done = *std::exchange(read.refill, std::nullopt);
      if (its.given < its.tasks.size()) read.heads.emplace(core_.lanes.place_of(its.tasks[its.given]), done.lane);
      if (!done.room) continue;
      task = done.task;
      return true;
    }
    auto next = core_.lanes.shares().next(share, read.last);
    const bool comes_first = next && (read.heads.empty() || next->first <= read.heads.begin()->first);
    const bool may_pass = read.passed < KeysRead::kMostPassed;
    if (comes_first && read.looked < read.most && may_pass) {
      read.last = next;
      if (!read.lanes.contains(next->second)) begin_open(next->second, read, now);
      continue;
    }
    read.cut = read.cut || (comes_first && may_pass);
    if (read.heads.empty()) return true;
    choose_head(read, now);
  }
}

// Takes the first of the heads. If that was the last task that was read of its lane, the next page is read.
void TakeChoice::choose_head(KeysRead& read, const Now& now) {
  std::string lane = std::move(read.heads.extract(read.heads.begin()).value().second);
  LaneRead& its = read.lanes[lane];
  const ItemRef& task = its.tasks[its.given++];
  const bool room = !core_.limits.on() || core_.has_room(task, chosen_, now);
  if (!room && is_key_lane(lane)) return;  // The other tasks of its key may not start, either.
  read.refill = KeysRead::Refill{lane, task, room};
  if (its.given == its.tasks.size() && its.more && ++read.looked <= read.most) begin_fill(lane, its);
}

// Begins to read the lane of a key, or that of the share's tasks without a key.
void TakeChoice::begin_open(const std::string& lane, KeysRead& read, const Now& now) {
  if (is_key_lane(lane) && core_.pauses.holds_key(lane_key(lane))) return;
  ++read.looked;
  LaneRead& its = read.lanes[lane];
  if (core_.limits.on() && core_.limits.is_full(lane, now.boot)) return;
  its.by_deadline = core_.by_deadline(lane);
  read.opening = lane;
}

void TakeChoice::end_open(const std::string& lane, KeysRead& read) {
  LaneRead& its = read.lanes[lane];
  FairShares& shares = core_.lanes.shares();
  if (its.tasks.empty() && shares.may_hold(lane)) {
    --read.looked;
    ++read.passed;
  }
  if (its.tasks.empty()) return;
  const int64_t place = core_.lanes.place_of(its.tasks[0]);
  shares.placed(lane, place);
  read.heads.emplace(place, lane);
}

// With ORDER=adaptive, a take from the oldest end reports the age of the oldest task.
void TakeChoice::end_lanes() {
  out_.cut = out_.cut || held_ >= kMostHeld;
  out_.more = out_.tasks.size() == wanted_ || out_.cut;
  is_made_ = settings_.order != Order::kAdaptive || out_.newest_first || out_.tasks.empty();
  ask_ = PageAsk{{}, PageAsk::From::kOldest, {}, 1, true};
}

std::optional<PageAsk> WorkLook::next() {
  constexpr size_t kLargestPage = 1000;
  constexpr int kMostPages = 16;  // A take in vain is better than one that holds up everybody.
  if (pages_ == kMostPages) found_ = true;
  if (found_) return std::nullopt;
  if (pages_++ == 0) {
    limit_ = 1 + core_.keys.passed() + core_.pauses.keys();
  } else {
    if (walk_.key.empty()) return std::nullopt;
    limit_ *= kLongerPage;
  }
  limit_ = std::min(limit_, kLargestPage);
  return PageAsk{{}, PageAsk::From::kNewest, std::move(walk_), static_cast<uint32_t>(limit_)};
}

void WorkLook::came(Page page, const Now& now) {
  found_ = std::any_of(page.items.begin(), page.items.end(), [&](const ItemRef& task) {
    return !core_.is_paused(task) && !core_.waits_for_key(task) && !core_.is_doubtful(task, now) &&
           !core_.is_lost(task, now);
  });
  walk_.key = std::move(page.last_evaluated_key);
}

}  // namespace freshet
