// Metrics of the daemon's own process, which every Prometheus exporter shows as `process_*`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace freshet {

struct ProcessUse {
  double cpu_seconds = 0;
  double start_seconds = 0;  // Since the epoch.
  uint64_t virtual_bytes = 0;
  uint64_t resident_bytes = 0;
};

// The units of the kernel's numbers.
struct SystemUnits {
  double boot_seconds = 0;  // When the machine was started, since the epoch: `btime` of /proc/stat.
  double ticks_a_second = 100;
  uint64_t page_bytes = 4096;
};

// Parses the text of /proc/PID/stat, in which the program's name may contain any character. Empty for any other text.
std::optional<ProcessUse> parse_process_stat(std::string_view text, const SystemUnits& units);
// Reads the line `btime` of the text of /proc/stat. Empty if there is none.
std::optional<double> parse_boot_time(std::string_view text);

// Appends the current values of this process. Leaves out those that the system does not provide.
void append_process(std::string& page);

}  // namespace freshet
