#include "app/spawner/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace freshet::spawner {
namespace {

constexpr int kRounds = 100;
constexpr long kLongestWaitMs = 25;

struct Process {
  pid_t pid;
  pid_t parent;
  uint64_t threads;
};

// The start of a file in /proc/PID. Empty if it ended meanwhile (ESRCH); a stream would throw.
std::string read_about(pid_t pid, const char* file) {
  const int fd = open(("/proc/" + std::to_string(pid) + file).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[1024];
  const ssize_t size = read(fd, text, sizeof text);
  close(fd);
  return {text, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

// Fields 4 and 20 of /proc/PID/stat (proc(5)); the name in field 2 may hold anything, so look behind its last ')'.
bool read_stat(pid_t pid, Process& process) {
  const std::string line = read_about(pid, "/stat");
  const auto end = line.rfind(')');
  if (end == std::string::npos || end + 4 >= line.size()) return false;
  int parent = 0;
  unsigned long threads = 0;
  const char* fields = line.c_str() + end + 4;  // From the fourth on.
  if (std::sscanf(fields, "%d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu", &parent, &threads) <
      1) {
    return false;
  }
  process = {pid, parent, threads};
  return true;
}

std::vector<Process> all_processes() {
  std::vector<Process> found;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory)) {
    const auto pid = static_cast<pid_t>(std::atol(entry->d_name));
    Process process{};
    if (pid > 0 && read_stat(pid, process)) found.push_back(process);
  }
  closedir(directory);
  return found;
}

// Every process below `root`, `root` not included, but for `spared` and what is below them. Zombies are among them: one
// may have threads left, and a kill does no harm.
std::set<pid_t> descendants_of(pid_t root, const std::set<pid_t>& spared) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& process : all_processes()) children.emplace(process.parent, process.pid);
  std::set<pid_t> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto it = first; it != last; ++it) {
      if (!spared.contains(it->second) && found.insert(it->second).second) open.push_back(it->second);
    }
  }
  return found;
}

// Fields 2 and 3 of /proc/PID/statm: pages that are there, and those of them that have a file behind them or are
// shared.
uint64_t own_memory(pid_t pid) {
  unsigned long resident = 0;
  unsigned long shared = 0;
  if (std::sscanf(read_about(pid, "/statm").c_str(), "%*u %lu %lu", &resident, &shared) != 2) return 0;
  return (resident - std::min(resident, shared)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Until a child ends, at most so long.
void wait_for_child(long most_ms) {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  const timespec most{0, most_ms * 1'000'000};
  sigtimedwait(&child_ended, nullptr, &most);
}

}  // namespace

std::map<pid_t, Usage> usage_below(const std::set<pid_t>& roots) {
  std::map<pid_t, Process> processes;
  for (const auto& process : all_processes()) processes.emplace(process.pid, process);
  std::map<pid_t, Usage> usage;
  for (const auto& [pid, process] : processes) {
    // Parents may have changed while we looked: no more steps than there are processes.
    pid_t above = process.parent;
    for (size_t step = 0; step < processes.size() && above > 1 && !roots.contains(above); ++step) {
      const auto next = processes.find(above);
      above = next == processes.end() ? 0 : next->second.parent;
    }
    if (!roots.contains(above)) continue;
    usage[above].memory += own_memory(pid);
    usage[above].threads += process.threads;
  }
  return usage;
}

void kill_descendants_once(const std::set<pid_t>& spared, int (*kill)(pid_t, int)) {
  for (const pid_t pid : descendants_of(getpid(), spared)) kill(pid, SIGKILL);
}

bool end_descendants(const Reaped& reaped, int (*kill)(pid_t, int)) {
  for (int round = 0; round < kRounds; ++round) {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) reaped(pid, status);
    if (pid < 0) return true;  // ECHILD: a subreaper without children has no descendants.
    kill_descendants_once({}, kill);
    wait_for_child(std::min<long>(round + 1, kLongestWaitMs));
  }
  return false;
}

}  // namespace freshet::spawner
