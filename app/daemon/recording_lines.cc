#include "app/daemon/recording_lines.h"

#include <fmt/format.h>

#include "wire/tasks/json_object.h"

namespace freshet {
namespace {

std::string_view name_of(TaskStage stage) {
  return kTaskStageNames[static_cast<size_t>(stage)];
}

void append_number(JsonObject& json, std::string_view name, double value) {
  json.raw(name) += fmt::format("{}", value);
}

void append_settings(JsonObject& json, const QueuePolicy& policy) {
  JsonObject settings(json.raw("policy"));
  for (const auto& [name, value] : policy) settings.text(name, value);
}

void append_about(JsonObject& json, const RecordedTask& task) {
  JsonObject about(json.raw("about"));
  if (task.due_in) {
    about.number("dueInMs", task.due_in->count());
    about.text("dueBy", task.due_by_ttl ? "ttl" : "deadline");
  }
  if (task.delay) about.number("delayMs", task.delay->count());
  if (task.age) about.number("ageMs", task.age->count());
  about.text_if("group", task.group);
  about.text_if("key", task.key);
  if (task.replaces) about.flag("replaces", true);
  if (task.priority != 0) about.number("priority", task.priority);
  if (task.max_attempts != 0) about.number("maxAttempts", task.max_attempts);
  if (task.cost) append_number(about, "cost", *task.cost);
}

void append_move(JsonObject& json, const RecordedMove& move) {
  json.number("task", move.task);
  json.text_if("from", name_of(move.from));
  json.text_if("to", name_of(move.to));
  if (move.pulled) json.flag("pulled", true);
  if (move.given_back) json.flag("givenBack", true);
  if (move.by_ttl) json.flag("byTtl", true);
  if (move.replaced) json.flag("replaced", true);
  json.text_if("because", kShedBecauseNames[static_cast<size_t>(move.because)]);
  if (move.cost) append_number(json, "cost", *move.cost);
  if (move.about) append_about(json, *move.about);
}

}  // namespace

void append_head(std::string& out, const RecordingHead& head) {
  {
    JsonObject json(out);
    json.text("freshet", "recording");
    json.number("version", 1);
    json.text("queue", head.queue);
    json.number("from", epoch_ms(head.from));
    json.number("to", epoch_ms(head.to));
    json.flag("forgot", head.forgot);
    append_settings(json, *head.policy);
  }
  out += '\n';
}

void append_policy(std::string& out, const PolicyChange& change) {
  {
    JsonObject json(out);
    json.number("at", epoch_ms(change.at));
    append_settings(json, *change.policy);
  }
  out += '\n';
}

void append_pause(std::string& out, const PauseChange& change) {
  {
    JsonObject json(out);
    json.number("at", epoch_ms(change.at));
    json.text(change.paused ? "paused" : "resumed", pause_kind_name(change.of));
    json.text_if("name", change.name);
  }
  out += '\n';
}

void append_event(std::string& out, WallTime at, const RecordedEvent& event) {
  {
    JsonObject json(out);
    json.number("at", epoch_ms(at));
    switch (event.kind) {
      case RecordedEvent::Kind::kMove:
        append_move(json, event.move);
        break;
      case RecordedEvent::Kind::kLimits:
        append_number(json, "rateLimit", event.limits.rate_limit);
        json.number("concurrency", event.limits.concurrency);
        break;
      case RecordedEvent::Kind::kCount:
        json.text("count", kQueueFlowNames[static_cast<size_t>(event.count.flow)]);
        json.number("number", event.count.count);
        break;
      case RecordedEvent::Kind::kClockStep:
        json.number("clockStepMs", event.step.count());
        break;
    }
  }
  out += '\n';
}

void append_waiting(std::string& out, WallTime at, uint64_t task, TaskStage stage, const RecordedTask& about) {
  {
    JsonObject json(out);
    json.number("at", epoch_ms(at));
    json.number("task", task);
    json.text("waits", name_of(stage));
    append_about(json, about);
  }
  out += '\n';
}

}  // namespace freshet
