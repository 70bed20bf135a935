// The faults of a fleet that can be planted. tests/sim/planted.py checks that this list and the points of the product
// agree.
#include "tests/sim/machine/points.h"

namespace freshet::sim {

const std::vector<PlantedFault>& planted_faults() {
  static const std::vector<PlantedFault> all = {};
  return all;
}

}  // namespace freshet::sim
