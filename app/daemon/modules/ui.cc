#include "app/daemon/modules.h"
#include "app/ui/page_route.h"

namespace freshet {
namespace {

class UiModule final : public Module {
 public:
  void add_routes(Routes& routes) override { routes.push_back(ui::make_page_route()); }
};

}  // namespace

ModuleKind ui_module() {
  return {"ui", make_module<UiModule>};
}

}  // namespace freshet
