#include "tables/lease/definition_log.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "tables/lease/fleet_items.h"
#include "tables/lease/shared_table.h"

namespace freshet {

namespace {

constexpr std::string_view kChange = "change";  // The kind of the changes; an id is the version, with 20 digits.
constexpr std::string_view kBy = "by";
constexpr std::string_view kKeys = "keys";
constexpr std::string_view kVersion = "version";
constexpr uint64_t kKeptChanges = 1'000;  // A daemon that has missed more reads all definitions.
constexpr int kMostTries = 6;
constexpr milliseconds kFirstPause{20};  // Twice as long each time.

Value version_value(uint64_t n) {
  return Value::number(static_cast<int64_t>(n));
}

Item change_key(uint64_t version) {
  return Item{{"kind", kChange}, {"id", fmt::format("{:020}", version)}};
}

Item item_of(const DefinitionChange& change) {
  Item item = change_key(change.version);
  item.set(kBy, Value(change.by));
  List keys;
  for (const DefinitionKey& key : change.keys) keys.elements.emplace_back(key.kind + "/" + key.id);
  item.set(kKeys, Value(std::move(keys)));
  return item;
}

DefinitionChange change_in(const Item& item) {
  DefinitionChange change;
  change.version = std::strtoull(std::string(item.string_or("id")).c_str(), nullptr, 10);
  change.by = item.string_or(kBy);
  const Value* value = item.find(kKeys);
  const List* keys = value ? value->get_if<List>() : nullptr;
  if (!keys) return change;
  for (const Value& element : keys->elements) {
    const auto* text = element.get_if<std::string>();
    const size_t slash = text ? text->find('/') : std::string::npos;
    if (slash != std::string::npos) change.keys.push_back({text->substr(0, slash), text->substr(slash + 1)});
  }
  return change;
}

// The new version, if the table still has the one before.
UpdateItemInput raise_to(uint64_t version) {
  UpdateItemInput raise;
  raise.table = kFleetTable;
  raise.key = id_key(std::string(kDefinitionsId));
  raise.update = "SET #version = :version";
  raise.condition = version == 1 ? "attribute_not_exists(id)" : "#version = :before";
  raise.placeholders.names.emplace_back("#version", std::string(kVersion));
  raise.placeholders.values.set(":version", version_value(version));
  if (version != 1) raise.placeholders.values.set(":before", version_value(version - 1));
  return raise;
}

TransactWriteInput transaction_of(const DefinitionChange& change, std::vector<WriteInput> writes,
                                  std::vector<WriteInput> checks) {
  TransactWriteInput transaction;
  transaction.actions.emplace_back(raise_to(change.version));
  PutItemInput record;
  record.table = kDefinitionsTable;
  record.item = item_of(change);
  transaction.actions.emplace_back(std::move(record));
  if (change.version > kKeptChanges) {
    DeleteItemInput old;
    old.table = kDefinitionsTable;
    old.key = change_key(change.version - kKeptChanges);
    transaction.actions.emplace_back(std::move(old));
  }
  for (auto* more : {&writes, &checks}) {
    for (WriteInput& write : *more) transaction.actions.push_back(std::move(write));
  }
  return transaction;
}

bool is_change_refused(const Error& error) {
  return error.code == ErrorCode::kTransactionCanceled || error.code == ErrorCode::kConditionalCheckFailed ||
         error.code == ErrorCode::kTransactionConflict;
}

// True if one of the last `checks` actions was refused, and not the first one, which raises the version.
bool is_check_refused(const Error& error, size_t checks) {
  const auto* cancelled = dynamic_cast<const TransactionCanceled*>(error.detail.get());
  if (!cancelled || checks == 0 || cancelled->reasons.size() <= checks) return false;
  if (cancelled->reasons.front().code == "ConditionalCheckFailed") return false;
  for (size_t i = cancelled->reasons.size() - checks; i < cancelled->reasons.size(); ++i) {
    if (cancelled->reasons[i].code == "ConditionalCheckFailed") return true;
  }
  return false;
}

// The `by` of the change of that version; empty: there is none, so far.
Async<Result<std::string>> maker_of(Tables& tables, uint64_t version) {
  GetItemInput get;
  get.table = kDefinitionsTable;
  get.key = change_key(version);
  auto item = co_await tables.get_item(std::move(get));
  if (!item) co_return fail(std::move(item.error()));
  co_return *item ? std::string(item->decode().string_or(kBy)) : std::string();
}

}  // namespace

KeySchema definitions_keys() {
  return {{"kind", Type::kString}, KeyAttribute{"id", Type::kString}};
}

Async<Result<void>> provide_definitions_table(Tables& tables) {
  return provide_shared_table(tables, kDefinitionsTable, definitions_keys(), "definitions of a fleet");
}

Async<Result<uint64_t>> newest_definitions(Tables& tables) {
  GetItemInput get;
  get.table = kFleetTable;
  get.key = id_key(std::string(kDefinitionsId));
  auto item = co_await tables.get_item(std::move(get));
  if (!item) co_return fail(std::move(item.error()));
  co_return *item ? static_cast<uint64_t>(item->decode().int_or(kVersion, 0)) : 0;
}

// A transaction whose outcome is not known is written again: either it has been made, or it is made now, or another one
// has its version.
Async<Result<bool>> change_definitions(Tables& tables, Scheduler& scheduler, DefinitionChange change,
                                       std::vector<WriteInput> writes, std::vector<WriteInput> checks) {
  bool is_unknown = false;
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (tries > 0) co_await sleep_for(scheduler, kFirstPause * (1 << (tries - 1)));
    TransactWriteInput transaction = transaction_of(change, writes, checks);
    auto written = co_await tables.transact_write(std::move(transaction));
    if (written) co_return true;
    const ErrorCode code = written.error().code;
    const bool is_open = code == ErrorCode::kUnknownOutcome;
    if (!is_open && !is_change_refused(written.error())) {
      if (!is_unknown) co_return fail(std::move(written.error()));
      continue;
    }
    is_unknown = is_unknown || is_open;
    const auto newest = co_await newest_definitions(tables);  // First: the change may be made between the reads.
    const auto maker = co_await maker_of(tables, change.version);
    if (!newest || !maker) continue;
    if (*maker == change.by) co_return true;
    if (!maker->empty() || *newest >= change.version) co_return false;
    if (is_check_refused(written.error(), checks.size())) {
      co_return fail(ErrorCode::kUnavailable, "what the change needs was removed meanwhile: try again");
    }
  }
  if (is_unknown) co_return fail(ErrorCode::kUnknownOutcome, "the engine did not say if the change is made");
  co_return fail(ErrorCode::kUnavailable, "the engine does not take the change at the moment: try again");
}

Async<Result<std::vector<DefinitionChange>>> definition_changes(Tables& tables, uint64_t after) {
  std::vector<DefinitionChange> changes;
  Item start;
  do {
    QueryInput query;
    query.table = kDefinitionsTable;
    query.key_condition = "#kind = :kind AND #id > :after";
    query.placeholders.names = {{"#kind", "kind"}, {"#id", "id"}};
    query.placeholders.values.set(":kind", Value(std::string(kChange)));
    query.placeholders.values.set(":after", Value(fmt::format("{:020}", after)));
    query.consistent = true;
    query.exclusive_start_key = std::move(start);
    auto page = co_await tables.query(std::move(query));
    if (!page) co_return fail(std::move(page.error()));
    for (const ItemRef& item : page->items) changes.push_back(change_in(item.decode()));
    start = std::move(page->last_evaluated_key);
  } while (!start.empty());
  co_return changes;
}

}  // namespace freshet
