#include "runtime/replay/late_tables.h"

#include "tables/edit.h"

namespace freshet {

nanoseconds LateTables::delay() {
  ++calls_;
  auto most = std::chrono::duration_cast<nanoseconds>(most_).count();
  return nanoseconds(random_.below(static_cast<uint64_t>(most) + 1));
}

template <class Answer, class Input>
Async<Answer> LateTables::late(Async<Answer> (Tables::*call)(Input), Input input) {
  co_await sleep_for(scheduler_, delay());
  auto work = (tables_.*call)(std::move(input));
  auto answer = co_await work;
  co_await sleep_for(scheduler_, delay());
  co_return answer;
}

template <class Answer>
Async<Answer> LateTables::late(Async<Answer> (Tables::*call)()) {
  co_await sleep_for(scheduler_, delay());
  auto work = (tables_.*call)();
  auto answer = co_await work;
  co_await sleep_for(scheduler_, delay());
  co_return answer;
}

Async<Result<TableDescription>> LateTables::create_table(TableDefinition definition) {
  return late(&Tables::create_table, std::move(definition));
}
Async<Result<TableDescription>> LateTables::describe_table(std::string table) {
  return late(&Tables::describe_table, std::move(table));
}
Async<Result<TableDescription>> LateTables::delete_table(std::string table) {
  return late(&Tables::delete_table, std::move(table));
}
Async<Result<TableDescription>> LateTables::alter_table(TableDefinition definition) {
  return late(&Tables::alter_table, std::move(definition));
}
Async<Result<std::vector<std::string>>> LateTables::list_tables() {
  return late(&Tables::list_tables);
}
Async<Result<WriteOutput>> LateTables::put_item(PutItemInput input) {
  auto put = co_await spelled_out(std::move(input));
  if (!put) co_return fail(put.error());
  auto work = late(&Tables::put_item, std::move(*put));
  auto answer = co_await work;
  co_return answer;
}
Async<Result<WriteOutput>> LateTables::update_item(UpdateItemInput input) {
  return late(&Tables::update_item, std::move(input));
}
Async<Result<WriteOutput>> LateTables::delete_item(DeleteItemInput input) {
  return late(&Tables::delete_item, std::move(input));
}

// Translates the put for a store that knows only expressions.
Async<Result<PutItemInput>> LateTables::spelled_out(PutItemInput put) {
  if (!put.only_new && put.rising.empty()) co_return put;
  auto described = co_await tables_.describe_table(put.table);
  if (!described) co_return fail(described.error());
  co_return with_guards_spelled_out(std::move(put), described->definition.keys);
}

// Not a transaction: each write takes effect at a point of its own.
Async<std::vector<Result<WriteOutput>>> LateTables::write_many(std::vector<WriteInput> inputs) {
  co_await sleep_for(scheduler_, delay());
  std::vector<Result<WriteOutput>> answers;
  for (auto& input : inputs) {
    if (random_.below(4) == 0) co_await sleep_for(scheduler_, delay() / 4);
    if (auto* guarded = std::get_if<PutItemInput>(&input)) {
      auto put = co_await spelled_out(std::move(*guarded));
      if (!put) {
        answers.push_back(fail(put.error()));
        continue;
      }
      input = std::move(*put);
    }
    std::vector<WriteInput> one;
    one.push_back(std::move(input));
    auto work = tables_.write_many(std::move(one));
    auto answer = co_await work;
    answers.push_back(std::move(answer[0]));
  }
  co_await sleep_for(scheduler_, delay());
  co_return answers;
}

Async<std::vector<Result<WriteOutput>>> LateTables::edit_many(std::vector<EditItemInput> inputs) {
  const size_t asked = inputs.size();
  const auto refusal = refusal_;  // The refusal may be withdrawn while this waits.
  if (refusal) {
    inputs.resize(std::min(asked, still_edited_));
    still_edited_ -= inputs.size();
  }
  std::vector<WriteInput> updates;
  for (const auto& input : inputs) {
    auto described = co_await tables_.describe_table(input.table);
    if (!described) co_return std::vector<Result<WriteOutput>>(inputs.size(), fail(described.error()));
    updates.emplace_back(to_update(input, described->definition.keys));
  }
  auto answers = co_await write_many(std::move(updates));
  while (answers.size() < asked) answers.push_back(fail(*refusal));
  co_return answers;
}

Async<Result<TransactWriteOutput>> LateTables::transact_write(TransactWriteInput input) {
  return late(&Tables::transact_write, std::move(input));
}
Async<std::vector<Result<ReadOutput>>> LateTables::read_many(std::vector<GetItemInput> inputs) {
  return late(&Tables::read_many, std::move(inputs));
}
Async<Result<std::vector<ReadOutput>>> LateTables::transact_get(std::vector<GetItemInput> inputs) {
  return late(&Tables::transact_get, std::move(inputs));
}
Async<Result<ItemRef>> LateTables::get_item(GetItemInput input) {
  return late(&Tables::get_item, std::move(input));
}
Async<Result<Page>> LateTables::query(QueryInput input) {
  return late(&Tables::query, std::move(input));
}
Async<Result<Page>> LateTables::scan(ScanInput input) {
  return late(&Tables::scan, std::move(input));
}
Async<Result<StreamPage>> LateTables::read_stream(ReadStreamInput input) {
  return late(&Tables::read_stream, std::move(input));
}
Async<Result<StreamBounds>> LateTables::stream_bounds(std::string table) {
  return late(&Tables::stream_bounds, std::move(table));
}
Async<Result<std::vector<ClosedStream>>> LateTables::closed_streams() {
  return late(&Tables::closed_streams);
}
Async<Result<Books>> LateTables::books(std::string table) {
  return late(&Tables::books, std::move(table));
}
Async<Result<void>> LateTables::durable() {
  if (durable_takes_.count() > 0) co_await sleep_for(scheduler_, durable_takes_);
  auto work = late(&Tables::durable);
  auto answer = co_await work;
  co_return answer;
}

}  // namespace freshet
