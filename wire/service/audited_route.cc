#include "wire/service/audited_route.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "tables/value/json_reader.h"
#include "wire/api/calls.h"
#include "wire/auth/actor.h"
#include "wire/auth/roles.h"
#include "wire/http/own_error.h"
#include "wire/http/target.h"
#include "wire/sns/query_form.h"
#include "wire/sns/sns_route.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

class AuditedExchange final : public Exchange {
 public:
  AuditedExchange(std::unique_ptr<Exchange> inner, AuditLog& log, AuditLine line)
      : inner_(std::move(inner)), log_(log), line_(std::move(line)) {}

  Async<void> run() override {
    auto added = co_await log_.add(std::move(line_));
    if (added) {
      co_await inner_->run();
    } else {
      error_ = std::move(added.error());
    }
  }
  HttpResponse respond() override { return error_ ? tasks::error_answer(*error_) : inner_->respond(); }

 private:
  const std::unique_ptr<Exchange> inner_;
  AuditLog& log_;
  AuditLine line_;
  std::optional<Error> error_;
};

// True for the daemon's own page. Browsers send at least one of the two headers with each request that changes
// something. Pages of other origins (--cors-origin) are programs.
bool is_of_page(const HttpRequest& request) {
  const std::string_view site = header(request.headers, "Sec-Fetch-Site");
  if (!site.empty()) return site == "same-origin";
  const std::string_view origin = header(request.headers, "Origin");
  const size_t host = origin.find("://");
  return host != std::string_view::npos && origin.substr(host + 3) == header(request.headers, "Host");
}

// Calls that write their own lines, which name what they change, or that change nothing.
bool has_own_line(ApiCall call) {
  switch (call) {
    case ApiCall::kCancelTasks:
    case ApiCall::kRedriveTasks:
    case ApiCall::kChangePolicy:
    case ApiCall::kPause:
    case ApiCall::kResume:
    case ApiCall::kStartJob:
    case ApiCall::kStopJob:
    case ApiCall::kDeploy:
    case ApiCall::kSignIn:
    case ApiCall::kSignOut:
    case ApiCall::kWhatIf:
      return true;
    default:
      return false;
  }
}

// Recordings, and `freshet watch`, ask for each piece of what changes: only the first request of a client begins
// something. Any thread.
class Recordings {
 public:
  // The client and the table of a request.
  static std::string name_of(const AuditLine& line) {
    const std::string& from = line.actor.from;
    return line.actor.who + '\n' + from.substr(0, from.rfind(':')) + '\n' + line.queue;
  }

  bool goes_on(const HttpRequest& request, const std::string& name, BootTime now) {
    const MutexLock lock(mutex_);
    std::erase_if(last_, [now](const auto& one) { return now - one.second > kRecordingPatience; });
    return last_.contains(name) && !begins(request);
  }
  void answered(const std::string& name, BootTime now) {
    const MutexLock lock(mutex_);
    last_.insert_or_assign(name, now);
  }

 private:
  static bool begins(const HttpRequest& request) {
    const auto target = parse_target(request.target);
    const auto from = target ? target->query.find("from") : decltype(target->query.end())();
    if (!target || from == target->query.end()) return true;
    uint64_t change = 0;  // In any spelling, 0 asks for all that is there.
    std::from_chars(from->second.data(), from->second.data() + from->second.size(), change);
    return change == 0;
  }

  Mutex mutex_;
  std::map<std::string, BootTime> last_ FRESHET_GUARDED_BY(mutex_);
};

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 300;
  if (text.size() <= kMost) return std::string(text);
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // Not within a character.
  return std::string(text.substr(0, end)) + "…";
}

// The operation, its table, and a statement.
void describe_item_store(const HttpRequest& request, AuditLine& line) {
  const std::string_view operation = header(request.headers, "X-Amz-Target");
  line.what = operation.substr(std::min(operation.find('.') + 1, operation.size()));
  if (line.what.empty()) line.what = "unknown";
  JsonDocument document;
  const auto body = document.parse(request.body);
  if (!body) return;
  for (const char* member : {"TableName", "TargetTableName"}) {
    if (const auto table = body->find(member)) line.queue = table->text();
  }
  for (const char* member : {"ResourceArn", "BackupArn"}) {
    if (const auto arn = body->find(member)) line.detail = shortened(arn->text());
  }
  if (const auto items = body->find("RequestItems"); items && items->size() > 0) {
    line.queue = (*items->begin()).name();
    for (const JsonView table : *items) line.detail += (line.detail.empty() ? "" : " ") + std::string(table.name());
  }
  if (const auto statement = body->find("Statement")) line.detail = shortened(statement->text());
}

void describe_topics(const HttpRequest& request, AuditLine& line) {
  line.what = "topic";
  const auto form = sns::QueryForm::parse(request.body);
  if (!form) return;
  line.detail = shortened(form->text("Action"));
  for (const char* member : {"TopicArn", "Name"}) {
    const std::string arn(form->text(member));
    if (line.queue.empty()) line.queue = arn.substr(arn.rfind(':') + 1);
  }
}

// Empty for a call that writes its own line, and for one that does not exist.
std::optional<AuditLine> line_of(const HttpRequest& request) {
  AuditLine line;
  const auto target = parse_target(request.target);
  if (is_query_request(request)) {
    describe_topics(request, line);
  } else if (!target || target->segments.empty()) {
    describe_item_store(request, line);
  } else if (const ApiLine* call = find_api_call(request.method, target->segments)) {
    if (has_own_line(call->call)) return std::nullopt;
    line.what = call->id;
    if (call->path.find("{queue}") != std::string_view::npos) line.queue = target->segments[1];
    const auto table = target->query.find("table");
    if (call->call == ApiCall::kRecord && table != target->query.end()) line.queue = table->second;
  } else if (api_of(request.target) == ApiKind::kOwn) {
    return std::nullopt;  // Nothing is served there by that method, so nothing can change.
  } else {
    line.what = "function";
    if (target->segments.size() > 2 && target->segments[1] == "functions") line.queue = target->segments[2];
  }
  if (line.detail.empty()) line.detail = request.method + " " + shown_path(request.target);
  return line;
}

bool is_recording(const HttpRequest& request) {
  return request.target == "/record" || request.target.starts_with("/record?");
}

// A refused request records nothing, so the next request does not continue it.
class RecordingExchange final : public Exchange {
 public:
  RecordingExchange(std::unique_ptr<Exchange> inner, Recordings& recordings, std::string name, const Clock& clock)
      : inner_(std::move(inner)), recordings_(recordings), name_(std::move(name)), clock_(clock) {}

  Async<void> run() override { return inner_->run(); }
  HttpResponse respond() override {
    HttpResponse response = inner_->respond();
    if (response.status == 200) recordings_.answered(name_, clock_.boot());
    return response;
  }

 private:
  const std::unique_ptr<Exchange> inner_;
  Recordings& recordings_;
  const std::string name_;
  const Clock& clock_;
};

class AuditedRoute final : public Route {
 public:
  AuditedRoute(std::unique_ptr<Route> inner, AuditLog& log, bool is_signed)
      : inner_(std::move(inner)), log_(log), is_signed_(is_signed) {}

  bool matches(const HttpRequest& request) const override { return inner_->matches(request); }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    auto line = needs_line(request) ? line_of(request) : std::nullopt;
    if (!line) return inner_->accept(std::move(request));
    line->actor = actor_of(request, is_signed_);
    if (is_recording(request)) return accept_recording(std::move(request), std::move(*line));
    auto exchange = inner_->accept(std::move(request));
    return std::make_unique<AuditedExchange>(std::move(exchange), log_, std::move(*line));
  }
  bool changes(const HttpRequest& request) const override { return inner_->changes(request); }
  bool is_slow() const override { return inner_->is_slow(); }

 private:
  std::unique_ptr<Exchange> accept_recording(HttpRequest request, AuditLine line) {
    std::string name = Recordings::name_of(line);
    const Clock& clock = log_.clock();
    const bool goes_on = recordings_.goes_on(request, name, clock.boot());
    auto inner = inner_->accept(std::move(request));
    auto exchange = std::make_unique<RecordingExchange>(std::move(inner), recordings_, std::move(name), clock);
    if (goes_on) return exchange;
    return std::make_unique<AuditedExchange>(std::move(exchange), log_, std::move(line));
  }

  bool needs_line(const HttpRequest& request) const {
    if (!inner_->changes(request)) return false;
    const bool of_page = is_of_page(request);
    // The calls of the task API that workers make all the time; those that need more have lines of their own.
    if (!of_page && request.target.starts_with("/queues/")) return false;
    const Role least = role_needed(request);
    return least >= Role::kOperate || (of_page && least >= Role::kWork);
  }

  const std::unique_ptr<Route> inner_;
  AuditLog& log_;
  const bool is_signed_;
  Recordings recordings_;
};

}  // namespace

std::unique_ptr<Route> make_audited_route(std::unique_ptr<Route> inner, AuditLog& log, bool is_signed) {
  return std::make_unique<AuditedRoute>(std::move(inner), log, is_signed);
}

}  // namespace freshet
