// Micro benchmarks of the value layer: what every write and read of a 200-byte item costs before anything else.
#include <benchmark/benchmark.h>

#include "tables/value/json.h"
#include "tables/value/json_reader.h"

namespace freshet {
namespace {

// A pending task of 8 attributes and about 200 encoded bytes.
Item task() {
  return Item{{"taskId", "0b9f4c52-6a0e-4d0c-9d50-3f1f6a8f2a11"},
              {"taskStatus", "PENDING"},
              {"taskCreated", Value::number(1'763'712'000'123)},
              {"taskUpdated", Value::number(1'763'712'000'456)},
              {"ttl", Value::number(1'763'715'600)},
              {"attempt", Value::number(1)},
              {"group", "customer-4711"},
              {"payload", R"({"order":123456,"kind":"resize","path":"/in/a.png"})"}};
}

void BM_Encode(benchmark::State& state) {
  Item item = task();
  for (auto _ : state) benchmark::DoNotOptimize(ItemRef::encode(item));
  state.counters["bytes"] = static_cast<double>(ItemRef::encode(item).encoded().size());
}
BENCHMARK(BM_Encode);

void BM_Decode(benchmark::State& state) {
  ItemRef item = ItemRef::encode(task());
  for (auto _ : state) benchmark::DoNotOptimize(item.decode());
}
BENCHMARK(BM_Decode);

void BM_FromEncoded(benchmark::State& state) {
  ItemRef item = ItemRef::encode(task());
  for (auto _ : state) benchmark::DoNotOptimize(ItemRef::from_encoded(item.encoded()));
}
BENCHMARK(BM_FromEncoded);

void BM_Find(benchmark::State& state) {
  ItemRef item = ItemRef::encode(task());
  for (auto _ : state) benchmark::DoNotOptimize(item.find("taskStatus"));
}
BENCHMARK(BM_Find);

void BM_BilledSize(benchmark::State& state) {
  Item item = task();
  for (auto _ : state) benchmark::DoNotOptimize(billed_size(item));
}
BENCHMARK(BM_BilledSize);

void BM_WriteItemJson(benchmark::State& state) {
  ItemRef item = ItemRef::encode(task());
  std::string out;
  for (auto _ : state) {
    out.clear();
    append_item_json(out, item);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["bytes"] = static_cast<double>(out.size());
}
BENCHMARK(BM_WriteItemJson);

void BM_WritePlainJson(benchmark::State& state) {
  ItemRef item = ItemRef::encode(task());
  std::string out;
  for (auto _ : state) {
    out.clear();
    append_plain_json(out, item);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(BM_WritePlainJson);

std::string put_body() {
  std::string body = R"-({"TableName":"QueueTable","ConditionExpression":"attribute_not_exists(taskId)","Item":)-";
  append_item_json(body, task());
  return body + "}";
}

void BM_ParseBody(benchmark::State& state) {
  std::string body = put_body();
  JsonDocument document;
  for (auto _ : state) benchmark::DoNotOptimize(document.parse(body));
  state.counters["bytes"] = static_cast<double>(body.size());
}
BENCHMARK(BM_ParseBody);

void BM_ParseBodyToItem(benchmark::State& state) {
  std::string body = put_body();
  JsonDocument document;
  for (auto _ : state) {
    auto root = document.parse(body);
    benchmark::DoNotOptimize(item_of(*root->find("Item")));
  }
}
BENCHMARK(BM_ParseBodyToItem);

void BM_ParsePlain(benchmark::State& state) {
  std::string body;
  append_plain_json(body, task());
  JsonDocument document;
  for (auto _ : state) benchmark::DoNotOptimize(plain_value_of(*document.parse(body)));
}
BENCHMARK(BM_ParsePlain);

void BM_ParseLargeString(benchmark::State& state) {
  std::string body = "{\"payload\":\"" + std::string(256 << 10, 'x') + "\"}";
  JsonDocument document;
  for (auto _ : state) benchmark::DoNotOptimize(document.parse(body));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * body.size()));
}
BENCHMARK(BM_ParseLargeString);

void BM_DecimalParse(benchmark::State& state) {
  std::string text = state.range(0) ? "12345678901234567890.123456789012345678" : "1763712000123";
  for (auto _ : state) benchmark::DoNotOptimize(Decimal::parse(text));
}
BENCHMARK(BM_DecimalParse)->ArgName("digits38")->Arg(0)->Arg(1);

void BM_DecimalToString(benchmark::State& state) {
  Decimal number(1'763'712'000'123);
  for (auto _ : state) benchmark::DoNotOptimize(number.to_string());
}
BENCHMARK(BM_DecimalToString);

void BM_DecimalOrdered(benchmark::State& state) {
  Decimal number(1'763'712'000'123);
  std::string out;
  for (auto _ : state) {
    out.clear();
    number.append_ordered(out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(BM_DecimalOrdered);

}  // namespace
}  // namespace freshet

BENCHMARK_MAIN();
