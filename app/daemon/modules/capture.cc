#include "app/daemon/modules.h"
#include "app/daemon/world.h"
#include "functions/capture/captures.h"
#include "functions/register.h"
#include "wire/s3/object_client.h"

namespace freshet {
namespace {

class CaptureModule final : public Module {
 public:
  Result<void> support(DaemonParts& parts) override {
    parts_ = &parts;
    sync_ = parts.world.make_sync(parts.loop, [] {});
    objects_ = make_object_client(*parts.http, parts.loop);
    captures_ = std::make_unique<Captures>(
        CaptureParts{parts.world.files(), *sync_, parts.loop, *objects_, parts.log, &parts.metrics});
    register_capture_functions(parts.natives, *captures_);
    return {};
  }
  void begin() override { begin_captures(*captures_, parts_->runtime->functions()); }

 private:
  DaemonParts* parts_ = nullptr;
  std::unique_ptr<BackgroundSync> sync_;
  std::unique_ptr<ObjectStore> objects_;
  std::unique_ptr<Captures> captures_;
};

}  // namespace

ModuleKind capture_module() {
  return {"capture", make_module<CaptureModule>};
}

}  // namespace freshet
