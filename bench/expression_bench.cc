// Measures the expression language on the hot path: one conditional status change of an 8-attribute task.
// build/release/bench/expression_bench --benchmark_min_time=0.2
#include <benchmark/benchmark.h>

#include "tables/expression/expression.h"
#include "tables/tables.h"

namespace freshet {
namespace {

constexpr const char* kCondition = "taskStatus = :from";
constexpr const char* kUpdate = "SET taskStatus = :to, taskUpdated = :now";
constexpr const char* kFilter =
    "taskStatus = :from AND taskCreated BETWEEN :low AND :high AND attribute_not_exists(taskLease)";

Item task() {
  return Item{{"taskId", "0b7d2f6e-6a52-4a7d-9f0a-3f6a0c8a6f01"},
              {"taskStatus", "PENDING"},
              {"taskCreated", Value::number(1795250000123)},
              {"taskUpdated", Value::number(1795250000123)},
              {"payload", std::string(100, 'x')},
              {"attempt", Value::number(1)},
              {"group", "customer-17"},
              {"ttl", Value::number(1795253600)}};
}

Placeholders placeholders() {
  return {{}, {{":from", "PENDING"}, {":to", "TAKEN"}, {":now", Value::number(1795250001123)}}};
}

Placeholders filter_placeholders() {
  return {{}, {{":from", "PENDING"}, {":low", Value::number(1795250000000)}, {":high", Value::number(1795250009999)}}};
}

void CacheLookup(benchmark::State& state) {
  ExpressionCache cache;
  for (int i = 0; i < 500; ++i) (void)cache.update("SET a" + std::to_string(i) + " = b");
  for (auto _ : state) benchmark::DoNotOptimize(cache.update(kUpdate));
}
BENCHMARK(CacheLookup);

void Compile(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(compile_update(kUpdate));
}
BENCHMARK(Compile);

void LookUpAndBindBoth(benchmark::State& state) {
  ExpressionCache cache;
  const auto given = placeholders();
  for (auto _ : state) {
    Expressions expressions(cache, given);
    benchmark::DoNotOptimize(expressions.condition(kCondition));
    benchmark::DoNotOptimize(expressions.update(kUpdate));
    benchmark::DoNotOptimize(expressions.finish());
  }
}
BENCHMARK(LookUpAndBindBoth);

void EvaluateDecoded(benchmark::State& state) {
  ExpressionCache cache;
  const auto given = placeholders();
  Expressions expressions(cache, given);
  const auto condition = *expressions.condition(kCondition);
  const Item item = task();
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(condition, item));
}
BENCHMARK(EvaluateDecoded);

void EvaluateStored(benchmark::State& state) {
  ExpressionCache cache;
  const auto given = placeholders();
  Expressions expressions(cache, given);
  const auto condition = *expressions.condition(kCondition);
  const ItemRef item = ItemRef::encode(task());
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(condition, item));
}
BENCHMARK(EvaluateStored);

void FilterStored(benchmark::State& state) {
  ExpressionCache cache;
  const auto given = filter_placeholders();
  Expressions expressions(cache, given);
  const auto condition = *expressions.filter(kFilter);
  const ItemRef item = ItemRef::encode(task());
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(condition, item));
}
BENCHMARK(FilterStored);

void FilterDecoding(benchmark::State& state) {
  ExpressionCache cache;
  const auto given = filter_placeholders();
  Expressions expressions(cache, given);
  const auto condition = *expressions.filter(kFilter);
  const ItemRef item = ItemRef::encode(task());
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(condition, item.decode()));
}
BENCHMARK(FilterDecoding);

// The copy of the item that apply() takes is made outside the clock's interest, but is in its number; see CopyItem.
void ApplyUpdate(benchmark::State& state) {
  ExpressionCache cache;
  const auto given = placeholders();
  Expressions expressions(cache, given);
  const auto update = *expressions.update(kUpdate);
  const Item item = task();
  for (auto _ : state) benchmark::DoNotOptimize(apply(update, item));
}
BENCHMARK(ApplyUpdate);

void CopyItem(benchmark::State& state) {
  const Item item = task();
  for (auto _ : state) {
    Item copy = item;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(CopyItem);

// All that a conditional update asks of this layer, from texts to the new item.
void WholeTransition(benchmark::State& state) {
  ExpressionCache cache;
  const auto given = placeholders();
  const ItemRef stored = ItemRef::encode(task());
  for (auto _ : state) {
    Expressions expressions(cache, given);
    auto condition = expressions.condition(kCondition);
    auto update = expressions.update(kUpdate);
    if (!expressions.finish() || !evaluate(*condition, stored)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(apply(*update, stored.decode()));
  }
}
BENCHMARK(WholeTransition);

void Decode(benchmark::State& state) {
  const ItemRef stored = ItemRef::encode(task());
  for (auto _ : state) benchmark::DoNotOptimize(stored.decode());
}
BENCHMARK(Decode);

void Encode(benchmark::State& state) {
  const Item item = task();
  for (auto _ : state) benchmark::DoNotOptimize(ItemRef::encode(item));
}
BENCHMARK(Encode);

}  // namespace
}  // namespace freshet

BENCHMARK_MAIN();
