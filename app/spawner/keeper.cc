#include "app/spawner/keeper.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "app/spawner/descendants.h"

namespace freshet::spawner {
namespace {

constexpr int kReport = 3;

void limit(__rlimit_resource what, uint64_t most) {
  if (most == 0) return;
  rlimit now{};
  getrlimit(what, &now);
  now.rlim_max = std::min<rlim_t>(now.rlim_max, most);
  now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
  if (what == RLIMIT_NOFILE) now.rlim_cur = now.rlim_max;
  setrlimit(what, &now);
}

void set_limits(const ProcessLimits& limits) {
  // A runtime reserves far more than it ever uses, and each thread's stack counts in full: this only stops what grows
  // faster than the spawner looks at its memory.
  constexpr uint64_t kReserved = uint64_t{1} << 30;
  limit(RLIMIT_DATA, limits.memory == 0 ? 0 : 2 * limits.memory + kReserved);
  limit(RLIMIT_FSIZE, limits.file_bytes);
  limit(RLIMIT_NOFILE, limits.open_files);
  const rlimit no_core{0, 0};
  if (limits.memory > 0) setrlimit(RLIMIT_CORE, &no_core);
}

[[noreturn]] void become(const Program& program, int failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // Somebody may kill the keeper.
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  set_limits(program.limits);
  if (*program.directory == '\0' || chdir(program.directory) == 0) {
    execvpe(program.argv[0], program.argv, program.environment);
  }
  const int why = errno;
  [[maybe_unused]] const auto n = write(failure, &why, sizeof why);
  _exit(127);
}

// The program's pid, or 0 and `why` not.
pid_t start(const Program& program, int& why) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) {
    why = errno;
    return 0;
  }
  const pid_t pid = fork();
  if (pid == 0) become(program, failure[1]);
  if (pid < 0) why = errno;
  close(failure[1]);
  const bool failed = pid < 0 || read(failure[0], &why, sizeof why) == sizeof why;
  close(failure[0]);
  if (pid > 0 && failed) waitpid(pid, nullptr, 0);
  return failed ? 0 : pid;
}

// Keeps only the program's ends of its pipes, as 0 to 2, and the report open, of all that the spawner has open.
void take_files(const Program& program) {
  dup2(program.input, STDIN_FILENO);
  dup2(program.output, STDOUT_FILENO);
  dup2(program.error_output, STDERR_FILENO);
  dup2(program.report, kReport);
  fcntl(kReport, F_SETFD, FD_CLOEXEC);
  syscall(SYS_close_range, 4U, ~0U, 0U);
}

// Until the program has ended or has to be ended.
void watch(pid_t program, const Reaped& reaped, const Report& report) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, kEndSignal);
  while (program > 0 && !report.ended) {
    if (sigwaitinfo(&awaited, nullptr) == kEndSignal) return;
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) reaped(pid, status);
  }
}

}  // namespace

void keep(const Program& program, pid_t spawner) {
  prctl(PR_SET_NAME, "freshet-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, kEndSignal);
  if (getppid() != spawner) _exit(1);  // It was gone before we asked for its signal.
  take_files(program);
  Report report;
  const pid_t pid = start(program, report.start_error);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(fd);
  const Reaped reaped = [&report, pid](pid_t ended, int status) {
    if (ended != pid) return;
    report.ended = true;
    report.wait_status = status;
  };
  watch(pid, reaped, report);
  report.all_ended = end_descendants(reaped);
  [[maybe_unused]] const auto n = write(kReport, &report, sizeof report);
  _exit(0);
}

}  // namespace freshet::spawner
