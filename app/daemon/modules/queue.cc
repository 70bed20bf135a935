#include <algorithm>
#include <optional>
#include <set>

#include "app/cli/checks.h"
#include "app/daemon/engine_tables.h"
#include "app/daemon/modules.h"
#include "app/daemon/plan.h"
#include "app/daemon/queue_history.h"
#include "app/daemon/queue_metrics.h"
#include "app/daemon/recording_route.h"
#include "app/daemon/serving.h"
#include "app/daemon/whatif_route.h"
#include "app/fleet/event_units.h"
#include "app/fleet/fleet_guard.h"
#include "app/fleet/forward_route.h"
#include "app/fleet/mapping_units.h"
#include "app/fleet/queue_units.h"
#include "app/fleet/run_here.h"
#include "app/fleet/shared_runs.h"
#include "functions/queue/flight_recorder.h"
#include "functions/queue/queues.h"
#include "functions/register.h"
#include "functions/settings.h"
#include "functions/workers.h"
#include "runtime/fleet/load.h"
#include "tables/lease/positions_table.h"
#include "wire/service/api_route.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"
#include "wire/tasks/task_route.h"

namespace freshet {
namespace {

// The table of docs/settings.md, for forms.
std::string settings_json() {
  std::string out;
  {
    JsonObject json(out);
    std::string& list = json.raw("settings") += '[';
    for (const SettingHelp& row : setting_table()) {
      if (&row != setting_table().data()) list += ',';
      JsonObject one(list);
      one.text("name", row.name);
      one.text("value", row.value);
      one.text("default", row.fallback);
      one.text("meaning", row.meaning);
    }
    list += ']';
  }
  return out;
}

nanoseconds busy_time(const LoopStats& stats) {
  return stats.steps.sum + stats.commits.sum;
}

class QueueModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    QueueIdentity identity{parts.node, parts.random.uuid(), parts.options.fleet};
    queues_ = std::make_unique<Queues>(parts.runtime->services(), parts.log, std::move(identity), &parts.metrics,
                                       &parts.store->wall_guard(), parts.audit);
    parts.task_queues = queues_.get();
    if (parts.options.fleet) join_fleet(parts);
    record(parts);
    history_ = std::make_unique<QueueHistory>(*queues_, parts.loop, recorder_.get());
    register_queue_functions(parts.natives, *queues_, parts.log);
    return {};
  }

  Async<Result<void>> restore() override {
    if (!is_on_engine(parts_->options)) return Result<void>();
    return meet_engine(*parts_->tables);
  }
  // Only the store knows the tables of --queue that no template has.
  Async<Result<void>> check() override {
    if (units_) {
      const Deployment& deployment = parts_->plan.deployment;
      const auto is_enabled = [](const auto& one) { return one.enabled; };
      FleetNeeds needs;
      needs.schedules = std::any_of(deployment.schedules.begin(), deployment.schedules.end(), is_enabled);
      needs.mappings = std::any_of(deployment.mappings.begin(), deployment.mappings.end(), is_enabled);
      std::string name = parts_->options.fleet_name;
      auto fleet = co_await units_->check(needs, std::move(name));
      if (!fleet) co_return fleet;
      auto noting = events_->note();
      auto noted = co_await noting;
      if (!noted) co_return noted;
    } else {
      auto queues = settings_of_queues(parts_->plan.deployment, parts_->options.queues);
      auto checking = check_alone(queues ? std::move(*queues) : std::map<std::string, QueueSettings>());
      auto checked = co_await checking;
      if (!checked) co_return checked;
    }
    for (const std::string& table : parts_->options.queues) {
      const auto& tables = parts_->plan.deployment.tables;
      if (std::any_of(tables.begin(), tables.end(), [&](const auto& one) { return one.name == table; })) continue;
      auto described = co_await parts_->tables->describe_table(table);
      if (described) continue;
      const Error& error = described.error();
      const bool none = error.code == ErrorCode::kResourceNotFound;
      co_return fail(error.code, "--queue " + table + ": " +
                                     (none ? "there is no table '" + table + "', neither in the template nor in the " +
                                                 std::string(is_on_engine(parts_->options) ? "engine" : "data folder")
                                           : error.message));
    }
    co_return Result<void>();
  }

  Async<Result<void>> deployed(const PlannedDeployment& planned) override {
    if (units_) {
      auto deployed = co_await deploy_in_fleet(planned);
      if (!deployed) co_return deployed;
    } else {
      auto checking = check_alone(planned.queues);
      auto checked = co_await checking;
      if (!checked) co_return checked;
      auto opened = open_all(planned);
      auto done = co_await opened;
      if (!done) co_return done;
    }
    if (begun_) start_workers();
    co_return Result<void>();
  }

  void add_routes(Routes& routes) override {
    add_route(routes, make_recording_route(*queues_, recorder_.get(), parts_->loop.clock()));
    add_route(routes, make_whatif_route(*queues_, recorder_.get(), comparisons_, parts_->loop,
                                        parts_->runtime->services().spawner));
    TaskRouteOptions options{parts_->audit, parts_->plan.credentials.has_value(), &history_->book(), parts_->spans};
    if (units_) options.create_elsewhere = create_elsewhere();
    add_route(routes, make_task_route(*queues_, parts_->loop.clock(), std::move(options)));
    if (units_) {
      for (auto& route : make_fleet_routes(*units_, *shared_runs_, [this] { return parts_->trouble(); }))
        routes.push_back(std::move(route));
      routes.push_back(make_run_route(*runs_here_));
    }
    const auto settings = [](const HttpRequest&) -> Async<HttpResponse> { return tasks::json_answer(settings_json()); };
    routes.push_back(make_api_route(ApiCall::kSettings, settings));
  }
  void begin() override {
    queues_->begin();
    history_->begin();
    begun_ = true;
    if (units_) {
      units_->begin(own_url());
      events_->begin();
    }
    start_workers();
  }
  Async<void> measure(Metrics& metrics, std::string& histograms) override {
    const auto queues = queues_->all();
    for (const auto& queue : queues) {
      auto stats = co_await queue->stats();
      set_queue(metrics, *queue, stats ? &*stats : nullptr, parts_->loop.clock());
    }
    append_queue_histograms(histograms, queues);
    if (units_) measure_fleet(metrics);
  }
  std::string broken() const override { return (units_ ? units_->broken() : "") + queues_->broken(); }

  void drain() override {
    comparisons_.end();
    if (units_) {
      runs_here_->stop();
      const auto most = std::min(parts_->options.drain_ms, parts_->options.fleet_lease_ms);
      leaving_.emplace(units_->leave(parts_->loop.clock().boot() + milliseconds(most)));
    }
    queues_->drain();
  }
  Async<bool> returned(BootTime deadline) override {
    if (leaving_) {
      Async<bool> leaving = std::move(*leaving_);
      static_cast<void>(co_await leaving);
    }
    auto returning = queues_->all_returned(deadline);
    const bool all_returned = co_await returning;
    if (!runs_here_) co_return all_returned;
    auto ending = runs_here_->finish(deadline);
    const bool all_ended = co_await ending;
    co_return all_returned&& all_ended;
  }
  Async<void> release(BootTime end) override { return queues_->release_held(end); }
  void leave() override {
    if (parts_ == nullptr) return;  // The start has failed before join().
    starts_.clear();
    leaving_.reset();
    parts_->fleet_units = nullptr;
    parts_->member_calls = nullptr;
    runs_here_.reset();
    events_.reset();
    units_.reset();
    history_.reset();
    if (recorder_) {
      parts_->store->watch_moves(nullptr);
      parts_->memory_held = nullptr;
      recorder_.reset();
    }
    queues_.reset();
    shared_runs_.reset();  // Tasks in work use it until their queue ends.
  }

 private:
  // A queue that another member serves now is left out: that member has its figures.
  void measure_fleet(Metrics& metrics) {
    const std::vector<std::string> here = queues_->names();
    for (const std::string& queue : measured_) metrics.hide("queue", queue);
    for (const std::string& queue : here) metrics.show("queue", queue);
    measured_.insert(here.begin(), here.end());
    const FleetCore* fleet = units_->core();
    const auto figure = [&metrics](const char* name, const char* help, size_t value) {
      metrics.gauge(name, help).set(static_cast<double>(value));
    };
    figure("freshet_fleet_members", "Members of the fleet that are alive", fleet ? fleet->alive() : 0);
    figure("freshet_fleet_leader", "1 while this daemon leads its fleet", fleet && fleet->leads() ? 1 : 0);
    figure("freshet_fleet_daemons_wanted", "Daemons that the fleet's work needs", fleet ? daemons_wanted(*fleet) : 0);
    figure("freshet_fleet_queues", "Queues that this daemon serves", here.size());
    figure("freshet_fleet_runs_elsewhere", "Tasks of this daemon's queues that run on other daemons",
           shared_runs_->running() - shared_runs_->running_at(units_->id()));
    figure("freshet_fleet_runs_of_others", "Tasks of other daemons' queues that run on this daemon",
           runs_here_->running());
    figure("freshet_fleet_mappings", "Event source mappings that this daemon runs", units_->served_here(*mappings_));
  }
  std::set<std::string> enabled_mappings() const {
    std::set<std::string> ids;
    for (const MappingState& mapping : parts_->runtime->mappings()) {
      if (mapping.definition.enabled) ids.insert(mapping.definition.id);
    }
    return ids;
  }
  // No fleet serves these queues.
  Async<Result<void>> check_alone(std::map<std::string, QueueSettings> queues) {
    if (!is_on_engine(parts_->options)) co_return Result<void>();
    co_return co_await check_no_fleet(engine_under(*parts_->tables), parts_->loop.clock(), std::move(queues));
  }
  Async<Result<void>> deploy_in_fleet(const PlannedDeployment& planned) {
    if (!enabled_mappings().empty()) {
      auto provided = co_await provide_positions_table(*parts_->tables);
      if (!provided) co_return provided;
    }
    auto queues = planned.queues;
    auto deployed = co_await units_->deploy(std::move(queues));
    if (deployed) units_->set_units(*mappings_, enabled_mappings());
    co_return deployed;
  }
  void join_fleet(DaemonParts& parts) {
    calls_ = std::make_unique<MemberCalls>(*parts.http, parts.loop.clock(), parts.plan.all_credentials,
                                           parts.plan.member_credentials, parts.options.deploy.account.region);
    FleetOptions options;
    options.id = parts.node;
    options.lease = milliseconds(parts.options.fleet_lease_ms);
    options.load = [this] { return load_.next(busy_time(parts_->loop.stats()), parts_->loop.clock().boot()); };
    QueueUnitsParts with{
        *parts.tables,   engine_under(*parts.tables), parts.loop, parts.random, parts.log, *queues_, *calls_,
        parts.start_over};
    mappings_ = std::make_unique<MappingUnits>(*parts.runtime);
    units_ = std::make_unique<QueueUnits>(std::move(with), std::move(options));
    events_ = std::make_unique<EventUnits>(*units_, *parts.tables, *parts.runtime, parts.random,
                                           parts.store->wall_guard(), parts.log);
    parts.runtime->share_events(parts.node);
    shared_runs_ = std::make_unique<SharedRuns>(*units_, *calls_, parts.log);
    runs_here_ = std::make_unique<RunHere>(
        *units_, [runtime = parts.runtime](const RunOrder& order) { return runner_for(order, *runtime); });
    queues_->set_run_sharing(shared_runs_.get());
    queues_->set_left_elsewhere(
        [this](const std::string& queue) { return units_ ? units_->left_elsewhere(queue) : 0; });
    parts.fleet_units = units_.get();
    parts.member_calls = calls_.get();
    queues_->set_create_elsewhere(create_elsewhere());
    parts.runtime->share_mappings([this] {
      if (units_) units_->set_units(*mappings_, enabled_mappings());
    });
    parts.runtime->share_schedules(parts.node, [this] { return units_ && units_->is_accepted(); });
  }
  Async<Result<void>> open_all(const PlannedDeployment& planned) {
    for (const auto& [table, settings] : planned.queues) {
      std::string name = table;
      QueueSettings wanted = settings;
      auto queue = co_await queues_->deploy(std::move(name), std::move(wanted));
      if (!queue) co_return fail(queue.error().code, "queue " + table + ": " + queue.error().message);
    }
    co_return Result<void>();
  }
  // Requests for queues that other members of the fleet serve go there.
  void add_route(Routes& routes, std::unique_ptr<Route> route) {
    routes.push_back(units_ ? make_forward_route(std::move(route), *units_, *calls_) : std::move(route));
  }
  CreateElsewhere create_elsewhere() {
    return [this](const std::string& queue, std::vector<NewTask> tasks) {
      return units_->create(queue, std::move(tasks));
    };
  }
  // Where other members of the fleet reach this daemon.
  std::string own_url() const {
    std::string url = parts_->options.advertise;
    while (url.ends_with('/')) url.pop_back();
    return url.empty() ? server_url(parts_->plan, parts_->server->port()) : url;
  }

  // The recorder uses at most a sixteenth of a small memory limit.
  void record(DaemonParts& parts) {
    if (parts.options.recording_bytes == 0) return;
    const uint64_t most = std::min(parts.options.recording_bytes, parts.memory_limit / 16);
    recorder_ = std::make_unique<FlightRecorder>(parts.loop.clock(), *queues_, most);
    parts.memory_held = [this] { return recorder_->book().bytes(); };
    parts.store->watch_moves(recorder_.get());
  }

  // Functions that do tasks get ready before the first one: its owner learns at the start what keeps a function from
  // it.
  void start_workers() {
    for (std::string& name : worker_functions(parts_->runtime->functions())) {
      starts_.spawn(start_worker(std::move(name)));
    }
  }
  Async<void> start_worker(std::string name) {
    const FunctionPtr function = parts_->runtime->invoker().find(name);
    if (!function) co_return;
    const InvokeOutcome outcome = co_await parts_->runtime->make_ready(std::move(name));
    if (!outcome.error) co_return;
    const std::string trouble = start_trouble(*function, *outcome.error);
    if (trouble.empty()) co_return;
    parts_->log.warn("FUNCTION_NOT_READY",
                     {{"function", function->name}, {"errorType", outcome.error->type}, {"message", trouble}});
  }

  DaemonParts* parts_ = nullptr;
  std::unique_ptr<Queues> queues_;
  std::unique_ptr<MemberCalls> calls_;  // Null without a fleet, as are the next five.
  std::unique_ptr<MappingUnits> mappings_;
  std::unique_ptr<QueueUnits> units_;
  std::unique_ptr<EventUnits> events_;
  std::unique_ptr<SharedRuns> shared_runs_;
  std::unique_ptr<RunHere> runs_here_;
  LoadMeter load_;
  std::optional<Async<bool>> leaving_;
  std::set<std::string> measured_;  // Queues that this daemon has ever served.
  std::unique_ptr<FlightRecorder> recorder_;
  std::unique_ptr<QueueHistory> history_;
  Comparisons comparisons_;
  bool begun_ = false;
  Scope starts_;  // Last, so that it ends first.
};

void add_queue_options(cli::Command command, DaemonOptions& options) {
  command
      .add_option("--recording-bytes", options.recording_bytes,
                  "Most memory of the flight recorder, which keeps what happened in each queue for up to an hour, for "
                  "freshet recording; 0: off")
      .envname("FRESHET_RECORDING_BYTES")
      .size()
      .check(cli::whole(0, int64_t{1} << 40));
}

}  // namespace

ModuleKind queue_module() {
  return {"queue", make_module<QueueModule>, add_queue_options, OptionGroup::kTraces};
}

}  // namespace freshet
