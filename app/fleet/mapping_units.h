// Event source mappings, which one daemon of a fleet at a time runs. The runtime outlives it. Loop thread.
#pragma once

#include <string>

#include "app/fleet/unit_kind.h"
#include "runtime/runtime.h"

namespace freshet {

class MappingUnits final : public UnitKind {
 public:
  explicit MappingUnits(Runtime& runtime) : runtime_(runtime) {}

  std::string_view kind() const override { return "mapping"; }
  void serve(const std::string& id, bool is_mine) override { runtime_.serve_mapping(id, is_mine); }
  // Until no batch is under way and its position is stored.
  bool is_busy(const std::string& id) const override { return runtime_.is_mapping_busy(id); }

 private:
  Runtime& runtime_;
};

}  // namespace freshet
