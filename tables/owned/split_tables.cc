#include "tables/owned/split_tables.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tables/index_difference.h"

namespace freshet {

namespace {

template <class Input>
std::string& table_in(Input& input) {
  if constexpr (std::is_same_v<Input, WriteInput>) {
    return std::visit([](auto& one) -> std::string& { return one.table; }, input);
  } else {
    return input.table;
  }
}

tl::unexpected<Error> is_in_both() {
  return invalid(
      "a transaction cannot hold items of Freshet's own tables (freshet.*) beside others: they are in different "
      "stores");
}

}  // namespace

SplitTables::SplitTables(Tables& own, Tables& others, TableChanges changes, std::set<std::string> shared)
    : own_(own), others_(others), changes_(changes), shared_(std::move(shared)), traits_(others.traits()) {
  traits_.sole_writer = own.traits().sole_writer;
}

Tables& SplitTables::store_of(std::string& table) {
  if (!is_own(table)) return others_;
  if (!shared_.contains(table)) return own_;
  table[kOwnTables.size() - 1] = '-';
  return others_;
}

template <class Input>
Tables* SplitTables::store_of_all(std::vector<Input>& inputs) {
  Tables* store = inputs.empty() ? &others_ : &store_of(table_in(inputs.front()));
  bool is_one = true;
  for (Input& input : inputs) is_one = &store_of(table_in(input)) == store && is_one;
  return is_one ? store : nullptr;
}

// Calls both stores at once.
template <class Input, class Output>
Async<std::vector<Result<Output>>> SplitTables::split(std::vector<Input> inputs, Many<Input, Output> call) {
  std::vector<Input> mine;
  std::vector<Input> theirs;
  std::vector<bool> is_mine;
  for (auto& input : inputs) {
    is_mine.push_back(&store_of(table_in(input)) == &own_);
    (is_mine.back() ? mine : theirs).push_back(std::move(input));
  }
  auto asking_own = (own_.*call)(std::move(mine));
  auto asking_others = (others_.*call)(std::move(theirs));
  auto of_own = co_await asking_own;
  auto of_others = co_await asking_others;
  std::vector<Result<Output>> out;
  size_t own = 0;
  size_t other = 0;
  for (const bool one : is_mine) out.push_back(std::move(one ? of_own[own++] : of_others[other++]));
  co_return out;
}

// Returns the existing table with the requested books if it has everything else that is requested. Further indexes do
// no harm, and its stream is not read.
Async<Result<TableDescription>> SplitTables::if_it_is(TableDefinition wanted) {
  std::string name = wanted.name;
  auto there = co_await others_.describe_table(std::move(name));
  if (!there && there.error().code == ErrorCode::kResourceNotFound) {
    co_return invalid("table '" + wanted.name + "' is not there: make it, or start the daemon with --create-tables");
  }
  if (!there) co_return there;
  if (there->definition.keys != wanted.keys) co_return invalid("table '" + wanted.name + "' is there with other keys");
  std::string lacks = lacking_indexes(there->definition, wanted);
  if (wanted.ttl_attribute && wanted.ttl_attribute != there->definition.ttl_attribute) {
    lacks.append(lacks.empty() ? "" : ", ").append("ttl by '").append(*wanted.ttl_attribute).append("'");
  }
  if (!lacks.empty()) {
    co_return invalid("table '" + wanted.name + "' lacks, or has in another form: " + lacks +
                      "; add what is missing, or start the daemon with --create-tables");
  }
  TableDefinition as_it_is = there->definition;
  as_it_is.books = wanted.books;
  co_return co_await others_.alter_table(std::move(as_it_is));
}

Async<Result<TableDescription>> SplitTables::create_table(TableDefinition definition) {
  Tables& store = store_of(definition.name);
  if (&store == &others_) definition.system = false;
  if (&store == &others_ && changes_ == TableChanges::kRefused) return if_it_is(std::move(definition));
  return store.create_table(std::move(definition));
}

Async<Result<TableDescription>> SplitTables::describe_table(std::string table) {
  Tables& store = store_of(table);
  return store.describe_table(std::move(table));
}

Async<Result<TableDescription>> SplitTables::delete_table(std::string table) {
  Tables& store = store_of(table);
  if (&store == &others_ && changes_ == TableChanges::kRefused) {
    return Result<TableDescription>(
        invalid("tables of the engine are deleted there, or by a daemon with --create-tables"));
  }
  return store.delete_table(std::move(table));
}

Async<Result<TableDescription>> SplitTables::alter_table(TableDefinition definition) {
  Tables& store = store_of(definition.name);
  if (&store == &others_ && changes_ == TableChanges::kRefused) return if_it_is(std::move(definition));
  return store.alter_table(std::move(definition));
}

// Other daemons may use `others_`, too, so its `freshet.*` tables are not ours.
Async<Result<std::vector<std::string>>> SplitTables::list_tables() {
  auto mine = co_await own_.list_tables();
  if (!mine) co_return mine;
  auto theirs = co_await others_.list_tables();
  if (!theirs) co_return theirs;
  std::erase_if(*mine, [this](const std::string& table) { return !is_own(table) || shared_.contains(table); });
  std::erase_if(*theirs, [this](const std::string& table) { return is_own(table); });
  std::vector<std::string> all;
  std::merge(mine->begin(), mine->end(), theirs->begin(), theirs->end(), std::back_inserter(all));
  co_return all;
}

Async<Result<WriteOutput>> SplitTables::put_item(PutItemInput input) {
  Tables& store = store_of(input.table);
  return store.put_item(std::move(input));
}

Async<Result<WriteOutput>> SplitTables::update_item(UpdateItemInput input) {
  Tables& store = store_of(input.table);
  return store.update_item(std::move(input));
}

Async<Result<WriteOutput>> SplitTables::delete_item(DeleteItemInput input) {
  Tables& store = store_of(input.table);
  return store.delete_item(std::move(input));
}

Async<std::vector<Result<WriteOutput>>> SplitTables::write_many(std::vector<WriteInput> inputs) {
  if (Tables* store = store_of_all(inputs)) return store->write_many(std::move(inputs));
  return split<WriteInput, WriteOutput>(std::move(inputs), &Tables::write_many);
}

Async<std::vector<Result<WriteOutput>>> SplitTables::edit_many(std::vector<EditItemInput> inputs) {
  if (Tables* store = store_of_all(inputs)) return store->edit_many(std::move(inputs));
  return split<EditItemInput, WriteOutput>(std::move(inputs), &Tables::edit_many);
}

// Parts that are written before one that fails stay: a line of the audit log before the change that it reports, an
// event before its daemon remembers why it is there.
Async<Result<TransactWriteOutput>> SplitTables::transact_write(TransactWriteInput input) {
  const bool all_own = std::all_of(input.actions.begin(), input.actions.end(),
                                   [this](WriteInput& action) { return is_own(table_in(action)); });
  if (Tables* store = store_of_all(input.actions)) return store->transact_write(std::move(input));
  if (!all_own) return Result<TransactWriteOutput>(is_in_both());
  std::vector<Part> parts;
  for (WriteInput& action : input.actions) {
    Tables& store = is_own(table_in(action)) ? own_ : others_;
    if (parts.empty() || &parts.back().store != &store) parts.push_back({store, {}});
    parts.back().actions.actions.push_back(std::move(action));
  }
  return write_in_parts(std::move(parts));
}

Async<Result<TransactWriteOutput>> SplitTables::write_in_parts(std::vector<Part> parts) {
  TransactWriteOutput out;
  for (Part& part : parts) {
    auto written = co_await part.store.transact_write(std::move(part.actions));
    if (!written) co_return written;
    std::move(written->outputs.begin(), written->outputs.end(), std::back_inserter(out.outputs));
  }
  co_return out;
}

Async<Result<ItemRef>> SplitTables::get_item(GetItemInput input) {
  Tables& store = store_of(input.table);
  return store.get_item(std::move(input));
}

Async<std::vector<Result<ReadOutput>>> SplitTables::read_many(std::vector<GetItemInput> inputs) {
  if (Tables* store = store_of_all(inputs)) return store->read_many(std::move(inputs));
  return split<GetItemInput, ReadOutput>(std::move(inputs), &Tables::read_many);
}

Async<Result<std::vector<ReadOutput>>> SplitTables::transact_get(std::vector<GetItemInput> inputs) {
  if (Tables* store = store_of_all(inputs)) return store->transact_get(std::move(inputs));
  return Result<std::vector<ReadOutput>>(is_in_both());
}

Async<Result<Page>> SplitTables::query(QueryInput input) {
  Tables& store = store_of(input.table);
  return store.query(std::move(input));
}

Async<Result<Page>> SplitTables::scan(ScanInput input) {
  Tables& store = store_of(input.table);
  return store.scan(std::move(input));
}

Async<Result<StreamPage>> SplitTables::read_stream(ReadStreamInput input) {
  Tables& store = store_of(input.table);
  return store.read_stream(std::move(input));
}

Async<Result<StreamBounds>> SplitTables::stream_bounds(std::string table) {
  Tables& store = store_of(table);
  return store.stream_bounds(std::move(table));
}

Async<Result<Books>> SplitTables::books(std::string table) {
  Tables& store = store_of(table);
  return store.books(std::move(table));
}

void SplitTables::doubt_books(const std::string& table) {
  std::string name = table;
  Tables& store = store_of(name);
  store.doubt_books(name);
}

}  // namespace freshet
