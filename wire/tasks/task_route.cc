#include "wire/tasks/task_route.h"

#include <optional>
#include <utility>

#include "base/number_text.h"
#include "wire/api/calls.h"
#include "wire/auth/actor.h"
#include "wire/http/own_error.h"
#include "wire/http/target.h"
#include "wire/tasks/admin_exchanges.h"
#include "wire/tasks/exchanges.h"
#include "wire/tasks/requests.h"
#include "wire/tasks/stray_parameter.h"
#include "wire/tasks/view_exchanges.h"

namespace freshet {
namespace {

using tasks::Desk;

Error no_such_path(const HttpRequest& request) {
  return {ErrorCode::kNotFound,
          request.method + " " + shown_path(request.target) + " is not part of the task API (docs/task-api.md)",
          nullptr};
}

std::optional<uint64_t> number_in(const std::string& text) {
  uint64_t out = 0;
  return read_number_in(text, out) ? std::optional(out) : std::nullopt;
}

Result<uint32_t> limit_of(const Target& target, uint32_t fallback, uint32_t most) {
  const auto member = target.query.find("limit");
  if (member == target.query.end()) return fallback;
  const auto limit = number_in(member->second);
  if (!limit || *limit < 1 || *limit > most) {
    return invalid("'limit' must be a number from 1 to " + std::to_string(most));
  }
  return static_cast<uint32_t>(*limit);
}

constexpr std::string_view kWhere = "where.";
constexpr uint64_t kLongestAge = 1'000'000'000'000'000;

std::string query_or(const Target& target, const char* name, std::string_view fallback) {
  const auto member = target.query.find(name);
  return member == target.query.end() ? std::string(fallback) : member->second;
}

Result<ListInput> list_input(const Target& target) {
  ListInput input;
  const auto limit = limit_of(target, input.limit, 1000);
  if (!limit) return fail(limit.error());
  input.limit = *limit;
  for (const auto& [name, value] : target.query) {
    if (name == "state") {
      input.state = value;
    } else if (name == "cursor") {
      input.cursor = value;
    } else if (name == "order" && (value == "newest" || value == "oldest")) {
      input.oldest_first = value == "oldest";
    } else if (name == "text") {
      input.text = value;
    } else if (name == "olderThanMs") {
      const auto age = number_in(value);
      if (!age || *age > kLongestAge) return invalid("'olderThanMs' must be a whole number of milliseconds");
      input.older_than = milliseconds(*age);
    } else if (name.starts_with(kWhere) && name.size() > kWhere.size()) {
      input.where.emplace_back(name.substr(kWhere.size()), value);
    } else if (name != "limit" && !is_signature_member(name)) {
      // Not the value of another name: this may be a signature, and messages stand in the log.
      return invalid("'" + name + (name == "order" ? "=" + value : "") +
                     "': there are state, limit, cursor, order (newest or oldest), text, olderThanMs and where.NAME");
    }
  }
  return input;
}

// True if the target is that path, or one below it.
bool is_below(std::string_view target, std::string_view root) {
  return target.starts_with(root) &&
         (target.size() == root.size() || target[root.size()] == '/' || target[root.size()] == '?');
}

class TaskRoute final : public Route {
 public:
  TaskRoute(TaskQueues& queues, const Clock& clock, TaskRouteOptions options)
      : desk_{queues, clock, options.audit, options.series, options.spans, std::move(options.create_elsewhere)},
        is_signed_(options.is_signed) {}

  bool matches(const HttpRequest& request) const override {
    const std::string_view target = request.target;
    return is_below(target, "/queues") || is_below(target, "/audit");
  }

  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    auto target = parse_target(request.target);
    if (!target) return tasks::refuse(target.error());
    const ApiLine* line = find_api_call(request.method, target->segments);
    if (line == nullptr) {
      const std::string allowed = api_methods(target->segments);
      if (allowed.empty()) return tasks::refuse(no_such_path(request));
      return answer_with_response(method_not_allowed(request, allowed));
    }
    if (const auto stray = tasks::stray_parameter(*line, request, *target)) return tasks::refuse(*stray);
    if (line->method == "POST") return change(line->call, request, *target);
    return look(line->call, request, *target);
  }

 private:
  std::unique_ptr<Exchange> look(ApiCall call, const HttpRequest& request, Target& target) {
    auto& path = target.segments;
    switch (call) {
      case ApiCall::kListQueues:
        return tasks::names(desk_);
      case ApiCall::kGetTask:
        return tasks::get(desk_, std::move(path[1]), std::move(path[3]));
      case ApiCall::kExplainTask:
        return tasks::explain(desk_, std::move(path[1]), std::move(path[3]));
      case ApiCall::kTaskTrace:
        return tasks::trace(desk_, std::move(path[1]), std::move(path[3]));
      case ApiCall::kGetJob:
        return tasks::job(desk_, std::move(path[1]), path[3]);
      case ApiCall::kStopJob:
        return tasks::stop_job(desk_, std::move(path[1]), path[3], actor_of(request, is_signed_));
      case ApiCall::kListJobs:
        return tasks::jobs(desk_, std::move(path[1]));
      case ApiCall::kQueuePolicy:
        return tasks::policy(desk_, std::move(path[1]));
      case ApiCall::kQueueStats:
        return tasks::stats(desk_, std::move(path[1]));
      case ApiCall::kQueueBacklog:
        return tasks::backlog(desk_, std::move(path[1]));
      default:
        return look_at_list(call, target);
    }
  }

  // The calls with parameters in the query.
  std::unique_ptr<Exchange> look_at_list(ApiCall call, Target& target) {
    auto& path = target.segments;
    if (call == ApiCall::kListTasks) {
      auto input = list_input(target);
      return input ? tasks::list(desk_, std::move(path[1]), std::move(*input)) : tasks::refuse(input.error());
    }
    if (call == ApiCall::kQueueSeries) return series(target);
    const bool is_log = call == ApiCall::kAudit || call == ApiCall::kQueueSheds;
    const auto limit = limit_of(target, 100, is_log ? 10'000 : 1000);
    if (!limit) return tasks::refuse(limit.error());
    if (call == ApiCall::kAudit) return tasks::audit(desk_, std::move(target.query["queue"]), *limit);
    if (call == ApiCall::kQueueSheds) return tasks::sheds(desk_, std::move(path[1]), *limit);
    if (call == ApiCall::kQueueHolders) return tasks::holders(desk_, std::move(path[1]), *limit);
    const std::string by = query_or(target, "by", "group");
    if (by != "group" && by != "key") {
      return tasks::refuse(Error{ErrorCode::kValidation, "'by' must be group or key", nullptr});
    }
    return tasks::shares(desk_, std::move(path[1]), {by == "key", *limit});
  }

  std::unique_ptr<Exchange> series(Target& target) {
    const std::string step = query_or(target, "step", "second");
    if (step != "second" && step != "minute") {
      return tasks::refuse(Error{ErrorCode::kValidation, "'step' must be second or minute", nullptr});
    }
    const bool by_minute = step == "minute";
    const auto most = static_cast<uint32_t>(by_minute ? QueueSeries::kMinutes : QueueSeries::kSeconds);
    const auto limit = limit_of(target, by_minute ? most : 300, most);
    if (!limit) return tasks::refuse(limit.error());
    return tasks::series(desk_, std::move(target.segments[1]), by_minute ? SeriesStep::kMinute : SeriesStep::kSecond,
                         *limit);
  }

  std::unique_ptr<Exchange> change(ApiCall call, const HttpRequest& request, Target& target) {
    // One document for each I/O thread: parsing again reuses its memory.
    thread_local JsonDocument document;
    const auto body = document.parse(request.body.empty() ? std::string_view("{}") : request.body);
    if (!body) return tasks::refuse(body.error());
    switch (call) {
      case ApiCall::kTake:
        return start(target, tasks::read_take(*body), tasks::take);
      case ApiCall::kSettle:
        return start(target, tasks::read_settle(*body), tasks::settle);
      case ApiCall::kCreateTasks:
        return create(request, target, tasks::read_create(*body));
      case ApiCall::kCancelTasks:
        return start(request, target, tasks::read_cancel(*body), tasks::cancel);
      case ApiCall::kRedriveTasks:
        return start(request, target, tasks::read_redrive(*body), tasks::redrive);
      case ApiCall::kChangePolicy:
        return start(request, target, tasks::read_policy(*body), tasks::change_policy);
      case ApiCall::kPause:
        return start(request, target, tasks::read_pause(*body), tasks::pause);
      case ApiCall::kResume:
        return start(request, target, tasks::read_resume(*body), tasks::resume);
      case ApiCall::kStartJob:
        return start(request, target, tasks::read_job(*body), tasks::start_job);
      default:
        return tasks::refuse(not_implemented(call));
    }
  }

  std::unique_ptr<Exchange> create(const HttpRequest& request, Target& target, Result<tasks::CreateRequest> input) {
    if (input && desk_.create_elsewhere) tasks::name_tasks(*input, header(request.headers, tasks::kNewTaskId));
    return start(target, std::move(input), tasks::create);
  }

  template <class Input, class Make>
  std::unique_ptr<Exchange> start(Target& target, Result<Input> input, Make make) {
    if (!input) return tasks::refuse(input.error());
    return make(desk_, std::move(target.segments[1]), std::move(*input));
  }

  // Parses changes that are logged in the audit log.
  template <class Input, class Make>
  std::unique_ptr<Exchange> start(const HttpRequest& request, Target& target, Result<Input> input, Make make) {
    if (!input) return tasks::refuse(input.error());
    return make(desk_, std::move(target.segments[1]), std::move(*input), actor_of(request, is_signed_));
  }

  Desk desk_;
  const bool is_signed_;
};

}  // namespace

std::unique_ptr<Route> make_task_route(TaskQueues& queues, const Clock& clock, TaskRouteOptions options) {
  return std::make_unique<TaskRoute>(queues, clock, std::move(options));
}

}  // namespace freshet
