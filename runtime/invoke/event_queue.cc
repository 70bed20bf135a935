#include "runtime/invoke/event_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/limits.h"
#include "base/points.h"
#include "base/under_way.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/http_host.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

// The number of a function's waiting events whose payload is kept in memory.
constexpr size_t kPayloadsKept = 16;
// The most events that one run of start_own() or start_shared() starts. A turn of the loop may have several runs.
constexpr int kStartsPerStep = 64;

// How often it checks if the wall clock is trusted, while ages depend on that.
constexpr nanoseconds kAgesLook = seconds(1);

// True for an endpoint of a topic, false for a function. An endpoint has places of its own, and no host that can be
// full.
bool is_endpoint(const std::string& name) {
  return name.starts_with("arn:aws:sns:");
}

milliseconds age_at(WallTime now, int64_t created) {
  return milliseconds(std::max<int64_t>(0, epoch_ms(now) - std::max<int64_t>(0, created)));
}

nanoseconds doubled(milliseconds first, milliseconds most, int times) {
  const int doublings = std::clamp(times - 1, 0, 20);
  return std::min<nanoseconds>(first * (int64_t{1} << doublings), most);
}

}  // namespace

uint64_t number_of_event(std::string_view id) {
  uint64_t number = 0;
  const size_t end = std::min(id.find('-'), id.size());
  std::from_chars(id.data(), id.data() + end, number);
  return number;
}

EventQueue::EventQueue(Parts parts) : parts_(std::move(parts)) {}

EventQueue::~EventQueue() {
  end_all();
}

void EventQueue::end_all() {
  paused_ = true;
  loading_.clear();
  work_.clear();
  parts_.scheduler.cancel(std::exchange(ages_timer_, 0));
  parts_.scheduler.cancel(std::exchange(kept_timer_, 0));
  for (auto& [function, queue] : queues_) {
    parts_.scheduler.cancel(queue.timer);
    queue.timer = 0;
  }
}

size_t EventQueue::waiting(const std::string& function) const {
  const auto queue = queues_.find(function);
  return queue == queues_.end() ? 0 : queue->second.waiting.size() + queue->second.behind_count;
}

Async<Result<void>> EventQueue::load() {
  if (is_shared()) co_return Result<void>();
  auto items = co_await load_system_items(parts_.tables, std::string(kEventKind));
  if (!items) co_return fail(std::move(items.error()));
  for (const ItemRef& item : *items) {
    EventPtr event = event_of(item);
    std::string function(item.decode().string_or("function"));
    accept(function, std::move(event));
  }
  watch_ages();
  co_return Result<void>();
}

void EventQueue::watch_ages() {
  if (parts_.wall.trusted() || ages_timer_ != 0) return;
  ages_timer_ = parts_.scheduler.call_after(kAgesLook, [this] { certain_ages(); });
}

// An event as the table has it.
EventQueue::EventPtr EventQueue::event_of(const ItemRef& ref) {
  const BootTime now = parts_.scheduler.clock().boot();
  const WallTime wall = parts_.scheduler.clock().wall();
  const Item item = ref.decode();
  auto event = std::make_unique<Event>();
  event->id = item.string_or("id");
  event->request_id = item.string_or("requestId");
  event->trace_id = item.string_or("traceId");
  event->group = item.string_or("group");
  // Later events get higher ids, even if the wall clock was set back.
  last_id_ = std::max(last_id_, number_of_event(event->id));
  event->errors = static_cast<int>(item.int_or("errors", 0));
  const int64_t created = item.int_or("created", epoch_ms(wall));
  event->born = now - age_at(parts_.wall.earliest(), created);
  const milliseconds wait(std::max<int64_t>(0, item.int_or("notBefore", 0)) - epoch_ms(wall));
  event->due = now + std::clamp(wait, milliseconds(0), parts_.options.max_retry_delay);
  if (!parts_.wall.trusted()) {
    event->created = created;
    // The event may be too old: until that is known, it is neither started nor given up.
    const FunctionPtr definition = parts_.functions.find(std::string(item.string_or("function")));
    if (definition && age_at(wall, created) >= definition->async.max_event_age) event->due = BootTime::max();
  }
  return event;
}

// Once the wall clock is trusted, the events that were found at the start get their ages from it.
void EventQueue::certain_ages() {
  ages_timer_ = 0;
  if (!parts_.wall.trusted()) return watch_ages();
  for (auto& [function, queue] : queues_) {
    std::vector<Key> loaded;
    for (const auto& [key, event] : queue.waiting) {
      if (event->created) loaded.push_back(key);
    }
    for (const Key& key : loaded) enqueue(function, dequeue(queue, queue.waiting.find(key)));
  }
}

// Sets the age of an event that was found at the start.
void EventQueue::settle_age(Event& event) {
  const BootTime now = parts_.scheduler.clock().boot();
  event.born = now - age_at(parts_.scheduler.clock().wall(), *event.created);
  event.due = event.due == BootTime::max() ? now : event.due;
  event.created.reset();
}

EventQueue::Queue& EventQueue::queue_of(const std::string& function) {
  const auto [at, is_new] = queues_.try_emplace(function);
  if (is_new) at->second.name = &at->first;
  return at->second;
}

// Adds a new event. In a group it waits behind the existing one.
void EventQueue::accept(const std::string& function, EventPtr event) {
  if (is_shared() && !is_new(event)) return;
  if (event->group.empty() || FRESHET_PLANTED("group-side-by-side")) return enqueue(function, std::move(event));
  Queue& queue = queue_of(function);
  const auto [group, is_first] = queue.behind.try_emplace(event->group);
  if (is_first) return enqueue(function, std::move(event));
  if (queue.waiting.size() + queue.behind_count >= kPayloadsKept) event->payload = std::string();
  group->second.push_back(std::move(event));
  ++queue.behind_count;
}

void EventQueue::endpoint_gone(const std::string& name) {
  const auto queue = queues_.find(name);
  if (queue == queues_.end()) return parts_.runner.forget_stats(name);
  wake(queue->second, name);
}

// Removes all state of an endpoint that no longer exists: subscriptions are added and removed often.
void EventQueue::tidy(const std::string& name) {
  if (!is_endpoint(name) || parts_.functions.find(name)) return;
  if (const auto found = queues_.find(name); found != queues_.end()) {
    const Queue& queue = found->second;
    if (!queue.waiting.empty() || !queue.behind.empty() || queue.pump_posted || queue.timer) return;
    queues_.erase(found);
  }
  parts_.runner.forget_stats(name);
}

// The outcome of an event is settled; the next one of its group has its turn.
void EventQueue::ended(const std::string& function, const std::string& group) {
  if (group.empty()) return tidy(function);
  Queue& queue = queue_of(function);
  const auto found = queue.behind.find(group);
  if (found == queue.behind.end()) return;
  if (found->second.empty()) {
    queue.behind.erase(found);
    return tidy(function);
  }
  EventPtr next = std::move(found->second.front());
  found->second.pop_front();
  --queue.behind_count;
  enqueue(function, std::move(next));
}

void EventQueue::enqueue(const std::string& function, EventPtr event) {
  if (is_shared() && !is_served(*event))
    return ended(function, event->group);  // Its next daemon has it from the table.
  Queue& queue = queue_of(function);
  if (event->created && parts_.wall.trusted()) settle_age(*event);
  event->number = ++last_number_;
  if (queue.waiting.size() >= kPayloadsKept) event->payload = std::string();
  queue.by_age.emplace(Key(event->born, event->number), event->due);
  queue.waiting.emplace(Key(event->due, event->number), std::move(event));
  head_changed(queue);
  wake(queue, function);
}

EventQueue::EventPtr EventQueue::dequeue(Queue& queue, absl::btree_map<Key, EventPtr>::iterator at) {
  EventPtr event = std::move(at->second);
  queue.waiting.erase(at);
  queue.by_age.erase(Key(event->born, event->number));
  head_changed(queue);
  return event;
}

void EventQueue::head_changed(Queue& queue) {
  if (is_endpoint(*queue.name)) return;
  std::optional<Key> head;
  if (!queue.waiting.empty()) head = queue.waiting.begin()->first;
  if (head == queue.head) return;
  if (queue.head) heads_.erase(std::pair(*queue.head, &queue));
  if (head) heads_.emplace(*head, &queue);
  queue.head = head;
}

// Never called from inside an event: the pump runs as a step of its own, in this turn if there is room.
void EventQueue::wake(Queue& queue, const std::string& function) {
  if (queue.pump_posted || paused_) return;
  queue.pump_posted = true;
  parts_.scheduler.post([this, function, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) pump(function);
  });
}

void EventQueue::place_freed(const std::string& function, bool reserved) {
  if (paused_) return;
  if (reserved) {
    const auto look = [this](auto queue) {
      if (!queue->second.waiting.empty()) wake(queue->second, queue->first);
    };
    const std::string name(is_endpoint(function) ? std::string_view(function) : plain_name(function));
    if (const auto queue = queues_.find(name); queue != queues_.end()) look(queue);
    const std::string end = name + static_cast<char>(':' + 1);
    for (auto at = queues_.lower_bound(name + ":"); at != queues_.end() && at->first < end; ++at) look(at);
  }
  if (!reserved || std::exchange(host_full_, false)) start_shared_soon();
}

void EventQueue::pump(const std::string& function) {
  Queue& queue = queue_of(function);
  queue.pump_posted = false;
  if (paused_) return;
  const FunctionPtr definition = parts_.functions.find(function);
  if (!definition) {
    FunctionDefinition gone;
    gone.name = function;
    forget(std::make_shared<const FunctionDefinition>(std::move(gone)));
    return tidy(function);
  }
  expire(queue, definition);
  if (is_endpoint(function)) {
    start_own(queue, definition);
  } else {
    start_shared();
  }
  arm(queue, function, *definition);
}

// Starts an endpoint's due events.
void EventQueue::start_own(Queue& queue, const FunctionPtr& function) {
  const BootTime now = parts_.scheduler.clock().boot();
  for (int starts = 0; !queue.waiting.empty() && queue.waiting.begin()->first.first <= now; ++starts) {
    if (starts == kStartsPerStep) return wake(queue, function->name);
    if (!start_event(queue, function)) return;
  }
}

void EventQueue::start_shared_soon() {
  if (shared_posted_ || heads_.empty()) return;
  shared_posted_ = true;
  parts_.scheduler.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    shared_posted_ = false;
    start_shared();
  });
}

void EventQueue::start_shared_at(BootTime at) {
  if (kept_timer_ != 0 && kept_timer_at_ <= at) return;
  parts_.scheduler.cancel(kept_timer_);
  kept_timer_at_ = at;
  kept_timer_ = parts_.scheduler.call_at(at, [this] {
    kept_timer_ = 0;
    start_shared();
  });
}

// Starts the due events of functions, the earliest due first.
void EventQueue::start_shared() {
  if (paused_) return;
  const BootTime now = parts_.scheduler.clock().boot();
  std::vector<Queue*> changed;  // In the order of their starts. The queues of functions are not removed.
  auto at = heads_.begin();
  for (int starts = 0; at != heads_.end() && at->first.first <= now;) {
    if (starts == kStartsPerStep) {
      start_shared_soon();
      break;
    }
    const auto head = *at;
    if (start_first(*head.second)) {
      if (std::find(changed.begin(), changed.end(), head.second) == changed.end()) changed.push_back(head.second);
      ++starts;
    }
    at = heads_.upper_bound(head);
  }
  for (Queue* queue : changed) {
    if (const FunctionPtr definition = parts_.functions.find(*queue->name)) arm(*queue, *queue->name, *definition);
  }
}

// Starts the queue's first event, if there is room for it. Returns false if nothing has changed.
bool EventQueue::start_first(Queue& queue) {
  const std::string& name = *queue.name;
  const FunctionPtr definition = parts_.functions.find(name);
  if (!definition) {
    wake(queue, name);  // Gives up its events.
    return false;
  }
  const Key first = *queue.head;
  expire(queue, definition);
  return queue.head != first || start_event(queue, definition);
}

// Returns false if there is no room for it.
bool EventQueue::start_event(Queue& queue, const FunctionPtr& function) {
  if (!parts_.runner.has_room_for_event(*function, in_hosts_[function->host])) {
    host_full_ = true;
    return false;
  }
  auto place = parts_.places.take(*function, Places::For::kEvent, parts_.scheduler.clock().boot());
  if (!place) {
    if (const auto until = parts_.places.kept_until(*function)) start_shared_at(*until);
    return false;
  }
  EventPtr event = dequeue(queue, queue.waiting.begin());
  work_.spawn(process(function, std::move(event), std::move(*place)));
  return true;
}

void EventQueue::expire(Queue& queue, const FunctionPtr& function) {
  const BootTime oldest = parts_.scheduler.clock().boot() - function->async.max_event_age;
  while (!queue.by_age.empty() && queue.by_age.begin()->first.first <= oldest) {
    const auto [born, number] = queue.by_age.begin()->first;
    EventPtr event = dequeue(queue, queue.waiting.find(Key(queue.by_age.begin()->second, number)));
    work_.spawn(give_up(function, std::move(event), "EventAgeExceeded", nullptr));
  }
}

// Sets the timer for the next time at which something happens without a place becoming free.
void EventQueue::arm(Queue& queue, const std::string& function, const FunctionDefinition& definition) {
  BootTime next = BootTime::max();
  if (!queue.by_age.empty()) next = queue.by_age.begin()->first.first + definition.async.max_event_age;
  if (!queue.waiting.empty()) {
    const BootTime due = queue.waiting.begin()->first.first;
    if (due > parts_.scheduler.clock().boot()) next = std::min(next, due);
  }
  if (queue.timer && next == queue.timer_at) return;
  parts_.scheduler.cancel(queue.timer);
  queue.timer = 0;
  queue.timer_at = next;
  if (next == BootTime::max()) return;
  queue.timer = parts_.scheduler.call_at(next, [this, function] {
    Queue& due = queue_of(function);
    due.timer = 0;
    wake(due, function);
  });
}

void EventQueue::forget(const FunctionPtr& function) {
  parts_.places.forget(*function);
  Queue& queue = queue_of(function->name);
  parts_.scheduler.cancel(queue.timer);
  queue.timer = 0;
  std::vector<EventPtr> events;
  while (!queue.waiting.empty()) events.push_back(dequeue(queue, queue.waiting.begin()));
  // The queue itself may be removed with the last of them.
  for (EventPtr& event : events) work_.spawn(give_up(function, std::move(event), "FunctionRemoved", nullptr));
}

Async<void> EventQueue::process(FunctionPtr function, EventPtr event, Places::Place place) {
  const UnderWay counted(in_hosts_[function->host]);
  const Places::Place held = std::move(place);  // Held until the outcome is written: if writing fails, no more events
                                                // start.
  if (event->payload.empty()) {
    GetItemInput get = get_of(*event);
    auto item = co_await parts_.tables.get_item(std::move(get));
    if (item && !*item) {  // The event was removed.
      ended(function->name, event->group);
      co_return;
    }
    if (!item) {
      InvokeOutcome busy{"null", FunctionError{std::string(kHostUnavailable), item.error().message}};
      co_await retry_later(std::move(function), std::move(event), std::move(busy));
      co_return;
    }
    event->payload = item->decode().string_or("payload");
  }
  if (event->shelf && must_wait(function->name, event)) co_return;
  std::string payload = std::move(event->payload);
  event->payload.clear();
  InvokeWishes wishes{false, event->trace_id};
  auto running = parts_.runner.run(function, event->request_id, Payload(std::move(payload)), std::move(wishes));
  InvokeOutcome outcome = co_await running;
  co_await settle(std::move(function), std::move(event), std::move(outcome));
}

Async<void> EventQueue::settle(FunctionPtr function, EventPtr event, InvokeOutcome outcome) {
  if (!outcome.error) {
    auto result = std::make_unique<InvokeOutcome>(std::move(outcome));
    std::string condition = "Success";
    co_await conclude(std::move(function), std::move(event), std::move(condition), std::move(result));
    co_return;
  }
  if (is_busy(outcome) || event->errors < function->async.max_retries) {
    co_await retry_later(std::move(function), std::move(event), std::move(outcome));
    co_return;
  }
  ++event->errors;
  auto result = std::make_unique<InvokeOutcome>(std::move(outcome));
  std::string condition = "RetriesExhausted";
  co_await give_up(std::move(function), std::move(event), std::move(condition), std::move(result));
}

nanoseconds EventQueue::busy_wait(int times) {
  const nanoseconds whole = doubled(parts_.options.busy_delay, parts_.options.max_busy_delay, times);
  return whole / 2 + nanoseconds(parts_.random.below(static_cast<uint64_t>(whole.count() / 2 + 1)));
}

Async<void> EventQueue::retry_later(FunctionPtr function, EventPtr event, InvokeOutcome outcome) {
  const Clock& clock = parts_.scheduler.clock();
  if (is_busy(outcome)) {
    event->due = clock.boot() + busy_wait(++event->busy);
    enqueue(function->name, std::move(event));
    co_return;
  }
  event->busy = 0;
  if (!FRESHET_PLANTED("event-retry-not-counted")) ++event->errors;
  ++parts_.runner.stats(function->name).retries;
  const nanoseconds wait = doubled(parts_.options.retry_delay, parts_.options.max_retry_delay, event->errors);
  event->due = clock.boot() + wait;
  UpdateItemInput update;
  update.table = table();
  update.key = system_item(kind(event->shelf), event->id);
  update.update = "SET errors = :n, notBefore = :t, lastError = :e";
  update.condition = "attribute_exists(id)";
  update.placeholders.values.set(":n", Value::number(event->errors));
  const auto not_before = clock.wall() + std::chrono::ceil<milliseconds>(wait);
  update.placeholders.values.set(":t", Value::number(epoch_ms(not_before)));
  std::string error = outcome.error->type + ": " + outcome.error->message;
  error.resize(std::min<size_t>(error.size(), 1000));
  update.placeholders.values.set(":e", Value(std::move(error)));
  // If this write is lost, a restart makes one attempt more than necessary.
  auto written = co_await parts_.tables.update_item(std::move(update));
  if (!written && written.error().code == ErrorCode::kConditionalCheckFailed) {
    ended(function->name, event->group);
    co_return;
  }
  enqueue(function->name, std::move(event));
}

Async<void> EventQueue::give_up(FunctionPtr function, EventPtr event, std::string condition,
                                std::unique_ptr<InvokeOutcome> outcome) {
  ++parts_.runner.stats(function->name).dropped;
  parts_.log.warn("ASYNC_EVENT_DROPPED", {{"function", function->name},
                                          {"requestId", event->request_id},
                                          {"condition", condition},
                                          {"invocations", event->errors}});
  co_await conclude(std::move(function), std::move(event), std::move(condition), std::move(outcome));
}

// The events to write with the end of an event: none for a target that does not exist, which is logged.
Async<Result<std::vector<PreparedEvent>>> EventQueue::destination_events(const Conclusion* end) {
  std::vector<PreparedEvent> all;
  if (destinations_ && !end->target.empty() && !FRESHET_PLANTED("outcome-not-sent")) {
    auto preparing = destinations_->prepare(end->target, end->document);
    auto prepared = co_await preparing;
    auto added = add_events(end->target, std::move(prepared), all);
    if (!added) co_return fail(std::move(added.error()));
  }
  if (destinations_ && !end->dead_letter.empty()) {
    auto preparing = destinations_->prepare_dead_letter(end->dead_letter, end->letter);
    auto prepared = co_await preparing;
    auto added = add_events(end->dead_letter, std::move(prepared), all);
    if (!added) co_return fail(std::move(added.error()));
  }
  co_return all;
}

Result<void> EventQueue::add_events(const std::string& target, Result<std::vector<PreparedEvent>> prepared,
                                    std::vector<PreparedEvent>& all) {
  if (prepared) {
    std::move(prepared->begin(), prepared->end(), std::back_inserter(all));
  } else if (is_passing(prepared.error())) {
    return fail(std::move(prepared.error()));
  } else {
    parts_.log.error("DESTINATION_FAILED", {{"target", target}, {"error", prepared.error().message}});
  }
  return {};
}

Async<EventQueue::Conclusion> EventQueue::conclusion(FunctionPtr function, const Event* event, std::string condition,
                                                     const InvokeOutcome* outcome) {
  const AsyncConfig& async = function->async;
  Conclusion end;
  const bool good = outcome && !outcome->error;
  end.target = good ? async.on_success.target : async.on_failure.target;
  if (!good && !FRESHET_PLANTED("dead-letter-lost")) end.dead_letter = function->dead_letter.target;
  if (end.target.empty() && end.dead_letter.empty()) co_return end;
  GetItemInput get = get_of(*event);
  auto item = co_await parts_.tables.get_item(std::move(get));
  for (int tries = 1; !item && is_passing(item.error()); ++tries) {
    co_await sleep_for(parts_.scheduler, busy_wait(tries));
    GetItemInput again = get_of(*event);
    item = co_await parts_.tables.get_item(std::move(again));
  }
  std::string payload;
  if (item && *item) payload = item->decode().string_or("payload");
  if (!end.dead_letter.empty()) {
    end.letter = {event->request_id, payload, outcome ? 200 : 500, outcome ? outcome->error->message : condition};
  }
  if (!end.target.empty()) {
    end.document = destination_document({.at = parts_.scheduler.clock().wall(),
                                         .request_id = event->request_id,
                                         .function_arn = function_arn(parts_.account, function->name),
                                         .condition = std::move(condition),
                                         .invocations = event->errors + (good ? 1 : 0),
                                         .request_payload = std::move(payload),
                                         .outcome = outcome});
  }
  co_return end;
}

Async<void> EventQueue::conclude(FunctionPtr function, EventPtr event, std::string condition,
                                 std::unique_ptr<InvokeOutcome> outcome) {
  const std::string name = function->name;
  const Conclusion end = co_await conclusion(std::move(function), event.get(), std::move(condition), outcome.get());
  std::optional<std::vector<PreparedEvent>> sent;  // The same while an earlier try may have been carried out.
  bool is_unsure = false;
  for (int tries = 1;; ++tries) {
    Error error;
    if (!sent) {
      auto sending = destination_events(&end);
      auto made = co_await sending;
      if (made) {
        sent = std::move(*made);
      } else {
        error = std::move(made.error());
      }
    }
    if (sent) {
      std::vector<WriteInput> writes;
      for (PreparedEvent& one : *sent) {
        if (is_shared()) {
          writes.push_back(one.write);
        } else {
          writes.push_back(std::move(one.write));
        }
      }
      auto removing = remove_with(std::move(writes), event.get());
      auto removed = co_await removing;
      if (removed) {
        if (*removed) {
          for (const PreparedEvent& one : *sent) one.logged();
        } else {
          look();  // An earlier try was carried out, or another daemon has the event.
        }
        if (is_shared()) note_done(event->id);
        ended(name, event->group);
        co_return;
      }
      error = std::move(removed.error());
      is_unsure = is_unsure || error.code == ErrorCode::kUnknownOutcome;
      if (!is_unsure || !is_shared()) sent.reset();  // New ones are not too old after a long outage.
    }
    if (!is_passing(error)) {
      parts_.log.error("ASYNC_EVENT_NOT_SETTLED", {{"requestId", event->request_id}, {"error", error.message}});
      if (is_shared()) stuck_[event->id] = parts_.scheduler.clock().boot();
      ended(name, event->group);
      co_return;  // It is still in the table: the next start runs it again.
    }
    co_await sleep_for(parts_.scheduler, busy_wait(tries));
  }
}

}  // namespace freshet
