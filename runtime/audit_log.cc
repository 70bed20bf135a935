#include "runtime/audit_log.h"

#include <algorithm>

#include "tables/value/text.h"

namespace freshet {

namespace {

constexpr std::string_view kPartition = "log";
constexpr std::string_view kNumber = "number";
constexpr std::string_view kAll = "changes";  // The one value of the partition key.
constexpr size_t kMostText = 4'096;           // Of a text in a line. A line says in a few words what happened.

Item line_key(uint64_t number) {
  Item key;
  key.set(kPartition, Value(kAll));
  key.set(kNumber, Value::number(static_cast<int64_t>(number)));
  return key;
}

void set_text(Item& item, std::string_view name, const std::string& text) {
  if (!text.empty()) item.set(name, Value(cut_text(text, kMostText)));
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
  const int64_t last = page->items.empty() ? 0 : page->items[0].decode().int_or(kNumber, 0);
  // Another open() may have been faster, and lines have been added since.
  next_ = std::max(next_, static_cast<uint64_t>(std::max<int64_t>(last, 0)) + 1);
  open_ = true;
  co_return Result<void>();
}

std::pair<uint64_t, std::vector<WriteInput>> AuditLog::writes(const AuditLine& line) {
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
  std::pair<uint64_t, std::vector<WriteInput>> out{number, {}};
  out.second.emplace_back(std::move(put));
  if (number > kLines) {
    DeleteItemInput oldest;
    oldest.table = kTable;
    oldest.key = line_key(number - kLines);
    out.second.emplace_back(std::move(oldest));
  }
  return out;
}

Async<Result<uint64_t>> AuditLog::add(AuditLine line) {
  auto opened = co_await open();
  if (!opened) co_return fail(opened.error());
  auto [number, actions] = writes(line);
  const uint64_t out = number;
  TransactWriteInput transaction;
  transaction.actions = std::move(actions);
  auto written = co_await tables_.transact_write(std::move(transaction));
  if (!written) co_return fail(written.error());
  co_return out;
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
