// The whole life of a task in process: create, take newest first, complete; or expire. In memory, so that the disk is
// not in these numbers; with conditions, stream records, TTL, books and the queue's sparse indexes.
#include <benchmark/benchmark.h>

#include "functions/queue/queues.h"
#include "runtime/loop/loop.h"
#include "runtime/no_services.h"
#include "tables/engine/embedded.h"

namespace freshet {
namespace {

class Bench {
 public:
  // With a clock of its own it stands still unless it is told to move; with files there is a log in them.
  explicit Bench(Clock* own_clock = nullptr, Files* files = nullptr) : clock(own_clock ? *own_clock : system_clock) {
    EmbeddedOptions options;
    options.directory = files ? "log" : kMemoryDirectory;
    tables = std::move(*open_embedded(files, loop, random, options));
    loop.add(*tables);
    TableDefinition table;
    table.name = "QueueTable";
    table.keys = {{"taskId", Type::kString}, {}};
    KeySchema keys{{"taskStatus", Type::kString}, KeyAttribute{"taskCreated", Type::kNumber}};
    table.indexes.push_back({"task-status-created-index", keys, false, Projection::kAll, {}});
    table.stream = StreamView::kKeysOnly;
    table.ttl_attribute = "ttl";
    expect(tables->create_table(table));
    services = std::make_unique<Services>(Services{*tables, topics, loop, random, http, spawner});
    queues = std::make_unique<Queues>(*services, EventLog(), QueueIdentity{"n", "i"});
    queue = expect(queues->open("QueueTable", {})).get();
    queues->begin();
    turn();
  }

  void create(size_t count, std::chrono::hours ttl, std::optional<WallTime> deadline = {}) {
    std::vector<NewTask> tasks(count);
    for (auto& task : tasks) {
      task.payload = Value(payload);
      task.ttl = ttl;
      task.deadline = deadline;
    }
    auto created = expect_ready(queue->create(std::move(tasks)));
    benchmark::DoNotOptimize(created);
  }
  std::vector<TakenTask> take(size_t count) {
    TakeInput input;
    input.max = static_cast<int>(count);
    return std::move(*expect_ready(queue->take(input)));
  }
  void complete(std::vector<TakenTask>& taken) {
    std::vector<Settlement> settlements(taken.size());
    for (size_t i = 0; i < taken.size(); ++i) {
      settlements[i].id = taken[i].task.find("taskId")->bytes();
      settlements[i].lease = taken[i].lease;
    }
    auto settled = expect_ready(queue->settle(std::move(settlements)));
    for (auto& task : settled) FRESHET_CHECK(task.has_value(), "every task is completed");
  }
  void turn() {
    loop.turn();
    while (loop.ready()) loop.turn();
  }

  // Turns until that time is over, with nothing between what there is to do.
  __attribute__((noinline)) void pass(SimClock& sim, nanoseconds time) {
    const BootTime end = sim.boot() + time;
    for (turn(); sim.boot() < end; turn()) sim.advance_to(std::min(end, loop.next_deadline()));
  }
  template <class T>
  T wait(Async<T> work) {
    turn();
    return work.take();
  }

  SystemClock system_clock;
  const Clock& clock;
  EventWaiter waiter{clock};
  Loop loop{clock, waiter};
  Random random{1};
  NoHttp http;
  NoSpawner spawner;
  NoTopics topics;
  std::unique_ptr<EmbeddedTables> tables;
  std::unique_ptr<Services> services;
  std::unique_ptr<Queues> queues;
  Queue* queue = nullptr;
  const std::string payload = std::string(100, 'x');

 private:
  template <class T>
  T expect_ready(Async<T> work) {
    FRESHET_CHECK(work.is_ready(), "the embedded store answers at once");
    return work.take();
  }
  template <class T>
  T expect(Async<Result<T>> work) {
    for (int i = 0; i < 1000 && !work.is_ready(); ++i) turn();
    auto answer = work.take();
    FRESHET_CHECK(answer.has_value(), answer ? "" : answer.error().message.c_str());
    return std::move(*answer);
  }
};

void whole_life(benchmark::State& state) {
  Bench bench;
  auto batch = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    bench.create(batch, std::chrono::hours(1));
    auto taken = bench.take(batch);
    bench.complete(taken);
    bench.turn();
  }
  state.SetItemsProcessed(static_cast<int64_t>(batch) * state.iterations());
}
BENCHMARK(whole_life)->Arg(1)->Arg(16)->Arg(64)->Arg(256);

// One take and give-back of ten at a depth.
void take_at_depth(benchmark::State& state) {
  Bench bench;
  for (int64_t i = 0; i < state.range(0); i += 1000) {
    bench.create(1000, std::chrono::hours(1));
    bench.turn();
  }
  for (auto _ : state) {
    auto taken = bench.take(10);
    state.PauseTiming();
    bench.complete(taken);
    bench.create(10, std::chrono::hours(1));
    bench.turn();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(10 * state.iterations());
}
BENCHMARK(take_at_depth)->Arg(1'000)->Arg(1'000'000)->Iterations(20'000);

void phase(benchmark::State& state) {
  Bench bench;
  for (auto _ : state) {
    if (state.range(0) != 0) state.PauseTiming();
    bench.create(64, std::chrono::hours(1));
    if (state.range(0) == 0) state.PauseTiming();
    if (state.range(0) == 1) state.ResumeTiming();
    auto taken = bench.take(64);
    if (state.range(0) == 1) state.PauseTiming();
    if (state.range(0) == 2) state.ResumeTiming();
    bench.complete(taken);
    if (state.range(0) == 2) state.PauseTiming();
    if (state.range(0) == 3) state.ResumeTiming();
    bench.turn();
    if (state.range(0) != 3) state.ResumeTiming();
  }
  state.SetItemsProcessed(64 * state.iterations());
}
BENCHMARK(phase)->ArgName("create_take_complete_turn")->DenseRange(0, 3)->Iterations(3'000);

// Measures the computing time of the loop for each of many tasks that expire, 16,400 a second, written to a log whose
// disk takes no time. A few tasks are in the processor's caches, a million are not.
void shed(benchmark::State& state) {
  const auto tasks = static_cast<size_t>(state.range(0));
  constexpr size_t kBatch = 64, kBatchesPerSecond = 256;
  SimClock clock{WallTime(std::chrono::hours(24 * 365 * 50))};
  const auto files = make_memory_files();
  Bench bench(&clock, files.get());
  for (auto _ : state) {
    state.PauseTiming();
    const auto first = clock.wall() + seconds(10);
    for (size_t batch = 0; batch < tasks / kBatch; ++batch) {
      const milliseconds later(batch * 1000 / kBatchesPerSecond);
      bench.create(kBatch, std::chrono::hours(24), first + later);
    }
    bench.turn();
    clock.advance(seconds(10));
    state.ResumeTiming();
    bench.pass(clock, seconds(tasks / kBatch / kBatchesPerSecond + 2));
    state.PauseTiming();
    const auto stats = bench.wait(bench.tables->books("QueueTable"));
    FRESHET_CHECK(!stats->stock.contains("PENDING"), "all are shed");
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<int64_t>(tasks) * state.iterations());
}
BENCHMARK(shed)->Arg(64 << 6)->Iterations(20);
BENCHMARK(shed)->Arg(1'000'000)->Iterations(1);

}  // namespace
}  // namespace freshet

BENCHMARK_MAIN();
