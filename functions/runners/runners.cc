#include "functions/queue/attributes.h"
#include "functions/runners/exec_runner.h"
#include "functions/runners/fake_runner.h"
#include "functions/runners/function_runner.h"
#include "functions/runners/http_runner.h"
#include "tables/value/json.h"

namespace freshet {

std::unique_ptr<Runner> make_runner(const RunnerSettings& settings, Services& services, std::string trace_id) {
  switch (settings.kind) {
    case RunnerSettings::Kind::kNone:
      return nullptr;
    case RunnerSettings::Kind::kFake:
      return std::make_unique<FakeRunner>(settings, services.scheduler);
    case RunnerSettings::Kind::kHttp:
      return std::make_unique<HttpRunner>(settings, services);
    case RunnerSettings::Kind::kExec:
      return std::make_unique<ExecRunner>(settings, services.spawner);
    case RunnerSettings::Kind::kFunction:
      return std::make_unique<FunctionRunner>(settings, services, std::move(trace_id));
  }
  return nullptr;
}

std::string place_of(const RunnerSettings& settings) {
  if (settings.kind == RunnerSettings::Kind::kHttp) return settings.url.substr(0, settings.url.find_first_of("?#"));
  if (settings.kind == RunnerSettings::Kind::kExec) return settings.argv.front();
  if (settings.kind == RunnerSettings::Kind::kFunction) return "function " + settings.function;
  return {};
}

std::string task_json(const ItemRef& task, std::string_view lease) {
  std::string out;
  append_plain_json(out, task);
  if (has(task, attribute::kLease)) return out;
  // Not claimed through the queue (tests, replay): the lease is reported all the same.
  out.pop_back();
  out += out.size() > 1 ? ",\"lease\":" : "\"lease\":";
  append_json_string(out, lease);
  return out += "}";
}

}  // namespace freshet
