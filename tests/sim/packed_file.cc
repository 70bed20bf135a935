#include "tests/sim/packed_file.h"

#include <zlib.h>

#include "base/check.h"

namespace freshet {

std::string unpacked_file(const std::filesystem::path& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  FRESHET_CHECK(file != nullptr, "a packed file can be opened");
  std::string bytes(1u << 20, '\0');
  size_t used = 0;
  for (int n = 1; n > 0; used += static_cast<size_t>(n)) {
    if (used == bytes.size()) bytes.resize(2 * used);
    n = gzread(file, bytes.data() + used, static_cast<unsigned>(bytes.size() - used));
    FRESHET_CHECK(n >= 0, "a packed file is whole");
  }
  gzclose(file);
  bytes.resize(used);
  return bytes;
}

}  // namespace freshet
