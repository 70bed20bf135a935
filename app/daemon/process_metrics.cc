#include "app/daemon/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>

#include "app/daemon/metrics_text.h"

namespace freshet {
namespace {

// proc(5) numbers the fields from 1. What stands behind the name, which is in parentheses, begins with the third.
constexpr size_t kFirstField = 3;
constexpr size_t kUserTicks = 14;
constexpr size_t kSystemTicks = 15;
constexpr size_t kStartTicks = 22;
constexpr size_t kVirtualBytes = 23;
constexpr size_t kResidentPages = 24;

std::optional<uint64_t> number_of(std::string_view word) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end == word.data()) return std::nullopt;
  return number;
}

std::string text_of_file(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<uint64_t> open_files() {
  constexpr const char* kFolder = "/proc/self/fd";
  // Since Linux 6.2 the folder's size is their number: with many of them that is much faster than reading it.
  struct stat about {};
  if (stat(kFolder, &about) == 0 && about.st_size > 0) return static_cast<uint64_t>(about.st_size);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(kFolder), closedir);
  if (!folder) return std::nullopt;
  uint64_t count = 0;
  while (const dirent* entry = readdir(folder.get())) count += entry->d_name[0] != '.';
  return count - 1;  // The folder itself was open.
}

std::optional<ProcessUse> own_use() {
  const auto boot_time = parse_boot_time(text_of_file("/proc/stat"));
  SystemUnits units;
  units.boot_seconds = boot_time.value_or(0);
  units.ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  units.page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return parse_process_stat(text_of_file("/proc/self/stat"), units);
}

}  // namespace

std::optional<ProcessUse> parse_process_stat(std::string_view text, const SystemUnits& units) {
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  std::array<uint64_t, kResidentPages + 1> fields{};
  size_t at = name_end + 2;
  for (size_t field = kFirstField; field <= kResidentPages; ++field) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const bool wanted = field == kUserTicks || field == kSystemTicks || field >= kStartTicks;
    if (wanted) {
      const auto number = number_of(text.substr(at, end - at));
      if (!number) return std::nullopt;
      fields[field] = *number;
    }
    at = std::min(end + 1, text.size());
  }
  ProcessUse out;
  out.cpu_seconds = static_cast<double>(fields[kUserTicks] + fields[kSystemTicks]) / units.ticks_a_second;
  out.start_seconds = units.boot_seconds + static_cast<double>(fields[kStartTicks]) / units.ticks_a_second;
  out.virtual_bytes = fields[kVirtualBytes];
  out.resident_bytes = fields[kResidentPages] * units.page_bytes;
  return out;
}

std::optional<double> parse_boot_time(std::string_view text) {
  constexpr std::string_view kName = "\nbtime ";
  const size_t at = text.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const auto number = number_of(text.substr(at + kName.size()));
  if (!number) return std::nullopt;
  return static_cast<double>(*number);
}

void append_process(std::string& page) {
  const auto append = [&](const char* name, const char* type, const char* help, double value) {
    append_family(page, name, help, type);
    append_sample(page, name, {}, value);
  };
  const auto gauge = [&](const char* name, const char* help, double value) { append(name, "gauge", help, value); };
  if (const auto use = own_use()) {
    append("process_cpu_seconds_total", "counter", "Processor time of the daemon, user and system", use->cpu_seconds);
    gauge("process_start_time_seconds", "When the daemon started, since the epoch", use->start_seconds);
    gauge("process_virtual_memory_bytes", "Virtual memory of the daemon", static_cast<double>(use->virtual_bytes));
    gauge("process_resident_memory_bytes", "Memory of the daemon that is in RAM",
          static_cast<double>(use->resident_bytes));
  }
  if (const auto files = open_files()) {
    gauge("process_open_fds", "File descriptors that the daemon has open", static_cast<double>(*files));
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    gauge("process_max_fds", "File descriptors that the daemon may have open", static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace freshet
