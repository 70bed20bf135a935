#include "app/cli/progress.h"

#include <signal.h>
#include <unistd.h>

#include <iostream>

namespace freshet::cli {

Progress::Progress(const std::string& beginning)
    : Progress(beginning, std::cerr, screen_of(STDERR_FILENO), std::chrono::seconds(10)) {}

Progress::Progress(const std::string& beginning, std::ostream& out, Screen screen, std::chrono::milliseconds every)
    : out_(out), screen_(screen), every_(every), text_(beginning) {
  if (screen_.terminal) {
    show(beginning);
    return;
  }
  // Signals are for the thread that waits for the daemon: they are to interrupt it there.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  lines_ = std::thread([this] { print_lines(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Progress::show(const std::string& text) {
  if (!screen_.terminal) {
    const std::lock_guard lock(mutex_);
    text_ = text;
    return;
  }
  // A line that fills the last column would go on in the next line.
  const std::string line = cut_to_columns(text, screen_.width - 1);
  const size_t columns = columns_of(line);
  const size_t rest = shown_ > columns ? shown_ - columns : 0;
  out_ << '\r' << line << std::string(rest, ' ') << std::flush;
  shown_ = columns;
}

void Progress::wipe() {
  if (shown_ == 0) return;
  out_ << '\r' << std::string(shown_, ' ') << '\r' << std::flush;
  shown_ = 0;
}

void Progress::end() {
  wipe();
  if (!lines_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  lines_.join();
}

void Progress::print_lines() {
  std::unique_lock lock(mutex_);
  for (auto next = begun_ + every_; !ended_.wait_until(lock, next, [this] { return over_; }); next += every_) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(next - begun_).count();
    out_ << "freshet: " + text_ + " (after " + std::to_string(seconds) + " s)\n" << std::flush;
  }
}

}  // namespace freshet::cli
