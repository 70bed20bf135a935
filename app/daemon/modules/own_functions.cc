#include "app/daemon/modules.h"
#include "functions/register.h"

namespace freshet {
namespace {

class OwnFunctionsModule final : public Module {
 public:
  Result<void> support(DaemonParts& parts) override {
    register_own_functions(parts.natives);
    return {};
  }
};

}  // namespace

ModuleKind own_functions_module() {
  return {"own functions", make_module<OwnFunctionsModule>};
}

}  // namespace freshet
