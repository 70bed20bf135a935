#include "app/cli/serve_welcome.h"

#include <fmt/format.h>

#include "app/cli/serve_choices.h"
#include "base/duration_text.h"
#include "functions/late.h"

namespace freshet::cli {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:7070";

std::string setting(const ServedQueue& queue, const char* variable) {
  const auto found = queue.settings.find(variable);
  return found == queue.settings.end() ? std::string() : found->second;
}

// "POST http://…, 19 starts a second, 8 at once, 3 attempts".
std::string work_of(const ServedQueue& queue, const ProcessSettings& settings) {
  const RunnerSettings& runner = settings.runner;
  std::string out;
  if (queue.function) {
    out = "function " + queue.function->handler + " of " + queue.function->folder;
  } else if (runner.kind == RunnerKind::kHttp) {
    out = "POST " + runner.url;
  } else if (runner.kind == RunnerKind::kExec) {
    out = "program " + setting(queue, "TASK_RUNNER").substr(5);
  } else {
    out = "workers take tasks, each for " + duration_text(settings.queue.lease);
  }
  const std::string rate = setting(queue, "RATE_LIMIT");
  if (rate == "adaptive") out += ", as many starts a second as it allows (learnt)";
  if (!rate.empty() && rate != "adaptive" && rate != "0") out += ", " + rate + " starts a second";
  if (runner.kind != RunnerKind::kNone) {
    out += settings.queue.work.adaptive ? ", as many at once as it can take (learnt)"
                                        : fmt::format(", {} at once", settings.queue.work.concurrency);
  }
  return out + fmt::format(", {} attempt{}", settings.queue.max_attempts, settings.queue.max_attempts == 1 ? "" : "s");
}

// "the newest (--late fades: ORDER=lifo …). A task is shed if …".
std::string order_of(const ServedQueue& queue, const ProcessSettings& settings) {
  const Environment environment = with_late(queue.settings);
  const auto value = [&](const char* variable, const char* otherwise) {
    const auto found = environment.find(variable);
    return std::string(variable) + "=" + (found == environment.end() ? otherwise : found->second);
  };
  const std::string order = value("ORDER", "lifo");
  std::string out;
  for (const LatePolicy& policy : late_policies()) {
    if (order == "ORDER=" + std::string(policy.order)) out = policy.takes;
  }
  if (out.empty()) out = "the oldest";
  const std::string late = setting(queue, "LATE");
  out += " (" + (late.empty() ? "" : "--late " + late + ": ") + order + " " + value("DEADLINE_MARGIN", "off") + " " +
         value("REFUSE_LATE", "off") + ")";
  const auto& [deadline, ttl] = std::pair(settings.queue.default_deadline, settings.queue.default_ttl);
  if (deadline)
    return out + ". A task is shed if it has not started " + duration_text(*deadline) + " after its creation";
  if (settings.queue.order == Order::kDeadline) out += "; tasks that name no deadline come last";
  if (ttl) return out + ". A task is shed if nobody has started it in " + duration_text(*ttl);
  return out;
}

std::string keeper_of(const ServeWelcome& facts) {
  if (!facts.engine.empty()) return "Every task that is acknowledged is kept by the engine: " + facts.engine;
  if (facts.data == ":memory:") return "Nothing is kept.";
  return "Every task that is acknowledged is on disk: " + facts.data;
}

}  // namespace

std::string welcome_text(const ServedQueue& queue, const ServeWelcome& facts) {
  const auto settings = settings_of(queue);
  if (!settings) return settings.error().message + '\n';  // queue_of() has asked already.
  std::string options = " --queue " + queue.name;
  if (facts.url != kDefaultUrl) options += " --url " + facts.url;
  if (!facts.credentials.empty()) options += " --credentials " + shell_word(facts.credentials);
  if (!facts.ca.empty()) options += " --ca " + shell_word(facts.ca);
  std::string curl = "curl ";
  if (!facts.ca.empty()) curl += "--cacert " + shell_word(facts.ca) + " ";
  if (!facts.credentials.empty()) curl += "--aws-sigv4 aws:amz:" + facts.region + ":freshet --user ID:SECRET ";
  curl += facts.url + "/queues/" + queue.name;
  std::string out = queue.name + ": " + work_of(queue, *settings) + ". " + keeper_of(facts) + '\n';
  out += "next:  " + order_of(queue, *settings) + ".\n";
  out += "put:   " + curl + R"(/tasks -d '{"payload": {"to": "ada"}}')" + '\n';
  out += "   or: " + facts.program + R"( put '{"to": "ada"}')" + options + '\n';
  if (settings->runner.kind == RunnerKind::kNone) {
    out += "take:  " + curl + R"(/take -d '{"max": 10, "waitMs": 20000}')" + '\n';
  }
  return out + "watch: " + facts.program + " stats --watch 1" + options + '\n';
}

}  // namespace freshet::cli
