#include "app/daemon/daemon.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "app/daemon/deployer.h"
#include "app/daemon/file_watch.h"
#include "app/daemon/human_log.h"
#include "app/daemon/metrics_page.h"
#include "app/daemon/notify.h"
#include "app/daemon/plan.h"
#include "app/daemon/reading_notice.h"
#include "app/daemon/ready_file.h"
#include "app/daemon/recent_log.h"
#include "app/daemon/record_route.h"
#include "app/daemon/reloads.h"
#include "app/daemon/start_refusal.h"
#include "app/daemon/store_memory.h"
#include "app/daemon/store_options.h"
#include "app/daemon/trace_files.h"
#include "base/allocation.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text_file.h"
#include "functions/capture/captures.h"
#include "functions/filtered/table_queues.h"
#include "functions/ordered/ordered_tables.h"
#include "functions/priority/table_queues.h"
#include "functions/queue/queues.h"
#include "functions/register.h"
#include "runtime/invoke/uploaded_code.h"
#include "runtime/loop/loop.h"
#include "runtime/runtime.h"
#include "runtime/trace/otlp_sender.h"
#include "tables/engine/embedded.h"
#include "wire/auth/signature_gate.h"
#include "wire/dynamodb/route.h"
#include "wire/filtered/filtered_route.h"
#include "wire/http/client.h"
#include "wire/http/server.h"
#include "wire/lambda/lambda_route.h"
#include "wire/lambda/management_route.h"
#include "wire/lambda/runtime_api.h"
#include "wire/ordered/ordered_route.h"
#include "wire/priority/priority_route.h"
#include "wire/s3/object_client.h"
#include "wire/service/audited_route.h"
#include "wire/service/service_routes.h"
#include "wire/sns/sns_route.h"
#include "wire/tasks/task_route.h"
#include "wire/xray/segment_receiver.h"
#include "wire/xray/traced_route.h"

namespace freshet {
namespace {

constexpr size_t kRecentLogBytes = 4u << 20;
constexpr uint64_t kMuchMemory = 1u << 20;
constexpr seconds kMemoryEvery{10};
constexpr milliseconds kWatchEvery{500};
constexpr milliseconds kTracesEnd{2000};
constexpr milliseconds kLastSync{5000};

std::string data_node(const std::string& data) {
  return data == kMemoryDirectory ? "memory" : "local";
}

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
    if (runtime_) runtime_->end_all();  // Handlers hold on to the queues, which go first.
    if (store_) loop_.remove(*store_);
    segments_.reset();
    if (tracer_) tracer_->end();  // Before the client that sends for it.
  }

  Result<void> open() override {
    for (const auto& warning : plan_.deployment.warnings)
      log_.warn("TEMPLATE_WARNING", {{"what", warning.to_string()}});
    for (const auto& warning : plan_.warnings) log_.warn("OPTION_WARNING", {{"what", warning}});
    if (auto bound = bind(); !bound) return bound;
    if (auto reserved = ready_file_.reserve(); !reserved) return reserved;
    if (auto traced = open_traces(); !traced) return traced;
    if (auto opened = open_store(); !opened) return opened;
    return wire();
  }

  void begin() override { scope_.spawn(start()); }
  Loop& loop() override { return loop_; }
  void stop() override { begin_stop(); }
  void reload() override { reloads_->read_again(); }
  int exit_status() const override { return exit_status_; }
  bool ready() const override { return ready_; }
  const std::optional<Error>& refusal() const override { return refusal_; }
  EventLog log() const override { return log_; }

 private:
  // Before the store opens, which may take long: whoever chose a wrong address is told at once.
  Result<void> bind() {
    auto bound = HttpListener::bind(plan_.listen.host, plan_.listen.port, world_.network());
    if (!bound)
      return fail(bound.error().code,
                  bound.error().message + " (--listen 127.0.0.1:PORT chooses another port, and port 0 a free one)");
    listener_ = std::move(*bound);
    return {};
  }

  // Nothing of it is there unless somebody keeps the traces.
  Result<void> open_traces() {
    if (options_.trace_file.empty() && options_.chrome_trace.empty() && options_.trace_endpoint.empty()) return {};
    tracer_ = std::make_unique<Tracer>(loop_, random_);
    const auto add = [this](const std::string& path, TraceFormat format) -> Result<void> {
      if (path.empty()) return {};
      auto file = make_trace_file(path, format, options_.trace_bytes, log_);
      if (!file) return fail(file.error());
      tracer_->add_sink(std::move(*file));
      return {};
    };
    if (auto added = add(options_.trace_file, TraceFormat::kOtlp); !added) return added;
    return add(options_.chrome_trace, TraceFormat::kChrome);
  }

  // Takes the segments of functions that trace themselves. If an X-Ray daemon has the port, it takes them instead.
  void receive_segments() {
    auto receiver = SegmentReceiver::start(
        static_cast<uint16_t>(options_.xray_port), loop_,
        [this](std::vector<Span> spans, bool ours) { return tracer_->finish_foreign(std::move(spans), ours); });
    if (receiver) {
      segments_ = std::move(*receiver);
      log_.info("XRAY_PORT", {{"port", segments_->port()}});
    } else {
      log_.warn("XRAY_PORT_TAKEN", {{"what", receiver.error().message}});
    }
  }

  Result<void> open_store() {
    EmbeddedOptions store = store_options(options_, plan_.durability, log_);
    store.clock_sync = &world_.clock_sync();
    store.trace_links = tracer_ ? &tracer_->links() : nullptr;
    store.sync_beside = sync_thread_.get();
    store.log_chores = log_chores_thread_.get();
    store.backup_sync = backup_sync_thread_.get();
    store.memory_beside = [this] {
      return server_ ? memory_of_clients(server_->connections(), server_->in_flight()) : 0;
    };
    const milliseconds every = log_is_for_people(options_.log_format) ? seconds(1) : seconds(10);
    store.on_reading = [notice = std::make_shared<ReadingNotice>(world_.clock(), log_, every)](
                           uint64_t segment, uint64_t segments) { notice->at(segment, segments); };
    store.on_failure = [this](const Error& error) {
      log_.error("STORE_FAILED", {{"error", error_name(error.code)}, {"message", error.message}});
      exit_status_ = 1;
      loop_.stop();
    };
    memory_limit_ = store.max_memory_bytes;
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
    HttpClientOptions client;
    client.trust = plan_.trust;
    http_ = make_http_client(std::move(client), io_threads(), world_.clock(), loop_, loop_);
    code_ = std::make_unique<CodeStore>(place_of_code(), loop_, loop_);
    runtime_api_ = make_runtime_api(io_threads(), world_.clock(), loop_, loop_);
    if (!options_.trace_endpoint.empty()) {
      tracer_->add_sink(std::make_unique<OtlpSender>(*http_, loop_, log_, options_.trace_endpoint));
    }
    if (tracer_) receive_segments();
    RuntimePorts ports{
        *store_, loop_, random_, *http_, *spawner_, natives_, runtime_api_.get(), tracer_.get(), &store_->wall_guard()};
    RuntimeOptions runtime_options;
    runtime_options.processes.max_processes = options_.max_processes;
    runtime_options.processes.times.idle = milliseconds(options_.process_idle_ms);
    runtime_options.account = options_.deploy.account;
    runtime_options.log = log_;
    runtime_options.on_code_left = [this](const std::string& folder) { code_->left(folder); };
    runtime_ = std::make_unique<Runtime>(ports, std::move(runtime_options));
    code_->ask([this](const std::string& folder) { return runtime_->uses_code(folder); });
    QueueIdentity identity{data_node(options_.data), random_.uuid()};
    queues_ = std::make_unique<Queues>(runtime_->services(), log_, identity, &metrics_, &store_->wall_guard());
    priority_queues_ = std::make_unique<priority::TableQueues>(runtime_->services(), log_, &store_->wall_guard());
    deployer_ = std::make_unique<Deployer>(Deployer::Parts{*store_, *runtime_, *queues_, log_});
    reloads_ = std::make_unique<Reloads>(
        Reloads::Parts{[this] { return read_template(); },
                       [this](PlannedDeployment planned) {
                         return deployer_->deploy_in_turn(std::move(planned), {"local", "reload", {}});
                       },
                       [this](bool applied) { deployer_->count(applied); }, loop_, loop_, log_});
    filtered_queues_ = std::make_unique<filtered::TableQueues>(runtime_->services(), log_);
    ordered_tables_ = std::make_unique<ordered::OrderedTables>(*store_, world_.clock());
    objects_ = make_object_client(*http_, loop_);
    captures_ = std::make_unique<Captures>(
        CaptureParts{world_.files(), *capture_sync_thread_, loop_, *objects_, log_, &metrics_});
    register_functions(natives_, {*queues_, *captures_, log_});
    return {};
  }

  std::vector<IoThread*> io_threads() const {
    std::vector<IoThread*> threads;
    for (const auto& thread : threads_) threads.push_back(thread.get());
    return threads;
  }

  // Loop thread: everything that is there before the first request is served.
  Async<void> start() {
    auto started = co_await bring_up();
    if (started && stopping_) co_return;
    // Before anything runs: what changes from then on is seen.
    if (started && options_.watch) {
      watch_ = std::make_unique<FileWatch>(
          kWatchEvery, watched_files(), [this](const std::string& path) { return file_changed(path); }, data_folder());
    }
    if (started) started = serve();
    if (!started) {
      refusal_ = start_refusal(started.error(), store_->stats(), options_);
      exit_status_ = 1;
      loop_.stop();
      co_return;
    }
    runtime_->serve_processes(settings_of_processes());
    queues_->begin();
    begin_captures(*captures_, runtime_->functions());
    priority_queues_->begin();
    filtered_queues_->begin();
    ready_ = true;
    reloads_->begin();
    if (watch_) watch_files();
    notify_service_manager("READY=1");
    if (options_.on_ready) options_.on_ready(url_of(plan_.listen.host));
    if (const auto interval = watchdog_interval()) keep_watchdog(*interval);
    give_back_memory();
  }

  // Beside the store's own files; that of a store in memory ends with the daemon.
  CodePlace place_of_code() const {
    namespace fs = std::filesystem;
    if (options_.data != kMemoryDirectory) return {(fs::absolute(options_.data) / "code").lexically_normal(), false};
    // Nobody can know the name before the directory exists.
    return {fs::temp_directory_path() / ("freshet-code-" + Random(world_.seed()).uuid()), true};
  }

  // The store may lie in the folder of a function's code: its own writes are no changes of the code.
  std::string data_folder() const {
    namespace fs = std::filesystem;
    if (options_.data == kMemoryDirectory) return {};
    const fs::path folder = fs::absolute(options_.data).lexically_normal();
    return (folder.has_filename() ? folder : folder.parent_path()).string();
  }

  // Uploaded code that no function names any more goes.
  Result<void> sweep_code() {
    std::set<std::string> used;
    for (const FunctionDefinition& function : runtime_->all_functions()) used.insert(function.code);
    return code_->sweep(used);
  }

  // Only the store knows the tables of --queue that no template has. Before the template changes anything.
  Async<Result<void>> find_queues() {
    for (const std::string& table : options_.queues) {
      const auto& tables = plan_.deployment.tables;
      if (std::any_of(tables.begin(), tables.end(), [&](const auto& one) { return one.name == table; })) continue;
      auto described = co_await store_->describe_table(table);
      if (described) continue;
      const Error& error = described.error();
      const bool none = error.code == ErrorCode::kResourceNotFound;
      co_return fail(error.code,
                     "--queue " + table + ": " +
                         (none ? "there is no table '" + table + "', neither in the template nor in the data folder"
                               : error.message));
    }
    co_return Result<void>();
  }

  Async<Result<void>> bring_up() {
    // Before what waits is invoked.
    auto started = co_await find_uploaded_code(*store_, place_of_code().directory);
    if (started) started = co_await runtime_->start();
    if (!started) co_return started;
    if (auto swept = sweep_code(); !swept) co_return swept;
    if (auto there = co_await find_queues(); !there) co_return there;
    // Without a template what was deployed before stays as it is.
    if (!options_.deploy.path.empty()) {
      PlannedDeployment planned{plan_.deployment, plan_.queues};
      Actor starter{"local", "start", {}};
      auto applied = co_await deployer_->deploy(std::move(planned), std::move(starter));
      if (!applied) co_return fail(applied.error());
    } else {
      auto opened = co_await deployer_->open_queues(plan_.queues);
      if (!opened) co_return opened;
    }
    for (auto& definition : plan_.priority_queues) {
      auto queue = co_await priority_queues_->open(std::move(definition));
      if (!queue) co_return fail(queue.error());
    }
    for (auto& definition : plan_.filtered_queues) {
      auto queue = co_await filtered_queues_->open(std::move(definition));
      if (!queue) co_return fail(queue.error());
    }
    for (auto& definition : plan_.ordered_writes) {
      auto table = co_await ordered_tables_->open(std::move(definition));
      if (!table) co_return fail(table.error());
    }
    co_return co_await store_->durable();
  }

  // Functions' programs reach this daemon as any client does, with the first of the access keys if there are any.
  ProgramSettings settings_of_processes() const {
    ProgramSettings settings;
    const std::string& host = plan_.listen.host;
    const bool everywhere = host == "0.0.0.0" || host == "::";
    settings.endpoint = url_of(everywhere ? (host == "::" ? "::1" : "127.0.0.1") : host);
    settings.account = options_.deploy.account;
    if (plan_.credentials) {
      settings.access_key_id = plan_.credentials->first().id;
      settings.secret_access_key = plan_.credentials->first().secret;
      settings.session_token = plan_.credentials->first().token;
    }
    const uint64_t xray_port = segments_ ? segments_->port() : options_.xray_port;
    settings.xray_address = "127.0.0.1:" + std::to_string(xray_port > 0 ? xray_port : 2000);
    settings.code_changes = options_.watch;
    if (const char* path = std::getenv("PATH"); path != nullptr && *path != '\0') settings.path = path;
    return settings;
  }

  std::string url_of(const std::string& host) const {
    return (plan_.tls ? "https://" : "http://") + (host.find(':') == std::string::npos ? host : "[" + host + "]") +
           ":" + std::to_string(server_->port());
  }

  Result<void> serve() {
    std::vector<std::unique_ptr<Route>> routes;
    routes.push_back(make_task_route(*queues_, world_.clock(), {&queues_->audit(), plan_.credentials.has_value()}));
    routes.push_back(make_priority_route(*priority_queues_));
    routes.push_back(make_filtered_route(*filtered_queues_));
    routes.push_back(make_ordered_route(*ordered_tables_));
    routes.push_back(make_dynamodb_route(*store_, world_.clock(),
                                         {options_.deploy.account.region, options_.deploy.account.id, random_.next()}));
    auto functions =
        make_lambda_management_route(*runtime_, *code_, world_.clock(), {options_.read_only_functions, random_.next()});
    if (!options_.read_only_functions) {
      functions = make_audited_route(std::move(functions), "function", queues_->audit(), plan_.credentials.has_value());
    }
    routes.push_back(std::move(functions));
    routes.push_back(make_lambda_route(runtime_->invoker(), [this] { return runtime_->functions(); },
                                       {runtime_->account(), random_.next(), options_.read_only_functions}));
    routes.push_back(make_sns_route(*runtime_, {plan_.tls != nullptr, random_.next()}));
    routes.push_back(make_deploy_route(*deployer_, {template_options(options_), options_.queues,
                                                    options_.read_only_functions, plan_.credentials.has_value()}));
    routes.push_back(make_log_route(recent_log_, loop_, loop_));
    routes.push_back(make_record_route(*store_, *queues_, loop_, runtime_->account()));
    if (tracer_) {
      for (auto& route : routes) route = make_traced_route(std::move(route), tracer_->links());
    }
    ServiceView view{[this] { return ready_; },
                     [this] {
                       return metrics_page({metrics_, *queues_, loop_, *store_, *runtime_, *deployer_, tracer_.get(),
                                            segments_.get(), memory_limit_});
                     },
                     [this] { return queues_->broken() + priority_queues_->broken(); }};
    for (auto& route : make_service_routes(view)) routes.push_back(std::move(route));
    HttpServerOptions http;
    http.host_names = options_.allowed_hosts;
    http.cors_origins = options_.cors_origins;
    http.tls = plan_.tls;
    http.seed = random_.next();
    http.log = log_;
    const bool any_page = std::find(http.cors_origins.begin(), http.cors_origins.end(), "*") != http.cors_origins.end();
    if (any_page && !plan_.credentials) {
      log_.warn("CORS_OPEN", {{"what",
                               "any web page that is opened on this machine may read and write: name origins, or "
                               "require signatures with --credentials"}});
    }
    if (plan_.credentials) {
      http.gate = make_signature_gate(
          {*plan_.credentials, options_.deploy.account.region, options_.open_metrics, random_.next()}, world_.clock());
    }
    auto server = HttpServer::start(std::move(http), std::move(listener_), std::move(routes), io_threads(),
                                    world_.clock(), loop_, loop_, [this] { return store_->durable(); });
    if (!server) return fail(server.error());
    server_ = std::move(*server);
    const std::string url = url_of(plan_.listen.host);
    log_.info("READY", {{"url", url}, {"data", options_.data}, {"durability", options_.durability}});
    return ready_file_.write(url);
  }

  // After large deletions, the cache of the loop's thread holds pages that nobody uses.
  void give_back_memory() {
    const uint64_t now = store_->stats().memory_bytes;
    if (now + kMuchMemory < most_memory_) {
      return_thread_cache();
      most_memory_ = now;
    }
    most_memory_ = std::max(most_memory_, now);
    loop_.call_after(kMemoryEvery, [this] { give_back_memory(); });
  }

  void keep_watchdog(milliseconds interval) {
    notify_service_manager("WATCHDOG=1");
    loop_.call_after(interval, [this, interval] { keep_watchdog(interval); });
  }

  // Programs cannot be run any more; a new start can. What they were at goes back with its attempt on the way out.
  void spawner_lost() {
    log_.error("SPAWNER_LOST", {{"message", "the process that runs programs has ended"}});
    exit_status_ = 1;
    begin_stop();
  }

  // Not on the loop: a large template takes its time.
  Result<PlannedDeployment> read_template() const {
    const std::string& path = options_.deploy.path;
    if (path.empty()) return invalid("there is no template to read again");
    if (!options_.deploy.text.empty()) {
      return plan_deployment_of(template_options(options_), options_.deploy.text, options_.queues);
    }
    auto text = read_text_file(path);
    if (!text) return fail(std::move(text.error()));
    return plan_deployment_of(template_options(options_), std::move(*text), options_.queues);
  }

  std::set<std::string> watched_files() const {
    std::set<std::string> paths;
    for (const FunctionDefinition& function : runtime_->all_functions()) {
      if (function.host == "process") paths.insert(function.code);
    }
    if (options_.deploy.text.empty() && !options_.deploy.path.empty()) paths.insert(options_.deploy.path);
    return paths;
  }

  // Tells the watch which files there are by now.
  void watch_files() {
    watch_->set_paths(watched_files());
    loop_.call_after(kWatchEvery, [this] { watch_files(); });
  }

  // Watch thread. False if the mailbox was full; the watch then asks again.
  bool file_changed(const std::string& path) {
    if (path != options_.deploy.path) return loop_.deliver([this, path] { scope_.spawn(renew_functions(path)); });
    reloads_->read_again();
    return true;
  }

  Async<void> renew_functions(std::string folder) {
    const std::string code = folder;
    const auto renewed = co_await runtime_->renew_functions(std::move(folder));
    if (!renewed) log_.warn("CODE_CHANGED", {{"code", code}, {"message", renewed.error().message}});
    if (!renewed) co_return;
    for (const std::string& name : *renewed) log_.info("CODE_CHANGED", {{"function", name}, {"code", code}});
  }

  void begin_stop() {
    if (stopping_) return;
    stopping_ = true;
    reloads_->end();
    deployer_->close();
    ready_ = false;
    log_.info("STOPPING", {{"drainMs", options_.drain_ms}});
    notify_service_manager("STOPPING=1");
    scope_.spawn(wind_down());
  }

  // First work that runs may finish, here and at pull workers, and what does not finish is ended. Then clients get the
  // answers that they wait for. Then the loop ends.
  Async<void> wind_down() {
    const BootTime deadline = loop_.clock().boot() + milliseconds(options_.drain_ms);
    queues_->drain();
    const bool ended = co_await runtime_->drain(deadline);
    if (!ended) runtime_->end_all();
    const bool returned = co_await queues_->all_returned(deadline);
    if (server_) {
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - loop_.clock().boot());
      const milliseconds patience = std::max(left, milliseconds(500));
      co_await server_->stop(patience);
    }
    co_await queues_->release_held();
    const bool durable = co_await durable_soon();
    if (tracer_) co_await hand_on_traces();
    const bool is_kept = options_.data != kMemoryDirectory;  // A store in memory ends with the daemon.
    log_.info("STOPPED", {{"drained", ended && returned}, {"durable", durable && is_kept}});
    loop_.stop();
  }

  // On a full disk the last writes may wait for space that never comes. No client has been told that they are safe.
  Async<bool> durable_soon() {
    Promise<bool> done(loop_);
    scope_.spawn(tell_durable(done));
    loop_.call_after(kLastSync, [done] { done.set(false); });
    const bool durable = co_await done.future();
    co_return durable;
  }

  Async<void> tell_durable(Promise<bool> done) {
    const auto durable = co_await store_->durable();
    done.set(durable.has_value());
  }

  // An endpoint gets the last of them too, if it takes them soon.
  Async<void> hand_on_traces() {
    const BootTime end = loop_.clock().boot() + kTracesEnd;
    tracer_->flush();
    while (!tracer_->idle() && loop_.clock().boot() < end) co_await sleep_for(loop_, milliseconds(10));
  }

  World& world_;
  const DaemonOptions& options_;
  DaemonPlan plan_;
  RecentLog recent_log_;
  ReadyFile ready_file_;
  HttpListener listener_;  // Until it serves.
  EventLog log_;
  Random random_;
  Metrics metrics_;
  Loop loop_;
  std::unique_ptr<Spawner> spawner_;
  // Its end brings a turn, which looks. A loop too full to take that has turns anyway.
  const std::function<void()> wake_ = [this] { [[maybe_unused]] const bool taken = loop_.deliver([] {}); };
  std::unique_ptr<BackgroundSync> sync_thread_ = world_.make_sync(loop_, wake_);
  std::unique_ptr<BackgroundWork> log_chores_thread_ = world_.make_work(loop_, wake_);
  std::unique_ptr<BackgroundSync> backup_sync_thread_ = world_.make_sync(loop_, wake_);
  std::unique_ptr<BackgroundSync> capture_sync_thread_ = world_.make_sync(loop_, [] {});
  std::unique_ptr<Tracer> tracer_;  // Null unless traces are kept.
  std::unique_ptr<EmbeddedTables> store_;
  std::vector<std::unique_ptr<IoThread>> threads_;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<CodeStore> code_;
  std::unique_ptr<SegmentReceiver> segments_;
  std::unique_ptr<RuntimeApi> runtime_api_;
  std::unique_ptr<ObjectStore> objects_;
  std::unique_ptr<Captures> captures_;
  NativeRegistry natives_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Queues> queues_;
  std::unique_ptr<priority::TableQueues> priority_queues_;
  std::unique_ptr<Deployer> deployer_;
  std::unique_ptr<Reloads> reloads_;
  std::unique_ptr<filtered::TableQueues> filtered_queues_;
  std::unique_ptr<ordered::OrderedTables> ordered_tables_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<FileWatch> watch_;
  Scope scope_;
  // Loop thread.
  bool ready_ = false;
  bool stopping_ = false;
  int exit_status_ = 0;
  uint64_t memory_limit_ = 0;
  std::optional<Error> refusal_;
  uint64_t most_memory_ = 0;  // The store's peak since the loop's thread last gave back its cache.
};

}  // namespace

std::unique_ptr<Daemon> make_daemon(World& world, const DaemonOptions& options, DaemonPlan plan) {
  return std::make_unique<DaemonPage>(world, options, std::move(plan));
}

}  // namespace freshet
