#include "runtime/fleet/fleet.h"

#include <algorithm>
#include <utility>

#include "base/points.h"
#include "base/set_by.h"

namespace freshet {

namespace {

std::string clock_is_off(milliseconds ahead) {
  const std::string by = std::to_string(std::abs(ahead.count()));
  const std::string where = ahead.count() > 0 ? "ahead of" : "behind";
  return "this daemon's clock is at least " + by + " ms " + where +
         " that of the fleet's leader, so it serves no queues until they are within a second: set the clocks, for "
         "example with NTP";
}

std::string text_of(const std::string& error) {
  return error.empty() ? "the engine did not answer in time, or this daemon stood still" : error;
}

std::string words_of(const Error& error) {
  if (error.code != ErrorCode::kResourceNotFound) return error.message;
  return "the engine has no table '" + std::string(kFleetTable) + "' any more: a start with --create-tables makes it";
}

}  // namespace

Fleet::Fleet(Tables& tables, Scheduler& scheduler, Random& random, EventLog log, FleetHooks& hooks,
             FleetOptions options)
    : tables_(tables),
      scheduler_(scheduler),
      random_(random),
      log_(std::move(log)),
      hooks_(hooks),
      options_(std::move(options)),
      left_(scheduler) {}

Fleet::~Fleet() {
  if (timer_ != 0) scheduler_.cancel(timer_);
}

Async<Result<void>> Fleet::join() {
  auto there = co_await provide_fleet_table(tables_);
  if (!there) co_return there;
  auto begun = begin();
  co_return co_await begun;
}

Async<Result<void>> Fleet::begin() {
  if (leaving_) co_return fail(ErrorCode::kCancelled, "this daemon leaves its fleet");
  MemberBeat me;
  me.id = options_.id;
  me.url = options_.url;
  me.lease = options_.lease;
  me.life = random_.uuid();
  me.wall = scheduler_.clock().wall();
  const BootTime sent = now();
  auto begun = co_await begin_life(tables_, std::move(me));
  if (!begun) co_return fail(std::move(begun.error()));
  begin_life_of(std::move(*begun), sent);
  co_return Result<void>();
}

void Fleet::begin_life_of(MemberBeat me, BootTime sent) {
  log_.info("FLEET_JOINED", {{"member", me.id}, {"epoch", me.epoch}, {"leaseMs", me.lease.count()}});
  core_ = std::make_shared<FleetCore>(std::move(me), sent);
  clock_ = ClockCheck();
  core_->accept(false);
  leaving_announced_ = false;
  if (leaving_) obey(core_->leave());
  read_at_ = now();
  said_ = Membership::kJoined;
  next_read_ = now();
  next_beat_ = sent + options_.lease / 3;
  kick();
}

void Fleet::serve(std::set<std::string> units) {
  serves_ = std::move(units);
  if (!core_) return;
  serve_units();
  kick();
}

bool Fleet::is_accepted() const {
  return clock_.verdict() == ClockCheck::Verdict::kAgrees || FRESHET_PLANTED("fleet-clock-not-checked");
}

void Fleet::serve_units() {
  core_->serve(is_accepted() ? serves_ : std::set<std::string>());
}

void Fleet::set_left(std::map<std::string, uint64_t> left, bool at_once) {
  if (!core_) return;
  core_->set_left(std::move(left));
  if (at_once && core_->units_to_write()) kick();
}

void Fleet::ended(const std::string& unit) {
  if (!core_) return;
  core_->ended(unit);
  kick();
}

void Fleet::nudge() {
  next_read_ = now();
  kick();
}

Async<bool> Fleet::leave(BootTime deadline) {
  leaving_ = true;
  if (!core_ || FRESHET_PLANTED("fleet-leave-unsaid")) co_return true;
  obey(core_->leave());
  next_beat_ = now();
  kick();
  auto leaving = set_by(deadline, left_, scheduler_);
  co_return co_await leaving;
}

std::string Fleet::broken() const {
  if (!core_) return {};
  switch (core_->membership()) {
    case Membership::kJoined:
      return is_clock_off() ? clock_is_off(clock_.off()) : "";
    case Membership::kSuperseded:
      return "another daemon has joined the fleet as '" + options_.id +
             "': give each daemon a data folder of its own, that is no copy of another's";
    default:
      return "this daemon cannot reach its fleet, so it serves no queues and mappings: " + text_of(last_error_);
  }
}

void Fleet::kick() {
  if (!core_) return;
  if (timer_ != 0) scheduler_.cancel(timer_);
  timer_ = scheduler_.call_at(now(), [this] { tick(); });
}

void Fleet::tick() {
  timer_ = 0;
  obey(core_->at(now()));
  check_membership();
  if (core_->membership() == Membership::kSuperseded) return;
  if (now() >= next_beat_) send_beat();
  if (now() >= next_read_ && reads_ < kMostReads) {
    next_read_ = now() + read_interval();
    scope_.spawn(read(core_));
  }
  if (auto units = core_->units_to_write(); units && !writing_units_ && (is_clock_known() || leaving_)) {
    scope_.spawn(write_units_of(core_, std::move(*units)));
  }
  if (timer_ == 0) arm();
}

void Fleet::arm() {
  if (timer_ != 0) scheduler_.cancel(timer_);
  BootTime next = next_beat_;
  if (reads_ < kMostReads) {
    if (core_->next_death() > now()) next_read_ = std::min(next_read_, core_->next_death());
    next = std::min(next, next_read_);
  }
  if (core_->membership() == Membership::kJoined) next = std::min(next, core_->fence_at());
  timer_ = scheduler_.call_at(std::max(next, now() + milliseconds(1)), [this] { tick(); });
}

void Fleet::obey(FleetCore::Orders orders) {
  for (const auto& unit : orders.stop) {
    log_.info("FLEET_UNIT_STOPPED", {{"unit", unit}});
    if (hooks_.stop(unit)) core_->ended(unit);
  }
  for (const auto& unit : orders.start) {
    log_.info("FLEET_UNIT_STARTED", {{"unit", unit}});
    hooks_.start(unit);
  }
  if (orders.plan && !writing_plan_) scope_.spawn(write_plan_of(core_, std::move(*orders.plan), orders.plan_seen));
  if (!orders.release.empty() && !releasing_) scope_.spawn(release(std::move(orders.release)));
  if (!orders.forget.empty()) scope_.spawn(forget(std::move(orders.forget)));
  if (orders.look_again) next_read_ = now();
  note_left();
}

// A member that cannot read the plan must not look alive: nobody would take its units over.
void Fleet::send_beat() {
  next_beat_ = std::max(next_beat_ + options_.lease / 3, now());
  if (beats_ < kMostBeats && now() - read_at_ < options_.lease) scope_.spawn(beat(core_));
}

Async<void> Fleet::beat(std::shared_ptr<FleetCore> core) {
  ++beats_;
  const BootTime sent = now();
  MemberBeat next = core->next_beat();
  next.wall = scheduler_.clock().wall();
  next.load = options_.load ? options_.load() : 0;
  const bool leaving = next.leaving;
  auto written = co_await write_beat(tables_, std::move(next));
  --beats_;
  note(written);
  if (!written || core != core_) co_return;  // The next read shows if it was written, and if not, why.
  core->beat_confirmed(FRESHET_PLANTED("fleet-fence-from-the-answer") ? now() : sent);
  if (!leaving) co_return;
  leaving_announced_ = true;
  hooks_.notify_others();
  note_left();
}

Async<void> Fleet::read(std::shared_ptr<FleetCore> core) {
  ++reads_;
  const BootTime begun = now();
  const WallTime begun_at = scheduler_.clock().wall();
  auto view = co_await read_fleet(tables_);
  --reads_;
  if (core != core_) co_return;
  if (!view) {
    last_error_ = words_of(view.error());
    arm();
    co_return;
  }
  read_at_ = std::max(read_at_, begun);
  obey(core->saw(*view, begun, now()));
  hooks_.definitions_are_at(view->definitions);
  check_membership();
  check_clock(begun, begun_at);
  if (next_read_ <= now() || (core->units_to_write() && !writing_units_)) {
    kick();
  } else if (core->membership() != Membership::kSuperseded) {
    arm();
  }
}

Async<void> Fleet::write_units_of(std::shared_ptr<FleetCore> core, MemberUnits units) {
  writing_units_ = true;
  const uint64_t rev = units.rev;
  const size_t holds = units.holds.size();
  auto written = co_await write_units(tables_, std::move(units));
  writing_units_ = false;
  note(written);
  if (core != core_) co_return;
  if (!written) {  // Written again at the next heartbeat or read, unless one shows that it is there.
    if (core->has_let_go()) hooks_.notify_others();
    note_left();
    co_return;
  }
  obey(core->units_confirmed(rev, now()));
  if (holds < written_holds_) hooks_.notify_others();  // The next members of these units wait for that.
  written_holds_ = holds;
  kick();
}

Async<void> Fleet::write_plan_of(std::shared_ptr<FleetCore> core, FleetPlan plan, uint64_t seen) {
  writing_plan_ = true;
  const bool is_new_leader = !core->leads();
  const uint64_t term = plan.term;
  auto written = co_await write_plan(tables_, std::move(plan), seen);
  writing_plan_ = false;
  note(written);
  if (core != core_) co_return;
  if (written) {
    if (is_new_leader) log_.info("FLEET_LEADER", {{"member", options_.id}, {"term", term}});
    hooks_.notify_others();
  }
  // Any other refusal would be the same again.
  if (written || written.error().code == ErrorCode::kConditionalCheckFailed) nudge();
}

Async<void> Fleet::forget(std::vector<MemberBeat> members) {
  for (auto& member : members) {
    auto forgotten = co_await forget_member(tables_, std::move(member));
    note(forgotten);
  }
}

// If one of these writes fails, the next read shows it, and it is written again.
Async<void> Fleet::release(std::vector<MemberUnits> all) {
  releasing_ = true;
  for (auto& units : all) {
    auto released = co_await release_units(tables_, std::move(units));
    note(released);
  }
  releasing_ = false;
}

void Fleet::note(const Result<void>& written) {
  if (!written && written.error().code != ErrorCode::kConditionalCheckFailed) last_error_ = words_of(written.error());
}

// A read may show a write before its answer comes. Others are notified with the answer.
void Fleet::note_left() {
  if (leaving_announced_ && core_->has_let_go() && !writing_units_) left_.set(true);
}

void Fleet::check_membership() {
  const Membership is = core_->membership();
  if (is == Membership::kForgotten && !beginning_) scope_.spawn(begin_again());
  if (is == said_) return;
  if (is == Membership::kFenced) log_.warn("FLEET_UNREACHABLE", {{"message", text_of(last_error_)}});
  if (is == Membership::kSuperseded) log_.error("FLEET_SUPERSEDED", {{"message", broken()}});
  if (is == Membership::kJoined) log_.info("FLEET_REACHED", {{"member", options_.id}});
  said_ = is;
}

void Fleet::check_clock(BootTime begun, WallTime begun_at) {
  if (is_accepted() || begun < clock_read_) return;
  clock_read_ = begun;
  const bool was_off = is_clock_off();
  const MemberBeat* leader = core_->leader();
  if (core_->leads()) {
    clock_.leads();
  } else if (leader != nullptr) {
    clock_.saw(*leader, begun_at, scheduler_.clock().wall());
  }
  if (is_clock_off() && !was_off) log_.error("FLEET_CLOCK_OFF", {{"message", clock_is_off(clock_.off())}});
  if (!is_accepted()) return;
  if (was_off) log_.info("FLEET_CLOCK_RIGHT", {{"member", options_.id}});
  core_->accept(true);
  serve_units();
}

nanoseconds Fleet::read_interval() const {
  const nanoseconds usual = options_.lease / 6;
  return is_accepted() ? usual : std::min<nanoseconds>(usual, ClockCheck::kLongestPause);
}

// After a silence of an hour others have removed the member's items.
Async<void> Fleet::begin_again() {
  beginning_ = true;
  for (;;) {
    auto begun = co_await begin();
    if (begun || leaving_) break;
    last_error_ = words_of(begun.error());
    co_await sleep_for(scheduler_, kRetry);
  }
  beginning_ = false;
}

}  // namespace freshet
