#include "wire/lambda/lambda_route.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/crypto.h"
#include "base/limits.h"
#include "base/number_text.h"
#include "runtime/invoke/http_host.h"
#include "runtime/invoke/outcome.h"
#include "tables/value/json.h"
#include "tables/value/json_reader.h"
#include "tables/value/text.h"
#include "wire/http/request_ids.h"
#include "wire/http/target.h"
#include "wire/lambda/answer.h"
#include "wire/lambda/client_context.h"
#include "wire/lambda/function_json.h"

namespace freshet {
namespace {

using lambda::answer_of;
using lambda::Refusal;
using lambda::refusal_of;

// The paths of the API have one of these after their date.
constexpr std::array<std::string_view, 6> kKinds{"functions", "event-source-mappings", "layers",
                                                 "tags",      "account-settings",      "code-signing-configs"};
constexpr size_t kMaxListed = 50;
constexpr size_t kMaxTraceHeader = 256;

struct InvokeShared {
  InvokeShared(Invoker& i, std::function<std::vector<FunctionDefinition>()> f, LambdaPlace p)
      : invoker(i), functions(std::move(f)), place(std::move(p)), ids(place.seed) {}
  Invoker& invoker;
  const std::function<std::vector<FunctionDefinition>()> functions;
  EnvironmentShown shown() const { return place.hides_environment ? EnvironmentShown::kNo : EnvironmentShown::kYes; }
  const LambdaPlace place;
  RequestIds ids;
};

class LambdaExchange : public Exchange {
 public:
  explicit LambdaExchange(std::shared_ptr<InvokeShared> shared) : shared_(std::move(shared)) {}
  HttpResponse respond() final {
    HttpResponse response = refusal_ ? answer_of(*refusal_) : success();
    seal_answer(response, request_id_.empty() ? uuid_of(shared_->ids.next()) : std::move(request_id_));
    return response;
  }

 protected:
  virtual HttpResponse success() = 0;

  const std::shared_ptr<InvokeShared> shared_;
  std::shared_ptr<const FunctionDefinition> find(const std::string& function) const {
    return shared_->invoker.find(function);
  }
  bool may_look_for(const std::string& function) const { return shared_->place.look_for && !find(function); }
  void refuse_unknown(const std::string& function) {
    refusal_ = Refusal{404, "ResourceNotFoundException",
                       "Function not found: " + function_arn(shared_->place.account, function)};
  }

  std::optional<Refusal> refusal_;
  std::string request_id_;  // The id of the invocation, if there is one: the log has it, too.
};

class Refused final : public LambdaExchange {
 public:
  Refused(std::shared_ptr<InvokeShared> shared, Refusal refusal) : LambdaExchange(std::move(shared)) {
    refusal_ = std::move(refusal);
  }
  Async<void> run() override { return {}; }

 private:
  HttpResponse success() override { return {}; }
};

class Invoke final : public LambdaExchange {
 public:
  enum class Type { kRequestResponse, kEvent, kDryRun };
  Invoke(std::shared_ptr<InvokeShared> shared, std::string function, Type type, InvokeWishes wishes,
         std::string payload)
      : LambdaExchange(std::move(shared)),
        function_(std::move(function)),
        type_(type),
        wishes_(std::move(wishes)),
        payload_(std::move(payload)) {}

  Async<void> run() override { return may_look_for(function_) ? look() : invoke(); }

 private:
  Async<void> look() {
    std::string name = function_;
    co_await shared_->place.look_for(std::move(name));
    co_await invoke();
  }
  Async<void> invoke() {
    if (!find(function_)) refuse_unknown(function_);
    if (refusal_ || type_ == Type::kDryRun) return {};
    return type_ == Type::kEvent ? queue() : call();
  }
  Async<void> queue() {
    auto queued = co_await shared_->invoker.invoke_async(function_, std::move(payload_), wishes_.trace_id);
    if (queued) {
      request_id_ = std::move(*queued);
    } else {
      refusal_ = refusal_of(queued.error());
    }
  }
  Async<void> call() {
    auto outcome = co_await shared_->invoker.invoke(function_, std::move(payload_), wishes_);
    if (!outcome) {
      refusal_ = refusal_of(outcome.error());
    } else if (outcome->error && outcome->error->type == kHostBusy) {
      refusal_ = Refusal{429, "TooManyRequestsException", outcome->error->message};
    } else {
      outcome_ = std::move(*outcome);
      request_id_ = std::move(outcome_.request_id);
    }
  }

  HttpResponse success() override {
    HttpResponse response;
    if (type_ != Type::kRequestResponse) {
      response.status = type_ == Type::kEvent ? 202 : 204;
      return response;
    }
    const std::string& version = outcome_.version;
    response.headers.emplace_back("X-Amz-Executed-Version", version.empty() ? std::string(kLatestVersion) : version);
    if (outcome_.error) response.headers.emplace_back("X-Amz-Function-Error", kind_of(*outcome_.error));
    if (wishes_.wants_log) {
      std::string log;
      append_base64(log, outcome_.log);
      response.headers.emplace_back("X-Amz-Log-Result", std::move(log));
    }
    response.body = std::move(outcome_.payload);
    return response;
  }

  const std::string function_;
  const Type type_;
  const InvokeWishes wishes_;
  std::string payload_;
  InvokeOutcome outcome_;
};

class Get final : public LambdaExchange {
 public:
  Get(std::shared_ptr<InvokeShared> shared, std::string function, bool configuration_only)
      : LambdaExchange(std::move(shared)), function_(std::move(function)), configuration_only_(configuration_only) {}

  Async<void> run() override {
    if (may_look_for(function_)) return look();
    read();
    return {};
  }

 private:
  Async<void> look() {
    std::string name = function_;
    co_await shared_->place.look_for(std::move(name));
    read();
  }
  void read() {
    found_ = find(function_);
    if (!found_) refuse_unknown(function_);
  }
  HttpResponse success() override {
    HttpResponse response;
    const Account& account = shared_->place.account;
    response.body = configuration_only_ ? function_configuration_json(*found_, account, shared_->shown())
                                        : function_json(*found_, account, shared_->shown());
    return response;
  }

  const std::string function_;
  const bool configuration_only_;
  std::shared_ptr<const FunctionDefinition> found_;
};

class List final : public LambdaExchange {
 public:
  List(std::shared_ptr<InvokeShared> shared, std::string marker, size_t most)
      : LambdaExchange(std::move(shared)), marker_(std::move(marker)), most_(most) {}

  Async<void> run() override {
    functions_ = shared_->functions();
    return {};
  }

 private:
  // Sorted by name; a marker is the last name of the page before.
  HttpResponse success() override {
    HttpResponse response;
    response.body = R"({"Functions":[)";
    size_t listed = 0;
    std::string last;
    for (const FunctionDefinition& function : functions_) {
      if (function.name <= marker_) continue;
      if (listed == most_) {
        response.body += R"(],"NextMarker":)";
        append_json_string(response.body, last);
        response.body += '}';
        return response;
      }
      response.body += listed++ > 0 ? "," : "";
      response.body += function_configuration_json(function, shared_->place.account, shared_->shown());
      last = function.name;
    }
    response.body += "]}";
    return response;
  }

  const std::string marker_;
  const size_t most_;
  std::vector<FunctionDefinition> functions_;
};

class LambdaRoute final : public Route {
 public:
  explicit LambdaRoute(std::shared_ptr<InvokeShared> shared) : shared_(std::move(shared)) {}

  // Matches all paths of the service, "/2015-03-31/functions/...", so that unknown calls get its error.
  bool matches(const HttpRequest& request) const override {
    constexpr size_t kDate = std::string_view("/2015-03-31/").size();
    std::string_view path = request.target;
    path = path.substr(0, path.find('?'));
    if (!path.starts_with("/20") || path.size() <= kDate || path[kDate - 1] != '/') return false;
    const std::string_view kind = path.substr(kDate, path.find('/', kDate) - kDate);
    return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
  }

  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    auto target = parse_target(request.target);
    if (!target) return refuse({400, "InvalidParameterValueException", target.error().message});
    auto& path = target->segments;
    if (path[0] != "2015-03-31" || path[1] != "functions") return not_there(request);
    if (path.size() == 2 && request.method == "GET") return list(target->query);
    if (path.size() < 3) return not_there(request);
    auto name = lambda::function_in(path[2], lambda::value_in(target->query, "Qualifier"), shared_->place.account);
    if (!name) return refuse(refusal_of(name.error()));
    const bool configuration = path.size() == 4 && path[3] == "configuration";
    if (request.method == "GET" && (path.size() == 3 || configuration)) {
      return std::make_unique<Get>(shared_, std::move(*name), configuration);
    }
    if (request.method == "POST" && path.size() == 4 && path[3] == "invocations") return invoke(*name, request);
    return not_there(request);
  }

 private:
  std::unique_ptr<Exchange> refuse(Refusal refusal) { return std::make_unique<Refused>(shared_, std::move(refusal)); }
  std::unique_ptr<Exchange> not_there(const HttpRequest& request) {
    return refuse(
        {501, "NotImplemented",
         request.method + " " + shown_path(request.target) + " is not served; docs/compatibility.md lists what is"});
  }

  std::unique_ptr<Exchange> list(const std::map<std::string, std::string>& query) {
    size_t most = kMaxListed;
    if (const auto given = query.find("MaxItems"); given != query.end()) {
      if (!read_number_in(given->second, most) || most < 1 || most > 10'000) {
        return refuse({400, "InvalidParameterValueException", "MaxItems must be a number from 1 to 10000"});
      }
    }
    const auto marker = query.find("Marker");
    return std::make_unique<List>(shared_, marker == query.end() ? std::string() : marker->second,
                                  std::min(most, kMaxListed));
  }

  // Checked here and not on the loop, because parsing megabytes of JSON takes long.
  static std::optional<Refusal> problem_of(const std::string& payload) {
    if (payload.empty() || payload.size() > limits::kMaxInvokePayloadBytes) return std::nullopt;
    JsonDocument document;
    const auto parsed = document.parse(payload);
    if (parsed) return std::nullopt;
    return Refusal{400, "InvalidRequestContentException",
                   "Could not parse request body into json: " + parsed.error().message};
  }

  std::unique_ptr<Exchange> invoke(std::string name, HttpRequest& request) {
    const std::string_view type = header(request.headers, "X-Amz-Invocation-Type");
    std::optional<Invoke::Type> known;
    if (type.empty() || type == "RequestResponse") known = Invoke::Type::kRequestResponse;
    if (type == "Event") known = Invoke::Type::kEvent;
    if (type == "DryRun") known = Invoke::Type::kDryRun;
    if (!known) {
      return refuse({400, "InvalidParameterValueException",
                     "X-Amz-Invocation-Type '" + std::string(type.substr(0, 100)) +
                         "': there are RequestResponse, Event and DryRun"});
    }
    if (auto problem = problem_of(request.body)) return refuse(std::move(*problem));
    auto context = lambda::client_context(header(request.headers, "X-Amz-Client-Context"));
    if (!context) return refuse({400, "InvalidRequestContentException", std::move(context.error().message)});
    InvokeWishes wishes{header(request.headers, "X-Amz-Log-Type") == "Tail",
                        std::string(header(request.headers, "X-Amzn-Trace-Id").substr(0, kMaxTraceHeader)),
                        std::move(*context)};
    return std::make_unique<Invoke>(shared_, std::move(name), *known, std::move(wishes), std::move(request.body));
  }

  const std::shared_ptr<InvokeShared> shared_;
};

}  // namespace

std::unique_ptr<Route> make_lambda_route(Invoker& invoker, std::function<std::vector<FunctionDefinition>()> functions,
                                         LambdaPlace place) {
  return std::make_unique<LambdaRoute>(std::make_shared<InvokeShared>(invoker, std::move(functions), std::move(place)));
}

}  // namespace freshet
