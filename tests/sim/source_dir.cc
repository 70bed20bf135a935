#include "tests/sim/source_dir.h"

namespace freshet {

std::string source_dir() {
  return FRESHET_SOURCE_DIR;
}

}  // namespace freshet
