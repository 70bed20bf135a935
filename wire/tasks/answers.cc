#include "wire/tasks/answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/points.h"
#include "runtime/api/cancel_mark.h"
#include "runtime/api/retry_later.h"
#include "tables/value/json.h"
#include "wire/tasks/admin_answers.h"
#include "wire/tasks/json_object.h"

namespace freshet::tasks {
namespace {

void append_error(std::string& out, const Error& error) {
  out += R"({"code":)";
  append_json_string(out, error_name(error.code));
  out += R"(,"message":)";
  append_json_string(out, error.message);
  if (const auto later = std::dynamic_pointer_cast<const RetryLater>(error.detail)) {
    out += R"(,"retryAfterMs":)" + std::to_string(later->after.count());
  }
  out += '}';
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out += '"';
  out += name;
  out += "\":";
  append_json_string(out, value);
}

template <class Counts>
void append_counts(std::string& out, std::string_view name, const Counts& counts) {
  out += '"';
  out += name;
  out += "\":{";
  bool first = true;
  for (const auto& [key, count] : counts) {
    if (!first) out += ',';
    first = false;
    append_json_string(out, key);
    out += ':' + std::to_string(count);
  }
  out += '}';
}

void append_created(std::string& out, const Result<CreatedTask>& result) {
  if (!result) {
    out += R"({"error":)";
    append_error(out, result.error());
  } else {
    out += '{';
    append_member(out, "taskId", result->id);
    out += result->created ? R"(,"created":true)" : R"(,"created":false)";
  }
  out += '}';
}

void append_task_states(std::string& out, const std::vector<std::string>& ids,
                        const std::vector<Result<ItemRef>>& results) {
  out += '[';
  for (size_t i = 0; i < results.size(); ++i) {
    out += i == 0 ? "{" : ",{";
    append_member(out, "taskId", ids[i]);
    if (!results[i]) {
      out += R"(,"error":)";
      append_error(out, results[i].error());
    } else if (const auto status = results[i]->find("taskStatus")) {
      out += ',';
      append_member(out, "taskStatus", status->bytes());
    }
    if (results[i] && is_cancel_requested(*results[i])) out += R"(,"cancelRequested":true)";
    out += '}';
  }
  out += ']';
}

void append_life(std::string& out, const std::vector<LifeEvent>& life) {
  out += '[';
  for (const auto& event : life) {
    if (&event != life.data()) out += ',';
    JsonObject json(out);
    if (event.at) json.number("at", epoch_ms(*event.at));
    json.text("code", event.what.code);
    json.text("message", event.what.message);
  }
  out += ']';
}

// As sentences, and with their codes.
void append_reasons(JsonObject& json, const std::vector<Reason>& reasons) {
  std::vector<std::string> sentences;
  for (const auto& reason : reasons) sentences.push_back(reason.message);
  json.texts("why", sentences);
  std::string& out = json.raw("reasons") += '[';
  for (const auto& reason : reasons) {
    if (&reason != reasons.data()) out += ',';
    JsonObject one(out);
    one.text("code", reason.code);
    one.text("message", reason.message);
  }
  out += ']';
}

void append_items(std::string& out, const std::vector<ItemRef>& items) {
  out += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    append_plain_json(out, items[i]);
  }
  out += ']';
}

}  // namespace

void append_in_time(std::string& out, const InTimeCounts& counts) {
  JsonObject json(out);
  json.number("ended", counts.ended());
  json.number("inTime", counts.in_time);
  json.number("withoutDeadline", counts.no_deadline);
  json.number("late", counts.late);
  json.number("failed", counts.failed);
  json.number("shed", counts.shed);
  json.number("refused", counts.refused);
  json.number("calls", counts.calls);
  json.number("wastedCalls", counts.wasted);
  if (const auto share = counts.share()) json.raw("inTimeShare") += fmt::format("{:.6g}", *share);
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kValidation:
    case ErrorCode::kSerialization:
      return 400;
    case ErrorCode::kAccessDenied:
      return 403;
    case ErrorCode::kNotFound:
    case ErrorCode::kResourceNotFound:
      return 404;
    case ErrorCode::kConflict:
    case ErrorCode::kConditionalCheckFailed:
      return 409;
    case ErrorCode::kRequestTooLarge:
      return 413;
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kThroughputExceeded:
    case ErrorCode::kLimitExceeded:
      return 429;
    case ErrorCode::kUnavailable:
    case ErrorCode::kUnknownOutcome:
      return 503;
    default:
      return 500;
  }
}

HttpResponse error_answer(const Error& error) {
  HttpResponse response;
  response.status = status_of(error.code);
  const auto later = std::dynamic_pointer_cast<const RetryLater>(error.detail);
  const auto wait = later ? std::chrono::ceil<seconds>(later->after) : seconds(1);
  const bool helps = error.code != ErrorCode::kLimitExceeded;  // To try again.
  if (helps && !FRESHET_PLANTED("no-retry-after") && (response.status == 429 || response.status == 503)) {
    response.headers.emplace_back("Retry-After", std::to_string(wait.count()));
  }
  response.body = R"({"error":)";
  append_error(response.body, error);
  response.body += "}\n";
  return response;
}

HttpResponse json_answer(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  response.body += '\n';
  return response;
}

std::string created_json(const std::vector<Result<CreatedTask>>& results, bool single) {
  std::string out;
  if (single) {
    append_created(out, results.at(0));
    return out;
  }
  out = R"({"results":[)";
  for (size_t i = 0; i < results.size(); ++i) {
    if (i > 0) out += ',';
    append_created(out, results[i]);
  }
  return out += "]}";
}

std::string taken_json(const std::vector<TakenTask>& tasks, const std::string* settled, const Error* refused) {
  std::string out = R"({"tasks":[)";
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0) out += ',';
    append_plain_json(out, tasks[i].task);  // Its `lease` attribute is the token.
  }
  out += ']';
  if (settled != nullptr) {
    out += R"(,"settled":)";
    out += *settled;
  }
  if (refused != nullptr) {
    out += R"(,"error":)";
    append_error(out, *refused);
  }
  return out += '}';
}

std::string settled_json(const std::vector<std::string>& ids, const std::vector<Result<ItemRef>>& results) {
  std::string out;
  append_task_states(out, ids, results);
  return out;
}

std::string cancelled_json(const std::vector<std::string>& ids, const std::vector<Result<ItemRef>>& results) {
  std::string out = R"({"results":)";
  append_task_states(out, ids, results);
  return out += '}';
}

std::string page_json(const TaskPage& page) {
  std::string out = R"({"tasks":)";
  append_items(out, page.tasks);
  if (!page.cursor.empty()) {
    out += ',';
    append_member(out, "cursor", page.cursor);
  }
  return out += ",\"looked\":" + std::to_string(page.looked) + "}";
}

void append_trouble(std::string& out, const QueueStats& stats, WallTime now) {
  if (const auto& trouble = stats.runner_trouble) {
    JsonObject json(out += R"(,"runnerTrouble":)");
    json.text_if("runner", trouble->runner);
    json.text("message", trouble->message);
    json.flag("reachable", trouble->reachable);
    json.number("bounces", trouble->bounces);
    json.number("sinceMs", std::max<int64_t>(0, (now - trouble->since).count()));
  }
}

void append_limits(std::string& out, const QueueStats& stats) {
  if (const auto& limit = stats.rate_limit) {
    out += R"(,"rateLimit":{"perSecond":)" + fmt::format("{:.4g}", limit->per_second) + R"(,"learnt":)" +
           (limit->learnt ? "true" : "false");
    if (limit->concurrency > 0) out += R"(,"concurrency":)" + std::to_string(limit->concurrency);
    if (limit->paused_ms > 0) out += R"(,"pausedMs":)" + std::to_string(limit->paused_ms);
    out += '}';
  }
  if (const auto& limit = stats.concurrency) {
    out += R"(,"concurrency":{"most":)" + std::to_string(limit->most) + R"(,"learnt":)" +
           (limit->learnt ? "true}" : "false}");
  }
}

void append_guard(std::string& out, const PolicyGuardState& guard) {
  JsonObject json(out);
  json.raw("points") += fmt::format("{:.4g}", guard.terms.points);
  json.number("withinMs", guard.terms.within.count());
  json.number("leftMs", guard.left.count());
  json.raw("inTimeBefore") += fmt::format("{:.4g}", guard.share_before);
  if (guard.share_now) json.raw("inTimeNow") += fmt::format("{:.4g}", *guard.share_now);
  json.raw("back") += policy_json(guard.back);
}

std::string stats_json(const QueueStats& stats, WallTime now) {
  std::string out = "{";
  append_counts(out, "depth", stats.depth);
  out += ',';
  append_counts(out, "bytes", stats.bytes);
  out += ',';
  append_counts(out, "flow", stats.flow);
  out += ',';
  append_counts(out, "shed", stats.shed);
  out += ",\"shedTotal\":" + std::to_string(stats.shed_total);
  const auto append_age = [&](const char* name, const std::optional<WallTime>& created) {
    if (!created) return;
    const auto age = std::max<int64_t>(0, (now - *created).count());  // The clock may have been set back.
    out += std::string(",\"") + name + "\":" + std::to_string(age);
  };
  append_age("newestAgeMs", stats.newest);
  append_age("oldestAgeMs", stats.oldest);
  append_trouble(out, stats, now);
  if (stats.clock_doubted) out += ",\"clockTrusted\":false";
  out += R"(,"state":")" + stats.state + '"';
  if (!stats.pauses.empty()) append_pauses(out += R"(,"pauses":)", stats.pauses);
  append_limits(out, stats);
  if (stats.guard) append_guard(out += R"(,"policyGuard":)", *stats.guard);
  if (const auto& limits = stats.key_limits) {
    out += R"(,"keyLimits":{"by":")" + limits->by + R"(","atLimit":)" + std::to_string(limits->at_limit) +
           ",\"known\":" + std::to_string(limits->known) + ",\"bytes\":" + std::to_string(limits->bytes) + "}";
  }
  append_in_time(out += ",\"lastMinute\":", stats.in_time.last_minute);
  append_in_time(out += ",\"sinceStart\":", stats.in_time.since_start);
  out += std::string(R"(,"booksBalance":)") + (stats.balanced ? "true" : "false");
  return out += ",\"running\":" + std::to_string(stats.running) + R"(,"runner":")" + stats.runner + "\"}";
}

std::string backlog_json(const QueueStats& stats) {
  const auto depth = [&](const char* state) {
    const auto found = stats.depth.find(state);
    return found == stats.depth.end() ? 0 : found->second;
  };
  std::string out;
  {
    JsonObject json(out);
    json.number("backlog", depth("PENDING") + depth("TAKEN"));
    json.number("waiting", depth("PENDING"));
    json.number("inWork", depth("TAKEN"));
  }
  return out;
}

std::string policy_json(const QueuePolicy& policy) {
  std::string out;
  {
    JsonObject json(out);
    for (const auto& [name, value] : policy) json.text(name, value);
  }
  return out;
}

std::string explanation_json(const Explanation& explanation) {
  std::string out;
  {
    JsonObject json(out);
    json.text("taskId", explanation.id);
    const auto time = [&json](const char* name, const std::optional<milliseconds>& value) {
      if (value) json.number(name, value->count());
    };
    time("ageMs", explanation.age);
    time("deadlineInMs", explanation.deadline_in);
    time("ttlInMs", explanation.ttl_in);
    json.number("depth", explanation.depth);
    if (explanation.ahead) json.number("ahead", *explanation.ahead);
    if (explanation.ahead_at_least) json.flag("aheadAtLeast", true);
    append_life(json.raw("life"), explanation.life);
    append_reasons(json, explanation.why);
    {
      JsonObject policy(json.raw("policy"));
      for (const auto& [name, value] : explanation.policy) policy.text(name, value);
    }
    append_items(json.raw("log"), explanation.log);
    if (explanation.task) append_plain_json(json.raw("task"), explanation.task);
  }
  return out;
}

std::string sheds_json(const std::vector<ItemRef>& lines, const QueueStats& stats) {
  std::string out = R"({"total":)" + std::to_string(stats.shed_total) + ",";
  append_counts(out, "byReason", stats.shed);
  out += R"(,"sheds":)";
  append_items(out, lines);
  return out += '}';
}

std::string names_json(const std::vector<std::string>& names, std::string_view member) {
  std::string out = "{";
  append_json_string(out, member);
  out += ":[";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, names[i]);
  }
  return out += "]}";
}

}  // namespace freshet::tasks
