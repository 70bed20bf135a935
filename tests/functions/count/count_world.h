// A table whose stream is counted, its metrics table, and count_states as a mapping would call it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "functions/count/count_states.h"
#include "streams/arn.h"
#include "tests/functions/world.h"

namespace freshet {

inline std::string why(const Result<std::string>& answer) {
  return answer ? "no error: " + *answer : answer.error().message;
}

class CountWorld : public QueueWorld {
 public:
  explicit CountWorld(bool late, uint64_t seed = 1) : QueueWorld(late, seed) {
    TableDefinition parcels;
    parcels.name = "Parcels";
    parcels.keys = {{"id", Type::kString}, {}};
    parcels.ttl_attribute = "ttl";
    parcels.stream = StreamView::kNewAndOldImages;
    make(parcels);
    make(metrics_table());
    function.name = "Count";
    function.environment = {{"METRICS_TABLE", "Metrics"}, {"COUNT_ATTRIBUTE", "state"}};
    function.timeout = seconds(900);
  }

  static TableDefinition metrics_table() {
    TableDefinition table;
    table.name = "Metrics";
    table.keys = {{"counted", Type::kString}, KeyAttribute{"metric", Type::kString}};
    return table;
  }
  void make(TableDefinition table) {
    auto made = wait(store->create_table(std::move(table)));
    EXPECT_TRUE(made) << made.error().message;
  }

  // As a client does. No state: the attribute is left out.
  void put_parcel(const std::string& id, std::optional<Value> state) {
    PutItemInput input;
    input.table = "Parcels";
    input.item = Item{{"id", Value(id)}, {"n", Value::number(++writes_)}};
    if (state) input.item.set("state", std::move(*state));
    auto put = wait(store->put_item(std::move(input)));
    EXPECT_TRUE(put) << put.error().message;
  }
  void remove_parcel(const std::string& id) {
    DeleteItemInput input;
    input.table = "Parcels";
    input.key.set("id", Value(id));
    auto removed = wait(store->delete_item(std::move(input)));
    EXPECT_TRUE(removed) << removed.error().message;
  }

  std::string label() { return wait(store->describe_table("Parcels"))->stream_label; }
  StreamBatch batch(uint64_t from, uint32_t limit = 1000, std::string of = {}) {
    pass(milliseconds(1));  // All is durable.
    ReadStreamInput read;
    read.table = "Parcels";
    read.from = from;
    read.limit = limit;
    read.label = of;
    auto page = wait(store->read_stream(std::move(read)));
    EXPECT_TRUE(page) << page.error().message;
    StreamBatch out;
    out.records = std::move(page->records);
    out.source = {Account{}, stream_arn(Account{}, "Parcels", of.empty() ? label() : of), StreamView::kNewAndOldImages};
    return out;
  }
  Invocation invocation(Payload payload) {
    Invocation made;
    made.request_id = "request-" + std::to_string(++invocations_);
    made.payload = std::move(payload);
    made.deadline = clock.boot() + function.timeout;
    return made;
  }
  Result<std::string> invoke(Payload payload) {
    Context context{*services, function, invocation(std::move(payload))};
    return wait(count_states(context, log));
  }
  Result<std::string> deliver(uint64_t from, uint32_t limit = 1000, std::string of = {}) {
    return invoke(Payload(batch(from, limit, std::move(of))));
  }

  // The counters in the metrics table: "state#A" -> 3, "transition#A#B" -> 2; zeros left out.
  std::map<std::string, int64_t> counters() {
    std::map<std::string, int64_t> out;
    ScanInput scan;
    scan.table = "Metrics";
    auto page = wait(store->scan(std::move(scan)));
    EXPECT_TRUE(page) << page.error().message;
    for (const ItemRef& ref : page->items) {
      const Item item = ref.decode();
      const std::string metric(item.string_or("metric"));
      const bool is_memory = metric.starts_with("item#") || metric.starts_with("shard#");
      if (metric == "position" || is_memory) continue;
      EXPECT_EQ(item.string_or("counted"), "Parcels#state");
      const int64_t n = item.int_or("itemCount", 0) + item.int_or("moves", 0);
      if (n != 0) out[metric] = n;
    }
    return out;
  }
  std::map<std::string, int64_t> states() {
    auto all = counters();
    std::erase_if(all, [](const auto& entry) { return !entry.first.starts_with("state#"); });
    return all;
  }
  // The same, by looking at every item.
  std::map<std::string, int64_t> recount() {
    std::map<std::string, int64_t> out;
    Item start;
    do {
      ScanInput scan;
      scan.table = "Parcels";
      scan.exclusive_start_key = std::move(start);
      auto page = wait(store->scan(std::move(scan)));
      EXPECT_TRUE(page) << page.error().message;
      for (const ItemRef& item : page->items) ++out["state#" + state_of(item.decode())];
      start = std::move(page->last_evaluated_key);
    } while (!start.empty());
    return out;
  }
  static constexpr const char* kStates[] = {"PENDING", "TAKEN", "SUCCESS", "DEAD"};
  static std::string state_of(const Item& item) {
    const Value* value = item.find("state");
    return value == nullptr ? "(none)" : *value->get_if<std::string>();
  }

  FunctionDefinition function;
  EventLog log;

 private:
  int64_t writes_ = 0;
  int invocations_ = 0;
};

}  // namespace freshet
