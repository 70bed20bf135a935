#include "app/daemon/engine_tables.h"
#include "app/daemon/modules.h"
#include "app/fleet/queue_units.h"
#include "runtime/definitions/shared_definitions.h"
#include "tables/lease/definition_log.h"

namespace freshet {
namespace {

// Definitions that clients make at one daemon of a fleet hold at all. Without a fleet, the runtime keeps them to
// itself.
class DefinitionsModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    if (parts.fleet_units == nullptr) return {};
    parts_ = &parts;
    const auto announce = [&parts] {
      if (parts.fleet_units) parts.fleet_units->announce();
    };
    parts.runtime->share_definitions({engine_under(*parts.tables), announce, parts.definition_code});
    return {};
  }
  // A template's subscription may be to a topic that a client has made.
  Async<Result<void>> check() override {
    if (parts_ == nullptr) co_return Result<void>();
    auto provided = co_await provide_definitions_table(*parts_->tables);
    if (!provided) co_return provided;
    auto following = parts_->runtime->follow_definitions();
    co_return co_await following;
  }
  // Names that the template has given up may be the fleet's.
  Async<Result<void>> deployed(const PlannedDeployment&) override {
    if (parts_ == nullptr) return Result<void>();
    return parts_->runtime->follow_definitions();
  }
  Async<Result<void>> start() override {
    if (parts_ != nullptr) {
      parts_->fleet_units->watch_definitions(
          [runtime = parts_->runtime](uint64_t version) { runtime->definitions_are_at(version); });
    }
    return Result<void>();
  }
  Async<void> measure(Metrics& metrics, std::string&) override {
    if (parts_ != nullptr) {
      metrics.gauge("freshet_fleet_definitions_version", "Changes of definitions that this daemon has followed")
          .set(static_cast<double>(parts_->runtime->definitions_version()));
    }
    return {};
  }
  void leave() override {
    if (parts_ != nullptr) parts_->fleet_units->watch_definitions(nullptr);
  }

 private:
  DaemonParts* parts_ = nullptr;  // Null without a fleet.
};

}  // namespace

ModuleKind definitions_module() {
  return {"definitions", make_module<DefinitionsModule>};
}

}  // namespace freshet
