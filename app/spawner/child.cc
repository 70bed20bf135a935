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

#include "app/spawner/keeper.h"

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

// Errors that say something of the machine at this moment, and nothing of the program.
bool passes(int why) {
  return why == EAGAIN || why == ENOMEM || why == EMFILE || why == ENFILE || why == ETXTBSY;
}

Answer not_started(uint64_t id, const std::string& name, int why) {
  return Answer{id, "cannot start '" + name + "': " + std::strerror(why), passes(why), {}};
}

void set_nonblocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

// Reads what is there, at most `most`; keeps at most `limit` bytes in all and drops the rest. Closes `fd` at the end of
// the pipe.
void drain(int& fd, std::string& into, size_t limit, size_t most) {
  char buffer[16384];
  for (size_t taken = 0; fd >= 0 && taken < most;) {
    const ssize_t n = read(fd, buffer, std::min(sizeof buffer, most - taken));
    if (n > 0) {
      taken += static_cast<size_t>(n);
      into.append(buffer, std::min(static_cast<size_t>(n), limit - std::min(limit, into.size())));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      close(std::exchange(fd, -1));
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

// How much a pipe may hold (F_SETPIPE_SZ, without privileges), and so how much can be there at one moment.
constexpr size_t kLargestPipe = 1u << 20;

}  // namespace

std::optional<Child> Child::start(StartRequest request, Answer& refused) {
  Pipe in, out, err, report;
  const auto failed = [&](int why) {
    refused = not_started(request.id, request.spec.argv.at(0), why);
    return std::nullopt;
  };
  if (!in.open() || !out.open() || !err.open() || !report.open()) return failed(errno);

  std::vector<std::string> environment;
  for (const auto& [name, value] : request.spec.environment) environment.push_back(name + "=" + value);
  const auto argv = pointers(request.spec.argv);
  const auto envp = pointers(environment);

  const Program program{argv.data(),  envp.data(),        request.spec.directory.c_str(), in.read, out.write, err.write,
                        report.write, request.spec.limits};
  const pid_t self = getpid();
  const pid_t keeper = fork();
  if (keeper < 0) return failed(errno);
  if (keeper == 0) keep(program, self);

  Child child;
  child.id_ = request.id;
  child.name_ = request.spec.argv.at(0);
  child.keeper_ = keeper;
  child.report_ = std::exchange(report.read, -1);
  child.input_ = std::exchange(in.write, -1);
  child.output_ = std::exchange(out.read, -1);
  child.error_output_ = std::exchange(err.read, -1);
  child.to_write_ = std::move(request.spec.input);
  child.max_output_ = request.spec.max_output;
  child.timeout_ = request.spec.timeout;
  child.follow_ = request.follow;
  child.memory_limit_ = request.spec.limits.memory;
  child.thread_limit_ = request.spec.limits.threads;
  for (const int fd : {child.input_, child.output_, child.error_output_, child.report_}) set_nonblocking(fd);
  child.feed_input();
  return child;
}

Child::Child(Child&& other) noexcept
    : id_(other.id_),
      name_(std::move(other.name_)),
      keeper_(other.keeper_),
      report_(std::exchange(other.report_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      error_output_(std::exchange(other.error_output_, -1)),
      to_write_(std::move(other.to_write_)),
      max_output_(other.max_output_),
      follow_(other.follow_),
      memory_limit_(other.memory_limit_),
      thread_limit_(other.thread_limit_),
      output_allowance_(other.output_allowance_),
      error_allowance_(other.error_allowance_),
      timeout_(other.timeout_),
      result_(std::move(other.result_)),
      all_ended_(other.all_ended_) {}

Child::~Child() {
  for (const int fd : {input_, output_, error_output_, report_}) {
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
  const size_t limit = follow_ ? kLargestPipe : max_output_;
  drain(output_, result_.output, limit, kLargestPipe);
  drain(error_output_, result_.error_output, limit, kLargestPipe);
}

void Child::keep_allowed(std::string& bytes, Allowance& allowance, std::chrono::steady_clock::time_point now) const {
  if (now - allowance.second >= std::chrono::seconds(1)) {
    allowance.second = now;
    allowance.left = max_output_;
  }
  const size_t taken = std::min(bytes.size(), allowance.left);
  allowance.left -= taken;
  allowance.dropped += bytes.size() - taken;
  bytes.resize(taken);
}

std::vector<Output> Child::take_output(std::chrono::steady_clock::time_point now, bool all) {
  std::vector<Output> outputs;
  const auto take = [&](OutputStream stream, std::string& bytes, Allowance& allowance) {
    // The count of dropped bytes is reported before the bytes that follow them.
    const uint64_t dropped_before = allowance.dropped;
    keep_allowed(bytes, allowance, now);
    if (!bytes.empty()) {
      allowance.dropped -= dropped_before;
      outputs.push_back({id_, stream, std::exchange(bytes, {}), dropped_before});
    }
    if (all && allowance.dropped > 0) outputs.push_back({id_, stream, {}, std::exchange(allowance.dropped, 0)});
  };
  take(OutputStream::kOutput, result_.output, output_allowance_);
  take(OutputStream::kErrorOutput, result_.error_output, error_allowance_);
  return outputs;
}

bool Child::takes_too_much(uint64_t memory, uint64_t threads) {
  result_.out_of_memory = memory_limit_ > 0 && memory > memory_limit_;
  result_.too_many_threads = !result_.out_of_memory && thread_limit_ > 0 && threads > thread_limit_;
  return result_.out_of_memory || result_.too_many_threads;
}

Answer Child::finish() {
  read_output();
  Report report;
  // Without a report the keeper has been killed, and with it the program.
  if (read(report_, &report, sizeof report) != sizeof report) report = Report{};
  all_ended_ = report.all_ended;
  if (report.start_error != 0) return not_started(id_, name_, report.start_error);
  if (!report.ended) {
    result_.signal = SIGKILL;
  } else if (WIFEXITED(report.wait_status)) {
    result_.exit_status = WEXITSTATUS(report.wait_status);
  } else {
    result_.signal = WTERMSIG(report.wait_status);
  }
  return Answer{id_, "", false, std::move(result_)};
}

}  // namespace freshet::spawner
