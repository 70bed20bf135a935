#include <cstdlib>
#include <filesystem>
#include <set>

#include "app/cli/checks.h"
#include "app/daemon/engine_tables.h"
#include "app/daemon/modules.h"
#include "app/daemon/plan.h"
#include "app/daemon/world.h"
#include "runtime/invoke/uploaded_code.h"
#include "wire/lambda/code_store.h"
#include "wire/lambda/lambda_route.h"
#include "wire/lambda/management_route.h"
#include "wire/lambda/runtime_api.h"
#include "wire/lambda/view_routes.h"

namespace freshet {
namespace {

// The port of an X-Ray daemon, which programs are given while nothing here takes their spans.
constexpr uint16_t kXrayPort = 2000;

class LambdaModule final : public Module {
 public:
  Result<void> support(DaemonParts& parts) override {
    parts_ = &parts;
    code_ = std::make_unique<CodeStore>(place_of_code(), parts.loop, parts.loop, parts.world.files());
    parts.on_code_left = [this](const std::string& folder) { code_->left(folder); };
    runtime_api_ = make_runtime_api(parts.io_threads, parts.loop.clock(), parts.loop, parts.loop);
    parts.runtime_api = runtime_api_.get();
    return {};
  }
  Result<void> join(DaemonParts& parts) override {
    code_->ask([&parts](const std::string& folder) { return parts.runtime->uses_code(folder); });
    if (parts.fleet_units == nullptr) return {};
    fleet_ = std::make_unique<FleetCode>(*code_, engine_under(*parts.tables), parts.loop, parts.random);
    parts.definition_code = fleet_.get();
    return {};
  }
  Async<Result<void>> restore() override { return find_uploaded_code(*parts_->store, place_of_code().directory); }
  // Uploaded code that no function names any more goes.
  Async<Result<void>> check() override {
    std::set<std::string> used;
    for (const FunctionDefinition& function : parts_->runtime->all_functions()) used.insert(function.code);
    return code_->sweep(used);
  }

  void add_routes(Routes& routes) override {
    const DaemonOptions& options = parts_->options;
    Runtime& runtime = *parts_->runtime;
    Random& random = parts_->random;
    routes.push_back(make_lambda_management_route(runtime, *code_, parts_->loop.clock(),
                                                  {options.read_only_functions, random.next(), fleet_.get()}));
    LambdaPlace place{runtime.account(), random.next(), options.read_only_functions};
    place.look_for = [&runtime](std::string function) {
      return runtime.look_for(function_by_name(std::move(function)));
    };
    routes.push_back(make_lambda_route(
        runtime.invoker(), [&runtime] { return runtime.functions(); }, std::move(place)));
    for (auto& view : make_function_view_routes(runtime, parts_->loop.clock())) routes.push_back(std::move(view));
  }
  void begin() override { parts_->runtime->serve_processes(settings_of_processes()); }

 private:
  // Beside the store's own files; that of a store in memory ends with the daemon.
  CodePlace place_of_code() {
    namespace fs = std::filesystem;
    const std::string& data = parts_->options.data;
    if (data != kMemoryDirectory) return {(fs::absolute(data) / "code").lexically_normal(), false};
    // Nobody can know the name before the directory exists.
    if (temporary_.empty()) {
      temporary_ = fs::temp_directory_path() / ("freshet-code-" + Random(parts_->world.seed()).uuid());
    }
    return {temporary_, true};
  }

  // Functions' programs reach this daemon as any client does, with the first of the access keys if there are any.
  ProgramSettings settings_of_processes() const {
    ProgramSettings settings;
    settings.endpoint = parts_->local_url;
    settings.account = parts_->options.deploy.account;
    if (const auto& credentials = parts_->plan.credentials) {
      settings.access_key_id = credentials->first().id;
      settings.secret_access_key = credentials->first().secret;
      settings.session_token = credentials->first().token;
    }
    settings.xray_address = "127.0.0.1:" + std::to_string(parts_->span_port > 0 ? parts_->span_port : kXrayPort);
    settings.code_changes = parts_->options.watch;
    if (const char* path = std::getenv("PATH"); path != nullptr && *path != '\0') settings.path = path;
    return settings;
  }

  DaemonParts* parts_ = nullptr;
  std::string temporary_;
  std::unique_ptr<CodeStore> code_;
  std::unique_ptr<FleetCode> fleet_;  // Null without a fleet.
  std::unique_ptr<RuntimeApi> runtime_api_;
};

void add_lambda_options(cli::Command command, DaemonOptions& options) {
  command.add_option("--max-processes", options.max_processes, "Most processes of functions, all together")
      .envname("FRESHET_MAX_PROCESSES")
      .check(cli::whole(1, 10'000))
      .capture_default_str();
  command
      .add_option("--process-idle-ms", options.process_idle_ms,
                  "Milliseconds after which a function's process without work is stopped")
      .envname("FRESHET_PROCESS_IDLE_MS")
      .check(cli::whole(1, 86'400'000))
      .capture_default_str();
  command
      .add_flag("--read-only-functions", options.read_only_functions,
                "Refuse requests that change functions, their code or mappings, or deploy a template")
      .envname("FRESHET_READ_ONLY_FUNCTIONS");
}

}  // namespace

ModuleKind lambda_module() {
  return {"lambda", make_module<LambdaModule>, add_lambda_options, OptionGroup::kFunctions};
}

}  // namespace freshet
