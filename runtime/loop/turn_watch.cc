#include "runtime/loop/turn_watch.h"

#include <absl/debugging/symbolize.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace freshet {

namespace {

constexpr int kSignal = SIGURG;  // Ignored unless a program asks for it.
constexpr int kMostFrames = 64;
constexpr size_t kMostNamed = 8;
// How many samples are taken to see if the loop's thread computes: it may be waiting for a processor.
constexpr int kLooks = 15;
constexpr milliseconds kLook{20};
constexpr milliseconds kComputing{4};
constexpr milliseconds kAnswer{1};
constexpr int kMostAnswers = 200;

struct Sample {
  std::array<void*, kMostFrames> frames;
  std::atomic<int> depth{-1};  // Written last.
};

// A signal handler can only use globals: hence these two. The thread that wants a sample sets `asked`.
std::atomic<Sample*> asked{nullptr};
Sample sample;

extern "C" void freshet_sample_stack(int) {
  const int error = errno;
  if (Sample* wanted = asked.exchange(nullptr)) wanted->depth.store(backtrace(wanted->frames.data(), kMostFrames));
  errno = error;
}

std::string name_of(void* address) {
  std::array<char, 1024> text;
  // A return address may belong to the next function.
  if (!absl::Symbolize(static_cast<char*>(address) - 1, text.data(), text.size())) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(text.data(), nullptr, nullptr, &status),
                                                     std::free);
  return status == 0 ? plain.get() : text.data();
}

// A function's name without its parameters: "freshet::Queue::follow".
std::string shortened(const std::string& name) {
  return name.substr(0, name.find('('));
}

// Keeps our own functions, from the innermost to the loop's.
std::string functions_of(const Sample& taken) {
  std::string functions;
  std::string last;
  size_t named = 0;
  for (int i = 0; i < taken.depth && named < kMostNamed; ++i) {
    void* const frame = taken.frames[static_cast<size_t>(i)];
    std::string name = shortened(name_of(frame));
    if (name.empty()) name = place_in_program(frame);
    if (name.starts_with("freshet::Loop::")) break;
    const bool ours = name.find("freshet") != std::string::npos && name != "freshet_sample_stack";  // Names and places.
    if (!ours || name == last) continue;
    functions += (named++ == 0 ? "" : " < ") + name;
    last = std::move(name);
  }
  return functions;
}

}  // namespace

std::string place_in_program(void* address) {
  Dl_info here{};
  Dl_info there{};
  const bool known = dladdr(reinterpret_cast<void*>(&freshet_sample_stack), &here) != 0 && dladdr(address, &there) != 0;
  if (!known || here.dli_fbase != there.dli_fbase) return {};
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "freshet+0x%zx",
                static_cast<size_t>(static_cast<char*>(address) - static_cast<char*>(there.dli_fbase)));
  return text.data();
}

void abort_for(const SlowTurn& turn) {
  std::fprintf(stderr, "a turn of the loop is over its budget: it %s for %lld ms, in its part '%s': %s\n",
               turn.computes ? "computes" : "waits", static_cast<long long>(turn.taken.count()), turn.part.c_str(),
               turn.functions.c_str());
  std::abort();
}

TurnWatch::TurnWatch(const Loop& loop, milliseconds longest, std::function<void(const SlowTurn&)> on_slow_turn,
                     const Clock* clock)
    : loop_(loop),
      longest_(longest),
      on_slow_turn_(std::move(on_slow_turn)),
      clock_(clock),
      loop_thread_(pthread_self()) {
  absl::InitializeSymbolizer("");
  std::array<void*, 1> first;
  backtrace(first.data(), 1);  // The first call loads a library, which a signal handler must not do.
  struct sigaction action {};
  action.sa_handler = freshet_sample_stack;
  action.sa_flags = SA_RESTART;
  sigaction(kSignal, &action, nullptr);
  thread_ = std::thread([this] { run(); });
}

TurnWatch::~TurnWatch() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  asked.store(nullptr);
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  sigaction(kSignal, &action, nullptr);
}

bool TurnWatch::rest(milliseconds time) {
  MutexLock lock(mutex_);
  const auto end = Condition::after(time);
  while (!ending_ && changed_.wait_until(lock, end)) {
  }
  return !ending_;
}

void TurnWatch::run() {
  while (rest(std::max(longest_ / 2, milliseconds(1)))) look();
}

void TurnWatch::look() {
  const auto began = loop_.turn_began();
  if (!began) return;
  const Clock& clock = clock_ ? *clock_ : loop_.clock();
  if (seen_ != began) {
    seen_ = began;
    since_ = clock_ ? clock.boot() : *began;
    used_ = used();
    next_ = longest_;
  }
  if (clock.boot() - since_ < next_) return;
  SlowTurn turn;
  turn.part = loop_.part_of_turn();
  turn.computes = computes();
  if (turn.computes) turn.functions = ask();
  // The sample may be from the next turn.
  if (loop_.turn_began() != began) return;
  turn.taken = std::chrono::duration_cast<milliseconds>(clock.boot() - since_);
  turn.computed = std::chrono::duration_cast<milliseconds>(used() - used_);
  next_ *= 10;
  on_slow_turn_(turn);
}

// The processor time of the loop's thread so far.
nanoseconds TurnWatch::used() const {
  clockid_t clock{};
  timespec now{};
  if (pthread_getcpuclockid(loop_thread_, &clock) != 0 || clock_gettime(clock, &now) != 0) return nanoseconds(0);
  return seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

// Does not signal a loop that waits in the kernel: the signal might end its call early.
bool TurnWatch::computes() {
  const nanoseconds before = used();
  for (int look = 0; look < kLooks; ++look) {
    if (!rest(kLook)) return false;
    if (used() - before >= kComputing) return true;
  }
  return false;
}

std::string TurnWatch::ask() {
  sample.depth.store(-1);
  asked.store(&sample);
  if (pthread_kill(loop_thread_, kSignal) != 0) return {};
  for (int i = 0; i < kMostAnswers && sample.depth.load() < 0; ++i) {
    if (!rest(kAnswer)) return {};
  }
  return sample.depth.load() < 0 ? std::string() : functions_of(sample);
}

}  // namespace freshet
