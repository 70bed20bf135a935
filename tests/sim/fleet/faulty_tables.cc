#include "tests/sim/fleet/faulty_tables.h"

#include <utility>

#include "base/check.h"

namespace freshet::fleet_sim {

namespace {

using Fault = EngineFaults::Fault;

template <class T>
T now_of(Async<T> work) {
  FRESHET_CHECK(work.is_ready(), "the store under the faults answers at once");
  return work.take();
}

bool is_spared(const std::string& table) {
  return table.starts_with(kSystemTablePrefix);
}

Error error_of(Fault fault, bool is_the_tables) {
  if (fault != Fault::kThrottled) return {ErrorCode::kInternal, "The request processing has failed", nullptr};
  if (is_the_tables) return {ErrorCode::kThroughputExceeded, "The level of throughput is exceeded", nullptr};
  return {ErrorCode::kRequestLimitExceeded, "Throughput exceeds the limit for the account", nullptr};
}

// An answer of several parts fails in each of them.
template <class Answer>
Answer failed(const Error& error, size_t parts) {
  if constexpr (requires(Answer answer) { answer.push_back(fail(error)); }) {
    return Answer(parts, fail(error));
  } else {
    return fail(error);
  }
}

template <class Input>
size_t parts_of(const Input& input) {
  if constexpr (requires { input.size(); }) {
    return input.size();
  } else {
    return 1;
  }
}

std::vector<WriteInput> writes_in(const std::vector<WriteInput>& many) {
  return many;
}
std::vector<WriteInput> writes_in(const TransactWriteInput& input) {
  return input.actions;
}
template <class Input>
std::vector<WriteInput> writes_in(const Input& one) {
  return {WriteInput(one)};
}

const std::string& table_in(const std::vector<WriteInput>& many) {
  return std::visit([](const auto& one) -> const std::string& { return one.table; }, many.front());
}

}  // namespace

FaultyTables::FaultyTables(Tables& store, Loop& loop, EngineFaults& faults)
    : store_(store), loop_(loop), faults_(faults) {
  if (faults.lags) indexes_.emplace(store, loop, faults);
}

const KeySchema& FaultyTables::keys_of(const std::string& table) {
  const auto [keys, is_new] = keys_.try_emplace(table);
  if (is_new) {
    const auto described = now_of(store_.describe_table(table));
    if (described) keys->second = described->definition.keys;
  }
  return keys->second;
}

FaultyTables::Key FaultyTables::key_of(const WriteInput& write) {
  return std::visit(
      [this](const auto& one) -> Key {
        if constexpr (requires { one.item; }) {
          Item key;
          for (const auto* attribute : keys_of(one.table).attributes()) {
            if (const Value* value = one.item.find(attribute->name)) key.set(attribute->name, *value);
          }
          return {one.table, std::move(key)};
        } else {
          return {one.table, one.key};
        }
      },
      write);
}

template <class Answer, class Input>
Answer FaultyTables::carry_out(Input input, Call<Answer, Input> call) {
  std::vector<Key> keys;
  if (indexes_) {
    for (const WriteInput& write : writes_in(input)) keys.push_back(key_of(write));
  }
  Answer answer = now_of((store_.*call)(std::move(input)));
  for (const Key& key : keys) indexes_->wrote(key.table, key.key);
  return answer;
}

template <class Answer, class Input>
Async<void> FaultyTables::write_late(Input input, Call<Answer, Input> call, milliseconds after) {
  co_await sleep_for(loop_, after);
  static_cast<void>(carry_out(std::move(input), call));
}

template <class Answer, class Input>
Async<Answer> FaultyTables::write(const std::string& table, Input input, Call<Answer, Input> call) {
  if (is_spared(table)) return (store_.*call)(std::move(input));
  const Fault fault = faults_.draw(true, table);
  if (fault == Fault::kNone) return carry_out(std::move(input), call);
  return faulty_write(std::move(input), call, fault);
}

template <class Answer, class Input>
Async<Answer> FaultyTables::faulty_write(Input input, Call<Answer, Input> call, Fault fault) {
  if (fault == Fault::kSlow) {
    faults_.saw("engine is slow to write");
    co_await sleep_for(loop_, faults_.draw_way());
    Answer answer = carry_out(std::move(input), call);
    co_await sleep_for(loop_, faults_.draw_way());
    co_return answer;
  }
  const size_t parts = parts_of(input);
  const Error error = error_of(fault, faults_.draw_delay().count() % 2 == 0);
  if (fault == Fault::kThrottled) faults_.saw("engine throttles a write");
  if (fault == Fault::kErrorBefore) faults_.saw("engine fails before a write");
  if (fault == Fault::kErrorAfter || fault == Fault::kLost) {
    faults_.saw(fault == Fault::kLost ? "engine does not answer a write" : "engine fails after a write");
    static_cast<void>(carry_out(std::move(input), call));
  }
  if (fault == Fault::kLate) {
    faults_.saw("engine writes late");
    scope_.spawn(write_late(std::move(input), call, faults_.late_by()));
  }
  if (fault == Fault::kLost || fault == Fault::kLate) co_await sleep_for(loop_, EngineFaults::kSilence);
  co_return failed<Answer>(error, parts);
}

// An index that is not built in `from` yet is read in the store itself.
template <class Answer, class Input>
Async<Answer> FaultyTables::read(Tables& from, Input input, Call<Answer, Input> call, bool is_spared) {
  const Fault fault = is_spared ? Fault::kNone : faults_.draw(false, {});
  const size_t parts = parts_of(input);
  if (fault == Fault::kSlow) {
    faults_.saw("engine is slow to read");
    co_await sleep_for(loop_, faults_.draw_way());
  }
  if (fault == Fault::kNone || fault == Fault::kSlow) {
    Input again = &from == &store_ ? Input() : input;
    Answer answer = now_of((from.*call)(std::move(input)));
    if constexpr (requires { answer.error(); }) {
      if (&from != &store_ && !answer) answer = now_of((store_.*call)(std::move(again)));
    }
    if (fault == Fault::kSlow) co_await sleep_for(loop_, faults_.draw_way());
    co_return answer;
  }
  faults_.saw(fault == Fault::kLost        ? "engine does not answer a read"
              : fault == Fault::kThrottled ? "engine throttles a read"
                                           : "engine fails a read");
  const Error error = error_of(fault, faults_.draw_delay().count() % 2 == 0);
  if (fault == Fault::kLost) co_await sleep_for(loop_, EngineFaults::kSilence);
  co_return failed<Answer>(error, parts);
}

Async<Result<WriteOutput>> FaultyTables::put_item(PutItemInput input) {
  const std::string table = input.table;
  return write<Result<WriteOutput>>(table, std::move(input), &Tables::put_item);
}

Async<Result<WriteOutput>> FaultyTables::update_item(UpdateItemInput input) {
  const std::string table = input.table;
  return write<Result<WriteOutput>>(table, std::move(input), &Tables::update_item);
}

Async<Result<WriteOutput>> FaultyTables::delete_item(DeleteItemInput input) {
  const std::string table = input.table;
  return write<Result<WriteOutput>>(table, std::move(input), &Tables::delete_item);
}

Async<std::vector<Result<WriteOutput>>> FaultyTables::write_many(std::vector<WriteInput> inputs) {
  if (inputs.empty()) return store_.write_many(std::move(inputs));
  const std::string table = table_in(inputs);
  return write<std::vector<Result<WriteOutput>>>(table, std::move(inputs), &Tables::write_many);
}

Async<Result<TransactWriteOutput>> FaultyTables::transact_write(TransactWriteInput input) {
  if (input.actions.empty()) return store_.transact_write(std::move(input));
  const std::string table = table_in(input.actions);
  return write<Result<TransactWriteOutput>>(table, std::move(input), &Tables::transact_write);
}

Async<Result<ItemRef>> FaultyTables::get_item(GetItemInput input) {
  const bool spared = is_spared(input.table);
  return read<Result<ItemRef>>(store_, std::move(input), &Tables::get_item, spared);
}

Async<std::vector<Result<ReadOutput>>> FaultyTables::read_many(std::vector<GetItemInput> inputs) {
  const bool spared = inputs.empty() || is_spared(inputs.front().table);
  return read<std::vector<Result<ReadOutput>>>(store_, std::move(inputs), &Tables::read_many, spared);
}

Tables& FaultyTables::place_of(const std::string& table, const std::string& index) {
  if (!indexes_ || index.empty() || is_spared(table)) return store_;
  return indexes_->behind(table, index);
}

Async<Result<Page>> FaultyTables::query(QueryInput input) {
  const bool spared = is_spared(input.table);
  Tables& place = place_of(input.table, input.index);
  return read<Result<Page>>(place, std::move(input), &Tables::query, spared);
}

Async<Result<Page>> FaultyTables::scan(ScanInput input) {
  const bool spared = is_spared(input.table);
  Tables& place = place_of(input.table, input.index);
  return read<Result<Page>>(place, std::move(input), &Tables::scan, spared);
}

Async<Result<TableDescription>> FaultyTables::after_change(std::string table, Async<Result<TableDescription>> done) {
  auto answer = co_await done;
  keys_.erase(table);
  if (indexes_ && !is_spared(table)) indexes_->changed(table);
  co_return answer;
}

Async<Result<TableDescription>> FaultyTables::create_table(TableDefinition definition) {
  const std::string table = definition.name;
  return after_change(table, store_.create_table(std::move(definition)));
}

Async<Result<TableDescription>> FaultyTables::delete_table(std::string table) {
  return after_change(table, store_.delete_table(table));
}

Async<Result<TableDescription>> FaultyTables::alter_table(TableDefinition definition) {
  const std::string table = definition.name;
  return after_change(table, store_.alter_table(std::move(definition)));
}

}  // namespace freshet::fleet_sim
