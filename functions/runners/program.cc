#include "functions/runners/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace freshet {

namespace {

// An errno; 0: the file can be executed.
int trouble_with(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return errno;
  if (S_ISDIR(there.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

std::optional<std::string> cannot_start(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    const int error = trouble_with(program);
    if (error == 0) return std::nullopt;
    if (error == EACCES) return "'" + program + "' may not be executed";
    return "'" + program + "': " + std::strerror(error);
  }
  const char* set = std::getenv("PATH");
  const std::string folders = set != nullptr ? set : "/bin:/usr/bin";
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    const std::string folder = end == at ? "." : folders.substr(at, end - at);
    if (trouble_with(folder + "/" + program) == 0) return std::nullopt;
    at = end + 1;
  }
  return "program '" + program + "' was not found in the daemon's PATH";
}

}  // namespace freshet
