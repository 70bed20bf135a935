#include "app/daemon/daemon.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "app/daemon/deployments.h"
#include "app/daemon/engine_tables.h"
#include "app/daemon/farewell.h"
#include "app/daemon/human_log.h"
#include "app/daemon/module_list.h"
#include "app/daemon/notify.h"
#include "app/daemon/plan.h"
#include "app/daemon/reading_notice.h"
#include "app/daemon/ready_file.h"
#include "app/daemon/recent_log.h"
#include "app/daemon/serving.h"
#include "app/daemon/start_refusal.h"
#include "app/daemon/store_memory.h"
#include "app/daemon/store_options.h"
#include "app/daemon/upkeep.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/points.h"
#include "runtime/loop/loop.h"
#include "runtime/runtime.h"
#include "tables/engine/embedded.h"
#include "wire/http/client.h"

namespace freshet {
namespace {

constexpr size_t kRecentLogBytes = 4u << 20;
constexpr milliseconds kLastSync{5000};
// Each step of a stop has that long, even when the drain has used up its time: an engine that does not answer must not
// hold it up.
constexpr milliseconds kLastStep{500};
constexpr milliseconds kLastRelease{3000};
constexpr milliseconds kLastReports{3000};

class DaemonPage final : public Daemon {
 public:
  DaemonPage(World& world, const DaemonOptions& options, DaemonPlan plan)
      : world_(world),
        options_(options),
        plan_(std::move(plan)),
        recent_log_(world.log(), kRecentLogBytes),
        ready_file_(options.ready_file),
        log_(world.clock(), recent_log_, parse_log_level(options.log_level).value_or(LogLevel::kInfo)),
        random_(world.seed()),
        loop_(world.clock(), world.waiter()),
        spawner_(world.make_spawner(loop_, loop_, [this] { spawner_lost(); })) {}

  ~DaemonPage() override {
    if (runtime_) runtime_->end_all();  // Handlers hold on to what modules let go of.
    if (store_) loop_.remove(*store_);
    scope_.clear();
    parts_.server = nullptr;
    server_.reset();
    deployments_.reset();
    modules_.leave();
    runtime_.reset();
    between_.reset();
    store_.reset();
    modules_.clear();
  }

  Result<void> open() override {
    for (const auto& warning : plan_.deployment.warnings)
      log_.warn("TEMPLATE_WARNING", {{"what", warning.to_string()}});
    for (const auto& warning : plan_.warnings) log_.warn("OPTION_WARNING", {{"what", warning}});
    if (auto bound = bind(); !bound) return bound;
    if (auto reserved = ready_file_.reserve(); !reserved) return reserved;
    if (auto opened = modules_.each(&Module::open, parts_); !opened) return opened;
    if (auto opened = open_store(); !opened) return opened;
    return wire();
  }

  void begin() override { scope_.spawn(start()); }
  Loop& loop() override { return loop_; }
  void stop() override { begin_stop(); }
  void reload() override { deployments_->read_again(); }
  int exit_status() const override { return exit_status_; }
  bool ready() const override { return ready_; }
  const std::optional<Error>& refusal() const override { return refusal_; }
  EventLog log() const override { return log_; }

 private:
  // Before the store opens, which may take long: whoever chose a wrong address is told at once.
  Result<void> bind() {
    auto bound = HttpListener::bind(plan_.listen.host, plan_.listen.port, world_.network());
    if (!bound) return fail(bind_refusal(bound.error()));
    listener_ = std::move(*bound);
    return {};
  }

  Result<void> open_store() {
    EmbeddedOptions store = store_options(options_, plan_.durability, log_);
    store.clock_sync = &world_.clock_sync();
    store.trace_links = parts_.tracer ? &parts_.tracer->links() : nullptr;
    store.sync_beside = sync_thread_.get();
    store.log_chores = log_chores_thread_.get();
    store.backup_sync = backup_sync_thread_.get();
    store.memory_beside = [this] {
      uint64_t held = parts_.memory_held ? parts_.memory_held() : 0;
      if (parts_.memory_of_engine) held += parts_.memory_of_engine();
      return held + (server_ ? memory_of_clients(server_->connections(), server_->in_flight()) : 0);
    };
    const milliseconds every = log_is_for_people(options_.log_format) ? seconds(1) : seconds(10);
    store.on_reading = [notice = std::make_shared<ReadingNotice>(world_.clock(), log_, every)](
                           uint64_t segment, uint64_t segments) { notice->at(segment, segments); };
    store.on_failure = [this](const Error& error) {
      log_.error("STORE_FAILED", {{"error", error_name(error.code)}, {"message", error.message}});
      exit_status_ = 1;
      loop_.stop();
    };
    parts_.memory_limit = store.max_memory_bytes;
    auto opened = open_embedded(&world_.files(), loop_, random_, std::move(store));
    if (!opened) return fail(open_refusal(opened.error(), options_));
    store_ = std::move(*opened);
    loop_.add(*store_);
    return {};
  }

  Result<void> wire() {
    // More of them are wanted where there is more to do than one thread can; handshakes of TLS are too long for the
    // loop.
    auto threads = world_.make_io_threads(options_.io_threads, loop_, options_.io_threads == 1 && !plan_.tls);
    if (!threads) return fail(std::move(threads.error()));
    threads_ = std::move(*threads);
    for (const auto& thread : threads_) parts_.io_threads.push_back(thread.get());
    HttpClientOptions client;
    client.trust = plan_.trust;
    http_ = make_http_client(std::move(client), parts_.io_threads, world_.clock(), loop_, loop_);
    audit_.emplace(*store_, world_.clock());
    parts_.store = store_.get();
    parts_.audit = &*audit_;
    parts_.http = http_.get();
    if (auto supported = modules_.each(&Module::support, parts_); !supported) return supported;
    auto between = make_runtime_tables(parts_);
    if (!between) return fail(std::move(between.error()));
    between_ = std::move(*between);
    RuntimePorts ports{
        between_ ? *between_ : *store_, loop_, random_, *http_, *spawner_, natives_, parts_.runtime_api, parts_.tracer,
        &store_->wall_guard()};
    runtime_ = std::make_unique<Runtime>(ports, runtime_options(parts_));
    parts_.runtime = runtime_.get();
    deployments_ = std::make_unique<Deployments>(
        parts_, [this](const PlannedDeployment& planned) { return modules_.deployed(planned); });
    parts_.deployer = &deployments_->deployer();
    return modules_.each(&Module::join, parts_);
  }

  // Loop thread: everything that is there before the first request is served.
  Async<void> start() {
    auto started = co_await bring_up();
    if (stopping_ && (started || !FRESHET_PLANTED("stop-in-start-refused")))
      co_return;  // A start that a stop has cut short is not refused.
    if (started) deployments_->watch();
    if (started) started = serve();
    if (!started) {
      refusal_ = start_refusal(started.error(), store_->stats(), options_);
      exit_status_ = 1;
      loop_.stop();
      co_return;
    }
    modules_.begin();
    ready_ = true;
    deployments_->begin();
    notify_service_manager("READY=1");
    if (options_.on_ready) options_.on_ready(server_url(plan_, server_->port()));
    upkeep_.begin(*store_);
  }

  Async<Result<void>> bring_up() {
    auto done = co_await modules_.each(&Module::restore);
    if (done) done = co_await runtime_->start();
    if (done) done = co_await modules_.each(&Module::check);
    if (done) done = co_await deployments_->start();
    if (done) done = co_await modules_.each(&Module::start);
    if (!done) co_return done;
    co_return co_await store_->durable();
  }

  Result<void> serve() {
    Routes routes = modules_.routes();
    routes.push_back(deployments_->make_route());
    if (parts_.around_route) {
      for (auto& route : routes) route = parts_.around_route(std::move(route));
    }
    parts_.trouble = [this] {
      return modules_.broken() + (parts_.trouble_of_engine ? parts_.trouble_of_engine() : "");
    };
    parts_.metrics_page = [this] { return modules_.metrics_page(metrics_); };
    ServiceView view{[this] { return ready_; }, parts_.metrics_page, parts_.trouble};
    for (auto& route : make_service_routes(view)) routes.push_back(std::move(route));
    auto server = start_serving(parts_, std::move(listener_), std::move(routes));
    if (!server) return fail(server.error());
    server_ = std::move(*server);
    parts_.server = server_.get();
    parts_.local_url = local_server_url(plan_, server_->port());
    const std::string url = server_url(plan_, server_->port());
    log_.info("READY", {{"url", url}, {"data", options_.data}, {"durability", options_.durability}});
    return ready_file_.write(url);
  }

  // Programs cannot be run any more; a new start can. What they were at goes back with its attempt on the way out.
  void spawner_lost() {
    log_.error("SPAWNER_LOST", {{"message", "the process that runs programs has ended"}});
    exit_status_ = 1;
    begin_stop();
  }

  void begin_stop() {
    if (stopping_) return;
    stopping_ = true;
    deployments_->end();
    was_ready_ = std::exchange(ready_, false);
    log_.info("STOPPING", {{"drainMs", options_.drain_ms}});
    notify_service_manager("STOPPING=1");
    scope_.spawn(wind_down());
  }

  // First work that runs may finish, here and at pull workers, and what does not finish is ended. Then clients get the
  // answers that they wait for. Then the loop ends.
  Async<void> wind_down() {
    const BootTime deadline = loop_.clock().boot() + milliseconds(options_.drain_ms);
    modules_.drain();
    const bool ended = co_await runtime_->drain(deadline);
    if (!ended) runtime_->end_all();
    const bool returned = co_await modules_.returned(deadline);
    if (server_) {
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - loop_.clock().boot());
      co_await server_->stop(std::max(left, kLastStep));
    }
    co_await modules_.release(later_of(deadline, kLastRelease, loop_));
    const bool durable = co_await durable_within(*store_, loop_, scope_, kLastSync);
    auto finishing = modules_.finish();
    co_await over_by(later_of(deadline, kLastReports, loop_), std::move(finishing), loop_, scope_);
    auto counting = count_tasks();
    const bool counted = co_await over_by(later_of(deadline, kLastStep, loop_), std::move(counting), loop_, scope_);
    if (!counted) farewell_.counted = Farewell::Counted::kNoAnswer;
    say_farewell(std::move(farewell_), options_, log_, ended && returned, durable);
    loop_.stop();
  }

  Async<void> count_tasks() {
    farewell_.counted = was_ready_ ? Farewell::Counted::kNoQueue : Farewell::Counted::kStartCutShort;
    if (was_ready_ && parts_.task_queues) farewell_ = co_await farewell_of(*parts_.task_queues);
  }

  World& world_;
  const DaemonOptions& options_;
  DaemonPlan plan_;
  ModuleList modules_{std::move(plan_.modules)};
  RecentLog recent_log_;
  ReadyFile ready_file_;
  HttpListener listener_;  // Until it serves.
  EventLog log_;
  Random random_;
  Metrics metrics_;
  Loop loop_;
  std::vector<std::unique_ptr<IoThread>> threads_;  // The threads of the next four members wake these.
  std::unique_ptr<Spawner> spawner_;
  // Its end brings a turn, which looks. A loop too full to take that has turns anyway.
  const std::function<void()> wake_ = [this] { [[maybe_unused]] const bool taken = loop_.deliver([] {}); };
  std::unique_ptr<BackgroundSync> sync_thread_ = world_.make_sync(loop_, wake_);
  std::unique_ptr<BackgroundWork> log_chores_thread_ = world_.make_work(loop_, wake_);
  std::unique_ptr<BackgroundSync> backup_sync_thread_ = world_.make_sync(loop_, wake_);
  NativeRegistry natives_;
  DaemonParts parts_{world_, options_, plan_, log_, recent_log_, random_, metrics_, loop_, natives_};
  std::unique_ptr<HttpClient> http_;
  // The destructor ends these, with the modules, in its own order.
  std::unique_ptr<EmbeddedTables> store_;
  std::unique_ptr<Tables> between_;  // Null: the runtime uses the store itself.
  std::optional<AuditLog> audit_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Deployments> deployments_;
  std::unique_ptr<HttpServer> server_;
  Scope scope_;
  // Loop thread.
  bool ready_ = false;
  bool was_ready_ = false;  // When the stop came.
  bool stopping_ = false;
  Farewell farewell_;
  int exit_status_ = 0;
  std::optional<Error> refusal_;
  Upkeep upkeep_{loop_};
};

}  // namespace

std::unique_ptr<Daemon> make_daemon(World& world, const DaemonOptions& options, DaemonPlan plan) {
  return std::make_unique<DaemonPage>(world, options, std::move(plan));
}

}  // namespace freshet
