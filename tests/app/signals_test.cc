// Signals as events of the loop, also while its mailbox is full.
#include "app/daemon/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <future>

namespace freshet {
namespace {

// Ends with the test; in the daemon it lives as long as the process.
class KeptMask {
 public:
  KeptMask() { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~KeptMask() {
    // One that nobody has taken would end the process now.
    sigset_t ours;
    sigemptyset(&ours);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ours, number);
    const timespec now{};
    while (sigtimedwait(&ours, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
};

TEST(Signals, AStopThatWasNotTakenIsTriedAgain) {
  const KeptMask mask;
  std::atomic<int> asked{0};
  std::promise<int> taken;
  Signals signals;
  signals.watch(
      [&] {
        if (++asked < 4) return false;
        taken.set_value(asked);
        return true;
      },
      [] {});
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  EXPECT_EQ(taken.get_future().get(), 4);
  signals.forget();
}

TEST(Signals, AReloadMayComeWhileAStopWaits) {
  const KeptMask mask;
  std::atomic<bool> room{false};
  std::promise<void> asked;
  std::promise<void> stopped;
  std::atomic<int> stops{0};
  Signals signals;
  signals.watch(
      [&] {
        if (stops++ == 0) asked.set_value();
        if (!room) return false;
        stopped.set_value();
        return true;
      },
      [&] { room = true; });
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  asked.get_future().get();
  ASSERT_EQ(kill(getpid(), SIGHUP), 0);
  stopped.get_future().get();
  signals.forget();
  EXPECT_GE(stops.load(), 2);
}

TEST(Signals, NothingIsCalledOnceForgotten) {
  const KeptMask mask;
  Signals signals;
  signals.watch(
      []() -> bool {
        ADD_FAILURE() << "called";
        return true;
      },
      [] { ADD_FAILURE() << "called"; });
  signals.forget();
  ASSERT_EQ(kill(getpid(), SIGHUP), 0);
}

}  // namespace
}  // namespace freshet
