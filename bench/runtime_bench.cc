// Measures the runtime's cost beside the store: works of the loop, asynchronous events, and the chain from a put
// through the stream and two functions. In memory, on the real clock; the disk is not in these numbers.
#include <benchmark/benchmark.h>

#include <atomic>
#include <thread>

#include "runtime/loop/loop.h"
#include "runtime/no_services.h"
#include "runtime/runtime.h"
#include "tables/engine/embedded.h"

namespace freshet {
namespace {

void post_and_run(benchmark::State& state) {
  SystemClock clock;
  EventWaiter waiter(clock);
  Loop loop(clock, waiter);
  uint64_t ran = 0;
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i) loop.post([&ran] { ++ran; });
    while (loop.ready()) loop.turn();
  }
  state.SetItemsProcessed(static_cast<int64_t>(ran));
}
BENCHMARK(post_and_run);

// From another thread to the loop, and how long the loop needs to wake.
void deliver_from_another_thread(benchmark::State& state) {
  SystemClock clock;
  EventWaiter waiter(clock);
  Loop loop(clock, waiter);
  std::thread runner([&] { loop.run(); });
  std::atomic<uint64_t> ran{0};
  uint64_t sent = 0;
  for (auto _ : state) {
    const int batch = static_cast<int>(state.range(0));
    for (int i = 0; i < batch; ++i) {
      while (!loop.deliver([&ran] { ran.fetch_add(1); })) std::this_thread::yield();
    }
    sent += static_cast<uint64_t>(batch);
    while (ran.load() < sent) {
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(sent));
  loop.stop();
  runner.join();
}
BENCHMARK(deliver_from_another_thread)->Arg(1)->Arg(1000)->UseRealTime();

void timers(benchmark::State& state) {
  SystemClock clock;
  EventWaiter waiter(clock);
  Loop loop(clock, waiter);
  std::vector<TimerId> ids(10'000);
  for (auto& id : ids) id = loop.call_after(std::chrono::hours(1), [] {});
  size_t at = 0;
  for (auto _ : state) {
    loop.cancel(ids[at]);
    ids[at] = loop.call_after(std::chrono::hours(1), [] {});
    at = (at + 1) % ids.size();
  }
}
BENCHMARK(timers);

struct Daemon {
  SystemClock clock;
  EventWaiter waiter{clock};
  Loop loop{clock, waiter};
  Random random{1};
  std::unique_ptr<EmbeddedTables> tables;
  NoHttp http;
  NoSpawner spawner;
  NativeRegistry natives;
  std::unique_ptr<Runtime> runtime;
  uint64_t processed = 0;

  static Async<Result<std::string>> trigger(Context& context) {
    PublishInput input;
    input.topic_arn = topic_arn(Account{}, "Process");
    input.message = "Start";
    auto published = co_await context.services.topics.publish(std::move(input));
    if (!published) co_return fail(std::move(published.error()));
    co_return std::string("null");
  }

  explicit Daemon(uint32_t batch) {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    tables = std::move(*open_embedded(nullptr, loop, random, options));
    loop.add(*tables);
    natives.add("trigger", trigger);
    natives.add("process", [this](Context&) -> Async<Result<std::string>> {
      ++processed;
      return Result<std::string>(std::string("null"));
    });
    runtime = std::make_unique<Runtime>(RuntimePorts{*tables, loop, random, http, spawner, natives});
    expect(runtime->start());
    TableDefinition queue;
    queue.name = "Queue";
    queue.keys = KeySchema{{"taskId", Type::kString}, {}};
    queue.stream = StreamView::kKeysOnly;
    expect(tables->create_table(queue));
    for (const char* name : {"trigger", "process"}) {
      FunctionDefinition function;
      function.name = name;
      function.handler = name;
      expect(runtime->put_function(function));
    }
    expect(runtime->put_topic({"Process"}));
    expect(runtime->subscribe({"p", "Process", "lambda", "process", "", false, false}));
    MappingDefinition mapping;
    mapping.table = "Queue";
    mapping.function = "trigger";
    mapping.batch_size = batch;
    mapping.filters = {R"({"eventName":["INSERT"]})"};
    expect(runtime->put_mapping(mapping));
  }
  template <class T>
  void expect(Async<Result<T>> work) {
    while (!work.is_ready()) loop.turn();
    FRESHET_CHECK(work.take().has_value(), "the bench could not be set up");
  }
};

// One put, the stream, the trigger function, a publish, the subscribed function, and all that is logged on the way.
void walk(benchmark::State& state) {
  Daemon daemon(static_cast<uint32_t>(state.range(0)));
  uint64_t n = 0;
  for (auto _ : state) {
    for (int i = 0; i < state.range(0); ++i) {
      PutItemInput put;
      put.table = "Queue";
      put.item = Item{{"taskId", std::to_string(++n)}};
      auto done = daemon.tables->put_item(std::move(put));
      benchmark::DoNotOptimize(done.is_ready());
    }
    while (daemon.loop.ready()) daemon.loop.turn();
  }
  FRESHET_CHECK(daemon.processed >= n / static_cast<uint64_t>(state.range(0)), "an event was lost");
  state.SetItemsProcessed(static_cast<int64_t>(n));
}
BENCHMARK(walk)->Arg(1)->Arg(100);

void asynchronous_event(benchmark::State& state) {
  Daemon daemon(1);
  for (auto _ : state) {
    daemon.expect(daemon.runtime->invoker().invoke_async("process", "{}"));
    while (daemon.loop.ready()) daemon.loop.turn();
  }
}
BENCHMARK(asynchronous_event);

// Measures the runtime's part of a synchronous call of a native function that does nothing, a turn of the loop
// included.
void native_invoke(benchmark::State& state) {
  Daemon daemon(1);
  for (auto _ : state) daemon.expect(daemon.runtime->invoker().invoke("process", "{}"));
}
BENCHMARK(native_invoke)->Repetitions(15)->ReportAggregatesOnly();

}  // namespace
}  // namespace freshet

BENCHMARK_MAIN();
