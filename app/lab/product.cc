#include "app/lab/product.h"

#include <algorithm>
#include <charconv>
#include <deque>

#include "functions/processor.h"
#include "functions/queue/attributes.h"
#include "functions/queue/queues.h"
#include "runtime/loop/sim_loop.h"
#include "runtime/no_services.h"
#include "runtime/replay/record.h"
#include "tables/engine/embedded.h"

namespace freshet::lab {

namespace {

constexpr WallTime kStart{milliseconds(1'800'000'000'000)};
constexpr std::string_view kTable = "QueueTable";

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
    const size_t number = number_of(text_of(task, attribute::kId));
    const nanoseconds end = ledger_.start(number, scheduler_.clock().boot() - origin_);
    co_await sleep_until(scheduler_, origin_ + end);
    if (line_.empty()) {
      --busy_;
    } else {
      line_.front().set(true);
      line_.pop_front();
    }
    RunResult result;
    if (ledger_.jobs()[number].refused) {
      result.kind = RunResult::Kind::kBounced;
      result.refusal = DownstreamRefusal::kTooManyRequests;
      result.reason = "refused as recorded";
      co_return result;
    }
    if (ledger_.jobs()[number].failed) {
      result.kind = RunResult::Kind::kFailure;
      result.error = "failed as recorded";
    }
    result.cost = ledger_.reported_cost(number);
    co_return result;
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
  Product(const ProductSetup& setup, uint64_t seed, Ledger& ledger)
      : setup_(setup), ledger_(ledger), arrivals_(arrivals_of(ledger.scenario(), seed)), random_(seed) {}
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
    const nanoseconds after = std::min<nanoseconds>(longest, kAfter) + seconds(1);
    const nanoseconds length = setup_.length.value_or(scenario.duration + after);
    ProcessSettings settings;
    settings.max_active = std::chrono::ceil<milliseconds>(length + seconds(60));
    settings.linger = settings.max_active;
    settings.queue = setup_.settings;
    const auto runner = make_downstream();
    FunctionDefinition function;
    Context context{*services_, function, {}};
    const EventLog log;
    Processor processor(context, *queue_, *runner, settings, log);
    scope_.spawn(process(processor));
    scope_.spawn(clients());
    scope_.spawn(change_settings());
    scope_.spawn(change_pauses());
    sim_.run_for(length);
    if (pause_error_) return fail(*pause_error_);
    auto end = finish();
    if (end && setup_.records) {
      auto recorded = finish_recording();
      if (!recorded) return fail(recorded.error());
      end->recording = std::move(*recorded);
    }
    scope_.clear();
    return end;
  }

 private:
  Loop& loop() { return sim_.loop(); }
  nanoseconds now() { return loop().clock().boot() - origin_; }

  HttpClient& http() { return setup_.downstream == nullptr ? static_cast<HttpClient&>(http_) : *setup_.downstream; }

  std::unique_ptr<Runner> make_downstream() {
    if (setup_.downstream == nullptr) return std::make_unique<LabRunner>(ledger_, loop(), origin_);
    setup_.downstream->begin(ledger_, loop(), origin_, setup_.downstream_slots);
    RunnerSettings settings;
    settings.kind = RunnerKind::kHttp;
    settings.url = "http://downstream/";
    return make_runner(settings, *services_);
  }

  Result<void> open() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    auto store = open_embedded(nullptr, loop(), random_, options);
    if (!store) return fail(store.error());
    store_ = std::move(*store);
    loop().add(*store_);
    services_ =
        std::make_unique<freshet::Services>(freshet::Services{*store_, topics_, loop(), random_, http(), spawner_});
    auto created = wait(store_->create_table(queue_table()));
    if (!created) return fail(created.error());
    queues_ = std::make_unique<Queues>(*services_, EventLog(), QueueIdentity{"lab", "1"});
    auto opened = wait(queues_->open(std::string(kTable), setup_.settings));
    if (!opened) return fail(opened.error());
    queue_ = opened->get();
    queues_->begin();
    sim_.run_ready();
    for (; next_pause_ < setup_.pauses.size() && setup_.pauses[next_pause_].at.count() == 0; ++next_pause_) {
      wait(set_pause(setup_.pauses[next_pause_]));
    }
    if (pause_error_) return fail(*pause_error_);
    origin_ = loop().clock().boot();
    return setup_.records ? begin_recording() : Result<void>();
  }

  Result<void> begin_recording() {
    if (auto kept = store_->keep_images(std::string(kTable), true); !kept) return kept;
    BeginFixtureInput input;
    input.table = kTable;
    input.policy = queue_->policy();
    auto begun = wait(begin_fixture(*store_, loop(), std::move(input)));
    if (!begun) return fail(begun.error());
    recording_ = std::move(*begun);
    return {};
  }

  Result<std::string> finish_recording() {
    for (;;) {
      ContinueFixtureInput input;
      input.table = kTable;
      input.from = recording_.next;
      auto more = wait(continue_fixture(*store_, std::move(input)));
      if (!more) return fail(more.error());
      if (more->lines.empty()) break;
      recording_.lines += more->lines;
      recording_.next = more->next;
    }
    for (const auto& change : queue_->policy_changes(0).changes) {
      recording_.lines += policy_line({change.at, *change.policy});
    }
    return std::move(recording_.lines);
  }

  template <class T>
  T wait(Async<T> work) {
    sim_.run_until([&] { return work.is_ready(); }, seconds(10));
    return work.take();
  }

  Async<void> process(Processor& processor) { auto counts = co_await processor.run(); }

  // Changes the settings at their times.
  Async<void> change_settings() {
    for (const auto& change : setup_.changes) {
      co_await sleep_until(loop(), origin_ + change.at);
      queue_->set_settings(change.settings);
    }
  }

  // Pauses and resumes at their times; those at the start have been done.
  Async<void> change_pauses() {
    for (; next_pause_ < setup_.pauses.size(); ++next_pause_) {
      co_await sleep_until(loop(), origin_ + setup_.pauses[next_pause_].at);
      co_await set_pause(setup_.pauses[next_pause_]);
    }
  }

  // True. A part that is resumed although it is not paused stays as it is.
  Async<bool> set_pause(const PauseStep& step) {
    Actor actor;
    if (!step.paused) {
      std::string name = step.name;
      auto resumed = co_await queue_->resume(step.of, std::move(name), std::move(actor));
      if (!resumed && resumed.error().code != ErrorCode::kConflict) pause_error_ = resumed.error();
      co_return true;
    }
    PauseInput input;
    input.of = step.of;
    input.name = step.name;
    auto paused = co_await queue_->pause(std::move(input), std::move(actor));
    if (!paused) pause_error_ = paused.error();
    co_return true;
  }

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
    add_details(number, tasks[0]);
    auto created = co_await queue_->create(std::move(tasks));
    // One of its key that waits takes its place.
    if (!created[0] || !created[0]->created) ledger_.reject(number, now());
  }

  // A trace knows more of a task than its times.
  void add_details(size_t number, NewTask& task) const {
    const Trace* trace = ledger_.scenario().trace;
    if (trace == nullptr || number >= trace->tasks.size()) return;
    const TraceTask& details = trace->tasks[number];
    task.group = details.group;
    task.key = details.key;
    task.replace = details.replace;
    task.priority = details.priority;
    task.cost = details.cost;
    task.delay = details.delay;
    task.max_attempts = details.max_attempts;
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
      ended += job.done() && job.end <= now();
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

  const ProductSetup& setup_;
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
  FixtureChunk recording_;
  BootTime origin_{};
  size_t next_pause_ = 0;
  std::optional<Error> pause_error_;
  Scope scope_;
};

}  // namespace

ProductSetup setup_of(const Policy& policy, const Scenario& scenario) {
  ProductSetup setup;
  auto& settings = setup.settings;
  settings.order = order_of(policy.from);
  settings.deadline_margin = policy.margin;
  if (policy.bounded) settings.admission.max_waiting = bound_of(scenario);
  settings.admission.refuse_late = policy.refuses_late;
  settings.work.adaptive = policy.searches;
  settings.shed_log_lines = 1000;
  settings.work.concurrency = scenario.slots;
  return setup;
}

Result<ProductEnd> run_product(const ProductSetup& setup, uint64_t seed, Ledger& ledger) {
  return Product(setup, seed, ledger).run();
}

Result<ProductEnd> run_product(const Policy& policy, uint64_t seed, Ledger& ledger) {
  return run_product(setup_of(policy, ledger.scenario()), seed, ledger);
}

}  // namespace freshet::lab
