#include "app/fleet/queue_units.h"

#include <algorithm>
#include <utility>

#include "base/points.h"
#include "base/set_by.h"
#include "functions/queue/served_elsewhere.h"
#include "tables/lease/events_table.h"
#include "tables/lease/positions_table.h"
#include "tables/lease/schedule_claims.h"

namespace freshet {

namespace {

constexpr std::string_view kQueueUnit = "queue/";
constexpr size_t kMostNudges = 64;
constexpr milliseconds kLookAtBusy{5};
constexpr milliseconds kLookAtLeft{500};  // As often as others read, with the usual lease.

std::string unit_of(const std::string& queue) {
  return std::string(kQueueUnit) + queue;
}
std::string queue_of(const std::string& unit) {
  return unit.substr(kQueueUnit.size());
}
// The same for other kinds.
std::string unit_of(const UnitKind& kind, const std::string& name) {
  return std::string(kind.kind()) + "/" + name;
}
std::string name_of(const std::string& unit) {
  return unit.substr(unit.find('/') + 1);
}

}  // namespace

QueueUnits::QueueUnits(QueueUnitsParts parts, FleetOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      creation_(parts_.engine, parts_.scheduler, parts_.random, parts_.queues.wall_guard(),
                options_.id + ":" + parts_.random.uuid()) {
  parts_.queues.open_only([this](const std::string& table) { return wanted_.contains(table); });
}

Async<Result<void>> QueueUnits::check(FleetNeeds needs, std::string name) {
  auto provided = co_await provide_fleet_table(parts_.tables);
  if (provided) provided = co_await name_fleet(parts_.tables, parts_.scheduler, std::move(name));
  if (provided) provided = co_await provide_events_table(parts_.tables);
  if (provided && needs.schedules) provided = co_await provide_schedules_table(parts_.tables);
  if (provided && needs.mappings) provided = co_await provide_positions_table(parts_.tables);
  co_return provided;
}

std::set<std::string> QueueUnits::units() const {
  std::set<std::string> all;
  for (const auto& [queue, settings] : settings_) all.insert(unit_of(queue));
  for (const auto& [kind, served] : kinds_) {
    for (const std::string& name : served.names) all.insert(unit_of(*served.kind, name));
  }
  return all;
}

void QueueUnits::set_units(UnitKind& kind, std::set<std::string> names) {
  kinds_[std::string(kind.kind())] = {&kind, std::move(names)};
  if (fleet_) fleet_->serve(units());
}

UnitKind* QueueUnits::kind_of(const std::string& unit) const {
  const auto found = kinds_.find(std::string_view(unit).substr(0, unit.find('/')));
  return found == kinds_.end() ? nullptr : found->second.kind;
}

Async<Result<void>> QueueUnits::deploy(std::map<std::string, QueueSettings> queues) {
  settings_ = std::move(queues);
  ++deployments_;
  if (fleet_) fleet_->serve(units());
  const auto all = settings_;
  for (const auto& [queue, settings] : all) {
    if (!parts_.queues.find_queue(queue)) continue;
    std::string name = queue;
    QueueSettings wanted = settings;
    auto opened = co_await parts_.queues.deploy(std::move(name), std::move(wanted));
    if (!opened && opened.error().code != ErrorCode::kUnavailable) co_return fail(std::move(opened.error()));
  }
  co_return Result<void>();
}

void QueueUnits::begin(std::string url) {
  options_.url = std::move(url);
  fleet_ = std::make_unique<Fleet>(parts_.tables, parts_.scheduler, parts_.random, parts_.log,
                                   static_cast<FleetHooks&>(*this), options_);
  fleet_->serve(units());
  scope_.spawn(join());
}

Async<void> QueueUnits::join() {
  for (;;) {
    auto joined = co_await fleet_->join();
    if (joined || joined.error().code == ErrorCode::kCancelled) break;
    join_trouble_ = "this daemon cannot join its fleet: " + joined.error().message;
    co_await sleep_for(parts_.scheduler, kRetry);
  }
  join_trouble_.clear();
}

Async<bool> QueueUnits::leave(BootTime deadline) {
  if (!fleet_) co_return true;
  const bool announced = co_await fleet_->leave(deadline);
  if (nudges_ == 0) co_return announced;
  notified_.emplace(parts_.scheduler);
  auto notifying = set_by(deadline, *notified_, parts_.scheduler);
  static_cast<void>(co_await notifying);
  co_return announced;
}

QueueUnits::Place QueueUnits::place_of(const std::string& queue) const {
  if (parts_.queues.find_queue(queue)) return {};
  const FleetCore* fleet = core();
  const bool is_ours = settings_.contains(queue);
  if (!fleet) return {is_ours ? Place::Is::kNowhere : Place::Is::kHere, {}};
  const MemberBeat* owner = fleet->owner(unit_of(queue));
  if (!owner) return {is_ours ? Place::Is::kNowhere : Place::Is::kHere, {}};
  // Its own plan says so, but the queue is not open yet, or not any more.
  if (owner->id == options_.id) return {Place::Is::kNowhere, {}};
  return {Place::Is::kThere, owner->url};
}

QueueUnits::Place QueueUnits::place_of(const UnitKind& kind, const std::string& name) const {
  const std::string unit = unit_of(kind, name);
  const FleetCore* fleet = core();
  if (fleet && fleet->is_serving(unit)) return {};
  const auto served = kinds_.find(kind.kind());
  const bool is_ours = served != kinds_.end() && served->second.names.contains(name);
  const MemberBeat* owner = fleet ? fleet->owner(unit) : nullptr;
  if (!owner) return {is_ours ? Place::Is::kNowhere : Place::Is::kHere, {}};
  if (owner->id == options_.id) return {Place::Is::kNowhere, {}};
  return {Place::Is::kThere, owner->url};
}

bool QueueUnits::has_lease(const UnitKind& kind, const std::string& name) const {
  const FleetCore* fleet = core();
  if (!fleet || !fleet->is_serving(unit_of(kind, name))) return false;
  return parts_.scheduler.clock().boot() < fleet->fence_at();
}

OwnerSign QueueUnits::owner_sign(const std::string& queue) const {
  const FleetCore* fleet = core();
  const MemberBeat* owner = fleet ? fleet->owner(unit_of(queue)) : nullptr;
  if (!owner) return {};
  return {fleet->view().plan->version, owner->id, owner->epoch, owner->beat};
}

bool QueueUnits::is_accepted() const {
  const FleetCore* fleet = core();
  if (!fleet || !fleet_->is_accepted()) return false;
  return fleet->membership() == Membership::kJoined || fleet->membership() == Membership::kFenced;
}

bool QueueUnits::may_create(const std::string& queue) const {
  return settings_.contains(queue) && is_accepted();
}

Async<Result<std::vector<Result<CreatedTask>>>> QueueUnits::create(const std::string& queue,
                                                                   std::vector<NewTask> tasks) {
  using Created = Result<std::vector<Result<CreatedTask>>>;
  const auto settings = settings_.find(queue);
  if (settings == settings_.end())
    return Created(fail(ErrorCode::kNotFound, "queue '" + queue + "' is not the fleet's"));
  if (!may_create(queue)) return Created(fail(served_elsewhere(queue)));
  return creation_.create(queue, settings->second, std::move(tasks));
}

std::vector<std::string> QueueUnits::others() const {
  std::vector<std::string> out;
  const FleetCore* fleet = core();
  if (!fleet) return out;
  for (const auto& [id, member] : fleet->view().members) {
    if (id != options_.id && fleet->is_alive(id)) out.push_back(member.url);
  }
  return out;
}

size_t QueueUnits::served_here(const UnitKind& kind) const {
  const FleetCore* fleet = core();
  const auto served = kinds_.find(kind.kind());
  if (!fleet || served == kinds_.end()) return 0;
  const auto& names = served->second.names;
  return static_cast<size_t>(std::count_if(
      names.begin(), names.end(), [&](const std::string& name) { return fleet->is_serving(unit_of(kind, name)); }));
}

void QueueUnits::nudge() {
  if (fleet_) fleet_->nudge();
}

std::string QueueUnits::broken() const {
  std::string out;
  if (!join_trouble_.empty()) out.append(join_trouble_).append("\n");
  if (const std::string why = fleet_ ? fleet_->broken() : ""; !why.empty() && join_trouble_.empty()) {
    out.append(why).append("\n");
  }
  for (const auto& [queue, wanted] : wanted_) {
    if (!wanted.trouble.empty()) out.append("queue '" + queue + "': " + wanted.trouble + "\n");
  }
  return out;
}

void QueueUnits::start(const std::string& unit) {
  if (UnitKind* kind = kind_of(unit)) return kind->serve(name_of(unit), true);
  const std::string queue = queue_of(unit);
  wanted_[queue] = Wanted{++starts_, {}};
  scope_.spawn(open(queue, starts_));
}

bool QueueUnits::stop(const std::string& unit) {
  if (UnitKind* kind = kind_of(unit)) {
    const std::string name = name_of(unit);
    kind->serve(name, false);
    if (!kind->is_busy(name) || FRESHET_PLANTED("fleet-unit-ends-early")) return true;
    scope_.spawn(finish(unit, *kind, ++stops_[unit]));
    return false;
  }
  const std::string queue = queue_of(unit);
  wanted_.erase(queue);
  if (!FRESHET_PLANTED("fleet-queue-left-open")) parts_.queues.close(queue);
  if (FRESHET_PLANTED("fleet-left-unsaid")) return true;
  fleet_->set_left(left_in_work());  // Written with what this member holds from now on.
  if (!std::exchange(reports_left_, true)) scope_.spawn(report_left());
  return true;
}

std::map<std::string, uint64_t> QueueUnits::left_in_work() const {
  std::map<std::string, uint64_t> out;
  for (const auto& [queue, tasks] : parts_.queues.left_in_work()) out.emplace(unit_of(queue), tasks);
  return out;
}

// The daemon that serves the queue now waits for these tasks, as the limits are the queue's.
Async<void> QueueUnits::report_left() {
  std::map<std::string, uint64_t> left;
  do {
    co_await sleep_for(parts_.scheduler, kLookAtLeft);
    if (!FRESHET_PLANTED("fleet-left-ends-early")) left = left_in_work();
    fleet_->set_left(left, true);
  } while (!left.empty());
  reports_left_ = false;
}

size_t QueueUnits::left_elsewhere(const std::string& queue) const {
  return fleet_ && fleet_->core() ? fleet_->core()->left_elsewhere(unit_of(queue)) : 0;
}

// Others wait for what is under way, but no longer than for a member that has died.
Async<void> QueueUnits::finish(std::string unit, UnitKind& kind, uint64_t number) {
  const BootTime end = parts_.scheduler.clock().boot() + options_.lease;
  const std::string name = name_of(unit);
  while (kind.is_busy(name) && parts_.scheduler.clock().boot() < end) {
    co_await sleep_for(parts_.scheduler, kLookAtBusy);
  }
  if (stops_[unit] == number) fleet_->ended(unit);
}

// Null: the unit was given up since that start.
QueueUnits::Wanted* QueueUnits::wanted(const std::string& queue, uint64_t number) {
  const auto found = wanted_.find(queue);
  return found != wanted_.end() && found->second.number == number ? &found->second : nullptr;
}

Async<void> QueueUnits::open(std::string queue, uint64_t number) {
  if (!FRESHET_PLANTED("fleet-memory-kept")) parts_.start_over(queue);
  for (;;) {
    const auto settings = settings_.find(queue);
    if (settings == settings_.end()) co_return;
    const uint64_t deployment = deployments_;
    std::string name = queue;
    QueueSettings with = settings->second;
    auto opened = co_await parts_.queues.open(std::move(name), std::move(with));
    if (opened && deployment != deployments_) co_await deploy_missed(queue);
    Wanted* now = wanted(queue, number);
    if (!now) {  // Others may have served it meanwhile: a later start opens it anew.
      FRESHET_REACHED("a queue was given up while it was opened");
      if (opened) parts_.queues.close(queue);
      co_return;
    }
    const std::string trouble = opened ? "" : opened.error().message;
    if (!opened && trouble != now->trouble) {
      parts_.log.warn("FLEET_QUEUE_NOT_OPENED", {{"queue", queue}, {"message", trouble}});
    }
    now->trouble = trouble;
    if (opened) co_return;
    co_await sleep_for(parts_.scheduler, kRetry);
    if (!wanted(queue, number)) co_return;
  }
}

Async<void> QueueUnits::deploy_missed(const std::string& queue) {
  FRESHET_REACHED("a queue was deployed while it was opened");
  const auto settings = settings_.find(queue);
  if (settings == settings_.end() || !parts_.queues.find_queue(queue)) co_return;
  std::string name = queue;
  QueueSettings with = settings->second;
  static_cast<void>(co_await parts_.queues.deploy(std::move(name), std::move(with)));
}

void QueueUnits::notify_others() {
  if (FRESHET_PLANTED("fleet-free-queue-unannounced")) return;
  for (std::string& url : others()) {
    if (nudges_ < kMostNudges) scope_.spawn(notify(std::move(url)));
  }
}

Async<void> QueueUnits::notify(std::string url) {
  ++nudges_;
  static_cast<void>(co_await parts_.calls.nudge(url));
  if (--nudges_ == 0 && notified_) notified_->set(true);
}

}  // namespace freshet
