#include "app/lab/product.h"

#include <algorithm>
#include <charconv>
#include <deque>

#include "functions/processor.h"
#include "functions/queue/attributes.h"
#include "functions/queue/queues.h"
#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"

namespace freshet::lab {

namespace {

constexpr WallTime kStart{milliseconds(1'800'000'000'000)};
constexpr std::string_view kTable = "QueueTable";

struct NoHttp final : HttpClient {
  Async<Result<HttpResponse>> send(std::string, HttpRequest, milliseconds) override {
    return Result<HttpResponse>(fail(ErrorCode::kUnavailable, "the lab has no network"));
  }
};
struct NoSpawner final : Spawner {
  Async<Result<ProcessResult>> run(ProcessSpec) override {
    return Result<ProcessResult>(fail(ErrorCode::kUnavailable, "the lab starts no programs"));
  }
};
struct NoTopics final : Publisher {
  Async<Result<std::string>> publish(PublishInput) override { return Result<std::string>("id"); }
};

TableDefinition queue_table() {
  TableDefinition table;
  table.name = kTable;
  table.keys = {{"taskId", Type::kString}, {}};
  KeySchema keys{{"taskStatus", Type::kString}, KeyAttribute{"taskCreated", Type::kNumber}};
  table.indexes.push_back({"task-status-created-index", keys, false, Projection::kAll, {}});
  table.stream = StreamView::kKeysOnly;
  table.ttl_attribute = "ttl";
  return table;
}

Order order_of(TakeFrom from) {
  switch (from) {
    case TakeFrom::kOldest:
      return Order::kOldestFirst;
    case TakeFrom::kAdaptive:
      return Order::kAdaptive;
    case TakeFrom::kDeadline:
      return Order::kDeadline;
    default:
      return Order::kNewestFirst;
  }
}

// Task ids are the numbers of the ledger.
size_t number_of(std::string_view id) {
  size_t number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number);
  return number;
}

// The downstream: so many slots, and a line before them.
class LabRunner final : public Runner {
 public:
  LabRunner(Ledger& ledger, Scheduler& scheduler, BootTime origin)
      : ledger_(ledger), scheduler_(scheduler), origin_(origin) {}
  Async<RunResult> run(ItemRef task, std::string) override {
    if (busy_ < ledger_.scenario().slots) {
      ++busy_;
    } else {
      Promise<bool> turn(scheduler_);
      line_.push_back(turn);
      co_await turn.future();
    }
    const nanoseconds end =
        ledger_.start(number_of(text_of(task, attribute::kId)), scheduler_.clock().boot() - origin_);
    co_await sleep_until(scheduler_, origin_ + end);
    if (line_.empty()) {
      --busy_;
    } else {
      line_.front().set(true);
      line_.pop_front();
    }
    co_return RunResult{};
  }

 private:
  Ledger& ledger_;
  Scheduler& scheduler_;
  const BootTime origin_;
  int busy_ = 0;
  std::deque<Promise<bool>> line_;
};

class Product {
 public:
  Product(const Policy& policy, uint64_t seed, Ledger& ledger)
      : policy_(policy), ledger_(ledger), arrivals_(arrivals_of(ledger.scenario(), seed)), random_(seed) {}
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() {
    scope_.clear();
    queues_.reset();
    if (store_) loop().remove(*store_);
  }

  Result<ProductEnd> run() {
    auto opened = open();
    if (!opened) return fail(opened.error());
    const auto& scenario = ledger_.scenario();
    nanoseconds longest{0};
    for (const auto& arrival : arrivals_) longest = std::max(longest, milliseconds(arrival.deadline_ms) - arrival.at);
    const nanoseconds length = scenario.duration + std::min<nanoseconds>(longest, kAfter) + seconds(1);
    ProcessSettings settings;
    settings.max_active = std::chrono::ceil<milliseconds>(length + seconds(60));
    settings.linger = settings.max_active;
    settings.queue = settings_;
    LabRunner runner(ledger_, loop(), origin_);
    FunctionDefinition function;
    Context context{*services_, function, {}};
    const EventLog log;
    Processor processor(context, *queue_, runner, settings, log);
    scope_.spawn(process(processor));
    scope_.spawn(clients());
    sim_.run_for(length);
    auto end = finish();
    scope_.clear();
    return end;
  }

 private:
  Loop& loop() { return sim_.loop(); }
  nanoseconds now() { return loop().clock().boot() - origin_; }

  Result<void> open() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    auto store = open_embedded(nullptr, loop(), random_, options);
    if (!store) return fail(store.error());
    store_ = std::move(*store);
    loop().add(*store_);
    services_ =
        std::make_unique<freshet::Services>(freshet::Services{*store_, topics_, loop(), random_, http_, spawner_});
    auto created = wait(store_->create_table(queue_table()));
    if (!created) return fail(created.error());
    queues_ = std::make_unique<Queues>(*services_, EventLog(), QueueIdentity{"lab", "1"});
    settings_.order = order_of(policy_.from);
    settings_.deadline_margin = policy_.margin;
    if (policy_.bounded) settings_.admission.max_waiting = bound_of(ledger_.scenario());
    settings_.admission.refuse_late = policy_.refuses_late;
    settings_.work.adaptive = policy_.searches;
    settings_.shed_log_lines = 1000;
    settings_.work.concurrency = ledger_.scenario().slots;
    auto opened = wait(queues_->open(std::string(kTable), settings_));
    if (!opened) return fail(opened.error());
    queue_ = *opened;
    queues_->begin();
    sim_.run_ready();
    origin_ = loop().clock().boot();
    return {};
  }

  template <class T>
  T wait(Async<T> work) {
    sim_.run_until([&] { return work.is_ready(); }, seconds(10));
    return work.take();
  }

  Async<void> process(Processor& processor) { auto counts = co_await processor.run(); }

  // Open loop: tasks are created when they are due.
  Async<void> clients() {
    for (const auto& arrival : arrivals_) {
      co_await sleep_until(loop(), origin_ + arrival.at);
      come(arrival, ledger_.scenario().retries);
    }
  }

  void come(const Arrival& arrival, int tries_left) {
    const size_t number = ledger_.add(arrival, tries_left);
    scope_.spawn(create(number));
    if (tries_left > 0) scope_.spawn(look_again(number));
  }

  Async<void> create(size_t number) {
    const Arrival arrival = ledger_.jobs()[number].arrival;
    std::vector<NewTask> tasks(1);
    tasks[0].id = std::to_string(number);
    tasks[0].deadline = start_wall() + milliseconds(arrival.deadline_ms);
    if (ledger_.scenario().quiet_share > 0) tasks[0].group = arrival.quiet ? "quiet" : "loud";
    auto created = co_await queue_->create(std::move(tasks));
    if (!created[0]) ledger_.reject(number, now());
  }

  Async<void> look_again(size_t number) {
    const milliseconds due{ledger_.jobs()[number].arrival.deadline_ms};
    co_await sleep_until(loop(), origin_ + due);
    if (auto again = ledger_.retry(number)) come(*again, ledger_.jobs()[number].tries_left - 1);
  }

  // The wall time of the ledger's zero.
  WallTime start_wall() const { return kStart + std::chrono::floor<milliseconds>(origin_.time_since_epoch()); }

  // Reads what the queue shed, and when; compares the books.
  Result<ProductEnd> finish() {
    ProductEnd end;
    auto stats = wait(queue_->stats());
    if (!stats) return fail(stats.error());
    end.depth = stats->depth;
    end.peak_store_bytes = store_->stats().memory_bytes;
    uint64_t shed = 0;
    QueryInput query;
    query.table = kTable;
    query.index = "task-status-created-index";
    query.key_condition = "taskStatus = :s";
    query.placeholders.values.set(":s", Value(state::kShed));
    query.limit = 1000;
    do {
      auto page = wait(store_->query(query));
      if (!page) return fail(page.error());
      for (const auto& task : page->items) {
        const WallTime at(milliseconds(int_of(task, attribute::kUpdated, 0)));
        ledger_.shed(number_of(text_of(task, attribute::kId)), at - start_wall());
        ++shed;
      }
      query.exclusive_start_key = std::move(page->last_evaluated_key);
    } while (!query.exclusive_start_key.empty());
    return compare(std::move(end), shed);
  }

  Result<ProductEnd> compare(ProductEnd end, uint64_t shed) {
    const Books books = *wait(store_->books(std::string(kTable)));
    if (auto balanced = check_balance(books); !balanced) return fail(balanced.error());
    uint64_t ended = 0;
    uint64_t accepted = 0;
    for (const auto& job : ledger_.jobs()) {
      accepted += job.fate != Job::Fate::kRejected;
      ended += job.fate == Job::Fate::kStarted && job.end <= now();
    }
    uint64_t stock = 0;
    for (const auto& [name, count] : books.stock) stock += count;
    const auto success = end.depth[std::string(state::kSuccess)];
    if (stock != accepted || success != ended || end.depth[std::string(state::kShed)] != shed) {
      return fail(ErrorCode::kCorruption, "the books do not say what happened: " + std::to_string(stock) +
                                              " tasks there of " + std::to_string(accepted) + " accepted, " +
                                              std::to_string(success) + " SUCCESS of " + std::to_string(ended) +
                                              " done, " + std::to_string(shed) + " shed");
    }
    return end;
  }

  const Policy& policy_;
  Ledger& ledger_;
  const std::vector<Arrival> arrivals_;
  Random random_;
  SimClock clock_{kStart};
  SimLoop sim_{clock_};
  NoHttp http_;
  NoSpawner spawner_;
  NoTopics topics_;
  std::unique_ptr<EmbeddedTables> store_;
  std::unique_ptr<freshet::Services> services_;
  std::unique_ptr<Queues> queues_;
  Queue* queue_ = nullptr;
  QueueSettings settings_;
  BootTime origin_{};
  Scope scope_;
};

}  // namespace

Result<ProductEnd> run_product(const Policy& policy, uint64_t seed, Ledger& ledger) {
  return Product(policy, seed, ledger).run();
}

}  // namespace freshet::lab
