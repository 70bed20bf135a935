#include "app/daemon/modules.h"
#include "tables/value/json.h"
#include "wire/service/api_route.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"

namespace freshet {
namespace {

std::string schedules_json(const std::vector<ScheduleState>& all) {
  std::string out;
  {
    JsonObject json(out);
    std::string& list = json.raw("schedules") += '[';
    for (const ScheduleState& state : all) {
      if (&state != all.data()) list += ',';
      JsonObject one(list);
      one.text("name", state.definition.name);
      one.text("expression", state.definition.expression);
      one.text("function", state.definition.function);
      one.flag("enabled", state.definition.enabled);
      one.text_if("input", state.definition.input);
      if (state.last) one.number("last", epoch_ms(*state.last));
      if (state.next) one.number("next", epoch_ms(*state.next));
    }
    list += ']';
  }
  return out;
}

class SchedulesModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    return {};
  }
  void add_routes(Routes& routes) override {
    const auto answer = [this](const HttpRequest&) -> Async<HttpResponse> {
      return tasks::json_answer(schedules_json(parts_->runtime->schedule_states()));
    };
    routes.push_back(make_api_route(ApiCall::kSchedules, answer));
  }

 private:
  DaemonParts* parts_ = nullptr;
};

}  // namespace

ModuleKind schedules_module() {
  return {"schedules", make_module<SchedulesModule>};
}

}  // namespace freshet
