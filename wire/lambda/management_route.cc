#include "wire/lambda/management_route.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

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
    const std::string& text = given->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), page.most);
    if (error != std::errc{} || end != text.data() + text.size() || page.most < 1 || page.most > 10'000) {
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

// '*' stands for the part that names something.
struct Call {
  std::string_view method;
  std::string_view path;
  Parser parse;
};

constexpr std::array kCalls{
    Call{"POST", "/2015-03-31/functions", parse_create_function},
    Call{"DELETE", "/2015-03-31/functions/*", parse_delete_function},
    Call{"PUT", "/2015-03-31/functions/*/code", parse_update_code},
    Call{"PUT", "/2015-03-31/functions/*/configuration", parse_update_configuration},
    Call{"PUT", "/2017-10-31/functions/*/concurrency", parse_put_concurrency},
    Call{"DELETE", "/2017-10-31/functions/*/concurrency", parse_delete_concurrency},
    Call{"GET", "/2019-09-30/functions/*/concurrency", parse_get_concurrency},
    Call{"PUT", "/2019-09-25/functions/*/event-invoke-config", parse_put_invoke_config},
    Call{"POST", "/2019-09-25/functions/*/event-invoke-config", parse_update_invoke_config},
    Call{"GET", "/2019-09-25/functions/*/event-invoke-config", parse_get_invoke_config},
    Call{"GET", "/2019-09-25/functions/*/event-invoke-config/list", parse_list_invoke_configs},
    Call{"DELETE", "/2019-09-25/functions/*/event-invoke-config", parse_delete_invoke_config},
    Call{"POST", "/2015-03-31/event-source-mappings", parse_create_mapping},
    Call{"GET", "/2015-03-31/event-source-mappings", parse_list_mappings},
    Call{"GET", "/2015-03-31/event-source-mappings/*", parse_get_mapping},
    Call{"PUT", "/2015-03-31/event-source-mappings/*", parse_update_mapping},
    Call{"DELETE", "/2015-03-31/event-source-mappings/*", parse_delete_mapping},
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

const Call* find_call(std::string_view method, std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  for (const Call& call : kCalls) {
    if (call.method == method && fits(call.path, path)) return &call;
  }
  return nullptr;
}

struct Shared {
  Shared(Backend b, ManagementOptions options) : backend(b), read_only(options.read_only), ids(options.seed) {}
  Backend backend;
  const bool read_only;
  RequestIds ids;
};

class ManagementExchange final : public Exchange {
 public:
  ManagementExchange(std::shared_ptr<Shared> shared, tl::expected<std::unique_ptr<Operation>, Refusal> operation)
      : shared_(std::move(shared)) {
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
    seal_answer(answer_, shared_->ids);
    return std::move(answer_);
  }

 private:
  Async<void> work() {
    auto answer = co_await operation_->run(shared_->backend);
    answer_ = answer ? std::move(*answer) : answer_of(refusal_of(answer.error()));
  }
  const std::shared_ptr<Shared> shared_;
  std::unique_ptr<Operation> operation_;
  HttpResponse answer_;
};

class ManagementRoute final : public Route {
 public:
  explicit ManagementRoute(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  bool matches(const HttpRequest& request) const override {
    return request.target.starts_with("/20") && find_call(request.method, request.target) != nullptr;
  }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    if (shared_->read_only && request.method != "GET")
      return std::make_unique<ManagementExchange>(shared_, read_only());
    return std::make_unique<ManagementExchange>(shared_, parse(request, shared_->backend.runtime.account()));
  }

 private:
  static tl::unexpected<Refusal> read_only() {
    return tl::unexpected<Refusal>(
        Refusal{403, "AccessDeniedException", "This daemon's functions are read-only (--read-only-functions)"});
  }
  static tl::expected<std::unique_ptr<Operation>, Refusal> parse(const HttpRequest& request, const Account& account) {
    const Call* call = find_call(request.method, request.target);
    auto target = parse_target(request.target);
    if (!target) return tl::unexpected(refusal_of(target.error()));
    Request read{account, {}, std::move(target->query), {}};
    if (target->segments.size() > 2 && target->segments[1] == "functions") {
      auto name = function_in(target->segments[2], value_in(read.query, "Qualifier"), account);
      if (!name) return tl::unexpected(refusal_of(name.error()));
      read.name = std::move(*name);
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

  const std::shared_ptr<Shared> shared_;
};

}  // namespace
}  // namespace lambda

std::unique_ptr<Route> make_lambda_management_route(Runtime& runtime, CodeStore& code, const Clock& clock,
                                                    ManagementOptions options) {
  auto shared = std::make_shared<lambda::Shared>(lambda::Backend{runtime, code, clock}, options);
  return std::make_unique<lambda::ManagementRoute>(std::move(shared));
}

}  // namespace freshet
