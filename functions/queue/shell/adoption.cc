#include "functions/queue/shell/adoption.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"
#include "functions/queue_states.h"

namespace freshet {

namespace {

constexpr int64_t kLaneSlot = -2;                  // In the system table: the names of the queue's lanes.
constexpr uint32_t kAdoptedAtOnce = 1000;          // The tasks that are looked at before other work gets its turn.
constexpr milliseconds kScanPause{100};            // Between two pages of a scan, which an engine bills by size.
constexpr milliseconds kLongestScanPause{30'000};  // After pages that could not be read.

}  // namespace

// Runs for every record of the stream, so it is cheap.
bool Adoption::needs_adoption(const ItemRef& task) const {
  return core_.adopter.needs_adoption(task, core_.lanes.lacks(task));
}

Async<void> Adoption::adopt_one(ItemRef task) {
  std::vector<ItemRef> one{std::move(task)};
  const bool given = co_await adopt(std::move(one));
  if (given) parts_.takes.wake();
}

// True if a PENDING task got its lane or its place, or is in a lane that was not known.
Async<bool> Adoption::adopt(std::vector<ItemRef> tasks) {
  std::vector<std::string> names;
  const size_t known_before = core_.lanes.size();
  for (const auto& task : tasks) {
    if (core_.lanes.lacks(task)) names.push_back(core_.lanes.asked_by(task));
  }
  if (!names.empty()) {
    // After an error, only the names that are known by now matter.
    const auto known = co_await add_lanes(std::move(names));
    if (!known && known.error().code != ErrorCode::kLimitExceeded) core_.adopter.try_again();
  }
  std::vector<WriteInput> writes;
  std::vector<ItemRef> written;
  for (auto& task : tasks) {
    const bool lacks_lane = core_.lanes.lacks(task);
    auto update = core_.adopter.adoption(task, lacks_lane, lacks_lane ? core_.lanes.known_for(task) : std::string());
    if (!update) continue;
    writes.emplace_back(std::move(*update));
    written.push_back(std::move(task));
  }
  bool any = core_.lanes.size() > known_before;  // After a restart, tasks may already have lanes that were not known.
  if (writes.empty()) co_return any;
  auto answers = co_await services_.tables.write_many(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) {
    bool pending = text_of(written[i], attribute::kStatus) == state::kPending;
    if (answers[i]) {
      if (!pending) continue;
      any = any || layout_.is_misplaced(written[i]);
      if (core_.lanes.empty()) continue;
      core_.lanes.shares().filled(core_.lanes.known_for(written[i]), core_.lanes.place_of(written[i]));
      any = true;
    } else if (answers[i].error().code == ErrorCode::kValidation) {
      // It has no room for its lane, so it could never be taken.
      if (pending) scope_.spawn(parts_.settlements.set_aside(written[i], std::move(answers[i].error().message)));
    } else if (answers[i].error().code != ErrorCode::kConditionalCheckFailed) {
      core_.adopter.try_again();  // The store may be full or unavailable for a moment.
    }
  }
  co_return any;
}

// Adopts all tasks that wait or are held.
Async<void> Adoption::adopt_all() {
  if (core_.agenda.given_up() || !core_.adopter.begin_walk()) co_return;
  for (auto status : {state::kPending, state::kDelayed, state::kTaken}) {
    Item start;
    do {
      QueryInput query = parts_.table.in_state(status);
      query.forward = settings_.order == Order::kOldestFirst;
      query.limit = kAdoptedAtOnce;
      query.exclusive_start_key = std::move(start);
      auto page = co_await parts_.table.read_index(std::move(query));
      if (!page) {
        core_.adopter.try_again();
        break;
      }
      if (!Follower::can_follow(services_.tables.traits())) {
        auto times = times_for_new(page->items);
        if (!times.empty()) co_await give_times(std::move(times));
      }
      std::erase_if(page->items, [this](const ItemRef& task) { return !needs_adoption(task); });
      start = std::move(page->last_evaluated_key);
      if (!page->items.empty()) {
        auto given = co_await adopt(std::move(page->items));
        if (given) parts_.takes.wake();
      }
      if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
    } while (!start.empty());
  }
  core_.adopter.end_walk();
}

Async<bool> Adoption::give_places(std::vector<ItemRef> tasks) {
  if (FRESHET_PLANTED("fleet-misplaced-left")) co_return false;
  FRESHET_REACHED("a task got its place");
  const bool given = co_await adopt(std::move(tasks));
  if (!given) co_return false;
  parts_.takes.wake();
  parts_.timer.start_soon(nanoseconds(0));
  co_return true;
}

// A page that cannot be read is read again later: to begin anew would not end in a large table.
Async<bool> Adoption::adopt_misplaced() {
  bool any = false;
  Item start;
  milliseconds pause = kScanPause;
  for (;;) {
    ScanInput scan;
    scan.table = table_;
    scan.limit = kAdoptedAtOnce;
    scan.exclusive_start_key = start;
    auto page = co_await services_.tables.scan(std::move(scan));
    if (parts_.table.gone()) co_return any;
    pause = page ? kScanPause : std::min(2 * pause, kLongestScanPause);
    if (page) {
      start = std::move(page->last_evaluated_key);
      bool shed = false;
      if (layout_.hides_ttl) shed = co_await parts_.shedding.shed_expired(page->items);
      std::erase_if(page->items, [this](const ItemRef& task) { return !layout_.needs_correction(task); });
      bool given = false;
      if (!page->items.empty()) given = co_await give_places(std::move(page->items));
      any = any || given || shed;
      if (start.empty()) co_return any;
    }
    co_await sleep_for(services_.scheduler, pause);
  }
}

Async<void> Adoption::search_again() {
  static_cast<void>(co_await adopt_misplaced());
}

Async<void> Adoption::place(std::vector<ItemRef> tasks) {
  static_cast<void>(co_await give_places(std::move(tasks)));
}

// Sets the deadlines of tasks that a client has put, if no stream shows them. The queue's own tasks have `attempt`.
std::vector<EditItemInput> Adoption::times_for_new(const std::vector<ItemRef>& tasks) const {
  std::vector<EditItemInput> times;
  for (const auto& task : tasks) {
    if (has(task, attribute::kAttempt)) continue;
    if (auto edit = core_.adopter.times_for(task, true, counted_from())) times.push_back(std::move(*edit));
  }
  return times;
}

void Adoption::lane_filled(const ItemRef& task) {
  if (core_.lanes.lacks(task)) scope_.spawn(adopt_one(task));  // The stream does not show the queue's own writes.
  core_.lanes.filled_by(task);
}

Async<Result<void>> Adoption::load_lanes() {
  GetItemInput input;
  input.table = kQueueStates;
  input.key = queue_state_key(table_, kLaneSlot);
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

// Makes the names known before a task uses them. If there is not room for all, the first ones are known, and the answer
// is an error. Lanes that are not stored are found again after a restart by adopt_all(), as that goes through all that
// waits, and are forgotten when they have been empty for a while.
Async<Result<void>> Adoption::add_lanes(std::vector<std::string> names) {
  NewLanes lanes = core_.lanes.plan(std::move(names));
  if (lanes.stored.empty()) co_return lanes.room;
  UpdateItemInput update;
  update.table = kQueueStates;
  update.key = queue_state_key(table_, kLaneSlot);
  update.update = "ADD lanes :l";
  update.placeholders.values.set(":l", Value(StringSet{{lanes.stored.begin(), lanes.stored.end()}}));
  update.cause = Cause::kQueue;
  auto added = co_await services_.tables.update_item(std::move(update));
  if (!added) co_return fail(added.error());
  core_.lanes.stored(lanes);
  if (lanes.first) {
    scope_.spawn(adopt_all());
    core_.adopter.try_again();  // A task that is being written without a lane may arrive after that.
  }
  co_return lanes.room;
}

// Looks at lanes that are believed to be empty, so it finds tasks that no event reported.
Async<void> Adoption::check_lanes() {
  size_t looked = 0;
  for (auto names = core_.lanes.next_to_check(looked); !names.empty(); names = core_.lanes.next_to_check(looked)) {
    looked += names.size();
    for (auto& name : names) {
      std::string lane = name;
      auto page = co_await parts_.finder.lane_heads(std::move(lane), 1, true, Item());
      std::optional<bool> holds;
      if (page) holds = !page->items.empty() || !page->last_evaluated_key.empty();
      core_.lanes.checked(std::move(name), holds, boot());
      if (holds && *holds) parts_.takes.wake();
    }
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  core_.lanes.check_ended();
}

// A task whose write the store refuses (it has moved meanwhile, or has no room) stays as it is.
Async<void> Adoption::give_times(std::vector<EditItemInput> edits) {
  auto answers = co_await sure_.edit(std::move(edits));
  for (const auto& answer : answers) {
    if (answer && text_of(answer->attributes, attribute::kStatus) == state::kPending) {
      parts_.shedding.due_by(int_of(answer->attributes, attribute::kDeadline, kNever));
    }
  }
}

}  // namespace freshet
