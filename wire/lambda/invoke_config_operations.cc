// Operations on a function's event invoke config, which has the settings for asynchronous events.
#include <fmt/format.h>

#include <utility>

#include "streams/arn.h"
#include "tables/value/json_quoted.h"
#include "wire/lambda/aws_members.h"
#include "wire/lambda/operation.h"

namespace freshet::lambda {
namespace {

constexpr int64_t kLongestEventAge = 6 * 3600;
constexpr int64_t kMostRetries = 2;

// The members that a request has. All others get their defaults (Put) or stay (Update).
struct InvokeConfigChange {
  std::optional<int64_t> age, retries;
  std::optional<std::string> on_success, on_failure;

  void apply(AsyncConfig& config) const {
    if (age) config.max_event_age = seconds(*age);
    if (retries) config.max_retries = static_cast<int>(*retries);
    if (on_success) config.on_success.target = *on_success;
    if (on_failure) config.on_failure.target = *on_failure;
  }
};

void read_destination(AwsMembers& destinations, std::string_view name, std::optional<std::string>& into) {
  const auto given = destinations.find(name);
  if (!given) return;
  AwsMembers destination(*given, {"Destination"});
  into.emplace();
  destination.text("Destination", *into);
  if (destination.error()) return destinations.fail_with(*destination.error());
  const auto arn = parse_arn(*into);
  if (into->empty() || (arn && (arn->service == "sns" || arn->service == "lambda"))) return;
  destinations.refuse(*given, "must be the ARN of a topic or a function");
}

Result<InvokeConfigChange> read_change(const JsonView& body) {
  AwsMembers members(body, {"FunctionName", "MaximumRetryAttempts", "MaximumEventAgeInSeconds", "DestinationConfig"});
  InvokeConfigChange change;
  const auto number = [&](std::string_view name, int64_t min, int64_t max, std::optional<int64_t>& into) {
    if (!members.find(name)) return;
    into.emplace();
    members.integer(name, min, max, *into);
  };
  number("MaximumEventAgeInSeconds", 1, kLongestEventAge, change.age);
  number("MaximumRetryAttempts", 0, kMostRetries, change.retries);
  if (const auto given = members.find("DestinationConfig")) {
    AwsMembers destinations(*given, {"OnSuccess", "OnFailure"});
    read_destination(destinations, "OnSuccess", change.on_success);
    read_destination(destinations, "OnFailure", change.on_failure);
    if (destinations.error()) members.fail_with(*destinations.error());
  }
  if (members.error()) return fail(*members.error());
  return change;
}

bool is_configured(const FunctionDefinition& function) {
  return function.async_modified_ms != 0 || !(function.async == AsyncConfig{});
}

std::string config_json(const FunctionDefinition& function, const Account& account) {
  const auto destination = [](const Destination& to) {
    return to.target.empty() ? std::string("{}") : R"({"Destination":)" + json_quoted(to.target) + "}";
  };
  const std::string arn = function_arn(account, function.name);
  return fmt::format(R"({{"FunctionArn":{},"LastModified":{:.3f},"MaximumRetryAttempts":{},)"
                     R"("MaximumEventAgeInSeconds":{},"DestinationConfig":{{"OnSuccess":{},"OnFailure":{}}}}})",
                     json_quoted(qualifier_of(function.name).empty() ? arn + ":$LATEST" : arn),
                     static_cast<double>(function.async_modified_ms) / 1000, function.async.max_retries,
                     function.async.max_event_age.count(), destination(function.async.on_success),
                     destination(function.async.on_failure));
}

// The function and the rest of its definition stay unchanged.
class ChangeConfig final : public Operation {
 public:
  enum class From { kDefaults, kWhatIsThere, kNothing /* it goes */ };
  ChangeConfig(std::string name, std::string qualifier, From from, InvokeConfigChange change)
      : name_(std::move(name)), qualifier_(std::move(qualifier)), from_(from), change_(std::move(change)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    const std::string full = qualifier_.empty() ? name_ : name_ + ":" + qualifier_;
    auto function = function_named(backend.runtime, full);
    if (!function) co_return fail(std::move(function.error()));
    if (backend.runtime.qualifiers(name_).aliases.contains(qualifier_)) {
      FunctionRegistry::Change change = [this, &backend](FunctionQualifiers& now) { return apply(now, backend); };
      std::string name = name_;
      auto done = co_await backend.runtime.change_qualifiers(std::move(name), std::move(change));
      if (!done) co_return fail(std::move(done.error()));
      function = function_named(backend.runtime, full);
    } else {
      FunctionChange change = [this, &backend](FunctionDefinition& now) { return apply(now, backend); };
      std::string name = full;
      function = co_await change_function(backend.runtime, std::move(name), std::move(change));
    }
    if (!function) co_return fail(std::move(function.error()));
    if (from_ == From::kNothing) co_return answer_with(204, "");
    co_return answer_with(200, config_json(*function, backend.runtime.account()));
  }

  static tl::unexpected<Error> not_there(const FunctionDefinition& function, Runtime& runtime) {
    return fail(ErrorCode::kResourceNotFound, "The function " + function_arn(runtime.account(), function.name) +
                                                  " doesn't have an EventInvokeConfig");
  }

 private:
  Result<void> apply(FunctionDefinition& now, Backend& backend) const {
    if (from_ != From::kDefaults && !is_configured(now)) return not_there(now, backend.runtime);
    if (from_ != From::kWhatIsThere) now.async = AsyncConfig{};
    change_.apply(now.async);
    for (const Destination* to : {&now.async.on_success, &now.async.on_failure}) {
      if (auto good = check(*to, backend.runtime); !good) return good;
    }
    now.async_modified_ms = from_ == From::kNothing ? 0 : wall_ms(backend.clock);
    return {};
  }
  // The config of an alias is stored with the alias.
  Result<void> apply(FunctionQualifiers& now, Backend& backend) const {
    const auto alias = now.aliases.find(qualifier_);
    FunctionDefinition function;
    function.name = name_ + ":" + qualifier_;
    if (alias == now.aliases.end()) return not_there(function, backend.runtime);
    function.async = alias->second.async;
    function.async_modified_ms = alias->second.async_modified_ms;
    if (auto done = apply(function, backend); !done) return done;
    alias->second.async = function.async;
    alias->second.async_modified_ms = function.async_modified_ms;
    return {};
  }
  static Result<void> check(const Destination& to, Runtime& runtime) {
    if (to.target.empty()) return {};
    const std::string topic = topic_name(to.target);
    if (topic.ends_with(kFifoSuffix)) {
      return invalid("The destination ARN " + to.target + " is invalid: a FIFO topic cannot be a destination");
    }
    if (topic.empty()) {
      if (runtime.invoker().find(to.target)) return {};
    } else {
      for (const TopicDefinition& one : runtime.topics()) {
        if (one.name == topic) return {};
      }
    }
    return invalid("The destination ARN " + to.target + " is invalid: there is no such topic or function");
  }
  const std::string name_;
  const std::string qualifier_;
  const From from_;
  const InvokeConfigChange change_;
};

class GetConfig final : public Operation {
 public:
  explicit GetConfig(std::string name) : name_(std::move(name)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    auto function = function_named(backend.runtime, name_);
    if (!function) co_return fail(std::move(function.error()));
    if (!is_configured(*function)) co_return ChangeConfig::not_there(*function, backend.runtime);
    co_return answer_with(200, config_json(*function, backend.runtime.account()));
  }

 private:
  const std::string name_;
};

// The configs of the function, its versions and its aliases.
class ListConfigs final : public Operation {
 public:
  explicit ListConfigs(std::string name) : name_(std::move(name)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    auto function = function_named(backend.runtime, name_);
    if (!function) co_return fail(std::move(function.error()));
    std::vector<FunctionDefinition> all = backend.runtime.versions(name_);
    all.push_back(*function);
    for (const auto& [alias, of] : backend.runtime.qualifiers(name_).aliases) {
      if (auto found = function_named(backend.runtime, name_ + ":" + alias)) all.push_back(std::move(*found));
    }
    std::string configs;
    for (const FunctionDefinition& one : all) {
      if (!is_configured(one)) continue;
      configs += (configs.empty() ? "" : ",") + config_json(one, backend.runtime.account());
    }
    co_return answer_with(200, R"({"FunctionEventInvokeConfigs":[)" + configs + "]}");
  }

 private:
  const std::string name_;
};

std::string full_name(const Request& request) {
  return request.qualifier.empty() ? request.name : request.name + ":" + request.qualifier;
}

Parsed change(const Request& request, ChangeConfig::From from) {
  InvokeConfigChange wanted;
  if (request.body) {
    auto read = read_change(*request.body);
    if (!read) return fail(std::move(read.error()));
    wanted = std::move(*read);
  }
  return std::make_unique<ChangeConfig>(request.name, request.qualifier, from, std::move(wanted));
}

}  // namespace

Parsed parse_put_invoke_config(const Request& request) {
  return change(request, ChangeConfig::From::kDefaults);
}
Parsed parse_update_invoke_config(const Request& request) {
  return change(request, ChangeConfig::From::kWhatIsThere);
}
Parsed parse_delete_invoke_config(const Request& request) {
  return change(request, ChangeConfig::From::kNothing);
}
Parsed parse_get_invoke_config(const Request& request) {
  return std::make_unique<GetConfig>(full_name(request));
}
Parsed parse_list_invoke_configs(const Request& request) {
  return std::make_unique<ListConfigs>(request.name);
}

}  // namespace freshet::lambda
