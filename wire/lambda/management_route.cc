#include "wire/lambda/management_route.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/crypto.h"
#include "base/number_text.h"
#include "wire/http/request_ids.h"
#include "wire/http/target.h"
#include "wire/lambda/answer.h"
#include "wire/lambda/operation.h"

namespace freshet {
namespace lambda {

Result<FunctionDefinition> function_named(Runtime& runtime, const std::string& name) {
  const auto found = runtime.invoker().find(name);
  if (found && found->host != "endpoint") return *found;
  return fail(ErrorCode::kResourceNotFound, "Function not found: " + function_arn(runtime.account(), name));
}

Async<Result<FunctionDefinition>> change_function(Runtime& runtime, std::string name, FunctionChange change) {
  FunctionUpdate update = [&runtime, name,
                           change = std::move(change)](const FunctionDefinition* now) -> Result<FunctionDefinition> {
    if (!now) return fail(ErrorCode::kResourceNotFound, "Function not found: " + function_arn(runtime.account(), name));
    FunctionDefinition function = *now;
    if (auto changed = change(function); !changed) return fail(std::move(changed.error()));
    return function;
  };
  return runtime.update_function(std::move(name), std::move(update));
}

Result<Page> page_of(const Request& request, size_t most) {
  Page page{most, {}};
  if (const auto given = request.query.find("MaxItems"); given != request.query.end()) {
    if (!read_number_in(given->second, page.most) || page.most < 1 || page.most > 10'000) {
      return invalid("MaxItems must be a number from 1 to 10000");
    }
    page.most = std::min(page.most, most);
  }
  if (const auto given = request.query.find("Marker"); given != request.query.end()) page.after = given->second;
  return page;
}

int64_t wall_ms(const Clock& clock) {
  return std::chrono::duration_cast<milliseconds>(clock.wall().time_since_epoch()).count();
}

HttpResponse answer_with(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

namespace {

// Tells if a call may name a version or an alias.
enum class Names { kFunction, kQualified };

// '*' is the part with a name.
struct ManagementCall {
  std::string_view method;
  std::string_view path;
  Parser parse;
  Names names;
};

constexpr auto kPlain = Names::kFunction;
constexpr auto kQualified = Names::kQualified;

constexpr std::array kCalls{
    ManagementCall{"POST", "/2015-03-31/functions", parse_create_function, kPlain},
    ManagementCall{"DELETE", "/2015-03-31/functions/*", parse_delete_function, kQualified},
    ManagementCall{"PUT", "/2015-03-31/functions/*/code", parse_update_code, kPlain},
    ManagementCall{"PUT", "/2015-03-31/functions/*/configuration", parse_update_configuration, kPlain},
    ManagementCall{"POST", "/2015-03-31/functions/*/versions", parse_publish_version, kPlain},
    ManagementCall{"GET", "/2015-03-31/functions/*/versions", parse_list_versions, kPlain},
    ManagementCall{"POST", "/2015-03-31/functions/*/aliases", parse_create_alias, kPlain},
    ManagementCall{"GET", "/2015-03-31/functions/*/aliases", parse_list_aliases, kPlain},
    ManagementCall{"GET", "/2015-03-31/functions/*/aliases/*", parse_get_alias, kPlain},
    ManagementCall{"PUT", "/2015-03-31/functions/*/aliases/*", parse_update_alias, kPlain},
    ManagementCall{"DELETE", "/2015-03-31/functions/*/aliases/*", parse_delete_alias, kPlain},
    ManagementCall{"POST", "/2015-03-31/functions/*/policy", parse_add_permission, kQualified},
    ManagementCall{"GET", "/2015-03-31/functions/*/policy", parse_get_policy, kQualified},
    ManagementCall{"DELETE", "/2015-03-31/functions/*/policy/*", parse_remove_permission, kQualified},
    ManagementCall{"GET", "/2020-06-30/functions/*/code-signing-config", parse_code_signing, kPlain},
    ManagementCall{"PUT", "/2017-10-31/functions/*/concurrency", parse_put_concurrency, kPlain},
    ManagementCall{"DELETE", "/2017-10-31/functions/*/concurrency", parse_delete_concurrency, kPlain},
    ManagementCall{"GET", "/2019-09-30/functions/*/concurrency", parse_get_concurrency, kPlain},
    ManagementCall{"PUT", "/2019-09-25/functions/*/event-invoke-config", parse_put_invoke_config, kQualified},
    ManagementCall{"POST", "/2019-09-25/functions/*/event-invoke-config", parse_update_invoke_config, kQualified},
    ManagementCall{"GET", "/2019-09-25/functions/*/event-invoke-config", parse_get_invoke_config, kQualified},
    ManagementCall{"GET", "/2019-09-25/functions/*/event-invoke-config/list", parse_list_invoke_configs, kPlain},
    ManagementCall{"DELETE", "/2019-09-25/functions/*/event-invoke-config", parse_delete_invoke_config, kQualified},
    ManagementCall{"POST", "/2015-03-31/event-source-mappings", parse_create_mapping, kPlain},
    ManagementCall{"GET", "/2015-03-31/event-source-mappings", parse_list_mappings, kPlain},
    ManagementCall{"GET", "/2015-03-31/event-source-mappings/*", parse_get_mapping, kPlain},
    ManagementCall{"PUT", "/2015-03-31/event-source-mappings/*", parse_update_mapping, kPlain},
    ManagementCall{"DELETE", "/2015-03-31/event-source-mappings/*", parse_delete_mapping, kPlain},
};

// Refuses a version or an alias in a call on the whole function.
class NotQualified final : public Operation {
 public:
  explicit NotQualified(std::string name) : name_(std::move(name)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    auto function = function_named(backend.runtime, name_);
    if (!function) return Result<HttpResponse>(fail(std::move(function.error())));
    return Result<HttpResponse>(invalid("FunctionName " + name_ + ": this call takes a function without a qualifier"));
  }

 private:
  const std::string name_;
};

std::string_view next_part(std::string_view& path) {
  const size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(end);
  return part;
}

bool fits(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = next_part(pattern);
    const std::string_view part = next_part(path);
    if (wanted != part && (wanted != "/*" || part.size() < 2)) return false;
  }
  return pattern.empty() && path.empty();
}

const ManagementCall* find_call(std::string_view method, std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  for (const ManagementCall& call : kCalls) {
    if (call.method == method && fits(call.path, path)) return &call;
  }
  return nullptr;
}

struct ManagementShared {
  ManagementShared(Backend b, ManagementOptions options)
      : backend(b), read_only(options.read_only), ids(options.seed) {}
  Backend backend;
  const bool read_only;
  RequestIds ids;
};

// The function that an operation is about. `name` is empty if there is none, or if the operation makes it.
struct About {
  std::string name{};
  bool is_change = false;
};

class ManagementExchange final : public Exchange {
 public:
  ManagementExchange(std::shared_ptr<ManagementShared> shared,
                     tl::expected<std::unique_ptr<Operation>, Refusal> operation, About about = {})
      : shared_(std::move(shared)), about_(std::move(about)) {
    if (operation) {
      operation_ = std::move(*operation);
    } else {
      answer_ = answer_of(operation.error());
    }
  }
  Async<void> run() override {
    if (!operation_) return {};
    return work();
  }
  HttpResponse respond() override {
    seal_answer(answer_, uuid_of(shared_->ids.next()));
    return std::move(answer_);
  }

 private:
  Async<void> work() {
    // Runs to its end even if the client hangs up and this exchange is destroyed.
    auto going = shared_->backend.runtime.detached().run<Result<HttpResponse>>(
        [shared = shared_, operation = operation_, about = about_] { return run(shared, operation, about); });
    auto answer = co_await going;
    answer_ = answer ? std::move(*answer) : answer_of(refusal_of(answer.error()));
  }
  // Everything that it is given lives in the caller until it has ended.
  static Async<Result<HttpResponse>> run(std::shared_ptr<ManagementShared> shared, std::shared_ptr<Operation> operation,
                                         About about) {
    Runtime& runtime = shared->backend.runtime;
    if (about.is_change) {
      auto checking = runtime.check_is_of_clients(function_by_name(about.name));
      auto checked = co_await checking;
      if (!checked) co_return fail(std::move(checked.error()));
    } else if (!about.name.empty()) {
      auto looking = runtime.look_for(function_by_name(about.name));
      co_await looking;
    }
    auto running = operation->run(shared->backend);
    auto answer = co_await running;
    co_return answer;
  }

  const std::shared_ptr<ManagementShared> shared_;
  const About about_;
  std::shared_ptr<Operation> operation_;
  HttpResponse answer_;
};

class ManagementRoute final : public Route {
 public:
  explicit ManagementRoute(std::shared_ptr<ManagementShared> shared) : shared_(std::move(shared)) {}

  bool matches(const HttpRequest& request) const override {
    return request.target.starts_with("/20") && find_call(request.method, request.target) != nullptr;
  }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    if (shared_->read_only && request.method != "GET")
      return std::make_unique<ManagementExchange>(shared_, read_only());
    const Account& account = shared_->backend.runtime.account();
    auto operation = parse(request, account, shared_->read_only);
    return std::make_unique<ManagementExchange>(shared_, std::move(operation), about(request, account));
  }

 private:
  static tl::unexpected<Refusal> read_only() {
    return tl::unexpected<Refusal>(
        Refusal{403, "AccessDeniedException", "This daemon's functions are read-only (--read-only-functions)"});
  }
  static About about(const HttpRequest& request, const Account& account) {
    const auto target = parse_target(request.target);
    if (!target || target->segments.size() < 2 || target->segments[1] != "functions") return {};
    const bool is_change = request.method != "GET";
    const auto& path = target->segments;
    if (path.size() == 2) return {{}, is_change};
    std::string qualifier;
    if (!is_change)
      qualifier = path.size() > 4 && path[3] == "aliases" ? path[4] : value_in(target->query, "Qualifier");
    const auto name = function_in(path[2], qualifier, account);
    if (!name) return {{}, is_change};
    return {is_change ? std::string(plain_name(*name)) : *name, is_change};
  }
  static tl::expected<std::unique_ptr<Operation>, Refusal> parse(const HttpRequest& request, const Account& account,
                                                                 bool read_only) {
    const ManagementCall* call = find_call(request.method, request.target);
    auto target = parse_target(request.target);
    if (!target) return tl::unexpected(refusal_of(target.error()));
    Request read{account, {}, {}, {}, std::move(target->query), {}, EnvironmentShown::kYes};
    if (read_only) read.shown = EnvironmentShown::kNo;
    if (target->segments.size() > 2 && target->segments[1] == "functions") {
      auto name = function_in(target->segments[2], value_in(read.query, "Qualifier"), account);
      if (!name) return tl::unexpected(refusal_of(name.error()));
      if (call->names == Names::kFunction && !qualifier_of(*name).empty()) {
        return std::make_unique<NotQualified>(std::move(*name));
      }
      read.qualifier = qualifier_of(*name);
      read.name = plain_name(*name);
      if (target->segments.size() > 4) read.part = std::move(target->segments[4]);
    } else if (target->segments.size() > 2) {
      read.name = std::move(target->segments[2]);
    }
    JsonDocument document;
    if (request.method == "POST" || request.method == "PUT") {
      auto body = document.parse(request.body.empty() ? "{}" : std::string_view(request.body));
      if (!body) return tl::unexpected(refusal_of(body.error()));
      read.body = *body;
    }
    auto operation = call->parse(read);
    if (!operation) return tl::unexpected(refusal_of(operation.error()));
    return std::move(*operation);
  }

  const std::shared_ptr<ManagementShared> shared_;
};

}  // namespace
}  // namespace lambda

std::unique_ptr<Route> make_lambda_management_route(Runtime& runtime, CodeStore& code, const Clock& clock,
                                                    ManagementOptions options) {
  auto shared =
      std::make_shared<lambda::ManagementShared>(lambda::Backend{runtime, code, clock, options.fleet}, options);
  return std::make_unique<lambda::ManagementRoute>(std::move(shared));
}

}  // namespace freshet
