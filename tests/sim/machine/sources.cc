#include "tests/sim/machine/sources.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/check.h"
#include "tests/sim/source_dir.h"

namespace freshet::sim {

namespace {

constexpr int kFolder = 500;  // Its file descriptor: no other one comes near.

bool is_open = false;

}  // namespace

bool set_sources(const std::string& folder) {
  const int opened = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return false;
  is_open = ::dup3(opened, kFolder, O_CLOEXEC) == kFolder;
  ::close(opened);
  return is_open;
}

const std::string& sources() {
  static const std::string path = "/proc/self/fd/" + std::to_string(kFolder);
  FRESHET_CHECK(is_open || set_sources(source_dir()), "the sources are not where the program was built");
  return path;
}

}  // namespace freshet::sim
