#include "app/cli/times.h"

#include <fmt/format.h>

#include <chrono>

namespace freshet::cli {

std::string age_text(int64_t milliseconds) {
  const double seconds = static_cast<double>(milliseconds) / 1000;
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 3 * 86400) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / 86400);
}

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace freshet::cli
