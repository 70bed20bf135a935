#include "app/daemon/modules.h"
#include "wire/dynamodb/route.h"

namespace freshet {
namespace {

class ItemStoreModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    return {};
  }
  void add_routes(Routes& routes) override {
    const Account& account = parts_->options.deploy.account;
    routes.push_back(make_dynamodb_route(*parts_->tables, parts_->loop.clock(),
                                         {account.region, account.id, parts_->random.next()}));
  }

 private:
  DaemonParts* parts_ = nullptr;
};

}  // namespace

ModuleKind item_store_module() {
  return {"item store", make_module<ItemStoreModule>};
}

}  // namespace freshet
