#include "app/lab/real/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/text_file.h"

namespace freshet::lab {

namespace {

Result<Child> refuse(const std::string& what) {
  return fail(ErrorCode::kIo, what + ": " + std::strerror(errno));
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
};

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& argv, const std::string& log, bool talks) {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (out < 0) return refuse("cannot write '" + log + "'");
  Pipe input, output;
  if (!input.open() || !output.open()) return refuse("no pipe");
  std::vector<char*> arguments;
  for (const auto& one : argv) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Only what is safe after a fork of a process with threads.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(input.read_end, STDIN_FILENO);
    ::dup2(talks ? output.write_end : out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(out);
  ::close(input.read_end);
  ::close(output.write_end);
  Child child(pid);
  child.input_ = input.write_end;
  child.output_ = output.read_end;
  ::fcntl(child.output_, F_SETFL, O_NONBLOCK);
  if (pid > 0) return child;
  child.pid_ = 0;
  return refuse("cannot start '" + argv[0] + "'");
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      status_(other.status_),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      read_(std::move(other.read_)) {}

Child::~Child() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (input_ >= 0) ::close(input_);
  if (output_ >= 0) ::close(output_);
}

bool Child::has_ended() {
  if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = 0;
  return pid_ == 0;
}

std::string Child::how_it_ended() const {
  if (pid_ > 0) return "it still runs";
  if (WIFSIGNALED(status_)) {
    const int number = WTERMSIG(status_);
    return "it was killed by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
  }
  return "it ended with status " + std::to_string(WEXITSTATUS(status_));
}

// Each line follows two blanks, so that a reader can tell the log from the message.
static std::string indented(const std::string& log) {
  std::string out;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) out += "\n  " + line;
  return out;
}

Error gone_with_log(const std::string& what, const Child* child, const std::string& log) {
  constexpr size_t kMostShown = 4000;
  std::string message = what + (child == nullptr ? "" : ": " + child->how_it_ended());
  const auto text = read_text_file(log);
  if (!text) return {ErrorCode::kUnavailable, message + "; its log cannot be read: " + text.error().message, nullptr};
  if (text->empty()) return {ErrorCode::kUnavailable, message + "; it wrote nothing to its log", nullptr};
  if (text->size() <= kMostShown && text->find('\n') == text->size() - 1)
    return {ErrorCode::kUnavailable, message + "; its log says: " + text->substr(0, text->size() - 1), nullptr};
  if (text->size() <= kMostShown)
    return {ErrorCode::kUnavailable, message + "; its log is:" + indented(*text), nullptr};
  // The rest of the log would go with the folder of the run.
  std::error_code error;
  const auto kept = std::filesystem::temp_directory_path(error) / ("freshet-" + std::to_string(::getpid()) + ".log");
  std::filesystem::copy_file(log, kept, std::filesystem::copy_options::overwrite_existing, error);
  message += error ? "; its log" : "; its log, of which " + kept.string() + " is a copy,";
  message += " ends with:" + indented(text->substr(text->find('\n', text->size() - kMostShown) + 1));
  return {ErrorCode::kUnavailable, message, nullptr};
}

uint64_t Child::resident_bytes() const {
  if (pid_ == 0) return 0;
  std::ifstream statm("/proc/" + std::to_string(pid_) + "/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string Child::read_line() {
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t n = ::read(output_, part.data(), part.size());
    if (n <= 0) break;
    read_.append(part.data(), static_cast<size_t>(n));
  }
  const auto end = read_.find('\n');
  if (end == std::string::npos) return {};
  std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

void Child::write_line(const std::string& line) {
  const std::string text = line + "\n";
  // A program that has ended meanwhile: see has_ended().
  ::signal(SIGPIPE, SIG_IGN);
  [[maybe_unused]] const ssize_t written = ::write(input_, text.data(), text.size());
}

}  // namespace freshet::lab
