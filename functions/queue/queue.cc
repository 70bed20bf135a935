#include "functions/queue/queue.h"

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

Queue::Queue(std::unique_ptr<QueueParts> parts) : parts_(std::move(parts)) {}

Queue::~Queue() {
  parts_->end();
}

Async<Result<std::unique_ptr<Queue>>> Queue::open(Services& services, EventLog log, QueueIdentity identity,
                                                  WallGuard& wall, std::string table, QueueSettings settings) {
  auto prepared = co_await QueueTable::prepare(services, log, table, settings.layout);
  if (!prepared) co_return fail(prepared.error());
  auto parts = std::make_unique<QueueParts>(services, log, identity, wall, std::move(*prepared), std::move(settings));
  if (!parts->table.definition().index(kLaneDeadlineIndex)) {
    log.info("NO_ROOM_FOR_INDEX", {{"queue", parts->base.table},
                                   {"index", kLaneDeadlineIndex},
                                   {"what", "within its lanes ORDER=deadline takes the newest first"}});
  }
  auto recovered = co_await parts->table.recover_created();
  if (!recovered) co_return fail(recovered.error());
  auto shed_log = co_await ShedLog::open(services.tables, table, parts->base.settings.shed_log_lines);
  if (!shed_log) co_return fail(shed_log.error());
  parts->sheds.begin(std::move(*shed_log), parts->table.id());
  auto lanes = co_await parts->adoption.load_lanes();
  if (!lanes) co_return fail(lanes.error());
  Result<void> pauses;  // GCC 12 destroys the operand of a conditional expression twice if it is awaited.
  if (!FRESHET_PLANTED("pause-forgotten")) pauses = co_await parts->pausing.load_pauses();
  if (!pauses) co_return fail(pauses.error());
  auto kept = co_await parts->kept.load();  // The learnt limits depend on it.
  if (!kept) co_return fail(kept.error());
  auto learnt = co_await parts->learnt.load_learnt();
  if (!learnt) co_return fail(learnt.error());
  co_return std::unique_ptr<Queue>(new Queue(std::move(parts)));
}

const std::string& Queue::name() const {
  return parts_->base.table;
}

const QueueSettings& Queue::settings() const {
  return parts_->base.settings;
}

void Queue::set_settings(QueueSettings settings) {
  parts_->policy.set_settings(std::move(settings));
  parts_->kept.deployed();
}

Async<void> Queue::audit_with(AuditLog& audit) {
  parts_->base.audit = &audit;
  parts_->bulk.jobs().audit_with(audit);
  return parts_->bulk.jobs().find_cut_off();
}

void Queue::opened() {
  parts_->policy.begin_history();
  parts_->pausing.begin_history();
}

void Queue::begin() {
  parts_->timer.begin();
}

void Queue::drain() {
  parts_->timer.drain();
}

void Queue::give_up() {
  parts_->timer.give_up();
  parts_->lease_ends.forget_others();
}

bool Queue::is_over() {
  const QueueBase& base = parts_->base;
  parts_->lease_ends.forget_others();
  return held() == 0 && base.left_in_work.size() + base.lasting.size() + base.scope.size() == 0 &&
         parts_->bulk.jobs().is_idle();
}

bool Queue::draining() const {
  return parts_->base.core.agenda.draining();
}

Async<void> Queue::release_held() {
  // A claim may have been answered after the queue was given up: its worker goes on with it at the new owner.
  if (parts_->base.core.agenda.given_up()) parts_->lease_ends.forget_others();
  return parts_->settlements.release_held();
}

void Queue::processor_began() {
  parts_->timer.processor_began();
}

void Queue::processor_ended() {
  parts_->timer.processor_ended();
}

bool Queue::has_processor() const {
  return parts_->base.core.agenda.has_processor();
}

void Queue::let_finish(Async<void> work) {
  parts_->base.left_in_work.spawn(std::move(work));
}

void Queue::slots_freed() {
  parts_->timer.slots_freed();
}

bool Queue::is_pulled() const {
  return parts_->base.core.agenda.is_pulled();
}

void Queue::set_pulled(bool pulled) {
  parts_->base.core.agenda.set_pulled(pulled);
}

void Queue::notify_on_drain(Signal& signal) {
  parts_->timer.add_listener(signal);
}

void Queue::forget_drain(Signal& signal) {
  parts_->timer.remove_listener(signal);
}

Async<Result<bool>> Queue::has_work() {
  return parts_->finder.has_work();
}

void Queue::started(std::optional<WallTime> waiting_since) {
  parts_->counts.started(waiting_since);
}

std::string_view Queue::stale(const ItemRef& task) {
  return parts_->finder.stale(task);
}

bool Queue::bounced(const ItemRef& task, DownstreamRefusal how, std::string_view reason, bool reachable) {
  return parts_->sheds.bounced(task, how, reason, reachable);
}

bool Queue::answered(const ItemRef& task, std::string_view lease, CallAnswer answer, const LimitHints& hints,
                     std::optional<double> cost) {
  return parts_->limits.answered(task, lease, answer, hints, cost);
}

void Queue::settle_later(std::vector<Settlement> settlements) {
  parts_->settlements.settle_later(std::move(settlements));
}

Downstream& Queue::downstream() {
  return parts_->base.core.limits.downstream();
}

milliseconds Queue::lease_duration(const ItemRef& task) const {
  return parts_->base.core.claims.duration_of(task);
}

double Queue::units_of(const ItemRef& task) const {
  return parts_->base.core.limits.units_of(task);
}

const Error* Queue::broken() const {
  const auto& broken = parts_->table.broken();
  if (broken) return &*broken;
  // In the daemon's own store a client deleted the table, and knows it.
  const auto& gone = parts_->table.gone();
  return gone && !parts_->base.services.tables.traits().immediate ? &*gone : nullptr;
}

const Pauses& Queue::pauses() const {
  return parts_->base.core.pauses;
}

size_t Queue::in_work() {
  if (parts_->base.core.agenda.given_up()) parts_->lease_ends.forget_others();
  return held() + parts_->base.core.claims.in_flight();
}

size_t Queue::held() const {
  return parts_->base.core.claims.leases().mine();
}

const KeyLimits& Queue::key_limits() const {
  return parts_->base.core.limits.by_name();
}

void Queue::measure_pickup(Histogram& histogram) {
  parts_->counts.measure_pickup(histogram);
}

const Punctuality& Queue::punctuality() const {
  return parts_->counts.punctuality();
}

const Refusals& Queue::refusals() const {
  return parts_->base.core.admission.refusals();
}

uint64_t Queue::unserved() const {
  return parts_->base.core.adopter.unserved();
}

uint64_t Queue::bounced_tasks() const {
  return parts_->sheds.bounced_tasks();
}

Async<std::vector<Result<CreatedTask>>> Queue::create(std::vector<NewTask> tasks) {
  return parts_->creation.create(std::move(tasks));
}

Async<Result<std::vector<TakenTask>>> Queue::take(TakeInput input) {
  return parts_->takes.take(std::move(input));
}

Async<std::vector<Result<ItemRef>>> Queue::settle(std::vector<Settlement> settlements) {
  return parts_->settlements.settle(std::move(settlements));
}

Async<Result<ItemRef>> Queue::get(std::string id) {
  return parts_->admin.get(std::move(id));
}

Async<Result<TaskPage>> Queue::list(ListInput input) {
  return parts_->admin.list(std::move(input));
}

Async<std::vector<Result<ItemRef>>> Queue::cancel(std::vector<std::string> ids) {
  return parts_->admin.cancel(std::move(ids));
}

Async<Result<uint64_t>> Queue::redrive(RedriveInput input) {
  return parts_->admin.redrive(std::move(input));
}

Async<Result<QueueStats>> Queue::stats() {
  return parts_->readings.stats();
}

Async<Result<std::vector<ItemRef>>> Queue::sheds(uint32_t limit) {
  return parts_->sheds.sheds(limit);
}

Async<Result<QueueReading>> Queue::reading() {
  return parts_->readings.reading();
}

Async<Result<QueueShares>> Queue::shares(SharesInput input) {
  return parts_->readings.shares(std::move(input));
}

QueueHolders Queue::holders(uint32_t limit) {
  return parts_->readings.holders(limit);
}

Async<Result<Explanation>> Queue::explain(std::string id) {
  return parts_->explanations.explain(std::move(id));
}

QueuePolicy Queue::policy() {
  return parts_->policy.policy();
}

Result<QueuePolicy> Queue::change_policy(const QueuePolicy& changes) {
  return parts_->policy.change_policy(changes);
}

Async<Result<QueuePolicy>> Queue::change_policy_for_all(QueuePolicy changes) {
  return parts_->kept.change(std::move(changes));
}

Async<Result<void>> Queue::keep_policy() {
  return parts_->kept.keep();
}

Result<QueuePolicy> Queue::check_policy(const QueuePolicy& changes) {
  return parts_->policy.check_policy(changes);
}

Result<InTimeCounts> Queue::check_guard(const PolicyGuardTerms& terms) {
  return parts_->policy.check_guard(terms);
}

Result<QueuePolicy> Queue::change_policy_guarded(const QueuePolicy& changes, const PolicyGuardTerms& terms,
                                                 const InTimeCounts& before) {
  return parts_->policy.change_policy_guarded(changes, terms, before);
}

bool Queue::end_guard() {
  return parts_->policy.end_guard();
}

void Queue::restore_guard() {
  parts_->policy.restore_guard();
}

PolicyChanges Queue::policy_changes(uint64_t from) const {
  return parts_->policy.changes(from);
}

PauseChanges Queue::pause_changes() const {
  return parts_->pausing.changes();
}

bool Queue::ttl_in_milliseconds() const {
  return parts_->table.definition().ttl_in_milliseconds;
}

Async<Result<Pause>> Queue::pause(PauseInput input, Actor actor) {
  return parts_->pausing.pause(std::move(input), std::move(actor));
}

Async<Result<void>> Queue::resume(Pause::Of of, std::string name, Actor actor) {
  return parts_->pausing.resume(of, std::move(name), std::move(actor));
}

Async<Result<BulkJob>> Queue::start_job(BulkInput input, Actor actor) {
  return parts_->bulk.start_job(std::move(input), std::move(actor));
}

std::vector<BulkJob> Queue::jobs() {
  return parts_->bulk.jobs().list();
}

Result<BulkJob> Queue::job(uint64_t id) {
  return parts_->bulk.jobs().find(id);
}

Result<BulkJob> Queue::stop_job(uint64_t id, Actor actor) {
  return parts_->bulk.jobs().stop(id, actor);
}

}  // namespace freshet
