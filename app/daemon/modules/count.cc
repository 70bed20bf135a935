#include "app/daemon/modules.h"
#include "functions/register.h"

namespace freshet {
namespace {

class CountModule final : public Module {
 public:
  Result<void> support(DaemonParts& parts) override {
    register_count_functions(parts.natives, parts.log);
    return {};
  }
};

}  // namespace

ModuleKind count_module() {
  return {"count", make_module<CountModule>};
}

}  // namespace freshet
