// Measures a peek with many records in flight: one queue with 1,000,000 records, 100,000 of them in flight, beside one
// with 1,000 and none, in turn, in one process, in memory. Prints the medians and their ratio as one JSON document.
//
//   priority_bench [RECORDS] [IN_FLIGHT] [PEEKS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "functions/priority/table_queue.h"
#include "functions/priority/timestamp.h"
#include "runtime/loop/loop.h"
#include "runtime/no_services.h"
#include "tables/engine/embedded.h"

namespace freshet {
namespace {

using priority::TableQueue;

class Bench {
 public:
  Bench() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    tables_ = std::move(*open_embedded(nullptr, loop_, random_, options));
    loop_.add(*tables_);
    services_ = std::make_unique<Services>(Services{*tables_, topics_, loop_, random_, http_, spawner_});
  }
  ~Bench() { loop_.remove(*tables_); }

  // A queue over a table of its own, with so many records of 100 bytes, as the sample's enqueue leaves them.
  std::unique_ptr<TableQueue> fill(const std::string& table, int64_t records) {
    priority::Settings settings;
    settings.name = settings.table = table;
    auto queue = wait(TableQueue::open(*services_, settings));
    FRESHET_CHECK(queue.has_value(), queue ? "" : queue.error().message.c_str());
    for (int64_t i = 0; i < records; ++i) {
      add(table, i);
      if (i % 1000 == 999) turn();
    }
    turn();
    return std::move(*queue);
  }
  void add(const std::string& table, int64_t number) {
    const std::string id = "record-" + std::to_string(number);
    const std::string now = priority::format_timestamp(1'800'000'000'000'000'000 + number * 1000);
    Map info{{"id", Value(id)},
             {"creation_timestamp", Value(now)},
             {"last_updated_timestamp", Value(now)},
             {"status", Value("READY_TO_SHIP")},
             {"version", Value::number(2)},
             {"queued", Value::number(1)},
             {"queue_selected", Value::boolean(false)},
             {"queue_added_timestamp", Value(now)}};
    PutItemInput put;
    put.table = table;
    put.item = Item{{"id", Value(id)},
                    {"queued", Value::number(1)},
                    {"last_updated_timestamp", Value(now)},
                    {"system_info", Value(std::move(info))},
                    {"data", Value(std::string(100, 'x'))}};
    auto done = wait(tables_->put_item(std::move(put)));
    FRESHET_CHECK(done.has_value(), "put");
  }
  void take_away(TableQueue& queue, int64_t records) {
    for (int64_t taken = 0; taken < records;) {
      PeekInput input;
      input.max = 100;
      input.visibility = milliseconds(24 * 3600 * 1000);
      taken += static_cast<int64_t>(wait(queue.peek(input)).size());
      turn();
    }
  }
  // Nanoseconds of one peek; what it took is replaced by another record.
  int64_t peek(TableQueue& queue) {
    const auto begun = std::chrono::steady_clock::now();
    auto peeked = wait(queue.peek({}));
    const auto ended = std::chrono::steady_clock::now();
    FRESHET_CHECK(peeked.front().ok(), "a record was there");
    RecordCall call;
    call.id = peeked.front().id;
    call.receipt = peeked.front().receipt;
    FRESHET_CHECK(wait(queue.remove(std::move(call))).ok(), "remove");
    add(queue.name(), next_++);
    turn();
    return (ended - begun).count();
  }

 private:
  void turn() {
    loop_.turn();
    while (loop_.ready()) loop_.turn();
  }
  template <class T>
  T wait(Async<T> work) {
    while (!work.is_ready()) turn();
    return work.take();
  }

  SystemClock clock_;
  EventWaiter waiter_{clock_};
  Loop loop_{clock_, waiter_};
  Random random_{1};
  NoHttp http_;
  NoSpawner spawner_;
  NoTopics topics_;
  std::unique_ptr<EmbeddedTables> tables_;
  std::unique_ptr<Services> services_;
  int64_t next_ = 10'000'000;
};

int64_t median(std::vector<int64_t> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

int run(int64_t records, int64_t in_flight, int64_t peeks) {
  Bench bench;
  auto small = bench.fill("small", 1000);
  auto large = bench.fill("large", records);
  bench.take_away(*large, in_flight);
  std::vector<int64_t> small_times;
  std::vector<int64_t> large_times;
  for (int64_t i = 0; i < peeks; ++i) {
    small_times.push_back(bench.peek(*small));
    large_times.push_back(bench.peek(*large));
  }
  const int64_t of_small = median(small_times);
  const int64_t of_large = median(large_times);
  std::printf(
      "{\"records\": %lld, \"in_flight\": %lld, \"peek_ns_p50\": %lld, \"peek_ns_p50_of_1000_with_none\": %lld, "
      "\"ratio\": %.3f}\n",
      static_cast<long long>(records), static_cast<long long>(in_flight), static_cast<long long>(of_large),
      static_cast<long long>(of_small), static_cast<double>(of_large) / static_cast<double>(of_small));
  return 0;
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  const auto number = [&](int at, int64_t fallback) { return argc > at ? std::atoll(argv[at]) : fallback; };
  return freshet::run(number(1, 1'000'000), number(2, 100'000), number(3, 20'000));
}
