#include "tests/sim/sim_engine.h"

#include <algorithm>

#include "base/check.h"

namespace freshet {

namespace {

Error no_answer() {
  return {ErrorCode::kUnknownOutcome, "the store did not answer in time: the write may have been carried out", nullptr};
}

Error no_capacity() {
  return {ErrorCode::kThroughputExceeded, "The level of configured provisioned throughput is exceeded", nullptr};
}

// Writes whose callers find out by themselves what became of them.
bool is_resolved(const EditItemInput&) {
  return true;
}
bool is_resolved(const WriteInput& write) {
  const auto* put = std::get_if<PutItemInput>(&write);
  return put && put->only_new;
}

// An item without its key is refused by the store.
Item key_in(const Item& item, const KeySchema& keys) {
  Item key;
  for (const auto* attribute : keys.attributes()) {
    if (const Value* value = item.find(attribute->name)) key.set(attribute->name, *value);
  }
  return key;
}

// The embedded store answers at once.
template <class T>
T at_once(Async<T> work) {
  FRESHET_CHECK(work.is_ready(), "the store under the simulated engine answers at once");
  return work.take();
}

}  // namespace

SimEngine::SimEngine(Tables& store, Scheduler& scheduler, uint64_t seed, SimFaults faults)
    : store_(store),
      scheduler_(scheduler),
      random_(seed ^ 0x5eed),
      faults_(faults),
      traits_(store.traits()),
      late_(store, scheduler, seed, faults.latest) {
  traits_.immediate = false;
}

SimEngine::SimEngine(Tables& store, Scheduler& scheduler, uint64_t seed, SimFaults faults, Tables& behind,
                     milliseconds index_lag)
    : store_(store),
      behind_(&behind),
      lag_(index_lag),
      scheduler_(scheduler),
      random_(seed ^ 0x5eed),
      faults_(faults),
      traits_(store.traits()),
      late_(store, scheduler, seed, faults.latest) {
  traits_.immediate = false;
  traits_.exact_index = false;
}

SimEngine::Fault SimEngine::draw() {
  double at = random_.unit();
  for (const auto& [share, fault] :
       {std::pair(faults_.lost_before, Fault::kLostBefore), std::pair(faults_.lost_after, Fault::kLostAfter),
        std::pair(faults_.late, Fault::kLate), std::pair(faults_.twice, Fault::kTwice),
        std::pair(faults_.refused, Fault::kRefused)}) {
    if (at < share) return fault;
    at -= share;
  }
  return Fault::kNone;
}

bool SimEngine::refuses() {
  return faults_.refused > 0 && random_.unit() < faults_.refused;
}

KeySchema SimEngine::keys_of(const std::string& table) {
  const auto described = at_once(store_.describe_table(table));
  return described ? described->definition.keys : KeySchema{{"", Type::kString}, {}};
}

SimEngine::Key SimEngine::key_of(const EditItemInput& edit) {
  return {edit.table, key_in(edit.seen.decode(), keys_of(edit.table))};
}

SimEngine::Key SimEngine::key_of(const WriteInput& write) {
  return std::visit(
      [this](const auto& one) -> Key {
        if constexpr (requires { one.item; }) {
          return {one.table, key_in(one.item, keys_of(one.table))};
        } else {
          return {one.table, one.key};
        }
      },
      write);
}

void SimEngine::show(const std::vector<Key>& keys) {
  if (is_over_) return;
  for (const Key& key : keys) {
    GetItemInput get;
    get.table = key.table;
    get.key = key.key;
    auto item = at_once(store_.get_item(std::move(get)));
    if (item) scope_.spawn(show_later(key, *item));
  }
}

Async<void> SimEngine::show_later(Key key, ItemRef item) {
  co_await sleep_for(scheduler_, lag_);
  if (item) {
    PutItemInput put;
    put.table = key.table;
    put.item = item.decode();
    static_cast<void>(at_once(behind_->put_item(std::move(put))));
  } else {
    DeleteItemInput gone;
    gone.table = key.table;
    gone.key = key.key;
    static_cast<void>(at_once(behind_->delete_item(std::move(gone))));
  }
}

template <class Input>
Async<std::vector<Result<WriteOutput>>> SimEngine::carry_out(std::vector<Input> inputs, Call<Input> call) {
  std::vector<Key> keys;
  for (const auto& input : inputs) {
    if (behind_) keys.push_back(key_of(input));
  }
  const Showing showing(*this, std::move(keys));
  auto work = (late_.*call)(std::move(inputs));
  auto answers = co_await work;
  co_return answers;
}

template <class Input>
Async<void> SimEngine::much_later(std::vector<Input> inputs, Call<Input> call, nanoseconds when) {
  co_await sleep_for(scheduler_, when);
  auto work = carry_out(std::move(inputs), call);
  static_cast<void>(co_await work);
}

template <class Input>
Async<std::vector<Result<WriteOutput>>> SimEngine::faulty(std::vector<Input> inputs, Call<Input> call) {
  std::vector<Fault> faults;
  std::vector<Input> sent;
  std::vector<Input> later;
  for (const auto& input : inputs) {
    const Fault fault = faults_.everywhere || is_resolved(input) ? draw() : Fault::kNone;
    faults.push_back(fault);
    if (fault == Fault::kLate) later.push_back(input);
    if (fault == Fault::kNone || fault == Fault::kLostAfter || fault == Fault::kTwice) sent.push_back(input);
  }
  if (!later.empty()) {
    const auto wait = std::chrono::duration_cast<nanoseconds>(faults_.late_by).count();
    const auto when = faults_.timeout + nanoseconds(random_.below(static_cast<uint64_t>(wait) + 1));
    scope_.spawn(much_later(std::move(later), call, when));
  }
  std::vector<Result<WriteOutput>> answers;
  if (!sent.empty()) {
    auto sending = carry_out(std::move(sent), call);
    answers = co_await sending;
  }
  std::vector<Result<WriteOutput>> out;
  bool any_lost = false;
  size_t next = 0;
  for (size_t i = 0; i < faults.size(); ++i) {
    if (faults[i] == Fault::kNone) {
      out.push_back(std::move(answers[next++]));
    } else if (faults[i] == Fault::kRefused) {
      out.push_back(fail(no_capacity()));
    } else if (faults[i] == Fault::kTwice) {
      ++next;  // A caller that sends it again knows only the second answer.
      std::vector<Input> again{inputs[i]};
      auto sending = carry_out(std::move(again), call);
      auto second = co_await sending;
      const bool failed = !second[0] && second[0].error().code == ErrorCode::kConditionalCheckFailed;
      if (failed) ++unknown_;
      out.push_back(failed ? Result<WriteOutput>(fail(no_answer())) : std::move(second[0]));
    } else {
      if (faults[i] == Fault::kLostAfter) ++next;
      any_lost = true;
      ++unknown_;
      out.push_back(fail(no_answer()));
    }
  }
  if (any_lost) co_await sleep_for(scheduler_, faults_.timeout);
  co_return out;
}

Async<std::vector<Result<WriteOutput>>> SimEngine::edit_many(std::vector<EditItemInput> inputs) {
  auto work = faulty(std::move(inputs), &Tables::edit_many);
  auto answers = co_await work;
  for (const auto& answer : answers) {
    if (!answer && answer.error().code == ErrorCode::kConditionalCheckFailed) ++refused_edits_;
  }
  co_return answers;
}

Async<std::vector<Result<WriteOutput>>> SimEngine::write_many(std::vector<WriteInput> inputs) {
  return faulty(std::move(inputs), &Tables::write_many);
}

Async<Result<WriteOutput>> SimEngine::write_one(WriteInput input) {
  std::vector<WriteInput> one;
  one.push_back(std::move(input));
  auto work = faulty(std::move(one), &Tables::write_many);
  auto answers = co_await work;
  co_return std::move(answers.front());
}

Async<Result<WriteOutput>> SimEngine::put_item(PutItemInput input) {
  if (!behind_ && !input.only_new && !faults_.everywhere) return late_.put_item(std::move(input));
  return write_one(std::move(input));
}

Async<Result<WriteOutput>> SimEngine::update_item(UpdateItemInput input) {
  if (!behind_) return late_.update_item(std::move(input));
  return write_one(std::move(input));
}

Async<Result<WriteOutput>> SimEngine::delete_item(DeleteItemInput input) {
  if (!behind_ && !faults_.everywhere) return late_.delete_item(std::move(input));
  return write_one(std::move(input));
}

// A client sends a transaction again with the same token, so it is never carried out twice.
Async<Result<TransactWriteOutput>> SimEngine::transact_write(TransactWriteInput input) {
  const Fault fault = faults_.everywhere ? draw() : Fault::kNone;
  if (fault == Fault::kRefused) co_return fail(no_capacity());
  if (fault == Fault::kLate) scope_.spawn(transact_later(input));
  if (fault == Fault::kNone || fault == Fault::kTwice) {
    auto work = transact(std::move(input));
    auto answer = co_await work;
    co_return answer;
  }
  if (fault == Fault::kLostAfter) {
    auto work = transact(std::move(input));
    static_cast<void>(co_await work);
  }
  ++unknown_;
  co_await sleep_for(scheduler_, faults_.timeout);
  co_return fail(no_answer());
}

Async<void> SimEngine::transact_later(TransactWriteInput input) {
  const auto wait = std::chrono::duration_cast<nanoseconds>(faults_.late_by).count();
  co_await sleep_for(scheduler_, faults_.timeout + nanoseconds(random_.below(static_cast<uint64_t>(wait) + 1)));
  auto work = transact(std::move(input));
  static_cast<void>(co_await work);
}

Async<Result<TransactWriteOutput>> SimEngine::transact(TransactWriteInput input) {
  std::vector<Key> keys;
  for (const auto& action : input.actions) {
    if (behind_) keys.push_back(key_of(action));
  }
  const Showing showing(*this, std::move(keys));
  auto work = late_.transact_write(std::move(input));
  auto answer = co_await work;
  co_return answer;
}

Async<Result<ItemRef>> SimEngine::get_item(GetItemInput input) {
  if (refuses()) return Result<ItemRef>(fail(no_capacity()));
  return late_.get_item(std::move(input));
}

Async<std::vector<Result<ReadOutput>>> SimEngine::read_many(std::vector<GetItemInput> inputs) {
  if (refuses()) return std::vector<Result<ReadOutput>>(inputs.size(), fail(no_capacity()));
  return late_.read_many(std::move(inputs));
}

Async<Result<Page>> SimEngine::query(QueryInput input) {
  if (!behind_ || input.index.empty()) return late_.query(std::move(input));
  if (input.consistent) return Result<Page>(invalid("Consistent reads are not supported on global secondary indexes"));
  ++index_queries_;
  return behind_->query(std::move(input));
}

Async<Result<Page>> SimEngine::scan(ScanInput input) {
  if (faults_.no_scans || (faults_.everywhere && refuses())) return Result<Page>(fail(no_capacity()));
  if (!behind_ || input.index.empty()) return late_.scan(std::move(input));
  return behind_->scan(std::move(input));
}

// The tables that indexes are read from change at once with those that they stand for.
Async<Result<TableDescription>> SimEngine::create_table(TableDefinition definition) {
  if (behind_) static_cast<void>(at_once(behind_->create_table(definition)));
  return late_.create_table(std::move(definition));
}

Async<Result<TableDescription>> SimEngine::delete_table(std::string table) {
  if (behind_) static_cast<void>(at_once(behind_->delete_table(table)));
  return late_.delete_table(std::move(table));
}

Async<Result<TableDescription>> SimEngine::alter_table(TableDefinition definition) {
  if (changes_take_ > nanoseconds(0)) co_await sleep_for(scheduler_, changes_take_);
  if (behind_) static_cast<void>(at_once(behind_->alter_table(definition)));
  auto work = late_.alter_table(std::move(definition));
  co_return co_await work;
}

}  // namespace freshet
