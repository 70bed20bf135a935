#include "app/spawner/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
};

// Field 4 of /proc/PID/stat (proc(5)); the name in field 2 may hold anything, so look behind its last ')'.
bool read_stat(pid_t pid, Process& process) {
  const int fd = open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[1024];
  // ESRCH if it ended meanwhile; a stream would throw.
  const ssize_t size = read(fd, text, sizeof text);
  close(fd);
  if (size <= 0) return false;
  const std::string line(text, static_cast<size_t>(size));
  const auto end = line.rfind(')');
  if (end == std::string::npos || end + 4 >= line.size()) return false;
  process = {pid, static_cast<pid_t>(std::atol(line.c_str() + end + 4))};
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

// Until a child ends, at most so long.
void wait_for_child(long most_ms) {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  const timespec most{0, most_ms * 1'000'000};
  sigtimedwait(&child_ended, nullptr, &most);
}

}  // namespace

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
