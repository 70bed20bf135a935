#include "app/cli/checks.h"

#include <algorithm>
#include <cmath>

#include "base/duration_text.h"
#include "base/number_text.h"

namespace freshet::cli {
namespace {

constexpr int64_t kAnyNumber = 4'294'967'295;  // A bound that nobody needs to know.

}  // namespace

Check whole(int64_t least, int64_t most) {
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  return {[=](const std::string& text) {
            int64_t number = 0;
            if (read_number_in(text, number) && number >= least && number <= most) return std::string();
            return "'" + text + "' is not a whole number from " + range;
          },
          most >= kAnyNumber ? std::to_string(least) + " or more" : range};
}

Check seed() {
  return {[](const std::string& text) {
            uint64_t number = 0;
            return read_number_in(text, number) ? std::string()
                                                : "'" + text + "' is not a whole number from 0 to 2^64 - 1";
          },
          {}};
}

Check above_zero() {
  return {[](const std::string& text) {
            double number = 0;
            if (read_number_in(text, number) && number > 0 && std::isfinite(number)) return std::string();
            return "'" + text + "' is not a number above 0";
          },
          "above 0"};
}

Check duration(std::chrono::milliseconds least, std::chrono::milliseconds most) {
  return {[=](const std::string& text) {
            const auto read = parse_duration(text, least, most);
            return read ? std::string() : read.error().message;
          },
          duration_text(least) + " to " + duration_text(most)};
}

Check some_seconds() {
  return {[](const std::string& text) {
            if (seconds_in(text) > 0) return std::string();
            if (parse_duration(text, std::chrono::milliseconds(1), std::chrono::milliseconds::max())) {
              return "'" + text + "' is out of range: it must be at most 366d";
            }
            return "'" + text + "' is not a number above 0 (of seconds), nor a duration like 500ms, 60s or 10m";
          },
          {}};
}

double seconds_in(const std::string& text) {
  double number = 0;
  if (read_number_in(text, number)) return number > 0 && std::isfinite(number) ? number : 0;
  const auto duration = parse_duration(text, std::chrono::milliseconds(1), std::chrono::hours(24 * 366));
  return duration ? std::chrono::duration<double>(*duration).count() : 0;
}

std::chrono::nanoseconds seconds_of(double seconds) {
  constexpr double kLongest = 1e9;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(std::min(seconds, kLongest)));
}

Check host_name() {
  return {[](const std::string& text) {
            if (text.find('/') != std::string::npos) {
              return "'" + text + "' is no host name: write it without http:// and path, like queue.example.com";
            }
            const bool has_port = std::count(text.begin(), text.end(), ':') == 1;
            return has_port ? "'" + text + "' names a port: write the host name alone" : std::string();
          },
          ""};
}

Check not_empty() {
  return {[](const std::string& text) { return text.empty() ? std::string("must not be empty") : std::string(); }, ""};
}

}  // namespace freshet::cli
