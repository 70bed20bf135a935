// A whole runtime in simulation: the real loop on a SimClock, the embedded store on simulated files, and hosts that the
// test steers. start() may be called again: it is a restart of the daemon over the same data.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop/sim_loop.h"
#include "runtime/runtime.h"
#include "streams/topic_service.h"
#include "tables/engine/embedded.h"
#include "tables/value/json.h"
#include "tests/runtime/fakes.h"
#include "tests/sim/late_tables.h"
#include "tests/sim/sim_files.h"

namespace freshet {

// The members of a JSON object; none if the text is no object.
inline Map json(const std::string& text) {
  auto value = parse_plain_json(text);
  return value && value->is(Type::kMap) ? *value->get_if<Map>() : Map{};
}

// The behaviour of a scripted native function in one invocation.
struct Step {
  milliseconds takes{0};
  std::string error;  // Fails with that message.
  std::string result = R"("ok")";
};

inline Step takes(milliseconds time) {
  return Step{time, {}, R"("ok")"};
}
inline Step fails(std::string error, milliseconds time = milliseconds(0)) {
  return Step{time, std::move(error), {}};
}
inline Step gives(std::string result, milliseconds time = milliseconds(0)) {
  return Step{time, {}, std::move(result)};
}

struct Seen {
  std::string function;
  std::string payload;
  BootTime at{};
  uint64_t syncs = 0;  // The syncs of the disk before it started.
  std::string trace_id;
};

class RuntimeWorld {
 public:
  RuntimeWorld() : RuntimeWorld(RuntimeOptions{}) {}
  // With a seed for it, every call of the runtime to its store takes simulated time, out of step.
  explicit RuntimeWorld(RuntimeOptions o, uint64_t late_seed = 0) : options(std::move(o)), late_seed_(late_seed) {
    natives.add("script", [this](Context& context) { return play(*this, context); });
    http.answer = [](const HttpRequest&) { return HttpResponse{200, "application/json", {}, R"("ok")"}; };
    open_store();
    start();
  }

  ~RuntimeWorld() { runtime.reset(); }  // Handlers refer to all the rest.

  void open_store() {
    EmbeddedOptions store;
    store.directory = "data";
    store.segment_bytes = 1u << 20;
    auto opened = open_embedded(&files, sim.loop(), random, store);
    FRESHET_CHECK(opened.has_value(), opened ? "" : opened.error().message.c_str());
    tables = std::move(*opened);
    sim.loop().add(*tables);
  }
  void start() {
    const Result<void> started = restart();
    FRESHET_CHECK(started.has_value(), started ? "" : started.error().message.c_str());
  }
  // With the options as they are now.
  Result<void> restart() {
    runtime.reset();
    if (late_seed_) late = std::make_unique<LateTables>(*tables, sim.loop(), late_seed_++);
    RuntimePorts ports{store(), sim.loop(), random, http, spawner, natives, nullptr, nullptr, &tables->wall_guard()};
    runtime = std::make_unique<Runtime>(ports, options);
    return wait(runtime->start());
  }
  Tables& store() { return late ? static_cast<Tables&>(*late) : *tables; }  // As the runtime sees it.
  // The machine loses power: what was not durable is gone.
  void power_loss() {
    runtime.reset();
    late.reset();
    sim.loop().remove(*tables);
    tables.reset();
    files.restart();
    open_store();
    start();
  }

  template <class T>
  T wait(Async<T> work, nanoseconds limit = std::chrono::hours(1)) {
    FRESHET_CHECK(sim.run_until([&] { return work.is_ready(); }, limit), "it never became ready");
    return work.take();
  }
  // The same, and it must succeed.
  template <class T>
  T must(Async<Result<T>> work) {
    Result<T> result = wait(std::move(work));
    FRESHET_CHECK(result.has_value(), result ? "" : result.error().message.c_str());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

  static FunctionDefinition function(const std::string& name, AsyncConfig async = {}, std::optional<int> reserved = {},
                                     milliseconds timeout = seconds(60)) {
    FunctionDefinition function;
    function.name = name;
    function.handler = "script";
    function.timeout = timeout;
    function.reserved_concurrency = reserved;
    function.async = async;
    return function;
  }
  void add_function(const std::string& name, AsyncConfig async = {}, std::optional<int> reserved = {},
                    milliseconds timeout = seconds(60)) {
    must(runtime->put_function(function(name, async, reserved, timeout)));
  }
  void add_table(const std::string& name, StreamView view = StreamView::kKeysOnly) {
    TableDefinition table;
    table.name = name;
    table.keys = KeySchema{{"taskId", Type::kString}, {}};
    table.stream = view;
    must(tables->create_table(table));
  }
  void put(const std::string& table, Item item) {
    PutItemInput input;
    input.table = table;
    input.item = std::move(item);
    must(tables->put_item(std::move(input)));
  }
  size_t stored(const std::string& kind) {
    QueryInput query;
    query.table = "freshet.system";
    query.key_condition = "kind = :k";
    query.placeholders.values.set(":k", Value(kind));
    return must(tables->query(std::move(query))).items.size();
  }
  FunctionStats stats(const std::string& function) { return runtime->invoker().stats()[function]; }
  std::vector<std::string> payloads(const std::string& function) const {
    std::vector<std::string> all;
    for (const Seen& one : seen) {
      if (one.function == function) all.push_back(one.payload);
    }
    return all;
  }
  size_t calls(const std::string& function) const { return payloads(function).size(); }

  RuntimeOptions options;
  SimClock clock{WallTime(seconds(1'700'000'000))};
  Random random{7};
  SimFiles files{11};
  SimLoop sim{clock};
  FakeHttp http{sim.loop()};  // Answers "ok".
  NoSpawner spawner;
  NativeRegistry natives;
  std::unique_ptr<EmbeddedTables> tables;
  std::unique_ptr<LateTables> late;
  std::unique_ptr<Runtime> runtime;

  std::map<std::string, std::deque<Step>> script;  // By function; the default step when empty.
  std::vector<Seen> seen;
  std::map<std::string, int> running;
  std::map<std::string, int> most_running;

 private:
  struct Running {
    int& now;
    explicit Running(int& counter) : now(counter) { ++now; }
    ~Running() { --now; }
  };
  static Async<Result<std::string>> play(RuntimeWorld& world, Context& context) {
    const std::string name = context.function.name;
    world.seen.push_back(
        {name, context.invocation.payload.text(), context.now(), world.files.syncs(), context.invocation.trace_id});
    const Running running(world.running[name]);
    world.most_running[name] = std::max(world.most_running[name], running.now);
    Step step;
    auto& steps = world.script[name];
    if (!steps.empty()) {
      step = steps.front();
      steps.pop_front();
    }
    if (step.takes > milliseconds(0)) co_await sleep_for(world.sim.loop(), step.takes);
    if (!step.error.empty()) co_return fail(ErrorCode::kInternal, step.error);
    co_return step.result;
  }

  uint64_t late_seed_ = 0;
};

}  // namespace freshet
