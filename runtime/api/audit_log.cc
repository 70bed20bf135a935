#include "runtime/api/audit_log.h"

#include <algorithm>

#include "tables/value/text.h"

namespace freshet {

namespace {

constexpr std::string_view kPartition = "log";
constexpr std::string_view kNumber = "number";
constexpr std::string_view kAll = "changes";  // The one value of the partition key.
constexpr uint64_t kMostRemoved = 20;         // Lines that one transaction removes.
constexpr size_t kMostText = 4'096;           // The most bytes of a text in a line. A line says in a few words what
                                              // happened.

Item line_key(uint64_t number) {
  Item key;
  key.set(kPartition, Value(kAll));
  key.set(kNumber, Value::number(static_cast<int64_t>(number)));
  return key;
}

void set_text(Item& item, std::string_view name, const std::string& text) {
  if (!text.empty()) item.set(name, Value(cut_text(text, kMostText)));
}

int64_t first_number(const Page& page) {
  return page.items.empty() ? 0 : std::max<int64_t>(page.items[0].decode().int_or(kNumber, 0), 0);
}

QueryInput newest_lines() {
  QueryInput query;
  query.table = AuditLog::kTable;
  query.key_condition = "#l = :all";
  query.placeholders.names.emplace_back("#l", std::string(kPartition));
  query.placeholders.values.set(":all", Value(kAll));
  query.forward = false;
  query.consistent = true;
  return query;
}

}  // namespace

Async<Result<void>> AuditLog::open() {
  if (open_) co_return Result<void>();
  std::string name(kTable);
  auto described = co_await tables_.describe_table(name);
  if (!described && described.error().code != ErrorCode::kResourceNotFound) co_return fail(described.error());
  if (!described) {
    TableDefinition definition;
    definition.name = name;
    definition.keys = {{std::string(kPartition), Type::kString}, KeyAttribute{std::string(kNumber), Type::kNumber}};
    definition.system = true;
    auto created = co_await tables_.create_table(std::move(definition));
    if (!created && created.error().code != ErrorCode::kResourceInUse) co_return fail(created.error());
  }
  QueryInput query = newest_lines();
  query.limit = 1;
  auto page = co_await tables_.query(std::move(query));
  if (!page) co_return fail(page.error());
  QueryInput forward = newest_lines();
  forward.limit = 1;
  forward.forward = true;
  auto begin = co_await tables_.query(std::move(forward));
  if (!begin) co_return fail(begin.error());
  // Another open() may have been faster, and lines may have been added since.
  next_ = std::max(next_, static_cast<uint64_t>(first_number(*page)) + 1);
  first_ = std::max(first_, static_cast<uint64_t>(first_number(*begin)));
  open_ = true;
  co_return Result<void>();
}

AuditWrites AuditLog::writes(const AuditLine& line) {
  const uint64_t number = next_++;
  PutItemInput put;
  put.table = kTable;
  put.item = line_key(number);
  put.item.set("at", Value::number(epoch_ms(clock_.wall())));
  set_text(put.item, "what", line.what);
  set_text(put.item, "who", line.actor.who);
  set_text(put.item, "from", line.actor.from);
  set_text(put.item, "request", line.actor.request);
  set_text(put.item, "queue", line.queue);
  set_text(put.item, "detail", line.detail);
  if (line.count) put.item.set("count", Value::number(static_cast<int64_t>(*line.count)));
  if (line.job) put.item.set("job", Value::number(static_cast<int64_t>(*line.job)));
  AuditWrites out{number, {}, 0};
  out.actions.emplace_back(std::move(put));
  // There are several if earlier transactions failed that would have removed some.
  for (uint64_t old = first_; old + kLines <= number && old < first_ + kMostRemoved; ++old) {
    DeleteItemInput oldest;
    oldest.table = kTable;
    oldest.key = line_key(old);
    out.actions.emplace_back(std::move(oldest));
    out.removed = old;
  }
  return out;
}

void AuditLog::written(const AuditWrites& writes) {
  first_ = std::max(first_, writes.removed + 1);
}

Async<Result<uint64_t>> AuditLog::add(AuditLine line) {
  auto opened = co_await open();
  if (!opened) co_return fail(opened.error());
  AuditWrites writing = writes(line);
  TransactWriteInput transaction;
  transaction.actions = std::move(writing.actions);
  auto applied = co_await tables_.transact_write(std::move(transaction));
  if (!applied) co_return fail(applied.error());
  written(writing);
  co_return writing.number;
}

Async<Result<std::vector<ItemRef>>> AuditLog::newest(uint32_t limit, std::string queue) {
  constexpr uint32_t kPage = 1'000;
  auto opened = co_await open();
  if (!opened) co_return fail(opened.error());
  std::vector<ItemRef> out;
  Item start;
  do {
    QueryInput query = newest_lines();
    if (!queue.empty()) {
      query.filter = "#q = :q";
      query.placeholders.names.emplace_back("#q", "queue");
      query.placeholders.values.set(":q", Value(queue));
    }
    query.limit = kPage;
    query.exclusive_start_key = std::move(start);
    auto page = co_await tables_.query(std::move(query));
    if (!page) co_return fail(page.error());
    for (auto& line : page->items) {
      if (out.size() == limit) co_return out;
      Item item = line.decode();
      item.erase(kPartition);
      out.push_back(ItemRef::encode(item));
    }
    start = std::move(page->last_evaluated_key);
  } while (!start.empty());
  co_return out;
}

}  // namespace freshet
