#include "functions/queue/shell/readings.h"

#include <algorithm>
#include <map>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/policy/where.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

constexpr uint64_t kMostCounted = 10'000;      // The most waiting tasks counted for one answer.
constexpr uint64_t kMostCountedOfOne = 1'000;  // The most waiting tasks counted for one share.
constexpr size_t kMostLanesLookedAt = 20'000;
constexpr size_t kLanesAtOnce = 1'000;  // The lanes after which other work gets its turn.
constexpr uint32_t kCountPage = 250;

template <class Number>
void sort_by(std::vector<Number>& all, size_t limit, bool (*comes_first)(const Number&, const Number&)) {
  const size_t kept = std::min(all.size(), limit);
  std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(kept), all.end(), comes_first);
  all.resize(kept);
}

uint64_t flow_into(const QueueStats& stats, std::string_view arrow) {
  const auto found = stats.flow.find(std::string(arrow));
  return found == stats.flow.end() ? 0 : found->second;
}

uint64_t count_in(const std::map<std::string, uint64_t>& counts, std::string_view name) {
  const auto found = counts.find(std::string(name));
  return found == counts.end() ? 0 : found->second;
}

// The table and the indexes that have the waiting tasks of a queue. Tasks without a lane are in the index by state.
struct LaneIndexes {
  std::string table;
  std::string by_state;
  std::string_view in_state;  // Key condition.
  std::string by_lane;
};

// Adds the waiting tasks of these lanes. False: not all of them were counted.
Async<Result<bool>> count_waiting(Services& services, LaneIndexes indexes, std::vector<std::string> lanes,
                                  uint64_t& left, QueueShare& into) {
  uint64_t counted = 0;
  for (auto& lane : lanes) {
    QueryInput query;
    query.table = indexes.table;
    query.index = lane.empty() ? indexes.by_state : indexes.by_lane;
    query.key_condition = lane.empty() ? indexes.in_state : "lane = :s";
    query.placeholders.values.set(":s", Value(lane.empty() ? std::string(state::kPending) : std::move(lane)));
    query.limit = kCountPage;
    query.count_only = true;
    do {
      auto page = co_await services.tables.query(query);
      if (!page) co_return fail(page.error());
      counted += page->count;
      left -= std::min<uint64_t>(left, page->count);
      query.exclusive_start_key = std::move(page->last_evaluated_key);
      const bool goes_on = !query.exclusive_start_key.empty();
      into.waiting = into.waiting.value_or(0) + page->count;
      if (goes_on && (counted >= kMostCountedOfOne || left == 0)) co_return false;
    } while (!query.exclusive_start_key.empty());
    if ((left == 0 || counted >= kMostCountedOfOne) && &lane != &lanes.back()) co_return false;
    co_await sleep_for(services.scheduler, nanoseconds(0));
  }
  co_return true;
}

// All sheds since the beginning, by reason. The books count each at once: as the queue's own move to SHED, or as a
// waiting task that its ttl removed. The shed log has the reasons of the first kind. All others are "ttl".
std::map<std::string, uint64_t> shed_by_reason(const Books& books, const std::map<std::string, uint64_t>& known) {
  uint64_t left = 0;
  for (const auto& [arrow, count] : books.flow) {
    const bool waited = arrow.from == state::kPending || arrow.from == state::kDelayed;
    const bool by_queue = arrow.cause == Cause::kQueue && arrow.to == state::kShed;
    const bool swept = arrow.cause == Cause::kTimeToLive && arrow.to.empty();
    if (waited && (by_queue || swept)) left += count;
  }
  std::map<std::string, uint64_t> out;
  for (const auto& [reason, count] : known) {
    const auto shown = reason == "ttl" ? 0 : std::min(count, left);
    if (shown > 0) out[reason] = shown;
    left -= shown;
  }
  if (left > 0) out["ttl"] = left;
  return out;
}

}  // namespace

std::string Readings::state_now() {
  if (core_.agenda.draining()) return "draining";
  if (core_.pauses.all()) return "paused";
  return core_.limits.downstream().trouble ? "breaker open" : "running";
}

Async<Result<QueueStats>> Readings::stats() {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
  auto books = co_await services_.tables.books(table_);
  if (!books) co_return fail(books.error());
  QueueStats out;
  for (auto status : state::kAll) out.depth[std::string(status)] = 0;
  for (auto& [status, count] : books->stock) out.depth[status] = count;
  out.bytes = books->bytes;
  out.balanced = check_balance(*books).has_value();
  for (auto& [arrow, count] : books->flow) out.flow[arrow.from + "->" + arrow.to] += count;
  out.shed = shed_by_reason(*books, parts_.sheds.log().counts());
  out.shed_total = 0;
  for (const auto& [reason, count] : out.shed) out.shed_total += count;
  const bool any_waits = out.depth[std::string(state::kPending)] > 0;  // An engine bills each query.
  for (bool oldest : {false, true}) {
    if (!any_waits) break;
    QueryInput query = parts_.table.created_by(state::kPending, parts_.table.created_bound());
    query.whole_items = false;
    query.forward = oldest;
    query.limit = 1;
    auto page = co_await parts_.table.read_places(std::move(query));
    if (!page) co_return fail(page.error());
    // A client may have ended it and left its place.
    if (page->items.empty() || text_of(page->items[0], attribute::kStatus) != state::kPending) continue;
    // A client may have written any number.
    auto created = WallTime(milliseconds(std::max<int64_t>(int_of(page->items[0], attribute::kCreated, 0), 0)));
    (oldest ? out.oldest : out.newest) = created;
  }
  out.running = core_.claims.leases().mine();
  out.runner = runner_name(settings_.runner);
  out.runner_trouble = core_.limits.downstream().trouble;
  out.clock_doubted = !wall_guard_.trusted();
  out.state = state_now();
  if (core_.limits.on()) {
    const char* by = settings_.limits.by_key ? "key" : "group";
    out.key_limits = KeyLimitStats{by, core_.limits.by_name().at_limit(), core_.limits.by_name().known(),
                                   core_.limits.by_name().bytes()};
  }
  if (const double rate = core_.limits.downstream().starts_a_second(settings_.work); rate > 0) {
    auto& limit = out.rate_limit.emplace(RateLimitStats{rate});
    if (const auto& learner = core_.limits.downstream().rate) {
      const auto pause = std::chrono::ceil<milliseconds>(learner->paused_until() - boot());
      limit.learnt = true;
      limit.concurrency = learner->concurrency();
      limit.paused_ms = static_cast<uint64_t>(std::max(pause, milliseconds(0)).count());
    }
  }
  if (settings_.runner != RunnerKind::kNone) {
    const auto& learner = core_.limits.downstream().concurrency;
    const auto most = learner ? learner->limit() : static_cast<size_t>(settings_.work.concurrency);
    out.concurrency = ConcurrencyStats{most, learner.has_value()};
  }
  out.pauses = core_.pauses.list();
  out.in_time = parts_.counts.punctuality().stats(boot());
  out.guard = parts_.policy.guard_state();
  co_return out;
}

Async<Result<QueueReading>> Readings::reading() {
  auto known = co_await stats();
  if (!known) co_return fail(known.error());
  const QueueStats& at = *known;
  QueueReading out;
  const auto set = [&out](QueueFlow flow, uint64_t count) { out.flows[static_cast<size_t>(flow)] = count; };
  const Refusals& refusals = core_.admission.refusals();
  const uint64_t refused = refusals.tasks + refusals.bytes + refusals.late + refusals.passed + refusals.lanes;
  set(QueueFlow::kOffered, flow_into(at, "->PENDING") + flow_into(at, "->DELAYED") + refused);
  set(QueueFlow::kStarted, at.in_time.since_start.calls);
  set(QueueFlow::kInTime,
      parts_.counts.punctuality().ends(TaskEnd::kInTime) + parts_.counts.punctuality().ends(TaskEnd::kNoDeadline));
  set(QueueFlow::kLate, parts_.counts.punctuality().ends(TaskEnd::kLate));
  set(QueueFlow::kFailed, parts_.counts.punctuality().ends(TaskEnd::kFailed));
  uint64_t cancelled = 0;
  for (const auto& [arrow, count] : at.flow) {
    if (arrow.ends_with("->CANCELLED")) cancelled += count;
  }
  set(QueueFlow::kCancelled, cancelled);
  set(QueueFlow::kShedTtl, count_in(at.shed, "ttl"));
  set(QueueFlow::kShedDeadline, count_in(at.shed, "deadline"));
  set(QueueFlow::kShedMargin, count_in(at.shed, "deadline-margin"));
  set(QueueFlow::kRefusedFull, refusals.tasks);
  set(QueueFlow::kRefusedBytes, refusals.bytes);
  set(QueueFlow::kRefusedLate, refusals.late);
  set(QueueFlow::kRefusedPassed, refusals.passed);
  set(QueueFlow::kRefusedLanes, refusals.lanes);
  uint64_t bounced = 0;
  for (size_t i = 0; i < kRefusals; ++i)
    bounced += parts_.counts.punctuality().downstream_refusals(static_cast<DownstreamRefusal>(i));
  set(QueueFlow::kDownstreamRefusals, bounced);
  set(QueueFlow::kWasted, at.in_time.since_start.wasted);
  if (parts_.counts.pickup()) {
    out.pickups = parts_.counts.pickup()->count();
    out.pickup_seconds = parts_.counts.pickup()->sum();
  }
  out.pending = count_in(at.depth, state::kPending);
  out.delayed = count_in(at.depth, state::kDelayed);
  out.in_work = count_in(at.depth, state::kTaken);
  // The clock may have been set back.
  const auto age = [now = wall()](const std::optional<WallTime>& created) {
    return created ? std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(now - *created))
                   : milliseconds(0);
  };
  out.newest_age = age(at.newest);
  out.oldest_age = age(at.oldest);
  if (at.rate_limit) out.rate_limit = at.rate_limit->per_second;
  if (at.concurrency) out.concurrency = at.concurrency->most;
  co_return out;
}

Async<Result<QueueShares>> Readings::shares(SharesInput input) {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
  struct Known {
    uint64_t in_work = 0;
    std::vector<std::string> lanes{};
  };
  QueueShares out;
  std::map<std::string, Known, std::less<>> known;
  for (const auto& [name, tasks] : input.by_key ? core_.claims.leases().by_key() : core_.claims.leases().by_group())
    known[name].in_work = tasks;
  const bool has_lanes = !core_.lanes.empty();
  std::string last;
  size_t looked = 0;
  do {
    for (auto& lane : core_.lanes.shares().holding(last, kLanesAtOnce)) {
      if (input.by_key && !is_key_lane(lane)) continue;
      auto name = input.by_key ? lane_key(lane) : std::string(lane_group(lane));
      known[std::move(name)].lanes.push_back(std::move(lane));
    }
    looked += kLanesAtOnce;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!last.empty() && looked < kMostLanesLookedAt);
  // Tasks of every group, and of every key, may wait in the other lanes.
  const bool is_cut = !last.empty() && core_.lanes.size() > kMostLanesLookedAt;
  out.more = is_cut;
  if (input.by_key) {
    for (const Pause& pause : core_.pauses.list()) {
      if (pause.of == Pause::Of::kKey) known.try_emplace(pause.name);
    }
  } else {
    for (const auto group : core_.pauses.groups()) known.try_emplace(std::string(group));
    if (!has_lanes) known[""].lanes.emplace_back();  // All waiting tasks are in one partition.
    if (const uint64_t ungrouped = core_.claims.leases().ungrouped(); ungrouped > 0) known[""].in_work = ungrouped;
  }
  for (auto& [name, one] : known) {
    QueueShare share;
    share.name = name;
    share.in_work = one.in_work;
    share.paused = input.by_key ? core_.pauses.holds_key(name) : core_.pauses.holds_group(name);
    out.shares.push_back(std::move(share));
  }
  out.more = out.more || out.shares.size() > input.limit;
  sort_by<QueueShare>(out.shares, input.limit, [](const QueueShare& a, const QueueShare& b) {
    return a.in_work != b.in_work ? a.in_work > b.in_work : a.name < b.name;
  });
  uint64_t left = kMostCounted;
  const LaneIndexes indexes{table_, parts_.table.index(), layout_.in_state, std::string(TaskFinder::kLaneIndex)};
  for (QueueShare& share : out.shares) {
    if (!input.by_key || core_.lanes.are_by_key()) share.waiting = 0;
    auto counting = count_waiting(services_, indexes, std::move(known[share.name].lanes), left, share);
    auto all = co_await counting;
    if (!all) co_return fail(all.error());
    share.waiting_at_least = share.waiting && (is_cut || !*all);
    if (!core_.limits.on() || settings_.limits.by_key != input.by_key) continue;
    if (const auto standing = core_.limits.by_name().standing(share.name, boot())) {
      share.at_limit = true;
      if (!standing->is_rate) continue;
      share.per_second = standing->rate;
      share.free_in = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(standing->at - boot()));
    }
  }
  // Until somebody reads a lane, it is only believed to hold tasks.
  std::erase_if(out.shares, [](const QueueShare& share) {
    return share.in_work == 0 && share.waiting.value_or(0) == 0 && !share.paused && !share.at_limit;
  });
  co_return out;
}

QueueHolders Readings::holders(uint32_t limit) {
  QueueHolders out;
  out.in_work = core_.claims.leases().size();
  std::map<std::string, TaskHolder, std::less<>> known;
  core_.claims.leases().each(QueueHolders::kMostCounted, [&](const std::string& id, const Lease& lease,
                                                             BootTime claimed, BootTime end) {
    const auto by = lease.task ? text_of(lease.task, attribute::kTakenBy) : std::string_view();
    const auto held = std::chrono::duration_cast<milliseconds>(boot() - claimed);
    TaskHolder& holder = known.try_emplace(std::string(by)).first->second;
    holder.name = by;
    ++holder.tasks;
    holder.longest = std::max(holder.longest, held);
    if (out.tasks.size() >= limit) return;
    out.tasks.push_back({id, lease.task, holder.name, held, std::chrono::duration_cast<milliseconds>(end - boot())});
  });
  for (auto& [name, holder] : known) out.holders.push_back(std::move(holder));
  sort_by<TaskHolder>(out.holders, limit, [](const TaskHolder& a, const TaskHolder& b) {
    return a.tasks != b.tasks ? a.tasks > b.tasks : a.name < b.name;
  });
  return out;
}

}  // namespace freshet
