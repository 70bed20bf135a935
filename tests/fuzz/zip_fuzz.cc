// ZIP archives, as clients upload functions' code: nothing that comes out may leave its folder or exceed its limit.
//
// An input is an archive.
#include "wire/lambda/zip.h"

#include <set>

#include "tests/fuzz/target.h"

namespace freshet::fuzz {
namespace {

constexpr uint64_t kLimit = 1u << 20;

// A name that a file system may hold, within the root of the archive.
void check_name(const std::string& name) {
  require(!name.empty() && name.front() != '/' && name.find('\0') == std::string::npos, "a name", name);
  for (const std::string_view part : split(name, "/")) {
    require(!part.empty() && part != "." && part != ".." && part.size() <= 255, "a part of a name", name);
  }
}

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet;
  using namespace freshet::fuzz;
  uint64_t total = 0;
  std::set<std::string> names;
  const auto done = unzip(as_text(data, size), kLimit, [&](const ZipEntry& entry, const std::string& bytes) {
    check_name(entry.name);
    require(entry.folder || names.insert(entry.name).second, "one file twice", entry.name);
    require(!entry.folder || bytes.empty(), "a folder with content", entry.name);
    total += bytes.size();
    return Result<void>{};
  });
  require(total <= kLimit, "more bytes than the limit");
  require(done.has_value() || !done.error().message.empty(), "an error without a message");
  return 0;
}
