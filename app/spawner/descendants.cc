#include "app/spawner/descendants.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <vector>

namespace freshet::spawner {
namespace {

struct Process {
  pid_t pid;
  pid_t parent;
  char state;
};

// Fields 3 and 4 of /proc/PID/stat (proc(5)); the name in field 2 may hold anything, so look behind its last ')'.
bool read_stat(pid_t pid, Process& process) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line((std::istreambuf_iterator<char>(in)), {});
  const auto end = line.rfind(')');
  if (end == std::string::npos || end + 4 >= line.size()) return false;
  process = {pid, static_cast<pid_t>(std::atol(line.c_str() + end + 4)), line[end + 2]};
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

// Every living process below `root`, `root` not included.
std::set<pid_t> descendants_of(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& process : all_processes()) {
    if (process.state != 'Z') children.emplace(process.parent, process.pid);
  }
  std::set<pid_t> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto it = first; it != last; ++it) {
      if (found.insert(it->second).second) open.push_back(it->second);
    }
  }
  return found;
}

bool belongs_to(pid_t pid, const std::string& run) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  const std::string environment((std::istreambuf_iterator<char>(in)), {});
  const std::string marker = std::string(kRunVariable) + "=" + run + '\0';
  return environment.rfind(marker, 0) == 0 || environment.find('\0' + marker) != std::string::npos;
}

}  // namespace

void kill_run(const std::string& run, pid_t leader) {
  if (leader > 0) kill(-leader, SIGKILL);
  // A process may fork while we look, so look until nothing is found; SIGKILL works at once, so this ends.
  for (bool again = true; again;) {
    again = false;
    std::set<pid_t> below_leader;
    if (leader > 0) below_leader = descendants_of(leader);
    for (const pid_t pid : descendants_of(getpid())) {
      if (pid != leader && !below_leader.contains(pid) && !belongs_to(pid, run)) continue;
      again = true;
      kill(pid, SIGKILL);
    }
    if (leader > 0 && waitid(P_PID, static_cast<id_t>(leader), nullptr, WEXITED | WNOHANG | WNOWAIT) != 0) leader = 0;
  }
}

bool has_only_children(const std::set<pid_t>& known) {
  const std::string self = std::to_string(getpid());
  std::ifstream in("/proc/" + self + "/task/" + self + "/children");
  if (!in) return false;  // A kernel without that file: search.
  for (pid_t pid = 0; in >> pid;) {
    if (!known.contains(pid)) return false;
  }
  return true;
}

void kill_all_descendants() {
  for (;;) {
    for (const pid_t pid : descendants_of(getpid())) kill(pid, SIGKILL);
    if (waitpid(-1, nullptr, 0) < 0) return;  // ECHILD: a subreaper without children has no descendants.
  }
}

}  // namespace freshet::spawner
