// Base of the modules for priority queues and filtered queues. In a fleet, one daemon at a time serves each queue.
// Without a fleet, this daemon serves all.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/daemon/modules/defined_tables.h"
#include "app/fleet/queue_units.h"
#include "app/fleet/unit_kind.h"

namespace freshet {

template <class Tables, class Definition>
class FleetTablesModule : public DefinedTablesModule<Tables, Definition>, protected UnitKind {
  using Base = DefinedTablesModule<Tables, Definition>;

 public:
  using Base::Base;

  Async<Result<void>> start() override {
    auto starting = Base::start();
    auto started = co_await starting;
    if (started && units_ != nullptr) {
      const std::vector<std::string> names = this->tables_->names();
      units_->set_units(*this, std::set<std::string>(names.begin(), names.end()));
    }
    co_return started;
  }

 protected:
  // Call it in join(), once the tables are made.
  void join_fleet(DaemonParts& parts) {
    units_ = parts.fleet_units;
    if (units_ != nullptr) this->tables_->share();
  }
  void serve(const std::string& name, bool is_mine) override { this->tables_->serve(name, is_mine); }
  // Nothing is waited for: each change is one conditional write or transaction, so a late one fails, or is like one of
  // another client.
  bool is_busy(const std::string&) const override { return false; }

  QueueUnits* units_ = nullptr;  // Null without a fleet.
};

}  // namespace freshet
