// The events of a daemon in a fleet: they are in the shared store, where another daemon can take them over.
#include <utility>

#include "base/set_by.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/event_queue.h"
#include "streams/system_table.h"
#include "tables/lease/events_table.h"

namespace freshet {

namespace {

constexpr seconds kReadAgain{300};
constexpr seconds kLoadAgain{1};
constexpr seconds kDoneKept{600};         // Longer than any request is on its way.
constexpr size_t kMostReadAgain = 1'000;  // With more events in memory, the table is not read again.

}  // namespace

void EventQueue::share(std::string daemon) {
  table_ = kOwnEventsTable;
  kind_ = events_of(daemon);
}

std::string EventQueue::table() const {
  return is_shared() ? table_ : std::string(kSystemTable);
}

std::string EventQueue::kind() const {
  return is_shared() ? kind_ : std::string(kEventKind);
}

GetItemInput EventQueue::get_of(const Event& event) const {
  GetItemInput get = get_system_item(kind(), event.id);
  get.table = table();
  return get;
}

WriteInput EventQueue::removal_of(const Event& event) const {
  DeleteItemInput gone = delete_system_item(kind(), event.id);
  gone.table = table();
  return gone;
}

// False for an event that is in memory already, or has ended, and while another daemon may have this one's events.
bool EventQueue::is_new(const EventPtr& event) {
  if (!serving_ || done_ids_.contains(event->id) || !known_.insert(event->id).second) return false;
  event->known = &known_;
  return true;
}

void EventQueue::serve(bool is_mine) {
  if (serving_ == is_mine) return;
  serving_ = is_mine;
  loading_.clear();
  looked_for_.reset();
  if (!is_mine) return drop_waiting();
  loading_.spawn(keep_loaded());
}

void EventQueue::look() {
  if (looked_for_) looked_for_->set(true);
}

Async<void> EventQueue::keep_loaded() {
  bool is_loaded = false;
  std::string logged;
  for (;;) {
    if (!is_loaded || known_.size() < kMostReadAgain) {
      auto loading = load_shared();
      auto loaded = co_await loading;
      is_loaded = loaded.has_value();
      std::string trouble = loaded ? std::string() : loaded.error().message;
      if (trouble != logged && !trouble.empty()) parts_.log.warn("EVENTS_NOT_LOADED", {{"message", trouble}});
      logged = std::move(trouble);
    }
    looked_for_.emplace(parts_.scheduler);
    auto looking =
        set_by(parts_.scheduler.clock().boot() + (is_loaded ? kReadAgain : kLoadAgain), *looked_for_, parts_.scheduler);
    static_cast<void>(co_await looking);
  }
}

Async<Result<void>> EventQueue::load_shared() {
  auto bringing = bring_along();
  auto brought = co_await bringing;
  if (!brought) co_return brought;
  forget_done();
  auto items = co_await load_items_of(parts_.tables, table(), kind(), std::string());
  if (!items) co_return fail(std::move(items.error()));
  for (const ItemRef& item : *items) {
    EventPtr event = event_of(item);
    if (done_ids_.contains(event->id)) {  // A late write has brought it back.
      DeleteItemInput gone = std::get<DeleteItemInput>(removal_of(*event));
      auto removed = co_await parts_.tables.delete_item(std::move(gone));
      if (!removed) co_return fail(std::move(removed.error()));
      continue;
    }
    std::string function(item.decode().string_or("function"));
    accept(function, std::move(event));
  }
  watch_ages();
  co_return Result<void>();
}

// The events that this daemon had in its own store before it was in a fleet.
Async<Result<void>> EventQueue::bring_along() {
  auto items = co_await load_system_items(parts_.tables, std::string(kEventKind));
  if (!items) co_return fail(std::move(items.error()));
  for (const ItemRef& ref : *items) {
    Item item = ref.decode();
    const std::string id(item.string_or("id"));
    item.set("kind", Value(kind()));
    PutItemInput put = put_system_item(std::move(item));
    put.table = table();
    put.only_new = true;
    auto written = co_await parts_.tables.put_item(std::move(put));
    if (!written && written.error().code != ErrorCode::kConditionalCheckFailed) co_return fail(written.error());
    auto removed = co_await parts_.tables.delete_item(delete_system_item(kEventKind, id));
    if (!removed) co_return fail(std::move(removed.error()));
  }
  co_return Result<void>();
}

// Another daemon may take over all that does not run yet. Of groups, only those whose first event runs are kept.
void EventQueue::drop_waiting() {
  for (auto& [function, queue] : queues_) {
    for (const auto& [key, event] : queue.waiting) {
      if (!event->group.empty()) queue.behind.erase(event->group);
    }
    for (auto& [group, events] : queue.behind) events.clear();
    queue.behind_count = 0;
    queue.waiting.clear();
    queue.by_age.clear();
    head_changed(queue);
    parts_.scheduler.cancel(std::exchange(queue.timer, 0));
  }
}

void EventQueue::note_done(const std::string& id) {
  done_.emplace_back(parts_.scheduler.clock().boot(), id);
  done_ids_.insert(id);
  forget_done();
}

void EventQueue::forget_done() {
  const BootTime oldest = parts_.scheduler.clock().boot() - kDoneKept;
  for (; !done_.empty() && done_.front().first < oldest; done_.pop_front()) done_ids_.erase(done_.front().second);
}

}  // namespace freshet
