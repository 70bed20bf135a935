#include "functions/ordered/hedged_writes.h"

#include <algorithm>

namespace freshet::ordered {
namespace {

// Refused for now, or nobody knows whether it was carried out.
bool worth_again(ErrorCode code) {
  switch (code) {
    case ErrorCode::kThroughputExceeded:
    case ErrorCode::kRequestLimitExceeded:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kUnknownOutcome:
    case ErrorCode::kInternal:
      return true;
    default:
      return false;
  }
}

bool write_again(const OrderedResult& result) {
  return result.error && worth_again(*result.error);
}

template <class T>
bool read_again(const Result<T>& result) {
  return !result && worth_again(result.error().code);
}

bool batch_again(const std::vector<Result<ItemRef>>& results) {
  return std::any_of(results.begin(), results.end(), read_again<ItemRef>);
}

}  // namespace

template <class Input>
Async<OrderedResult> HedgedWrites::write(Input input, Async<OrderedResult> (GuardedTable::*call)(Input),
                                         std::variant<Value, Refusal> (GuardedTable::*stamp)(const Input&)) {
  // A key that cannot be found in the input is refused by the call itself.
  auto stamped = (table_.*stamp)(input);
  if (auto* value = std::get_if<Value>(&stamped)) input.timestamp = std::move(*value);
  std::function<Async<OrderedResult>()> begin = [this, call, input = std::move(input)] {
    return (table_.*call)(input);
  };
  return writes_.call(std::move(begin), write_again);
}

template <class T, class Input>
Async<T> HedgedWrites::read(Input input, Async<T> (GuardedTable::*call)(Input), bool (*again)(const T&)) {
  std::function<Async<T>()> begin = [this, call, input = std::move(input)] { return (table_.*call)(input); };
  return reads_.call(std::move(begin), again);
}

Async<OrderedResult> HedgedWrites::put(OrderedPut input) {
  return write(std::move(input), &GuardedTable::put, &GuardedTable::stamp_of_put);
}
Async<OrderedResult> HedgedWrites::erase(OrderedDelete input) {
  return write(std::move(input), &GuardedTable::erase, &GuardedTable::stamp_of_delete);
}
Async<OrderedResult> HedgedWrites::update(OrderedUpdate input) {
  return write(std::move(input), &GuardedTable::update, &GuardedTable::stamp_of_update);
}
Async<Result<ItemRef>> HedgedWrites::get(OrderedGet input) {
  return read(std::move(input), &GuardedTable::get, read_again<ItemRef>);
}
Async<std::vector<Result<ItemRef>>> HedgedWrites::batch_get(std::vector<OrderedGet> inputs) {
  return read(std::move(inputs), &GuardedTable::batch_get, batch_again);
}
Async<Result<Page>> HedgedWrites::query(OrderedQuery input) {
  return read(std::move(input), &GuardedTable::query, read_again<Page>);
}
Async<Result<Page>> HedgedWrites::scan(OrderedScan input) {
  return read(std::move(input), &GuardedTable::scan, read_again<Page>);
}

}  // namespace freshet::ordered
