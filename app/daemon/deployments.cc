#include "app/daemon/deployments.h"

#include <filesystem>
#include <utility>

#include "base/text_file.h"

namespace freshet {

namespace {

constexpr milliseconds kWatchEvery{500};

// The store may lie in the folder of a function's code: its own writes are no changes of the code.
std::string data_folder(const std::string& data) {
  namespace fs = std::filesystem;
  if (data == kMemoryDirectory) return {};
  const fs::path folder = fs::absolute(data).lexically_normal();
  return (folder.has_filename() ? folder : folder.parent_path()).string();
}

}  // namespace

Deployments::Deployments(DaemonParts& parts, Deployer::Deployed deployed)
    : parts_(parts),
      deployed_(std::move(deployed)),
      deployer_({*parts.tables, *parts.runtime, *parts.audit, deployed_, parts.log}),
      reloads_({[this] { return read(); },
                [this](PlannedDeployment planned) {
                  return deployer_.deploy_in_turn(std::move(planned), {"local", "reload", {}});
                },
                [this](bool applied) { deployer_.count(applied); }, parts.loop, parts.loop, parts.log}) {}

Async<Result<void>> Deployments::start() {
  PlannedDeployment planned{parts_.plan.deployment, parts_.plan.queues};
  if (parts_.options.deploy.path.empty()) co_return co_await deployed_(planned);
  Actor starter{"local", "start", {}};
  auto applied = co_await deployer_.deploy(std::move(planned), std::move(starter));
  if (!applied) co_return fail(std::move(applied.error()));
  co_return Result<void>();
}

void Deployments::watch() {
  if (!parts_.options.watch) return;
  watch_ = std::make_unique<FileWatch>(
      kWatchEvery, watched_files(), [this](const std::string& path) { return file_changed(path); },
      data_folder(parts_.options.data));
}

void Deployments::begin() {
  reloads_.begin();
  if (watch_) update_watch();
}

void Deployments::end() {
  reloads_.end();
  deployer_.close();
}

std::unique_ptr<Route> Deployments::make_route() {
  const DaemonOptions& options = parts_.options;
  return make_deploy_route(deployer_, {template_options(options), options.queues, options.read_only_functions,
                                       parts_.plan.credentials.has_value()});
}

// Not on the loop: a large template takes its time.
Result<PlannedDeployment> Deployments::read() const {
  const DaemonOptions& options = parts_.options;
  const std::string& path = options.deploy.path;
  if (path.empty()) return invalid("there is no template to read again");
  if (!options.deploy.text.empty()) {
    return plan_deployment_of(template_options(options), options.deploy.text, options.queues);
  }
  auto text = read_text_file(path);
  if (!text) return fail(std::move(text.error()));
  return plan_deployment_of(template_options(options), std::move(*text), options.queues);
}

std::set<std::string> Deployments::watched_files() const {
  std::set<std::string> paths;
  for (const FunctionDefinition& function : parts_.runtime->all_functions()) {
    if (function.host == "process") paths.insert(function.code);
  }
  const TemplateOptions& deploy = parts_.options.deploy;
  if (deploy.text.empty() && !deploy.path.empty()) paths.insert(deploy.path);
  return paths;
}

// Tells the watch which files there are by now.
void Deployments::update_watch() {
  watch_->set_paths(watched_files());
  parts_.loop.call_after(kWatchEvery, [this] { update_watch(); });
}

// Watch thread. False if the mailbox was full; the watch then asks again.
bool Deployments::file_changed(const std::string& path) {
  if (path != parts_.options.deploy.path) {
    return parts_.loop.deliver([this, path] { scope_.spawn(renew_functions(path)); });
  }
  reloads_.read_again();
  return true;
}

Async<void> Deployments::renew_functions(std::string folder) {
  const std::string code = folder;
  const auto renewed = co_await parts_.runtime->renew_functions(std::move(folder));
  if (!renewed) parts_.log.warn("CODE_CHANGED", {{"code", code}, {"message", renewed.error().message}});
  if (!renewed) co_return;
  for (const std::string& name : *renewed) parts_.log.info("CODE_CHANGED", {{"function", name}, {"code", code}});
}

}  // namespace freshet
