#include "app/cli/shipped.h"

#include <filesystem>

namespace freshet::cli {

std::string shipped_path(const std::string& path, const std::string& shared) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path named(path);
  if (path.empty() || named.is_absolute() || fs::exists(named, error)) return path;
  const fs::path there = fs::path(shared) / named;
  return fs::is_regular_file(there, error) ? there.lexically_normal().string() : path;
}

std::string shipped_path(const std::string& path) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? path : shipped_path(path, program.parent_path().parent_path() / "share/freshet");
}

}  // namespace freshet::cli
