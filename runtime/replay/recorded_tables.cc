#include "runtime/replay/recorded_tables.h"

#include "base/check.h"
#include "tables/value/json.h"

namespace freshet {
namespace {

// The result of a store that answers at once.
template <class T>
T now(Async<T> answer) {
  FRESHET_CHECK(answer.is_ready(), "a replay's store answers at once");
  return answer.take();
}

const Item& subject(const PutItemInput& input) {
  return input.item;
}
const Item& subject(const UpdateItemInput& input) {
  return input.key;
}
const Item& subject(const DeleteItemInput& input) {
  return input.key;
}
const Item& subject(const ConditionCheckInput& input) {
  return input.key;
}

}  // namespace

Item RecordedTables::look(const std::string& table, const Item& keys) {
  GetItemInput get;
  get.table = table;
  get.key = keys;
  auto item = now(tables_.get_item(std::move(get)));
  return item && *item ? item->decode() : Item{};
}

RecordedTables::Pending RecordedTables::begin(const WriteInput& input) {
  static constexpr std::string_view kOperations[] = {"put", "update", "delete", "check"};
  return std::visit([&](const auto& one) { return begin(kOperations[input.index()], one.table, subject(one)); }, input);
}

// `item` has at least the key.
RecordedTables::Pending RecordedTables::begin(std::string_view operation, const std::string& table, const Item& item) {
  Pending pending;
  pending.operation = operation;
  pending.table = table;
  auto [known, is_new] = definitions_.try_emplace(pending.table);
  if (is_new) {
    auto described = now(tables_.describe_table(pending.table));
    if (described) known->second = described->definition;
  }
  const TableDefinition& definition = known->second;
  pending.system = definition.system;
  if (pending.system) return pending;
  auto copy = [&](const KeyAttribute& key) {
    if (const Value* value = item.find(key.name)) pending.keys.set(key.name, *value);
  };
  copy(definition.keys.partition);
  if (definition.keys.sort) copy(*definition.keys.sort);
  pending.before = look(pending.table, pending.keys);
  return pending;
}

void RecordedTables::finish(const Pending& pending, const Error* error) {
  if (pending.system) return;
  Journal::Line line = journal_.line("write", pending.operation);
  line.text("table", pending.table).item("keys", pending.keys);
  if (error) {
    line.text("error", error_name(error->code));
    if (error->code != ErrorCode::kConditionalCheckFailed) line.text("message", error->message);
    return;
  }
  Item after = look(pending.table, pending.keys);
  Item set;
  List removed;
  for (const auto& [name, value] : after) {
    const Value* old = pending.before.find(name);
    if (!pending.keys.contains(name) && !(old && *old == value)) set.set(name, value);
  }
  for (const auto& [name, value] : pending.before) {
    if (!after.empty() && !after.contains(name)) removed.elements.emplace_back(name);
  }
  if (!set.empty()) line.item("set", set);
  if (removed.elements.empty()) return;
  std::string names;
  append_plain_json(names, Value(std::move(removed)));
  line.json("removed", names);
}

template <class Input>
Async<Result<WriteOutput>> RecordedTables::write_one(Input input,
                                                     Async<Result<WriteOutput>> (Tables::*operation)(Input)) {
  Pending pending = begin(WriteInput(input));
  auto answer = co_await (tables_.*operation)(std::move(input));
  finish(pending, answer ? nullptr : &answer.error());
  co_return answer;
}

Async<Result<WriteOutput>> RecordedTables::put_item(PutItemInput input) {
  return write_one(std::move(input), &Tables::put_item);
}

Async<Result<WriteOutput>> RecordedTables::update_item(UpdateItemInput input) {
  return write_one(std::move(input), &Tables::update_item);
}

Async<Result<WriteOutput>> RecordedTables::delete_item(DeleteItemInput input) {
  return write_one(std::move(input), &Tables::delete_item);
}

// Writes one by one, so that each line describes its own write; on the embedded store the effect is the same.
Async<std::vector<Result<WriteOutput>>> RecordedTables::write_many(std::vector<WriteInput> inputs) {
  std::vector<Result<WriteOutput>> answers;
  for (WriteInput& input : inputs) {
    Pending pending = begin(input);
    std::vector<WriteInput> single;
    single.push_back(std::move(input));
    auto answer = co_await tables_.write_many(std::move(single));
    finish(pending, answer.front() ? nullptr : &answer.front().error());
    answers.push_back(std::move(answer.front()));
  }
  co_return answers;
}

Async<std::vector<Result<WriteOutput>>> RecordedTables::edit_many(std::vector<EditItemInput> inputs) {
  std::vector<Result<WriteOutput>> answers;
  for (EditItemInput& input : inputs) {
    Pending pending = begin("update", input.table, input.seen.decode());
    std::vector<EditItemInput> single;
    single.push_back(std::move(input));
    auto answer = co_await tables_.edit_many(std::move(single));
    finish(pending, answer.front() ? nullptr : &answer.front().error());
    answers.push_back(std::move(answer.front()));
  }
  co_return answers;
}

Async<Result<TransactWriteOutput>> RecordedTables::transact_write(TransactWriteInput input) {
  std::vector<Pending> pending;
  for (const WriteInput& action : input.actions) {
    if (!std::holds_alternative<ConditionCheckInput>(action)) pending.push_back(begin(action));
  }
  auto answer = co_await tables_.transact_write(std::move(input));
  for (const Pending& one : pending) finish(one, answer ? nullptr : &answer.error());
  co_return answer;
}

Async<Result<TableDescription>> RecordedTables::create_table(TableDefinition definition) {
  definitions_.erase(definition.name);
  return tables_.create_table(std::move(definition));
}

Async<Result<TableDescription>> RecordedTables::delete_table(std::string table) {
  definitions_.erase(table);
  return tables_.delete_table(std::move(table));
}

Async<Result<TableDescription>> RecordedTables::describe_table(std::string table) {
  return tables_.describe_table(std::move(table));
}

Async<Result<TableDescription>> RecordedTables::alter_table(TableDefinition definition) {
  return tables_.alter_table(std::move(definition));
}

Async<Result<std::vector<std::string>>> RecordedTables::list_tables() {
  return tables_.list_tables();
}

Async<Result<ItemRef>> RecordedTables::get_item(GetItemInput input) {
  return tables_.get_item(std::move(input));
}

Async<std::vector<Result<ReadOutput>>> RecordedTables::read_many(std::vector<GetItemInput> inputs) {
  return tables_.read_many(std::move(inputs));
}

Async<Result<std::vector<ReadOutput>>> RecordedTables::transact_get(std::vector<GetItemInput> inputs) {
  return tables_.transact_get(std::move(inputs));
}

Async<Result<Page>> RecordedTables::query(QueryInput input) {
  return tables_.query(std::move(input));
}

Async<Result<Page>> RecordedTables::scan(ScanInput input) {
  return tables_.scan(std::move(input));
}

Async<Result<StreamPage>> RecordedTables::read_stream(ReadStreamInput input) {
  return tables_.read_stream(std::move(input));
}

Async<Result<StreamBounds>> RecordedTables::stream_bounds(std::string table) {
  return tables_.stream_bounds(std::move(table));
}

Async<Result<Books>> RecordedTables::books(std::string table) {
  return tables_.books(std::move(table));
}

Async<Result<void>> RecordedTables::durable() {
  return tables_.durable();
}

}  // namespace freshet
