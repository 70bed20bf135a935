// Tables: created, altered, dropped, described. The engine goes on after it has answered, so each change is waited for.
#include <algorithm>
#include <utility>

#include "wire/store/answers.h"
#include "wire/store/remote_tables.h"
#include "wire/store/requests.h"

namespace freshet::remote {

namespace {

constexpr seconds kLongestChange{600};
constexpr milliseconds kFirstLook{20};
constexpr milliseconds kLongestLook{2'000};

tl::unexpected<Error> not_in_time(const std::string& table, std::string_view what) {
  return fail(ErrorCode::kTimeout, "table '" + table + "' is not " + std::string(what) + " after ten minutes");
}

Result<void> can_be_made(const TableDefinition& definition) {
  if (!definition.books) return {};
  return invalid("table '" + definition.name + "' cannot have books: a remote store keeps none");
}

bool has(const TableDefinition& definition, const IndexDefinition& index) {
  const auto* known = definition.index(index.name);
  return known != nullptr && is_same_index(*known, index);
}

}  // namespace

bool is_same_index(const IndexDefinition& one, const IndexDefinition& other) {
  IndexDefinition a = one;
  IndexDefinition b = other;
  std::sort(a.included.begin(), a.included.end());
  std::sort(b.included.begin(), b.included.end());
  return a == b;
}

// Says only whether it was done: a change of a table has no answer that anybody needs.
Async<Result<void>> RemoteTables::change(const char* operation, std::string body) {
  std::string name = operation;
  auto answer = co_await caller_.call(std::move(name), std::move(body), Caller::Kind::kWrite);
  if (!answer) co_return fail(answer.error());
  co_return Result<void>();
}

Async<Result<TableDescription>> RemoteTables::describe_table(std::string table) {
  auto request = table_request(table);
  auto answer = co_await caller_.call("DescribeTable", std::move(request), Caller::Kind::kRead);
  if (!answer) {
    if (answer.error().code == ErrorCode::kResourceNotFound) keys_.erase(table);
    co_return fail(answer.error());
  }
  auto described = description_of(*answer);
  if (!described) co_return fail(described.error());
  auto ttl_question = table_request(table);
  auto ttl_answer = co_await caller_.call("DescribeTimeToLive", std::move(ttl_question), Caller::Kind::kRead);
  // Some engines have no ttl.
  if (!ttl_answer && ttl_answer.error().code != ErrorCode::kUnknownOperation) co_return fail(ttl_answer.error());
  if (ttl_answer) {
    auto ttl = ttl_of(*ttl_answer);
    if (!ttl) co_return fail(ttl.error());
    described->table.definition.ttl_attribute = std::move(*ttl);
  }
  know_keys(described->table.definition);
  co_return std::move(described->table);
}

Async<Result<TableDescription>> RemoteTables::when_active(std::string table) {
  Scheduler& scheduler = caller_.scheduler();
  const BootTime end = scheduler.clock().boot() + kLongestChange;
  for (milliseconds look = kFirstLook;; look = std::min(look * 2, kLongestLook)) {
    auto request = table_request(table);
    auto answer = co_await caller_.call("DescribeTable", std::move(request), Caller::Kind::kRead);
    // A table that has just been made may not be known everywhere.
    const bool unknown = !answer && answer.error().code == ErrorCode::kResourceNotFound;
    if (!answer && !unknown) co_return fail(answer.error());
    if (!unknown) {
      auto described = description_of(*answer);
      if (!described) co_return fail(described.error());
      if (described->status == "ACTIVE" && described->indexes_ready) break;
    }
    if (scheduler.clock().boot() >= end) co_return not_in_time(table, "active");
    co_await sleep_for(scheduler, look);
  }
  auto described = co_await describe_table(std::move(table));
  co_return described;
}

Async<Result<TableDescription>> RemoteTables::create_table(TableDefinition definition) {
  if (auto ok = can_be_made(definition); !ok) co_return fail(ok.error());
  auto request = create_request(definition);
  auto created = co_await change("CreateTable", std::move(request));
  // It may have been made by a sending that nobody answered.
  if (!created && created.error().code != ErrorCode::kUnknownOutcome) co_return fail(created.error());
  auto active = co_await when_active(definition.name);
  if (!active || !definition.ttl_attribute) co_return active;
  auto set = co_await set_ttl(definition.name, {}, definition.ttl_attribute);
  if (!set) co_return fail(set.error());
  auto described = co_await describe_table(definition.name);
  co_return described;
}

Async<Result<TableDescription>> RemoteTables::delete_table(std::string table) {
  auto described = co_await describe_table(table);
  if (!described) co_return described;
  auto request = table_request(table);
  auto deleted = co_await change("DeleteTable", std::move(request));
  if (!deleted && deleted.error().code != ErrorCode::kUnknownOutcome) co_return fail(deleted.error());
  keys_.erase(table);
  Scheduler& scheduler = caller_.scheduler();
  const BootTime end = scheduler.clock().boot() + kLongestChange;
  for (milliseconds look = kFirstLook;; look = std::min(look * 2, kLongestLook)) {
    auto question = table_request(table);
    const auto answer = co_await caller_.call("DescribeTable", std::move(question), Caller::Kind::kRead);
    if (!answer && answer.error().code == ErrorCode::kResourceNotFound) break;
    if (!answer) co_return fail(answer.error());
    if (scheduler.clock().boot() >= end) co_return not_in_time(table, "gone");
    co_await sleep_for(scheduler, look);
  }
  co_return described;
}

Async<Result<void>> RemoteTables::set_ttl(std::string table, std::optional<std::string> now,
                                          std::optional<std::string> wanted) {
  if (now == wanted) co_return Result<void>();
  if (now) {
    auto request = ttl_request(table, *now, false);
    auto off = co_await change("UpdateTimeToLive", std::move(request));
    if (!off) co_return off;
  }
  if (!wanted) co_return Result<void>();
  auto request = ttl_request(table, *wanted, true);
  auto on = co_await change("UpdateTimeToLive", std::move(request));
  co_return on;
}

// One index in each UpdateTable: the protocol takes no more.
Async<Result<void>> RemoteTables::set_indexes(TableDefinition now, TableDefinition wanted) {
  for (const IndexDefinition& index : now.indexes) {
    if (has(wanted, index)) continue;
    auto request = drop_index_request(now.name, index.name);
    auto dropped = co_await change("UpdateTable", std::move(request));
    if (!dropped) co_return dropped;
    auto active = co_await when_active(now.name);
    if (!active) co_return fail(active.error());
  }
  for (const IndexDefinition& index : wanted.indexes) {
    if (has(now, index)) continue;
    auto request = add_index_request(wanted, index);
    auto added = co_await change("UpdateTable", std::move(request));
    if (!added) co_return added;
    auto active = co_await when_active(wanted.name);
    if (!active) co_return fail(active.error());
  }
  co_return Result<void>();
}

Async<Result<TableDescription>> RemoteTables::alter_table(TableDefinition definition) {
  if (auto ok = can_be_made(definition); !ok) co_return fail(ok.error());
  auto known = co_await describe_table(definition.name);
  if (!known) co_return known;
  auto described = co_await when_active(definition.name);  // Somebody may just have made it.
  if (!described) co_return described;
  const TableDefinition& now = described->definition;
  auto ttl = co_await set_ttl(now.name, now.ttl_attribute, definition.ttl_attribute);
  if (!ttl) co_return fail(ttl.error());
  if (now.stream && now.stream != definition.stream) {
    auto request = stream_request(now.name, {});
    auto off = co_await change("UpdateTable", std::move(request));
    if (!off) co_return fail(off.error());
    auto active = co_await when_active(now.name);
    if (!active) co_return active;
  }
  if (definition.stream && now.stream != definition.stream) {
    auto request = stream_request(now.name, definition.stream);
    auto on = co_await change("UpdateTable", std::move(request));
    if (!on) co_return fail(on.error());
    auto active = co_await when_active(now.name);
    if (!active) co_return active;
  }
  auto indexes = co_await set_indexes(now, definition);
  if (!indexes) co_return fail(indexes.error());
  auto altered = co_await describe_table(definition.name);
  co_return altered;
}

Async<Result<std::vector<std::string>>> RemoteTables::list_tables() {
  std::vector<std::string> out;
  std::string after;
  do {
    auto request = list_request(after);
    auto answer = co_await caller_.call("ListTables", std::move(request), Caller::Kind::kRead);
    if (!answer) co_return fail(answer.error());
    auto page = table_names_of(*answer);
    if (!page) co_return fail(page.error());
    out.insert(out.end(), page->names.begin(), page->names.end());
    after = std::move(page->last);
  } while (!after.empty());
  std::sort(out.begin(), out.end());
  co_return out;
}

}  // namespace freshet::remote
