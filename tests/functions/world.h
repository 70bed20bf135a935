// A queue's world in a test: simulated time, a store in memory or the simulated engine over it (late, out of step, with
// writes whose answer is lost), and fakes of everything outside. Tests of functions run in both worlds.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "functions/queue/layout.h"
#include "functions/queue/queues.h"
#include "runtime/loop/sim_loop.h"
#include "streams/topics.h"
#include "tables/engine/embedded.h"
#include "tables/owned/owned_tables.h"
#include "tests/functions/queue_table.h"
#include "tests/runtime/fakes.h"
#include "tests/sim/sim_engine.h"

namespace freshet {

class FakePublisher final : public Publisher {
 public:
  Async<Result<std::string>> publish(PublishInput input) override {
    published.push_back(input);
    if (on_publish) on_publish(input);
    return Result<std::string>("message-" + std::to_string(published.size()));
  }
  std::vector<PublishInput> published;
  std::function<void(const PublishInput&)> on_publish;
};

class FakeSpawner final : public Spawner {
 public:
  Async<Result<ProcessResult>> run(ProcessSpec spec) override {
    specs.push_back(spec);
    return answer(spec);
  }
  std::vector<ProcessSpec> specs;
  std::function<Result<ProcessResult>(const ProcessSpec&)> answer = [](const ProcessSpec&) {
    ProcessResult result;
    result.exit_status = 0;
    return result;
  };
};

// A DynamoDB-compatible engine, as one daemon uses it: late, with lost answers and lagging indexes, without books,
// streams and TTL; and what a daemon puts over it.
struct EngineStore {
  milliseconds index_lag{200};
  SimFaults faults = SimFaults::some();
};

class QueueWorld {
 public:
  // With `files` the store is on disk, there; they outlive the world.
  explicit QueueWorld(bool late, uint64_t seed = 1, Files* files = nullptr)
      : scheduler(clock),
        random(seed),
        http(scheduler, nanoseconds(0)),
        store_random(seed),
        store(open(files)),
        engine_(std::make_unique<SimEngine>(*store, scheduler, seed, SimFaults::some())) {
    scheduler.add(*store);
    use(late ? static_cast<Tables*>(engine_.get()) : store.get());
    auto created = wait(store->create_table(queue_table()));
    EXPECT_TRUE(created) << created.error().message;
  }
  QueueWorld(const EngineStore& engine, uint64_t seed)
      : scheduler(clock),
        random(seed),
        http(scheduler, nanoseconds(0)),
        store_random(seed),
        store(open(nullptr)),
        behind_(open(nullptr)),
        engine_(std::make_unique<SimEngine>(*store, scheduler, seed, engine.faults, *behind_, engine.index_lag)) {
    scheduler.add(*store);
    scheduler.add(*behind_);
    index_lag_ = engine.index_lag;
    StoreTraits traits = engine_->traits();
    traits.sole_writer = traits.books = traits.full_images = traits.prompt_ttl = false;
    traits.stream = StreamShape::kNone;
    engine_->say_traits(traits);
    TableDefinition table = queue_table();
    table.stream.reset();
    table.ttl_attribute.reset();
    auto created = wait(engine_->create_table(table));
    EXPECT_TRUE(created) << created.error().message;
    start_owned();
  }
  ~QueueWorld() {
    queues.reset();
    owned_.reset();
    for (auto* each : {&recent_, &behind_, &store}) {
      if (*each) scheduler.remove(**each);
    }
  }

  // Lets time pass until the answer is there.
  template <class T>
  T wait(Async<T> work) {
    for (int i = 0; i < 10'000'000 && !work.is_ready(); ++i) {
      scheduler.run_ready();
      if (!work.is_ready()) scheduler.run_for(milliseconds(1));
    }
    EXPECT_TRUE(work.is_ready()) << "no answer";
    return work.take();
  }

  // True in the run of all tests with LAYOUT=fleet.
  static bool in_fleet_layout() { return std::getenv("FRESHET_TEST_LAYOUT") != nullptr; }
  // A new life of the daemon's queues on the same store. `when_open`: called before its work begins.
  Queue& start(QueueSettings settings = {}, const std::function<void()>& when_open = {}) {
    ++lives_;
    if (owned_) {
      queues.reset();
      start_owned();
    }
    if (in_fleet_layout()) settings.layout = Layout::kFleet;  // It matters only on engines.
    queues = std::make_unique<Queues>(*services, EventLog(), QueueIdentity{"n", "life" + std::to_string(lives_)},
                                      nullptr, &store->wall_guard());
    auto opened = wait(queues->open("QueueTable", settings));
    EXPECT_TRUE(opened) << opened.error().message;
    if (when_open) when_open();
    queues->begin();
    pass(milliseconds(100));
    return **opened;
  }
  void pass(nanoseconds time) { scheduler.run_for(time); }

  Books books() { return *wait(tables->books("QueueTable")); }
  uint64_t stock(const std::string& status) { return books().stock[status]; }
  seconds recount{5};  // Between two counts of a table on an engine, from the next start on.
  int64_t now_ms() const { return epoch_ms(clock.wall()); }

  // As any SDK client sees the store.
  Tables& client() { return behind_ ? static_cast<Tables&>(*engine_) : *store; }
  void put(Item item) {
    PutItemInput input;
    input.table = "QueueTable";
    if (in_fleet_layout() && item.int_or("taskCreated", 0) != 0) {
      task_layout(Layout::kFleet, tables->traits()).place(item, 0);  // As it soon is.
    }
    input.item = std::move(item);
    auto put = wait(client().put_item(std::move(input)));
    EXPECT_TRUE(put) << put.error().message;
  }
  void put_pending(const std::string& id, int64_t created) {
    put(Item{{"taskId", Value(id)}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(created)}});
  }
  Item read(const std::string& id) {
    GetItemInput input;
    input.table = "QueueTable";
    input.key.set("taskId", Value(id));
    auto item = wait(store->get_item(std::move(input)));
    return item && *item ? item->decode() : Item();
  }
  std::string status(const std::string& id) { return std::string(read(id).string_or("taskStatus")); }

  // Past the queue, at once.
  void drop_index(const std::string& name) {
    auto described = wait(engine_->describe_table("QueueTable"));
    ASSERT_TRUE(described);
    std::erase_if(described->definition.indexes, [&](const auto& index) { return index.name == name; });
    ASSERT_TRUE(wait(engine_->alter_table(described->definition)));
  }
  // On an engine: until its indexes show what clients wrote.
  void shown() {
    if (behind_) pass(index_lag_ + milliseconds(50));
  }
  // On an engine: a change of a table takes so long.
  void delay_changes(nanoseconds time) { engine_->delay_changes(time); }

  // For the late world: the number of calls of the store.
  uint64_t store_calls() const { return engine_->calls(); }
  // For the late world: from now on its writes have these faults.
  void set_faults(SimFaults faults) { engine_->set_faults(faults); }
  uint64_t unknown_outcomes() const { return engine_->unknown_outcomes(); }
  // On an engine: edits whose condition did not hold.
  uint64_t refused_writes() const { return engine_->refused_edits(); }
  // For the late world: the time until a write is durable.
  void delay_durable(milliseconds time) { engine_->late().delay_durable(time); }
  // For the late world: puts succeed, edits (claims, ends) after the `first` are refused as by a full store.
  void refuse_edits(bool refuse, size_t first = 0) {
    const Error full{ErrorCode::kThroughputExceeded, "full", nullptr};
    engine_->late().refuse_edits(refuse ? std::optional(full) : std::nullopt, first);
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop scheduler;
  Random random;
  FakePublisher topics;
  FakeHttp http;
  FakeSpawner spawner;
  Random store_random;
  std::unique_ptr<EmbeddedTables> store;
  Tables* tables = nullptr;
  std::unique_ptr<Services> services;
  std::unique_ptr<Queues> queues;

 private:
  std::unique_ptr<EmbeddedTables> open(Files* files) {
    EmbeddedOptions options;
    options.directory = files ? "data" : std::string(kMemoryDirectory);
    auto opened = open_embedded(files, scheduler, store_random, options);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }

  void use(Tables* those) {
    tables = those;
    services = std::make_unique<Services>(Services{*tables, topics, scheduler, random, http, spawner});
  }
  // A daemon's view of the engine: each life begins without what the last one remembered.
  void start_owned() {
    owned_.reset();
    if (recent_) scheduler.remove(*recent_);
    recent_ = open(nullptr);
    scheduler.add(*recent_);
    OwnedOptions options;
    options.version = "taskRev";
    options.recount = recount;
    owned_ = std::make_unique<OwnedTables>(*engine_, *recent_, scheduler, options);
    use(owned_.get());
  }

  std::unique_ptr<EmbeddedTables> behind_;
  std::unique_ptr<EmbeddedTables> recent_;
  std::unique_ptr<SimEngine> engine_;
  std::unique_ptr<OwnedTables> owned_;
  milliseconds index_lag_{0};
  int lives_ = 0;
};

enum class StoreKind { kEmbedded, kLate, kEngine };
inline std::unique_ptr<QueueWorld> make_world(StoreKind kind, uint64_t seed) {
  if (kind == StoreKind::kEngine) return std::make_unique<QueueWorld>(EngineStore{}, seed);
  return std::make_unique<QueueWorld>(kind == StoreKind::kLate, seed);
}
inline std::string kind_name(const ::testing::TestParamInfo<StoreKind>& kind) {
  if (kind.param == StoreKind::kEngine) return "engine";
  return kind.param == StoreKind::kLate ? "late" : "embedded";
}

// Why a task is where it is.
inline std::vector<std::string> sentences(const Explanation& explanation) {
  std::vector<std::string> out;
  for (const auto& reason : explanation.why) out.push_back(reason.message);
  return out;
}

// The ids of taken tasks, in order.
inline std::string ids(const Result<std::vector<TakenTask>>& taken) {
  if (!taken) return "error: " + taken.error().message;
  std::string out;
  for (const auto& task : *taken) {
    if (!out.empty()) out += " ";
    out += task.task.decode().string_or("taskId");
  }
  return out;
}

inline std::vector<NewTask> named(std::initializer_list<const char*> names) {
  std::vector<NewTask> tasks;
  for (const char* name : names) {
    tasks.emplace_back();
    tasks.back().id = name;
  }
  return tasks;
}

inline Settlement settlement(Settlement::Kind kind, const TakenTask& task) {
  Settlement out;
  out.kind = kind;
  out.id = task.task.decode().string_or("taskId");
  out.lease = task.lease;
  return out;
}

}  // namespace freshet
