// The events of a daemon in a fleet: they are in the shared store, where another daemon can take them over.
#include <utility>

#include "base/points.h"
#include "base/set_by.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/event_queue.h"
#include "streams/system_table.h"
#include "tables/lease/events_table.h"

namespace freshet {

namespace {

constexpr seconds kReadAgain{300};
constexpr seconds kLoadAgain{1};
constexpr seconds kDoneKept{600};  // Longer than any request is on its way.
constexpr seconds kStuckFor{600};
constexpr size_t kMostDone = 100'000;
constexpr size_t kMostReadAgain = 1'000;  // With more events in memory, the table is read again only when asked.
constexpr uint32_t kEventsInPage = 200;

}  // namespace

void EventQueue::share(std::string daemon) {
  table_ = kOwnEventsTable;
  kind_ = events_of(daemon);
}

std::string EventQueue::table() const {
  return is_shared() ? table_ : std::string(kSystemTable);
}

std::string EventQueue::kind(const Shelf* shelf) const {
  if (shelf) return shelf->kind;
  return is_shared() ? kind_ : std::string(kEventKind);
}

GetItemInput EventQueue::get_of(const Event& event) const {
  GetItemInput get = get_system_item(kind(event.shelf), event.id);
  get.table = table();
  return get;
}

WriteInput EventQueue::removal_of(const Event& event) const {
  DeleteItemInput gone = delete_system_item(kind(event.shelf), event.id);
  gone.table = table();
  if (is_shared()) gone.condition = "attribute_exists(id)";
  return gone;
}

// False for an event that is in memory already, or has ended, and while another daemon may have this one's events.
bool EventQueue::is_new(const EventPtr& event) {
  if (!is_served(*event) || done_ids_.contains(event->id) || stuck_.contains(event->id)) return false;
  if (!known_.insert(event->id).second) return false;
  event->known = &known_;
  if (event->shelf) ++event->shelf->in_memory;
  return true;
}

// A new event waits behind those that the table has from before.
void EventQueue::accept_logged(const std::string& function, EventPtr event) {
  if (!is_shared() || is_loaded_ || event->shelf) return accept(function, std::move(event));
  if (serving_) {
    logged_.emplace_back(function, std::move(event));
  } else {
    ++unread_;
  }
}

void EventQueue::serve(bool is_mine) {
  if (serving_ == is_mine) return;
  serving_ = is_mine;
  is_loaded_ = false;
  loading_.clear();
  looked_for_.reset();
  logged_.clear();
  if (!is_mine) return drop_waiting(nullptr);
  loading_.spawn(keep_loaded());
}

void EventQueue::look() {
  is_asked_to_look_ = true;
  if (looked_for_) looked_for_->set(true);
}

Async<void> EventQueue::keep_loaded() {
  std::string logged;
  bool must_read = true;
  for (;;) {
    must_read = std::exchange(is_asked_to_look_, false) || must_read;
    if (must_read || known_.size() < kMostReadAgain) {
      auto loading = load_shared();
      auto loaded = co_await loading;
      must_read = !loaded;
      std::string trouble = loaded ? std::string() : loaded.error().message;
      if (trouble != logged && !trouble.empty()) parts_.log.warn("EVENTS_NOT_LOADED", {{"message", trouble}});
      logged = std::move(trouble);
    }
    if (is_asked_to_look_ && !must_read) continue;
    looked_for_.emplace(parts_.scheduler);
    const bool is_well = is_loaded_ && logged.empty();
    auto looking =
        set_by(parts_.scheduler.clock().boot() + (is_well ? kReadAgain : kLoadAgain), *looked_for_, parts_.scheduler);
    static_cast<void>(co_await looking);
  }
}

// All of it but the payloads, which are read when an event starts.
QueryInput EventQueue::page_of_events(Item start, const Shelf* shelf) const {
  QueryInput query;
  query.table = table();
  query.key_condition = "#kind = :kind";
  query.projection = "#id, #requestId, #traceId, #group, #errors, #created, #notBefore, #function";
  for (const char* name :
       {"kind", "id", "requestId", "traceId", "group", "errors", "created", "notBefore", "function"}) {
    query.placeholders.names.emplace_back("#" + std::string(name), name);
  }
  query.placeholders.values.set(":kind", Value(kind(shelf)));
  query.limit = kEventsInPage;
  query.consistent = true;
  query.exclusive_start_key = std::move(start);
  return query;
}

Async<Result<void>> EventQueue::load_shared() {
  auto bringing = bring_along();
  auto brought = co_await bringing;
  if (!brought) co_return brought;
  const BootTime begun = parts_.scheduler.clock().boot();
  const size_t unread = unread_;
  Item start;
  do {
    QueryInput query = page_of_events(std::move(start), nullptr);
    auto page = co_await parts_.tables.query(std::move(query));
    if (!page) co_return fail(std::move(page.error()));
    for (const ItemRef& item : page->items) {
      auto loading = load_item(item, nullptr);
      auto loaded = co_await loading;
      if (!loaded) co_return loaded;
    }
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(parts_.scheduler, nanoseconds(0));
  } while (!start.empty());
  unread_ -= unread;
  is_loaded_ = true;
  for (auto& [function, event] : std::exchange(logged_, {})) accept(function, std::move(event));
  forget_done(begun - kDoneKept);
  std::erase_if(stuck_, [begun](const auto& one) { return one.second < begun - kStuckFor; });
  watch_ages();
  co_return Result<void>();
}

Async<Result<void>> EventQueue::load_item(ItemRef ref, Shelf* shelf) {
  EventPtr event = event_of(ref);
  event->shelf = shelf;
  if (!done_ids_.contains(event->id)) {
    // Before those that have come since.
    if (!event->created && ref.decode().find("notBefore") == nullptr) event->due = event->born;
    accept(std::string(ref.decode().string_or("function")), std::move(event));
    co_return Result<void>();
  }
  // A late write has brought it back.
  FRESHET_REACHED("an event that a late write brought back is removed");
  DeleteItemInput gone = std::get<DeleteItemInput>(removal_of(*event));
  auto removed = co_await parts_.tables.delete_item(std::move(gone));
  const bool is_gone = !removed && removed.error().code == ErrorCode::kConditionalCheckFailed;
  if (!removed && !is_gone) co_return fail(std::move(removed.error()));
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

// Deletes the event, and writes those that its end causes, in one transaction. False if it was gone already, and
// nothing was written.
Async<Result<bool>> EventQueue::remove_with(std::vector<WriteInput> sent, const Event* event) {
  // The event's deletion comes last: with several transactions, a crash may leave only the first ones, and then the
  // event must still exist.
  if (!FRESHET_PLANTED("event-kept-after-its-outcome")) sent.push_back(removal_of(*event));
  auto written = co_await write_together(parts_.tables, std::move(sent));
  if (written) co_return true;
  const ErrorCode code = written.error().code;
  const bool is_refused = code == ErrorCode::kConditionalCheckFailed || code == ErrorCode::kTransactionCanceled;
  if (!is_shared() || !is_refused) co_return fail(std::move(written.error()));
  GetItemInput get = get_of(*event);
  auto item = co_await parts_.tables.get_item(std::move(get));
  if (!item) co_return fail(std::move(item.error()));
  if (!*item) co_return false;
  co_return fail(std::move(written.error()));
}

void EventQueue::note_done(const std::string& id) {
  done_.emplace_back(parts_.scheduler.clock().boot(), id);
  done_ids_.insert(id);
  for (; done_.size() > kMostDone; done_.pop_front()) done_ids_.erase(done_.front().second);
}

// Called when all has been read: what late writes have brought back by then is removed.
void EventQueue::forget_done(BootTime oldest) {
  for (; !done_.empty() && done_.front().first < oldest; done_.pop_front()) done_ids_.erase(done_.front().second);
}

}  // namespace freshet
