// Asynchronous events: durable items of the system table that wait for their function (see invoker.h for the promises).
//
// For each function, memory has only the ids and times of the waiting events (the first few with their payload); the
// payload is read again when one starts. Only the first event of a group waits for a place; the others follow it one by
// one, each after the outcome of the one before is settled.
//
// Events of functions start in the order in which they became due, for all functions together: functions share places
// and processes. A host that is full of callers gets as many events as it has callers, so that neither starves the
// other. Endpoints have places of their own, and each has its own order. Loop thread only.
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/async.h"
#include "base/log.h"
#include "base/random.h"
#include "base/wall_guard.h"
#include "runtime/invoke/destinations.h"
#include "runtime/invoke/function_registry.h"
#include "runtime/invoke/invocation_runner.h"
#include "runtime/invoke/invoker.h"
#include "runtime/invoke/places.h"
#include "tables/tables.h"

namespace freshet {

// The number at the beginning of an id, "NUMBER-REQUEST"; 0 if there is none. A stored id may be anything.
uint64_t number_of_event(std::string_view id);

class EventQueue {
 public:
  // The objects that it uses; all must outlive it.
  struct Parts {
    Tables& tables;
    Scheduler& scheduler;
    Random& random;
    FunctionRegistry& functions;
    Places& places;
    InvocationRunner& runner;
    Account account;
    InvokerOptions options;
    EventLog log;
    WallGuard& wall;
  };
  explicit EventQueue(Parts parts);
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  ~EventQueue();

  void set_destinations(Destinations& destinations) { destinations_ = &destinations; }
  // From now on the events are items of the fleet's table (fleet_events.h), those of this daemon, and run while serve()
  // says so. Call it before load().
  void share(std::string daemon);
  // In a fleet: this daemon runs its events, or starts no more of them, as another one may take them over. Loads them
  // when it begins, and then now and then: a write whose answer was lost may have added one.
  void serve(bool is_mine);
  // In a fleet: reads the table again, because there are new events in it.
  void look();
  // In a fleet: the events of a FIFO topic are items of their own, of the daemon that serves the topic; see
  // DeliveryQueue. `may_run`: false once another daemon may serve it.
  void share_topics(std::function<bool(const std::string& topic)> may_run) { may_run_ = std::move(may_run); }
  Async<Result<void>> load_topic(std::string topic);
  void leave_topic(const std::string& topic);
  bool is_working(const std::string& topic) const;
  // True while events are in work.
  bool is_working() const { return unsettled() > 0; }
  // Loads the events that the system table holds.
  Async<Result<void>> load();
  // The delivery has a request id. `trace_id`: the trace of the cause; empty if it is not known.
  Result<PreparedEvent> prepare(const FunctionPtr& function, Delivery delivery, std::string trace_id);
  // A place is free. `reserved`: only for this function, with its versions and aliases.
  void place_freed(const std::string& function, bool reserved);
  // The function was removed: its waiting events go to its failure destination or are deleted.
  void forget(const FunctionPtr& function);
  // A topic's endpoint was removed. Its waiting events are given up; its statistics are removed with the last one.
  void endpoint_gone(const std::string& name);
  // The definition has changed: ages and places are checked again.
  void changed(const std::string& function) { wake(queue_of(function), function); }
  // Starts no more events.
  void pause() { paused_ = true; }
  // Ends all work where it waits.
  void end_all();
  size_t waiting(const std::string& function) const;
  // The number of outcomes that are being written, beside running handlers.
  size_t unsettled() const { return work_.size(); }

 private:
  // The events of a FIFO topic of a fleet.
  struct Shelf {
    std::string topic;
    std::string kind;
    bool is_served = false;
    uint64_t turn = 0;     // How often the topic was left.
    size_t in_memory = 0;  // Events that were accepted, and have not ended.
  };
  struct Event {
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() {
      if (!known) return;
      known->erase(id);
      if (shelf) --shelf->in_memory;
    }
    std::string id;  // The id in the table.
    std::string request_id;
    std::string payload;   // Empty: read it from the table.
    std::string trace_id;  // May be empty.
    std::string group;     // May be empty. See Delivery.
    BootTime born{};
    BootTime due{};
    int errors = 0;  // The errors of the handler so far. Stored in the event.
    int busy = 0;    // How many times in a row the endpoint did not accept it.
    uint64_t number = 0;
    // The creation time in epoch ms, if the event's age is not certain: it was loaded while the wall clock was not
    // trusted.
    std::optional<int64_t> created = {};
    absl::flat_hash_set<std::string>* known = nullptr;  // In a fleet: the set of ids that has this one.
    Shelf* shelf = nullptr;                             // In a fleet, for a FIFO topic's message.
  };
  using EventPtr = std::unique_ptr<Event>;
  using Key = std::pair<BootTime, uint64_t>;
  struct Queue {
    const std::string* name = nullptr;
    std::optional<Key> head;                 // The queue's entry in heads_.
    absl::btree_map<Key, EventPtr> waiting;  // By (due, number).
    absl::btree_map<Key, BootTime> by_age;   // (born, number) -> due.
    // Groups with an event that waits or runs, each with the events after it. These are examined in their turn, so even
    // one that is too old ends in order.
    absl::flat_hash_map<std::string, std::deque<EventPtr>> behind;
    size_t behind_count = 0;
    bool pump_posted = false;
    TimerId timer = 0;
    BootTime timer_at{};
  };

  // event_sharing.cc
  bool is_shared() const { return !table_.empty(); }
  bool is_served(const Event& event) const { return event.shelf ? event.shelf->is_served : serving_; }
  std::string table() const;
  std::string kind(const Shelf* shelf = nullptr) const;
  Shelf& shelf_of(const std::string& topic);
  bool must_wait(const std::string& function, EventPtr& event);
  GetItemInput get_of(const Event& event) const;
  WriteInput removal_of(const Event& event) const;
  bool is_new(const EventPtr& event);
  void accept_logged(const std::string& function, EventPtr event);
  Async<Result<void>> bring_along();
  Async<void> keep_loaded();
  Async<Result<void>> load_shared();
  Async<Result<void>> load_item(ItemRef ref, Shelf* shelf);
  QueryInput page_of_events(Item start, const Shelf* shelf) const;
  void drop_waiting(const Shelf* shelf);
  void drop_waiting(Queue& queue, const std::string& function, const Shelf* shelf);
  Async<Result<bool>> remove_with(std::vector<WriteInput> sent, const Event* event);
  void note_done(const std::string& id);
  void forget_done(BootTime oldest);

  EventPtr event_of(const ItemRef& ref);
  Queue& queue_of(const std::string& function);
  void accept(const std::string& function, EventPtr event);
  void enqueue(const std::string& function, EventPtr event);
  void ended(const std::string& function, const std::string& group);
  void tidy(const std::string& name);
  EventPtr dequeue(Queue& queue, absl::btree_map<Key, EventPtr>::iterator at);
  void wake(Queue& queue, const std::string& function);
  void pump(const std::string& function);
  void start_own(Queue& queue, const FunctionPtr& function);
  void start_shared_soon();
  void start_shared_at(BootTime at);
  void start_shared();
  bool start_first(Queue& queue);
  bool start_event(Queue& queue, const FunctionPtr& function);
  void head_changed(Queue& queue);
  void watch_ages();
  void certain_ages();
  void settle_age(Event& event);
  void expire(Queue& queue, const FunctionPtr& function);
  void arm(Queue& queue, const std::string& function, const FunctionDefinition& definition);

  Async<void> process(FunctionPtr function, EventPtr event, Places::Place place);
  Async<void> settle(FunctionPtr function, EventPtr event, InvokeOutcome outcome);
  Async<void> retry_later(FunctionPtr function, EventPtr event, InvokeOutcome outcome);
  Async<void> give_up(FunctionPtr function, EventPtr event, std::string condition,
                      std::unique_ptr<InvokeOutcome> outcome);
  // Deletes the event and notifies its destinations in one transaction; retries for as long as the store refuses.
  Async<void> conclude(FunctionPtr function, EventPtr event, std::string condition,
                       std::unique_ptr<InvokeOutcome> outcome);
  // The destinations to notify of its end.
  struct Conclusion {
    std::string target;  // May be empty, as may dead_letter.
    std::string document;
    std::string dead_letter;
    DeadLetter letter;
  };
  // `event` and `outcome` (null if it never ran) outlive it.
  Async<Conclusion> conclusion(FunctionPtr function, const Event* event, std::string condition,
                               const InvokeOutcome* outcome);
  Async<Result<std::vector<PreparedEvent>>> destination_events(const Conclusion* end);  // `end` outlives it.
  // Adds the events in `prepared`; logs an error that does not pass by itself.
  Result<void> add_events(const std::string& target, Result<std::vector<PreparedEvent>> prepared,
                          std::vector<PreparedEvent>& all);
  nanoseconds busy_wait(int times);

  const Parts parts_;
  Destinations* destinations_ = nullptr;
  // In a fleet; else empty.
  std::string table_;
  std::string kind_;
  bool serving_ = false;
  bool is_loaded_ = false;                                // The table was read since it serves.
  bool is_asked_to_look_ = false;                         // Since the last read began.
  std::optional<Promise<bool>> looked_for_;               // Set by look() while keep_loaded() waits.
  std::vector<std::pair<std::string, EventPtr>> logged_;  // By function: events that came while it was first read.
  size_t unread_ = 0;                                     // Events that were accepted while it did not serve.
  // Events that cannot be settled, since when: they run again later.
  std::map<std::string, BootTime> stuck_;
  absl::flat_hash_set<std::string> known_;             // The ids of all events in memory.
  std::deque<std::pair<BootTime, std::string>> done_;  // Events that ended lately, oldest first: a late write may
  absl::flat_hash_set<std::string> done_ids_;          // bring one back.
  std::function<bool(const std::string& topic)> may_run_;
  std::map<std::string, Shelf> shelves_;  // By topic.
  std::map<std::string, Queue> queues_;
  absl::btree_set<std::pair<Key, Queue*>> heads_;  // For functions: the first waiting event of each queue.
  std::map<std::string, int> in_hosts_;            // The number of events that run or wait in each host.
  uint64_t last_number_ = 0;
  uint64_t last_id_ = 0;
  bool host_full_ = false;  // True if events wait for a host: any invocation that ends may make room.
  bool paused_ = false;
  bool shared_posted_ = false;
  TimerId ages_timer_ = 0;
  TimerId kept_timer_ = 0;  // Fires when a place that is kept for a caller goes to an event.
  BootTime kept_timer_at_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Scope work_;
  Scope loading_;  // The last members, so that they are destroyed first.
};

}  // namespace freshet
