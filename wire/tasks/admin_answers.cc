#include "wire/tasks/admin_answers.h"

#include <algorithm>
#include <string_view>

#include "tables/value/json.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"

namespace freshet::tasks {

namespace {

void append_pause(std::string& out, const Pause& pause) {
  JsonObject json(out);
  json.text("of", pause_kind_name(pause.of));
  json.text_if("name", pause.name);
  json.number("since", epoch_ms(pause.since));
  if (pause.until) json.number("until", epoch_ms(*pause.until));
  json.text_if("by", pause.by);
  json.text_if("reason", pause.reason);
}

void append_job(std::string& out, const BulkJob& job) {
  JsonObject json(out);
  json.number("id", job.id);
  json.text("do", action_name(job.input.action));
  json.text("phase", phase_name(job.phase));
  json.texts("states", job.input.states);
  if (!job.input.where.empty()) {
    JsonObject where(json.raw("where"));
    for (const auto& [name, value] : job.input.where) where.text(name, value);
  }
  if (job.named > 0) json.number("named", job.named);
  if (!job.to_change.empty()) json.texts("set", job.to_change);
  json.text_if("batch", job.input.batch);
  if (job.input.older_than) json.number("olderThanMs", job.input.older_than->count());
  if (job.input.limit) json.number("limit", *job.input.limit);
  if (job.input.dry_run) json.flag("dryRun", true);
  json.number("looked", job.looked);
  json.number("matched", job.matched);
  json.number("changed", job.changed);
  json.number("moved", job.moved);
  json.number("failed", job.failed);
  if (job.copied > 0) json.number("copied", job.copied);
  json.text_if("error", job.error);
  if (job.example) append_plain_json(json.raw("example"), job.example);
  json.text("by", job.actor.who);
  json.number("began", epoch_ms(job.began));
  if (job.ended) json.number("ended", epoch_ms(*job.ended));
}

uint64_t depth_of(const QueueStats& stats, std::string_view state) {
  const auto found = stats.depth.find(std::string(state));
  return found == stats.depth.end() ? 0 : found->second;
}

void append_summary(std::string& out, const QueueSummary& queue, WallTime now) {
  JsonObject json(out);
  json.text("name", queue.name);
  if (!queue.stats) {
    json.text("state", "not there");
    json.text("error", queue.stats.error().message);
    return;
  }
  const QueueStats& stats = *queue.stats;
  json.text("state", stats.state);
  json.number("pending", depth_of(stats, "PENDING"));
  json.number("taken", depth_of(stats, "TAKEN"));
  json.number("delayed", depth_of(stats, "DELAYED"));
  json.number("dead", depth_of(stats, "DEAD"));
  // The clock may have been set back.
  if (stats.oldest) json.number("oldestAgeMs", std::max<int64_t>(0, (now - *stats.oldest).count()));
  if (stats.newest) json.number("newestAgeMs", std::max<int64_t>(0, (now - *stats.newest).count()));
  json.text("runner", stats.runner);
  const auto rate = queue.policy.find("RATE_LIMIT");
  if (rate != queue.policy.end()) json.text("rateLimit", rate->second);
  if (!stats.pauses.empty()) append_pauses(json.raw("pauses"), stats.pauses);
  json.flag("booksBalance", stats.balanced);
  append_in_time(json.raw("lastMinute"), stats.in_time.last_minute);
  {
    JsonObject shed(json.raw("shedLastMinute"));
    for (const auto& [reason, count] : queue.shed) shed.number(reason, count);
  }
  std::string& limits = json.raw("now") += R"({"running":)" + std::to_string(stats.running);
  append_limits(limits, stats);
  append_trouble(limits, stats, now);
  limits += '}';
}

}  // namespace

void append_pauses(std::string& out, const std::vector<Pause>& pauses) {
  out += '[';
  for (size_t i = 0; i < pauses.size(); ++i) {
    if (i > 0) out += ',';
    append_pause(out, pauses[i]);
  }
  out += ']';
}

std::string queues_json(const std::vector<std::string>& names, const std::vector<QueueSummary>& queues, WallTime now) {
  std::string out;
  {
    JsonObject json(out);
    json.texts("queues", names);
    std::string& list = json.raw("details") += '[';
    for (size_t i = 0; i < queues.size(); ++i) {
      if (i > 0) list += ',';
      append_summary(list, queues[i], now);
    }
    list += ']';
  }
  return out;
}

std::string part_json(Pause::Of of, const std::string& name) {
  std::string out;
  {
    JsonObject json(out);
    json.text("of", pause_kind_name(of));
    json.text_if("name", name);
  }
  return out;
}

std::string pause_json(const Pause& pause) {
  std::string out;
  append_pause(out, pause);
  return out;
}

std::string job_json(const BulkJob& job) {
  std::string out;
  append_job(out, job);
  return out;
}

std::string jobs_json(const std::vector<BulkJob>& jobs) {
  std::string out = R"({"jobs":[)";
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0) out += ',';
    append_job(out, jobs[i]);
  }
  return out += "]}";
}

std::string audit_json(const std::vector<ItemRef>& lines) {
  std::string out = R"({"lines":[)";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += ',';
    append_plain_json(out, lines[i]);
  }
  return out += "]}";
}

}  // namespace freshet::tasks
