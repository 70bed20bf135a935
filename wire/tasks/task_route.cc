#include "wire/tasks/task_route.h"

#include <charconv>
#include <optional>
#include <utility>

#include "wire/auth/actor.h"
#include "wire/http/own_error.h"
#include "wire/http/target.h"
#include "wire/tasks/admin_exchanges.h"
#include "wire/tasks/exchanges.h"
#include "wire/tasks/requests.h"
#include "wire/tasks/view_exchanges.h"

namespace freshet {
namespace {

using tasks::Desk;

Error no_such_path(const HttpRequest& request) {
  return {ErrorCode::kNotFound,
          request.method + " " + shown_path(request.target) + " is not part of the task API (docs/task-api.md)",
          nullptr};
}

// A name in the query that its path does not have; that of GET /queues/NAME/tasks is list_input()'s.
std::optional<Error> stray_parameter(const HttpRequest& request, const Target& target) {
  const auto& path = target.segments;
  const bool looks_into = request.method == "GET" && path.size() == 3;
  if (looks_into && path[2] == "tasks") return {};
  const bool is_audit = request.method == "GET" && path.size() == 1 && path[0] == "audit";
  // The second name; the first one is `limit`.
  const std::string_view other = is_audit                            ? "queue"
                                 : looks_into && path[2] == "groups" ? "by"
                                 : looks_into && path[2] == "series" ? "step"
                                                                     : "";
  const bool is_limited = !other.empty() || (looks_into && (path[2] == "sheds" || path[2] == "holders"));
  std::string known = is_limited ? "limit" : "";
  if (!other.empty()) known.append(" and ").append(other);
  for (const auto& [name, value] : target.query) {
    if (is_limited && (name == "limit" || (!other.empty() && name == other))) continue;
    return Error{ErrorCode::kValidation,
                 "'" + name + "' in the query of " + request.method + " " + shown_path(request.target) + ": " +
                     (request.method == "POST" ? "the body has all parameters"
                      : known.empty()          ? "there are no parameters"
                                               : (other.empty() ? "there is " : "there are ") + known),
                 nullptr};
  }
  return {};
}

std::optional<uint64_t> number_in(const std::string& text) {
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
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
    } else if (name != "limit") {
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
      : desk_{queues, clock, options.audit, options.series}, is_signed_(options.is_signed) {}

  bool matches(const HttpRequest& request) const override {
    const std::string_view target = request.target;
    return is_below(target, "/queues") || is_below(target, "/audit");
  }

  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    auto target = parse_target(request.target);
    if (!target) return tasks::refuse(target.error());
    const auto stray = stray_parameter(request, *target);
    std::unique_ptr<Exchange> exchange;
    if (request.method == "GET") exchange = look(*target);
    const bool posts = request.method == "POST" && target->segments.size() == 3 && target->segments[0] == "queues";
    if (posts) exchange = change(request, *target);
    if (request.method == "DELETE") exchange = remove(request, *target);
    if (!exchange) return not_there(request);
    return stray ? tasks::refuse(*stray) : std::move(exchange);
  }

 private:
  // Answers 405 with the methods that would find something there.
  std::unique_ptr<Exchange> not_there(HttpRequest& request) {
    auto target = parse_target(request.target);
    request.body.clear();
    const bool posts = target->segments.size() == 3 && target->segments[0] == "queues" && change(request, *target);
    target = parse_target(request.target);
    const bool gets = look(*target) != nullptr;
    target = parse_target(request.target);
    const std::string_view allowed = remove(request, *target) ? "GET, HEAD, DELETE" : allowed_methods(gets, posts);
    if (allowed.empty()) return tasks::refuse(no_such_path(request));
    return answer_with_response(method_not_allowed(request, allowed));
  }

  // Null if there is no such path.
  std::unique_ptr<Exchange> look(Target& target) {
    auto& path = target.segments;
    if (path[0] == "audit") {
      if (path.size() != 1) return nullptr;
      const auto limit = limit_of(target, 100, 10'000);
      return limit ? tasks::audit(desk_, std::move(target.query["queue"]), *limit) : tasks::refuse(limit.error());
    }
    if (path.size() == 1) return tasks::names(desk_);
    if (path.size() == 4 && path[2] == "tasks") return tasks::get(desk_, std::move(path[1]), std::move(path[3]));
    if (path.size() == 4 && path[2] == "jobs") return tasks::job(desk_, std::move(path[1]), path[3]);
    if (path.size() == 5 && path[2] == "tasks" && path[4] == "explain") {
      return tasks::explain(desk_, std::move(path[1]), std::move(path[3]));
    }
    if (path.size() != 3) return nullptr;
    if (path[2] == "policy") return tasks::policy(desk_, std::move(path[1]));
    if (path[2] == "jobs") return tasks::jobs(desk_, std::move(path[1]));
    if (path[2] == "stats") return tasks::stats(desk_, std::move(path[1]));
    if (path[2] == "backlog") return tasks::backlog(desk_, std::move(path[1]));
    if (path[2] == "tasks") {
      auto input = list_input(target);
      return input ? tasks::list(desk_, std::move(path[1]), std::move(*input)) : tasks::refuse(input.error());
    }
    if (path[2] == "sheds") {
      const auto limit = limit_of(target, 100, 10'000);
      return limit ? tasks::sheds(desk_, std::move(path[1]), *limit) : tasks::refuse(limit.error());
    }
    return view(target);
  }

  // The same: how a queue was and who uses it.
  std::unique_ptr<Exchange> view(Target& target) {
    auto& path = target.segments;
    if (path[2] == "series") {
      const std::string step = query_or(target, "step", "second");
      if (step != "second" && step != "minute") {
        return tasks::refuse(Error{ErrorCode::kValidation, "'step' must be second or minute", nullptr});
      }
      const bool by_minute = step == "minute";
      const auto most = static_cast<uint32_t>(by_minute ? QueueSeries::kMinutes : QueueSeries::kSeconds);
      const auto limit = limit_of(target, by_minute ? most : 300, most);
      if (!limit) return tasks::refuse(limit.error());
      return tasks::series(desk_, std::move(path[1]), by_minute ? SeriesStep::kMinute : SeriesStep::kSecond, *limit);
    }
    if (path[2] != "groups" && path[2] != "holders") return nullptr;
    const auto limit = limit_of(target, 100, 1000);
    if (!limit) return tasks::refuse(limit.error());
    if (path[2] == "holders") return tasks::holders(desk_, std::move(path[1]), *limit);
    const std::string by = query_or(target, "by", "group");
    if (by != "group" && by != "key") {
      return tasks::refuse(Error{ErrorCode::kValidation, "'by' must be group or key", nullptr});
    }
    return tasks::shares(desk_, std::move(path[1]), {by == "key", *limit});
  }

  // The same.
  std::unique_ptr<Exchange> change(const HttpRequest& request, Target& target) {
    // One document for each I/O thread: parsing again reuses its memory.
    thread_local JsonDocument document;
    const std::string& what = target.segments[2];
    const auto body = document.parse(request.body.empty() ? std::string_view("{}") : request.body);
    if (!body) return tasks::refuse(body.error());
    if (what == "tasks") return start(target, tasks::read_create(*body), tasks::create);
    if (what == "take") return start(target, tasks::read_take(*body), tasks::take);
    if (what == "settle") return start(target, tasks::read_settle(*body), tasks::settle);
    if (what == "cancel") return start(target, tasks::read_cancel(*body), tasks::cancel);
    if (what == "redrive") return start(target, tasks::read_redrive(*body), tasks::redrive);
    if (what == "policy") return start(request, target, tasks::read_policy(*body), tasks::change_policy);
    if (what == "pause") return start(request, target, tasks::read_pause(*body), tasks::pause);
    if (what == "resume") return start(request, target, tasks::read_resume(*body), tasks::resume);
    if (what == "jobs") return start(request, target, tasks::read_job(*body), tasks::start_job);
    return nullptr;
  }

  // The same.
  std::unique_ptr<Exchange> remove(const HttpRequest& request, Target& target) {
    auto& path = target.segments;
    if (path.size() != 4 || path[0] != "queues" || path[2] != "jobs") return nullptr;
    return tasks::stop_job(desk_, std::move(path[1]), path[3], actor_of(request, is_signed_));
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
  return std::make_unique<TaskRoute>(queues, clock, options);
}

}  // namespace freshet
