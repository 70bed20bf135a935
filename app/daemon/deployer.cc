#include "app/daemon/deployer.h"

#include <optional>
#include <utility>

#include "runtime/api/json_members.h"
#include "tables/value/json_quoted.h"
#include "wire/api/calls.h"
#include "wire/auth/actor.h"
#include "wire/http/own_error.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

constexpr size_t kMostGiven = 1000;  // Parameters, and likewise settings.

struct DeployRequest {
  PlannedDeployment planned;
  bool dry_run = false;
};

void read_texts(JsonMembers& members, std::string_view name, std::vector<std::string>& into) {
  const auto given = members.list(name);
  if (!given) return;
  for (const JsonView one : *given) {
    if (into.size() == kMostGiven) {
      return members.fail_with(
          {ErrorCode::kValidation, "'" + std::string(name) + "' has too many entries: 1000 are allowed", nullptr});
    }
    auto text = text_in(one);
    if (!text) return members.fail_with(std::move(text.error()));
    into.emplace_back(*text);
  }
}

Result<DeployRequest> read_request(const std::string& body, const DeployPlace& place) {
  JsonDocument document;
  auto parsed = document.parse(body);
  if (!parsed) return fail(std::move(parsed.error()));
  JsonMembers members(*parsed, {"file", "template", "parameters", "settings", "dryRun"});
  TemplateOptions options;
  options.account = place.options.account;
  options.traces_kept = place.options.traces_kept;
  std::string text;
  DeployRequest request;
  members.text("file", options.path);
  members.text("template", text);
  members.boolean("dryRun", request.dry_run);
  read_texts(members, "parameters", options.parameters);
  read_texts(members, "settings", options.settings);
  if (members.error()) return fail(*members.error());
  if (!options.path.starts_with('/')) return invalid("'file' must be the absolute path of the template");
  if (place.read_only && !request.dry_run) {
    return fail(ErrorCode::kAccessDenied, "This daemon's functions are read-only (--read-only-functions)");
  }
  auto planned = plan_deployment_of(options, std::move(text), place.queues);
  if (!planned) return fail(std::move(planned.error()));
  request.planned = std::move(*planned);
  return request;
}

class DeployExchange final : public Exchange {
 public:
  DeployExchange(Deployer& deployer, Result<DeployRequest> request, Actor actor)
      : deployer_(deployer), request_(std::move(request)), actor_(std::move(actor)) {}
  Async<void> run() override {
    if (!request_) {
      error_ = request_.error();
      deployer_.count(false);
      co_return;
    }
    for (const Diagnostic& warning : request_->planned.deployment.warnings) {
      warnings_ += (warnings_.empty() ? "" : ",") + json_quoted(warning.to_string());
    }
    for (const Output& output : request_->planned.deployment.outputs) {
      outputs_ += (outputs_.empty() ? "" : ",") + json_quoted(output.name) + ":" + json_quoted(output.value);
    }
    PlannedDeployment planned = std::move(request_->planned);
    auto work = request_->dry_run ? deployer_.plan(std::move(planned))
                                  : deployer_.deploy(std::move(planned), std::move(actor_));
    auto done = co_await work;
    if (!request_->dry_run || !done) deployer_.count(done.has_value());
    if (done) {
      plan_ = std::move(*done);
    } else {
      error_ = std::move(done.error());
    }
  }
  HttpResponse respond() override {
    if (error_) return tasks::error_answer(*error_);
    std::string changes;
    for (const DeploymentChange& change : plan_.changes) {
      changes += (changes.empty() ? "" : ",") + (R"({"change":)" + json_quoted(change_name(change.kind))) +
                 R"(,"type":)" + json_quoted(change.type) + R"(,"name":)" + json_quoted(change.name) + R"(,"detail":)" +
                 json_quoted(change.detail) + "}";
    }
    HttpResponse response;
    response.body =
        R"({"changes":[)" + changes + R"(],"warnings":[)" + warnings_ + R"(],"outputs":{)" + outputs_ + "}}";
    return response;
  }

 private:
  Deployer& deployer_;
  Result<DeployRequest> request_;
  Actor actor_;
  std::string warnings_;
  std::string outputs_;
  DeploymentPlan plan_;
  std::optional<Error> error_;
};

class DeployRoute final : public Route {
 public:
  DeployRoute(Deployer& deployer, DeployPlace place) : deployer_(deployer), place_(std::move(place)) {}
  bool matches(const HttpRequest& request) const override {
    return std::string_view(request.target).substr(0, request.target.find('?')) == api_line(ApiCall::kDeploy).path;
  }
  // The template is read here, as that may take long.
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    if (request.method != "POST") return answer_with_response(method_not_allowed(request, "POST"));
    return std::make_unique<DeployExchange>(deployer_, read_request(request.body, place_),
                                            actor_of(request, place_.is_signed));
  }
  bool is_slow() const override { return true; }

 private:
  Deployer& deployer_;
  const DeployPlace place_;
};

}  // namespace

// A start that changes nothing has no line: nobody has asked for anything.
Async<Result<void>> Deployer::audit(const PlannedDeployment& planned, Actor actor) {
  PlannedDeployment copy = planned;
  auto changes = co_await plan(std::move(copy));
  if (!changes) co_return fail(std::move(changes.error()));
  if (changes->changes.empty() && actor.request.empty()) co_return Result<void>();
  AuditLine line{"deploy", std::move(actor), {}, {}, changes->changes.size(), {}};
  for (const DeploymentChange& change : changes->changes) {
    line.detail += (line.detail.empty() ? "" : ", ") + std::string(change_name(change.kind)) + " " + change.type + " " +
                   change.name + (change.detail.empty() ? "" : " (" + change.detail + ")");
  }
  if (line.detail.empty()) line.detail = "nothing had to be changed";
  auto added = co_await parts_.audit.add(std::move(line));
  if (!added) co_return fail(std::move(added.error()));
  co_return Result<void>();
}

Async<Result<DeploymentPlan>> Deployer::deploy(PlannedDeployment planned, Actor actor) {
  if (closed_) co_return fail(ErrorCode::kUnavailable, "the daemon is stopping");
  if (at_work_) co_return fail(ErrorCode::kConflict, "another deployment is under way: try again when it is done");
  struct Busy {
    Deployer& deployer;
    ~Busy() {
      deployer.at_work_ = false;
      for (const auto& waiter : std::exchange(deployer.waiting_, {})) waiter.set(true);
    }
  };
  at_work_ = true;
  const Busy busy{*this};
  auto audited = co_await audit(planned, std::move(actor));
  if (!audited) co_return fail(std::move(audited.error()));
  Deployment wanted = planned.deployment;
  auto done = co_await apply_deployment(std::move(wanted), parts_.tables, parts_.runtime);
  if (!done) co_return done;
  log_changes(*done, planned.deployment);
  auto answered = co_await parts_.deployed(planned);
  if (!answered) co_return fail(std::move(answered.error()));
  co_return done;
}

Async<Result<DeploymentPlan>> Deployer::deploy_in_turn(PlannedDeployment planned, Actor actor) {
  while (at_work_) {
    const Promise<bool> over(parts_.runtime.services().scheduler);
    waiting_.push_back(over);
    co_await over.future();
  }
  auto done = co_await deploy(std::move(planned), std::move(actor));
  co_return done;
}

Async<Result<DeploymentPlan>> Deployer::plan(PlannedDeployment planned) {
  Deployment wanted = planned.deployment;
  auto state = co_await read_deployed_state(std::move(wanted), parts_.tables, parts_.runtime);
  if (!state) co_return fail(std::move(state.error()));
  co_return plan_deployment(planned.deployment, *state);
}

static constexpr std::string_view kNoLongerWanted =
    "no longer in the template; stays with its items, and if it was a queue it is none now";

void Deployer::log_changes(const DeploymentPlan& done, const Deployment& deployment) const {
  for (const auto& change : done.changes) {
    // A template takes the place of the one before: what that had goes, which not everybody expects.
    const bool stays = change.kind == DeploymentChange::Kind::kKeep;
    const bool goes = change.kind == DeploymentChange::Kind::kRemove || stays;
    parts_.log.event(goes ? LogLevel::kWarn : LogLevel::kInfo, "DEPLOY",
                     {{"change", change_name(change.kind)},
                      {"type", change.type},
                      {"name", change.name},
                      {"detail", stays ? kNoLongerWanted : change.detail}});
  }
  for (const auto& output : deployment.outputs) {
    parts_.log.info("OUTPUT", {{"name", output.name}, {"value", output.value}});
  }
}

std::unique_ptr<Route> make_deploy_route(Deployer& deployer, DeployPlace place) {
  return std::make_unique<DeployRoute>(deployer, std::move(place));
}

}  // namespace freshet
