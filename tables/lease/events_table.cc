#include "tables/lease/events_table.h"

#include <utility>

#include "base/points.h"
#include "tables/lease/shared_table.h"

namespace freshet {

namespace {

constexpr std::string_view kDaemons = "daemons";  // The kind of the notes.
constexpr std::string_view kLife = "life";
constexpr uint32_t kPage = 100;
constexpr std::chrono::hours kDroppedAfter{24};  // No event may be older than six hours.

Item events_key(std::string_view kind, std::string_view id) {
  return Item{{"kind", kind}, {"id", id}};
}

QueryInput query_of(std::string_view kind, Item start) {
  QueryInput query;
  query.table = kOwnEventsTable;
  query.key_condition = "#kind = :kind";
  query.placeholders.names = {{"#kind", "kind"}};
  query.placeholders.values.set(":kind", Value(std::string(kind)));
  query.limit = kPage;
  query.consistent = true;
  query.exclusive_start_key = std::move(start);
  return query;
}

bool is_refused(const Error& error) {
  return error.code == ErrorCode::kTransactionCanceled || error.code == ErrorCode::kConditionalCheckFailed;
}

Async<Result<void>> delete_event(Tables& tables, Item key) {
  DeleteItemInput gone;
  gone.table = kOwnEventsTable;
  gone.key = std::move(key);
  gone.cause = Cause::kQueue;
  auto deleted = co_await tables.delete_item(std::move(gone));
  if (!deleted) co_return fail(std::move(deleted.error()));
  co_return Result<void>();
}

// True if the transaction failed only because the next daemon has the event already.
bool is_there_already(const Error& error) {
  const auto* cancelled = dynamic_cast<const TransactionCanceled*>(error.detail.get());
  return cancelled && cancelled->reasons.size() == 2 && cancelled->reasons[0].code == "None" &&
         cancelled->reasons[1].code == "ConditionalCheckFailed";
}

// False if the event was gone.
Async<Result<bool>> move_event(Tables& tables, ItemRef event, std::string to) {
  Item item = event.decode();
  const Item key = events_key(item.string_or("kind"), item.string_or("id"));
  DeleteItemInput gone;
  gone.table = kOwnEventsTable;
  gone.key = key;
  gone.condition = "attribute_exists(id)";
  gone.cause = Cause::kQueue;
  PutItemInput put;
  put.table = kOwnEventsTable;
  item.set("kind", Value(events_of(to)));
  put.item = std::move(item);
  put.only_new = true;
  put.cause = Cause::kQueue;
  TransactWriteInput transaction;
  transaction.actions.emplace_back(std::move(gone));
  if (!FRESHET_PLANTED("fleet-event-moved-nowhere")) transaction.actions.emplace_back(std::move(put));
  auto written = co_await tables.transact_write(std::move(transaction));
  if (written) co_return true;
  if (is_there_already(written.error())) {  // A late write has brought the former daemon's back.
    auto deleted = co_await delete_event(tables, key);
    if (!deleted) co_return fail(std::move(deleted.error()));
    co_return false;
  }
  if (!is_refused(written.error())) co_return fail(std::move(written.error()));
  co_return false;
}

}  // namespace

KeySchema events_keys() {
  return {{"kind", Type::kString}, KeyAttribute{"id", Type::kString}};
}

Async<Result<void>> provide_events_table(Tables& tables) {
  return provide_shared_table(tables, kEventsTable, events_keys(), "asynchronous events of a fleet");
}

std::string events_of(std::string_view daemon) {
  return "event/" + std::string(daemon);
}

std::string events_of_topic(std::string_view topic) {
  return "topic-event/" + std::string(topic);
}

Async<Result<void>> note_events_of(Tables& tables, std::string daemon, std::string life) {
  PutItemInput put;
  put.table = kOwnEventsTable;
  put.item = events_key(kDaemons, daemon);
  put.item.set(kLife, Value(std::move(life)));
  auto written = co_await tables.put_item(std::move(put));
  if (!written) co_return fail(std::move(written.error()));
  co_return Result<void>();
}

Async<Result<std::map<std::string, std::string>>> daemons_with_events(Tables& tables) {
  std::map<std::string, std::string> out;
  Item start;
  do {
    auto query = query_of(kDaemons, std::move(start));
    auto page = co_await tables.query(std::move(query));
    if (!page) co_return fail(std::move(page.error()));
    for (const ItemRef& ref : page->items) {
      const Item item = ref.decode();
      out[std::string(item.string_or("id"))] = item.string_or(kLife);
    }
    start = std::move(page->last_evaluated_key);
  } while (!start.empty());
  co_return out;
}

Async<Result<void>> forget_events_of(Tables& tables, std::string daemon, std::string life) {
  DeleteItemInput gone;
  gone.table = kOwnEventsTable;
  gone.key = events_key(kDaemons, daemon);
  gone.condition = "#life = :life";
  gone.placeholders.names = {{"#life", std::string(kLife)}};
  gone.placeholders.values.set(":life", Value(std::move(life)));
  auto written = co_await tables.delete_item(std::move(gone));
  if (!written && !is_refused(written.error())) co_return fail(std::move(written.error()));
  co_return Result<void>();
}

Async<Result<MovedEvents>> move_events(Tables& tables, std::string from, std::string to, Item start,
                                       std::optional<WallTime> now,
                                       std::function<bool(const std::string& function)> may_move) {
  MovedEvents out;
  auto query = query_of(events_of(from), std::move(start));
  auto page = co_await tables.query(std::move(query));
  if (!page) co_return fail(std::move(page.error()));
  for (const ItemRef& event : page->items) {
    const Item item = event.decode();
    if (!may_move(std::string(item.string_or("function")))) {
      const bool is_old = now && item.int_or("created", epoch_ms(*now)) < epoch_ms(*now - kDroppedAfter);
      ++(is_old ? out.dropped : out.left);
      if (!is_old) continue;
      auto deleted = co_await delete_event(tables, events_key(item.string_or("kind"), item.string_or("id")));
      if (!deleted) co_return fail(std::move(deleted.error()));
      continue;
    }
    FRESHET_REACHED("an event of a dead daemon is taken over");
    auto moved = co_await move_event(tables, event, to);
    if (!moved) co_return fail(std::move(moved.error()));
    if (*moved) ++out.moved;
  }
  out.next = std::move(page->last_evaluated_key);
  co_return out;
}

}  // namespace freshet
