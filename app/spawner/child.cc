#include "app/spawner/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "app/spawner/descendants.h"

namespace freshet::spawner {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
  ~Pipe() {
    if (read >= 0) close(read);
    if (write >= 0) close(write);
  }
  bool open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return false;
    read = fds[0];
    write = fds[1];
    return true;
  }
};

// argv and envp as execvpe wants them; the strings must outlive the vector.
std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const auto& s : strings) result.push_back(const_cast<char*>(s.c_str()));
  result.push_back(nullptr);
  return result;
}

// In the forked child: only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, char* const* envp, const char* directory, const Pipe& in, const Pipe& out,
                         const Pipe& err, int report) {
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  dup2(in.read, STDIN_FILENO);
  dup2(out.write, STDOUT_FILENO);
  dup2(err.write, STDERR_FILENO);
  if (*directory == '\0' || chdir(directory) == 0) execvpe(argv[0], argv, envp);
  const int why = errno;
  [[maybe_unused]] const auto n = write(report, &why, sizeof why);
  _exit(127);
}

// Errors that say something of the machine at this moment, and nothing of the program.
bool passes(int why) {
  return why == EAGAIN || why == ENOMEM || why == EMFILE || why == ENFILE || why == ETXTBSY;
}

void set_nonblocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

// Reads what is there; keeps at most `limit` bytes in all and drops the rest. Closes `fd` at the end of the pipe.
void drain(int& fd, std::string& into, size_t limit) {
  char buffer[16384];
  while (fd >= 0) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n > 0) {
      into.append(buffer, std::min(static_cast<size_t>(n), limit - std::min(limit, into.size())));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      close(std::exchange(fd, -1));
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

}  // namespace

std::optional<Child> Child::start(StartRequest request, Answer& refused) {
  Pipe in, out, err, report;
  const auto failed = [&](int why) {
    refused.start_error = "cannot start '" + request.spec.argv.at(0) + "': " + std::strerror(why);
    refused.try_again = passes(why);
    return std::nullopt;
  };
  if (!in.open() || !out.open() || !err.open() || !report.open()) return failed(errno);

  std::vector<std::string> environment;
  for (const auto& [name, value] : request.spec.environment) environment.push_back(name + "=" + value);
  environment.push_back(std::string(kRunVariable) + "=" + std::to_string(request.id));
  const auto argv = pointers(request.spec.argv);
  const auto envp = pointers(environment);

  const pid_t pid = fork();
  if (pid < 0) return failed(errno);
  if (pid == 0) become(argv.data(), envp.data(), request.spec.directory.c_str(), in, out, err, report.write);

  close(std::exchange(report.write, -1));
  int why = 0;
  if (read(report.read, &why, sizeof why) == sizeof why) {
    waitpid(pid, nullptr, 0);
    return failed(why);
  }
  Child child;
  child.id_ = request.id;
  child.pid_ = pid;
  child.input_ = std::exchange(in.write, -1);
  child.output_ = std::exchange(out.read, -1);
  child.error_output_ = std::exchange(err.read, -1);
  child.to_write_ = std::move(request.spec.input);
  child.max_output_ = request.spec.max_output;
  child.timeout_ = request.spec.timeout;
  for (const int fd : {child.input_, child.output_, child.error_output_}) set_nonblocking(fd);
  child.feed_input();
  return child;
}

Child::Child(Child&& other) noexcept
    : id_(other.id_),
      pid_(other.pid_),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      error_output_(std::exchange(other.error_output_, -1)),
      to_write_(std::move(other.to_write_)),
      max_output_(other.max_output_),
      timeout_(other.timeout_),
      result_(std::move(other.result_)) {}

Child::~Child() {
  for (const int fd : {input_, output_, error_output_}) {
    if (fd >= 0) close(fd);
  }
}

void Child::feed_input() {
  while (input_ >= 0 && !to_write_.empty()) {
    const ssize_t n = write(input_, to_write_.data(), to_write_.size());
    if (n > 0) {
      to_write_.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      break;  // The program does not want the rest.
    }
  }
  if (input_ >= 0) close(std::exchange(input_, -1));
}

void Child::read_output() {
  drain(output_, result_.output, max_output_);
  drain(error_output_, result_.error_output, max_output_);
}

Answer Child::finish(int wait_status) {
  read_output();
  if (WIFEXITED(wait_status)) result_.exit_status = WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) result_.signal = WTERMSIG(wait_status);
  return Answer{id_, "", false, std::move(result_)};
}

}  // namespace freshet::spawner
