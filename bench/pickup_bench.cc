// How soon a task's handler starts: from the first byte of the create request to the handler having its request,
// through the daemon with sync on, one task at a time; and between the tasks, what an fdatasync of 4 KB costs on the
// same disk.
//
//   pickup_bench FRESHET_BINARY TEMPLATE DIR [TASKS=1000]
//
// The handler is an HTTP endpoint in this process, so that what is measured is a little more than what a native
// handler sees: one request over loopback besides. Wanted: a median of at most four syncs and 200 us.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/rivals/socket.h"

extern char** environ;

namespace {

using Steady = std::chrono::steady_clock;
using freshet::rivals::Socket;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "pickup_bench: %s\n", why.c_str());
  std::exit(1);
}

double micros(Steady::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values.at(static_cast<size_t>(q * static_cast<double>(values.size() - 1)));
}

// Says "done" to every task at once and notes when it came. One connection at a time is enough for one task at a time.
class Handler {
 public:
  Handler() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      die("cannot listen on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    std::thread([this] { accept_all(); }).detach();
  }
  int port() const { return port_; }
  // When the next task came. Each is asked for once, in order.
  Steady::time_point next() {
    if (!came_.try_acquire_for(std::chrono::seconds(10))) die("a task did not start within 10 s");
    return last_.load();
  }

 private:
  void accept_all() {
    for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      std::thread([this, fd] { serve(fd); }).detach();
    }
  }
  // A task of this bench fits into one read.
  void serve(int fd) {
    static constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    std::array<char, 16384> buffer;
    while (recv(fd, buffer.data(), buffer.size(), 0) > 0) {
      last_ = Steady::now();
      came_.release();
      if (send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL) < 0) break;
    }
    close(fd);
  }

  const int listener_;
  int port_ = 0;
  std::counting_semaphore<> came_{0};
  std::atomic<Steady::time_point> last_;
};

class Daemon {
 public:
  Daemon(const std::string& binary, const std::string& config, const std::string& dir, int handler_port) {
    const std::string ready = dir + "/ready";
    const std::string runner =
        "ProcessTasksFunction.TASK_RUNNER=http://127.0.0.1:" + std::to_string(handler_port) + "/";
    std::vector<std::string> words = {binary,   "run",          config,     "--set",       runner,
                                      "--data", dir + "/store", "--listen", "127.0.0.1:0", "--ready-file",
                                      ready,    "--log-level",  "warn"};
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (posix_spawn(&pid_, binary.c_str(), nullptr, nullptr, argv.data(), environ) != 0) die("cannot start " + binary);
    while (!std::filesystem::exists(ready)) {
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) die("the daemon did not start");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::string url;
    std::ifstream(ready) >> url;
    port_ = std::atoi(url.substr(url.rfind(':') + 1).c_str());
  }
  ~Daemon() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  int port() const { return port_; }

 private:
  pid_t pid_ = 0;
  int port_ = 0;
};

// Appends 4 KB to a file that has its space already, as a log does.
class Disk {
 public:
  explicit Disk(const std::string& dir) : fd_(open((dir + "/disk").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) {
    const std::string zeros(16u << 20, '\0');
    if (fd_ < 0 || write(fd_, zeros.data(), zeros.size()) < 0 || fsync(fd_) != 0) die("cannot write to " + dir);
  }
  ~Disk() { close(fd_); }
  double sync() {
    const std::string page(4096, 'x');
    const auto begin = Steady::now();
    if (pwrite(fd_, page.data(), page.size(), at_) < 0 || fdatasync(fd_) != 0) die("cannot sync");
    at_ = (at_ + 4096) % (16 << 20);
    return micros(Steady::now() - begin);
  }

 private:
  const int fd_;
  off_t at_ = 0;
};

void create(Socket& socket, uint64_t number) {
  const std::string body = R"({"payload":"task )" + std::to_string(number) + "\"}";
  socket.send(
      "POST /queues/QueueTable/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  size_t length = 0;
  if (socket.read_line().find(" 200 ") == std::string::npos) die("a create was refused");
  for (std::string line = socket.read_line(); !line.empty(); line = socket.read_line()) {
    if (strncasecmp(line.c_str(), "content-length:", 15) == 0) length = std::strtoull(line.c_str() + 15, nullptr, 10);
  }
  socket.read_bytes(length);
}

void report(const char* name, const std::vector<double>& values) {
  std::printf("%-34s p50 %7.0f us   p90 %7.0f us   p99 %7.0f us\n", name, quantile(values, 0.5), quantile(values, 0.9),
              quantile(values, 0.99));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) die("usage: pickup_bench FRESHET_BINARY TEMPLATE DIR [TASKS=1000]");
  const std::string dir = argv[3];
  const uint64_t tasks = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1000;
  std::filesystem::create_directories(dir);
  Handler handler;
  const Daemon daemon(argv[1], argv[2], dir, handler.port());
  Disk disk(dir);
  Socket socket(daemon.port());
  std::vector<double> answers, starts, syncs;
  const uint64_t warm_up = tasks / 10;
  for (uint64_t i = 0; i < warm_up + tasks; ++i) {
    const auto begin = Steady::now();
    create(socket, i);
    const auto answered = Steady::now();
    const auto started = handler.next();
    // The completion is written and synced before the next task comes.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const double sync = disk.sync();
    if (i < warm_up) continue;
    answers.push_back(micros(answered - begin));
    starts.push_back(micros(started - begin));
    syncs.push_back(sync);
  }
  report("fdatasync of 4 KB", syncs);
  report("create -> answer", answers);
  report("create -> handler start", starts);
  const double bound = 4 * quantile(syncs, 0.5) + 200;
  std::printf("wanted: p50 of at most 4 syncs + 200 us = %.0f us; reached: %.2f of it\n", bound,
              quantile(starts, 0.5) / bound);
}
