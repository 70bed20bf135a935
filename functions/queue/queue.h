// One queue: the owner of every claim on its table, for the processor and pull workers alike. docs/lifecycle.md draws
// the states and arrows; each arrow is one conditional write, so the table may be written by others at any time, and
// the store may answer at once (embedded) or milliseconds later and out of step (remote).
//
// In memory there is only what can be found again: the leases that this daemon times, claims in flight, who waits.
// Loop thread. Outlives every Async that it returned; services outlive it.
#pragma once

#include <limits>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/wall_guard.h"
#include "functions/queue/arrows.h"
#include "functions/queue/bulk_jobs.h"
#include "functions/queue/core/queue_core.h"
#include "functions/queue/named_turns.h"
#include "functions/queue/pause_history.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/policy/spells.h"
#include "functions/queue/policy_guard.h"
#include "functions/queue/policy_history.h"
#include "functions/queue/punctuality.h"
#include "functions/queue/shed_log.h"
#include "functions/settings.h"
#include "functions/signal.h"
#include "runtime/audit_log.h"
#include "runtime/invoke/function.h"
#include "runtime/task_queue.h"

namespace freshet {

// Who claims: `node` is the same after a restart on the same data (so leases of its dead incarnations can end at once),
// `incarnation` never. Neither holds a colon.
struct QueueIdentity {
  std::string node = "freshet";
  std::string incarnation;
};

class Queue final : public TaskQueue {
 public:
  // Checks that the table can be a queue and adds what a queue needs: books, a stream, sparse indexes. The guard
  // outlives the queue. kResourceNotFound; kValidation naming what is missing.
  static Async<Result<std::unique_ptr<Queue>>> open(Services& services, EventLog log, QueueIdentity identity,
                                                    WallGuard& wall, std::string table, QueueSettings settings);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() override;

  const std::string& name() const override { return table_; }
  const QueueSettings& settings() const { return settings_; }
  // Pauses and jobs have their lines there from now on; it outlives the queue. Before the queue is used.
  Async<void> audit_with(AuditLog& audit);
  // From now on it is found by its name, so that recordings have whatever happens.
  void opened();
  const Pauses& pauses() const { return core_.pauses; }
  // For tasks claimed and failed from now on.
  void set_settings(QueueSettings settings);

  // At readiness: ends the leases of dead incarnations, starts the timer. Once.
  void begin();
  // Takes are refused (kUnavailable), those that wait too, and no `Start` is published. Settling goes on.
  void drain();
  // Between the two calls, somebody takes whatever comes: no `Start` is needed.
  void processor_began();
  void processor_ended();
  // A run of the processor is over and has left tasks in work. They end here, at the latest when the daemon stops.
  void let_finish(Async<void> work) { left_in_work_.spawn(std::move(work)); }
  // Some of those tasks have ended.
  void slots_freed();
  bool has_processor() const { return core_.agenda.has_processor(); }
  // True if the last processor had no task runner: workers pull. The queue asks for one again now and then.
  bool is_pulled() const { return core_.agenda.is_pulled(); }
  void set_pulled(bool pulled) { core_.agenda.set_pulled(pulled); }
  bool draining() const { return core_.agenda.draining(); }
  // Describes what the queue needs and its table lacks at the moment; null if nothing is missing.
  const Error* broken() const { return broken_ ? &*broken_ : nullptr; }
  // The facts that processors have learnt of their runner, in whichever run.
  Downstream& downstream() { return core_.limits.downstream(); }
  // Tasks held under leases of this object.
  size_t held() const { return core_.claims.leases().mine(); }
  // At the very end, when nobody can settle any more: what is still held goes back, with its attempt.
  Async<void> release_held();
  // Notifies `signal`, which outlives that, of a drain, of new settings and of slots_freed(), until it is forgotten.
  void tell_drain(Signal& signal) { told_of_drain_.push_back(&signal); }
  void forget_drain(Signal& signal) { std::erase(told_of_drain_, &signal); }
  // How long tasks waited for their first start, in seconds: from when they were created, or their delay was over.
  void measure_pickup(Histogram& histogram) { pickup_ = &histogram; }
  // The work on a task begins that was taken with `starts_later`; `waiting_since` as the take gave it.
  void started(std::optional<WallTime> waiting_since);
  // Creations that were refused since the start.
  const Refusals& refusals() const { return core_.admission.refusals(); }
  // Tasks that clients wrote without what a task needs to be served, since the start.
  uint64_t unserved() const { return core_.adopter.unserved(); }
  // How long the lease of a held task lasts: the task's own lease, or the queue's default if it has none.
  milliseconds lease_duration(const ItemRef& task) const { return core_.claims.duration_of(task); }
  // What the task takes of a limit that RATE_COUNTS says: its cost, or 1.
  double units_of(const ItemRef& task) const { return core_.limits.units_of(task); }
  // The limits of groups or keys; see on().
  const KeyLimits& key_limits() const { return core_.limits.by_name(); }
  // Why the task must not be started any more; empty if it may be.
  std::string_view stale(const ItemRef& task);
  // The runner handed the task back (`reachable`: itself). True if it took tasks before, or could be reached.
  bool bounced(const ItemRef& task, DownstreamRefusal how, std::string_view reason, bool reachable);
  const Punctuality& punctuality() const { return punctuality_; }
  // The downstream answered the call for a task, or nobody did. True if the limit of its group or key is learnt.
  bool answered(const ItemRef& task, std::string_view lease, CallAnswer answer, const LimitHints& hints,
                std::optional<double> cost);
  // Tasks that were bounced, since the start.
  uint64_t bounced_tasks() const { return bounced_; }
  // Settles without anybody waiting for it; a store that is not there any more forgets it.
  void settle_later(std::vector<Settlement> settlements);
  // True if a take would find something now, expired tasks included.
  Async<Result<bool>> has_work();
  Async<std::vector<Result<CreatedTask>>> create(std::vector<NewTask> tasks) override;
  Async<Result<std::vector<TakenTask>>> take(TakeInput input) override;
  Async<std::vector<Result<ItemRef>>> settle(std::vector<Settlement> settlements) override;
  Async<Result<ItemRef>> get(std::string id) override;
  Async<Result<TaskPage>> list(ListInput input) override;
  Async<std::vector<Result<ItemRef>>> cancel(std::vector<std::string> ids) override;
  Async<Result<uint64_t>> redrive(RedriveInput input) override;
  Async<Result<QueueStats>> stats() override;
  Async<Result<std::vector<ItemRef>>> sheds(uint32_t limit) override;
  Async<Result<QueueReading>> reading() override;
  Async<Result<QueueShares>> shares(SharesInput input) override;
  QueueHolders holders(uint32_t limit) override;
  Async<Result<Explanation>> explain(std::string id) override;
  QueuePolicy policy() override { return policy_environment(settings_); }
  Result<QueuePolicy> change_policy(const QueuePolicy& changes) override;
  Result<QueuePolicy> check_policy(const QueuePolicy& changes) override;
  Result<InTimeCounts> check_guard(const PolicyGuardTerms& terms) override;
  Result<QueuePolicy> change_policy_guarded(const QueuePolicy& changes, const PolicyGuardTerms& terms,
                                            const InTimeCounts& before) override;
  bool end_guard() override;
  void restore_guard() override;
  PolicyChanges policy_changes(uint64_t from) const override { return policy_history_.from(from); }
  PauseChanges pause_changes() const override { return pause_history_.changes(); }
  bool ttl_in_milliseconds() const override { return definition_.ttl_in_milliseconds; }
  Async<Result<Pause>> pause(PauseInput input, Actor actor) override;
  Async<Result<void>> resume(Pause::Of of, std::string name, Actor actor) override;
  Async<Result<BulkJob>> start_job(BulkInput input, Actor actor) override;
  std::vector<BulkJob> jobs() override { return jobs_.list(); }
  Result<BulkJob> job(uint64_t id) override { return jobs_.find(id); }
  Result<BulkJob> stop_job(uint64_t id, Actor actor) override { return jobs_.stop(id, actor); }

 private:
  struct Prepared {  // A table that has all that a queue needs.
    TableDefinition definition;
    std::string index;
    std::string id;
  };
  class Waiter;     // A take that waits for work.
  class Claiming;   // Marks claims in flight, for as long as it lives.
  struct Handover;  // Claims on their way to their taker.
  // From where a take goes on through what waits.
  struct Walk {
    // ORDER=deadline goes through these parts, in this order.
    enum class Part { kEnough, kLess, kNoDeadline };
    Item key;
    Part part = Part::kEnough;
    std::optional<WallTime> enough;  // Of the whole walk; until its first page, none.
    // When the walk began: the lower bound of kLess. It must not move between pages, or a page may begin outside.
    WallTime began{};
    size_t least = 0;  // So many are read: more and more, while all are passed over.
  };
  struct WalkPage {
    std::vector<ItemRef> tasks;
    bool any = false;  // There were tasks, whether they can be taken or not.
    bool more = true;  // `next` may have others.
    Walk next;
  };
  struct Candidates {
    std::vector<ItemRef> tasks;  // In the order in which they should be taken.
    bool more = false;           // Asking again may find others.
    bool cut = false;            // It has looked at as many lanes as it may at a time.
    bool newest_first = true;
    std::optional<int64_t> oldest;  // taskCreated of the oldest that waits, in epoch ms, if it was looked for.
    Walk next;                      // From where, in a queue without lanes.
  };
  struct LaneRead;  // How far a take has read a lane.
  struct KeysRead;  // The same for the lanes of keys of one share.
  static constexpr int64_t kNever = kNeverMs;

  Queue(Services& services, EventLog log, QueueIdentity identity, WallGuard& wall, Prepared prepared,
        QueueSettings settings);
  // queue.cc
  static Result<std::string> status_index(const TableDefinition& definition);
  static Async<Result<Prepared>> prepare(Services& services, std::string table);
  Async<void> look_for_table();
  Async<void> mend_table(TableDescription there);
  Error trouble(const std::string& what) const;
  void cannot_mend(const std::string& what);
  Async<Result<Page>> read_index(QueryInput input);
  Async<Result<Page>> when_read(Async<Result<Page>> work);
  Result<Page> as_read(Result<Page> page);
  void lose_table(const Error& why);
  Async<Result<void>> recover_created();
  WallTime wall() const { return services_.scheduler.clock().wall(); }
  BootTime boot() const { return services_.scheduler.clock().boot(); }
  // queue_create.cc
  class KeyGuard;
  Result<Item> new_item(NewTask& task, WallTime now);
  PutItemInput put_new(Item item) const;
  void set_deadline(NewTask& task) const;
  static std::vector<Result<CreatedTask>> refuse_wrong(const std::vector<NewTask>& tasks);
  std::optional<Error> wrong(const NewTask& task);
  void refuse_without_lane(const std::vector<NewTask>& tasks, const Error& why, std::vector<Result<CreatedTask>>& out);
  Async<size_t> create_plain(std::vector<NewTask>& tasks, size_t first, std::vector<Result<CreatedTask>>& out);
  static void refused(Result<CreatedTask>& result, Error& error);
  void created(const NewTask& task, std::string_view id, WallTime written);
  Async<Result<CreatedTask>> create_keyed(NewTask task);
  Async<Result<Page>> living_page(std::string key, Item start);
  struct Living {
    ItemRef task;                 // The newest that has the key; null if none has it.
    std::vector<ItemRef> doomed;  // Newer ones that wait and will never start.
  };
  Async<Result<Living>> living_task(std::string key);
  std::string_view doom_of(const ItemRef& task);
  Async<void> shed_doomed(std::vector<ItemRef> tasks);
  Async<void> replace_waiting(std::string key, std::string by, bool again);
  Async<Replaced> replace_page(Page page, Unreplaced& left);
  Async<void> replace_again();

  // queue_keys.cc
  Async<Result<bool>> is_left(std::string id);
  Async<Result<bool>> must_make_room(ItemRef task);
  // `kind` is a constant.
  Async<Result<WriteOutput>> end_replaced(ItemRef task, Outcome outcome, std::string_view kind, std::string error);
  Async<bool> end_marked(std::vector<ItemRef> tasks);
  void key_freed(std::string_view key);

  // queue_admit.cc
  Async<bool> is_there(const NewTask& task);
  Async<Room> room_taken(const NewTask& task, uint64_t size);
  std::optional<Room> room_taken_after(const NewTask* before, const NewTask& task, uint64_t size);
  uint64_t stored_size(const NewTask& task);
  Async<Room> waiting();
  Async<void> refuse_beyond_bound(const std::vector<NewTask>& tasks, std::vector<Result<CreatedTask>>& out);
  Async<uint64_t> waiting_in_lane(std::string lane);
  Async<bool> stands_for(const NewTask& task);
  Async<void> refuse_passed(const std::vector<NewTask>& tasks, std::vector<Result<CreatedTask>>& out);
  Async<Outlook> outlook(const NewTask& task);
  Async<void> refuse_late(const std::vector<NewTask>& tasks, std::vector<Result<CreatedTask>>& out);

  // queue_take.cc
  Async<Result<Page>> heads(std::string_view status, uint32_t limit, bool forward, Item start);
  WallTime created_bound() const;
  nanoseconds deadline_margin(bool newest_first, bool last);
  bool newest_first();
  bool newest_first_in(std::string_view lane);
  void tell_order(const Candidates& found, bool hungry);
  Async<Result<Candidates>> plain_candidates(size_t wanted, Walk start);
  Async<Result<Candidates>> urgent_candidates(size_t wanted, Walk start);
  Async<Result<std::vector<TakenTask>>> claim_newest(TakeInput input);
  Now now();
  Now now_checked();
  void took(TakeOutcome outcome, const std::vector<TakenTask>& taken, size_t begun);
  Async<void> set_aside(ItemRef task, std::string why);
  Async<Result<WriteOutput>> edit(EditItemInput input);
  Async<Result<std::vector<TakenTask>>> carry_claims(Async<Result<std::vector<TakenTask>>> claims);
  Async<void> finish_handover(Async<Result<std::vector<TakenTask>>> claims, std::shared_ptr<Handover> handover);
  void give_back(Result<std::vector<TakenTask>> taken);
  Async<void> settle_quietly(std::vector<Settlement> settlements);
  void wake();
  void wake_soon();
  void wake_all();

  // queue_urgent.cc
  bool by_deadline(std::string_view lane) const;
  QueryInput urgent_query(std::string_view lane, const Walk& walk) const;
  bool is_next(const ItemRef& task, const Walk& walk, WallTime now, const Now& at);
  Async<Result<WalkPage>> urgent_page(std::string lane, uint32_t limit, Walk walk);
  QueryInput more_urgent(const ItemRef& task);
  QueryInput with_deadline(std::string_view lane);
  bool is_lost(const ItemRef& task);

  // queue_settle.cc
  Async<Result<ItemRef>> settle_replaced(Settlement settlement, Outcome outcome, ItemRef task);
  Result<ItemRef> settled(const Settlement& settlement, Result<WriteOutput>& answer);
  void moved(const ItemRef& task);

  // queue_count.cc
  void count_end(const ItemRef& task);
  void redriven(const ItemRef& before, const ItemRef& now);
  void count_attempt(const Settlement& settlement, const ItemRef& task, std::optional<BootTime> since);
  void taken_away(const std::string& id, const std::string& token, const ItemRef& task);

  // queue_admin.cc
  Async<Result<ItemRef>> cancel_one(std::string id);
  void redrives(const ItemRef& task);
  Async<Result<void>> redrive_tasks(std::vector<ItemRef> tasks, uint64_t& done);
  std::string state_now();

  // queue_pauses.cc
  Async<Result<void>> load_pauses();
  Async<Result<void>> load_learnt();
  void remember(const Item& item);
  void remember_keys(const Item& item);
  Async<void> keep_learnt_at_stop();
  Async<void> write_learnt(LearntLimit limit);
  Async<void> write_learnt_keys(std::vector<LearntKey> keys);
  Async<bool> write_slot(Item item);  // Returns false if the write failed.
  Async<Result<Pause>> pause_now(PauseInput input, Actor actor);
  Async<Result<void>> resume_now(Pause::Of of, std::string name, Actor actor);
  Async<Result<void>> write_pause(WriteInput write, AuditLine line);
  std::string not_paused(Pause::Of of, std::string_view name) const;
  void resumed(Pause::Of of);
  void end_pauses();
  // queue_policy.cc
  std::optional<PolicyGuardState> guard_state() const;
  Async<void> look_at_policy();
  Async<void> remove_pause(DeleteItemInput gone, Pause pause);
  void explain_pauses(Explanation& out);

  // queue_bulk.cc
  BulkJobs::Desk desk();
  Async<Result<Page>> bulk_page(std::string status, WallTime until, Item start, uint32_t limit);
  Async<std::vector<BulkResult>> bulk_change(BulkInput::Action action, std::vector<ItemRef> tasks);
  Async<std::vector<BulkResult>> bulk_purge(std::vector<ItemRef> tasks);

  // queue_timer.cc
  Async<void> begin_work();
  void request_tick();
  Async<void> tick();
  void arm();
  void hurry(BootTime when);
  void start_soon(nanoseconds delay);
  Async<bool> end_leases();
  Async<void> end_replaced_lease(Lapse lapse);
  void lease_ended(const Lapse& lapse, Result<WriteOutput>& answer);
  Async<void> look_around();
  Async<Result<Page>> future_head();
  Async<void> watch_taken(bool starting);
  Async<void> watch_unindexed();
  Async<void> end_dead(std::vector<ItemRef> tasks);
  Async<void> end_replaced_dead(ItemRef task, Outcome outcome);
  void dead_ended(const ItemRef& task, Result<WriteOutput>& answer);
  Async<void> publish_start();

  // queue_delays.cc
  Async<Result<Page>> delayed_page(Item start);
  void follow_clock();
  Async<void> note_delays(milliseconds ahead);
  void delayed(std::string_view id, WallTime written, int64_t not_before_ms);
  Async<bool> promote_noted();
  Async<bool> promote_due();
  Async<bool> promote_by_wall();
  Async<size_t> make_due(std::vector<ItemRef> due);

  // queue_shed.cc
  Async<void> shed_hopeless();
  struct ShedStep : Shedder::Step {
    std::vector<ShedLine> lines;  // A line for each task that was shed.
  };
  Async<bool> shed_page(ShedStep& step);
  Async<void> shed_alike(ShedStep& step, Shedder::Alike alike);
  Async<Result<Page>> most_urgent(Item start);
  void due_by(int64_t deadline_ms);

  // queue_follow.cc
  struct StreamPlace {
    std::string label;
    uint64_t from = 1;
  };
  Async<StreamPlace> first_stream();
  Async<StreamPlace> next_stream(std::string last);
  Async<bool> is_stream_over(std::string label);
  Async<void> follow();
  Async<void> follow_page(StreamPage page);
  Async<ItemRef> read_again(Item key);
  Async<void> forget_if_ended(std::string id, Item key);
  ShedLine shed_line(const ItemRef& task, std::string_view reason, std::string_view by, WallTime at) const;
  static milliseconds age_of(const ItemRef& task, WallTime at);
  Async<void> log_sheds(std::vector<ShedLine> lines, std::optional<uint64_t> position = {});
  ShedLine refused_line(const NewTask& task, std::string policy, std::string reason) const;
  void log_beside(std::vector<ShedLine> lines);
  void write_spells(bool all);
  Async<void> write_spell(Spell& spell);
  Async<uint64_t> pending_depth();

  // queue_adopt.cc
  bool needs_adoption(const ItemRef& task) const;
  Async<bool> adopt(std::vector<ItemRef> tasks);
  Async<void> adopt_one(ItemRef task);
  Async<void> adopt_all();

  // queue_times.cc
  Async<void> give_times(std::vector<EditItemInput> edits);

  // queue_explain.cc
  std::vector<QueryInput> before_it(const ItemRef& task);
  Async<Result<void>> count_ahead(Explanation& out);
  std::string order_in_words(const ItemRef& task);
  void explain_waiting(Explanation& out);
  void explain_lateness(Explanation& out);
  void explain_pace(Explanation& out);
  void explain_rate(Explanation& out);
  void explain_runner(Explanation& out);
  void explain_state(Explanation& out, bool makes_room);
  void explain_delay(Explanation& out);
  void explain_claim(Explanation& out, bool makes_room);

  // queue_lanes.cc
  static constexpr std::string_view kLaneIndex = "freshet-lane-index";
  void lane_filled(const ItemRef& task);
  Async<Result<void>> load_lanes();
  Async<Result<void>> add_lanes(std::vector<std::string> names);
  Async<Result<WalkPage>> lane_page(std::string lane, uint32_t limit, bool newest_first, Walk walk);
  Async<Result<Page>> lane_heads(std::string lane, uint32_t limit, bool newest_first, Item start);
  Async<Result<void>> read_lane(std::string lane, LaneRead& read, size_t wanted, bool newest_first);
  Async<Result<Candidates>> lane_candidates(size_t wanted);
  ItemRef next_of_lane(std::string_view lane, LaneRead& read, ChosenByName& chosen);
  Async<void> check_lanes();

  // queue_limits.cc
  void tell_limits();
  void follow_limits(const LimitSettings& before);
  void limit_changed(std::string_view name, bool may_start);
  Async<Result<ItemRef>> next_of_keys(std::string share, KeysRead& read, ChosenByName& chosen, bool newest_first);
  Async<Result<void>> open_lane(std::string lane, KeysRead& read, bool newest_first);
  void explain_limits(Explanation& out);

  // Constant after construction.
  Services& services_;
  EventLog log_;
  const std::string table_;

  // The table, as it is since it was created last.
  TableDefinition definition_;
  std::string index_;  // (taskStatus, taskCreated).
  std::string table_id_;
  std::optional<Error> gone_;    // The reason why the queue has no table at the moment.
  std::optional<Error> broken_;  // What the table lacks at the moment.

  // The state on which the queue decides; it refers to the settings.
  QueueSettings settings_;
  QueueCore core_;

  PolicyHistory policy_history_;
  PolicyGuard policy_guard_;
  PauseHistory pause_history_;
  Histogram* pickup_ = nullptr;
  WallGuard& wall_guard_;  // Tasks expired by its earliest() are shed; tasks expired by the wall clock are not started.
  Punctuality punctuality_;
  const WallTime counts_since_ = wall();  // Ends before that are not in `punctuality_`.
  uint64_t bounced_ = 0;
  Spells spells_;  // Bounces and refusals.
  std::unique_ptr<ShedLog> shed_log_;

  // Pauses, and changes of many tasks.
  AuditLog* audit_ = nullptr;
  BootTime pause_look_{};  // Not before that the timer looks for pauses that end.

  // Work on one key or on a pause goes on one at a time.
  NamedTurns key_turns_{services_.scheduler};
  NamedTurns pause_turns_{services_.scheduler};

  // Takes that wait.
  std::list<Waiter*> waiters_;
  Waiter* rate_watcher_ = nullptr;  // The one that wakes when RATE_LIMIT lets the next one start.
  uint64_t work_seen_ = 0;          // Rises whenever work may have become eligible.

  // The timer.
  std::vector<Signal*> told_of_drain_;
  bool tick_posted_ = false;
  TimerId timer_ = 0;

  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  BulkJobs jobs_{services_, log_, table_, desk()};
  Scope scope_;  // Last: what runs here uses all of the above.
  Scope left_in_work_;
};

}  // namespace freshet
