// The deliveries of a fleet's FIFO topics: the daemon that serves the topic has them from the shared store.
#include <utility>
#include <vector>

#include "runtime/invoke/codec.h"
#include "runtime/invoke/event_queue.h"
#include "tables/lease/events_table.h"

namespace freshet {

namespace {

constexpr milliseconds kLookAtOwner{20};
constexpr std::chrono::hours kKeptForItsFunction{24};

}  // namespace

EventQueue::Shelf& EventQueue::shelf_of(const std::string& topic) {
  const auto [at, is_new] = shelves_.try_emplace(topic);
  if (is_new) {
    at->second.topic = topic;
    at->second.kind = events_of_topic(topic);
  }
  return at->second;
}

// Leaves those of functions that are not here: they may come, or another daemon has them.
Async<Result<void>> EventQueue::load_topic(std::string topic) {
  Shelf& shelf = shelf_of(topic);
  shelf.is_served = true;
  const uint64_t turn = shelf.turn;
  Item start;
  do {
    QueryInput query = page_of_events(std::move(start), &shelf);
    auto page = co_await parts_.tables.query(std::move(query));
    if (!page) co_return fail(std::move(page.error()));
    for (const ItemRef& ref : page->items) {
      if (shelf.turn != turn) co_return fail(ErrorCode::kUnavailable, "another member serves topic '" + topic + "'");
      const Item item = ref.decode();
      const auto age = parts_.wall.earliest() - WallTime(milliseconds(item.int_or("created", 0)));
      if (!parts_.functions.find(std::string(item.string_or("function"))) && age < kKeptForItsFunction) continue;
      auto loading = load_item(ref, &shelf);
      auto loaded = co_await loading;
      if (!loaded) co_return loaded;
    }
    start = std::move(page->last_evaluated_key);
  } while (!start.empty());
  watch_ages();
  co_return Result<void>();
}

void EventQueue::leave_topic(const std::string& topic) {
  const auto shelf = shelves_.find(topic);
  if (shelf == shelves_.end()) return;
  shelf->second.is_served = false;
  ++shelf->second.turn;
  drop_waiting(&shelf->second);
}

bool EventQueue::is_working(const std::string& topic) const {
  const auto shelf = shelves_.find(topic);
  return shelf != shelves_.end() && shelf->second.in_memory > 0;
}

// True if the event does not run now, because another daemon may serve its topic: this one was silent for long. It will
// lose the topic, or was heard in time.
bool EventQueue::must_wait(const std::string& function, EventPtr& event) {
  if (may_run_(event->shelf->topic)) return false;
  event->due = parts_.scheduler.clock().boot() + kLookAtOwner;
  enqueue(function, std::move(event));
  return true;
}

// Another daemon may have all that does not run yet: the events of this topic, or (null) of this daemon.
void EventQueue::drop_waiting(const Shelf* shelf) {
  std::vector<std::string> functions;
  for (const auto& [function, queue] : queues_) functions.push_back(function);
  for (const std::string& function : functions) {
    if (const auto queue = queues_.find(function); queue != queues_.end()) {
      drop_waiting(queue->second, function, shelf);
    }
  }
}

// Keeps of each group only an event that runs.
void EventQueue::drop_waiting(Queue& queue, const std::string& function, const Shelf* shelf) {
  for (auto& [group, events] : queue.behind) {
    queue.behind_count -= std::erase_if(events, [shelf](const EventPtr& event) { return event->shelf == shelf; });
  }
  std::vector<Key> gone;
  for (const auto& [key, event] : queue.waiting) {
    if (event->shelf == shelf) gone.push_back(key);
  }
  std::vector<std::string> left;  // Groups with events of another kind behind one that goes.
  for (const Key& key : gone) {
    const EventPtr event = dequeue(queue, queue.waiting.find(key));
    const auto group = queue.behind.find(event->group);
    if (group == queue.behind.end()) continue;
    if (group->second.empty()) {
      queue.behind.erase(group);
    } else {
      left.push_back(event->group);
    }
  }
  if (queue.waiting.empty()) parts_.scheduler.cancel(std::exchange(queue.timer, 0));
  for (const std::string& group : left) ended(function, group);
}

}  // namespace freshet
