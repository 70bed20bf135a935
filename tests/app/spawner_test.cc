// The spawner process through its socket: what it runs, what it ends, and that nothing outlives it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "app/spawner/descendants.h"
#include "app/spawner/protocol.h"
#include "app/spawner/spawner.h"

namespace freshet::spawner {
namespace {

class SpawnerTest : public ::testing::Test {
 protected:
  SpawnerTest() : process_(std::move(*SpawnerProcess::start())) {}

  void send(const Request& request) {
    const std::string frame = encode(request);
    ASSERT_EQ(::send(process_.socket(), frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
  }
  void start(uint64_t id, std::vector<std::string> argv, std::string input = "", milliseconds timeout = {}) {
    ProcessSpec spec;
    spec.argv = std::move(argv);
    spec.environment = {{"PATH", "/usr/bin:/bin"}};
    spec.input = std::move(input);
    spec.timeout = timeout;
    send(StartRequest{id, std::move(spec)});
  }
  Answer answer() {
    for (;;) {
      if (auto frame = take_frame(received_)) return decode_answer(*frame).value();
      char buffer[4096];
      const ssize_t n = recv(process_.socket(), buffer, sizeof buffer, 0);
      if (n <= 0) std::abort();  // The spawner is gone: nothing more can be tested.
      received_.append(buffer, static_cast<size_t>(n));
    }
  }

  SpawnerProcess process_;
  std::string received_;
};

// Blocks until every holder of the pipe's other end has gone: an event, not a delay.
void wait_for_end(int read_end) {
  char byte;
  while (read(read_end, &byte, 1) > 0) {
  }
}

// It has been killed; the spawner reaps it when it hears of that.
void wait_until_gone(pid_t pid) {
  ASSERT_GT(pid, 0);
  while (kill(pid, 0) == 0) std::this_thread::yield();
}

TEST_F(SpawnerTest, FeedsInputAndReturnsOutputs) {
  start(7, {"sh", "-c", "cat; echo oops >&2; exit 3"}, "hello");
  const Answer a = answer();
  EXPECT_EQ(a.id, 7u);
  EXPECT_EQ(a.result.exit_status, 3);
  EXPECT_EQ(a.result.output, "hello");
  EXPECT_EQ(a.result.error_output, "oops\n");
  EXPECT_FALSE(a.result.timed_out);
}

TEST_F(SpawnerTest, TellsWhyAProgramCannotStart) {
  start(1, {"no-such-program-here"});
  EXPECT_EQ(answer().start_error, "cannot start 'no-such-program-here': No such file or directory");
}

TEST_F(SpawnerTest, LargeInputAndOutputDoNotBlockEachOther) {
  const std::string big(4 << 20, 'x');
  start(1, {"cat"}, big);
  const Answer a = answer();
  EXPECT_EQ(a.result.exit_status, 0);
  EXPECT_EQ(a.result.output.size(), size_t{1} << 20) << "what is over max_output is dropped";
}

TEST_F(SpawnerTest, ProgramThatIgnoresItsInputIsNoFault) {
  start(1, {"true"}, std::string(1 << 20, 'x'));
  EXPECT_EQ(answer().result.exit_status, 0);
}

TEST_F(SpawnerTest, TimeoutEndsTheProgramWithDescendantsInOwnSessions) {
  // On a busy machine the time may be over before the program has come to anything: then it gets more.
  Answer a;
  for (milliseconds timeout(200); a.result.output.empty(); timeout *= 2) {
    start(1, {"sh", "-c", "setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & echo $!; wait"}, "", timeout);
    a = answer();
    EXPECT_TRUE(a.result.timed_out);
    EXPECT_EQ(a.result.signal, SIGKILL);
  }
  wait_until_gone(std::atoi(a.result.output.c_str()));
}

TEST_F(SpawnerTest, LeftoversOfAProgramThatEndedAreEnded) {
  start(1, {"sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"});
  const Answer a = answer();
  EXPECT_EQ(a.result.exit_status, 0);
  wait_until_gone(std::atoi(a.result.output.c_str()));
}

// A run whose orphan shares nothing with it: not the session, not the environment, not a parent. The orphan holds a
// FIFO open, so that reading it ends when the orphan has.
class OrphanTest : public SpawnerTest {
 protected:
  OrphanTest() : fifo_(::testing::TempDir() + "/orphan_test_" + std::to_string(getpid())) {
    for (const auto& path : {fifo_, there_}) {
      unlink(path.c_str());
      if (mkfifo(path.c_str(), 0600) != 0) std::abort();
    }
  }
  ~OrphanTest() override {
    if (reader_ >= 0) close(reader_);
    for (const auto& path : {fifo_, there_}) unlink(path.c_str());
  }
  // Returns when the orphan is there. `then` is what the program does next.
  void start_with_orphan(const std::string& then) {
    const std::string orphan = "exec 3>" + fifo_ + "; : >" + there_ + "; exec sleep 1000";
    start(1, {"sh", "-c", "(env -i setsid sh -c '" + orphan + "' >/dev/null 2>&1 &); cat " + there_ + "; " + then});
    reader_ = open(fifo_.c_str(), O_RDONLY);
    ASSERT_GE(reader_, 0);
  }

  const std::string fifo_;
  const std::string there_ = fifo_ + "_there";  // The program goes on when the orphan is there.
  int reader_ = -1;
};

TEST_F(OrphanTest, EndsWithTheRun) {
  start_with_orphan("exec sleep 1000");
  send(KillRequest{1});
  EXPECT_EQ(answer().result.signal, SIGKILL);
  wait_for_end(reader_);
}

TEST_F(OrphanTest, EndsWhenTheProgramEnds) {
  start_with_orphan("exit 4");
  EXPECT_EQ(answer().result.exit_status, 4);
  wait_for_end(reader_);
}

TEST_F(OrphanTest, EndsWhenTheSpawnerIsKilled) {
  start_with_orphan("exec sleep 1000");
  ASSERT_EQ(kill(process_.pid(), SIGKILL), 0);
  wait_for_end(reader_);
}

TEST_F(OrphanTest, EndsWhenTheProgramKillsItsKeeper) {
  start_with_orphan("kill -9 $PPID; exec sleep 1000");
  const Answer a = answer();
  EXPECT_EQ(a.result.signal, SIGKILL);
  EXPECT_FALSE(a.result.timed_out);
  wait_for_end(reader_);
  start(2, {"true"});
  EXPECT_EQ(answer().result.exit_status, 0);
}

TEST_F(OrphanTest, EndsThoughTheProgramStopsItsKeeper) {
  start_with_orphan("kill -STOP $PPID; exec sleep 1000");
  send(KillRequest{1});
  EXPECT_EQ(answer().result.signal, SIGKILL);
  wait_for_end(reader_);
}

TEST(Descendants, WhatCannotBeKilledDoesNotHoldUpForGood) {
  const pid_t subreaper = fork();
  if (subreaper == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    alarm(120);  // A fault here must not hold up the other tests.
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);
      for (;;) pause();
    }
    int reaped = 0;
    const Reaped count = [&](pid_t pid, int) { reaped += pid == child ? 1 : 0; };
    const bool refused = !end_descendants(count, [](pid_t, int) { return errno = EPERM, -1; });
    const bool spared = (kill_descendants_once({child}), waitpid(child, nullptr, WNOHANG)) == 0;
    const bool ended = end_descendants(count);
    _exit(refused && spared && ended && reaped == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(subreaper, &status, 0), subreaper);
  EXPECT_EQ(status, 0);
}

TEST_F(SpawnerTest, KillRequestEndsOneRunOnly) {
  start(1, {"sleep", "1000"});
  start(2, {"cat"}, "");
  EXPECT_EQ(answer().id, 2u);
  start(3, {"sh", "-c", "sleep 1000"});
  send(KillRequest{1});
  EXPECT_EQ(answer().id, 1u);
  send(KillRequest{99});  // Unknown: nothing happens.
  send(KillRequest{3});
  EXPECT_EQ(answer().id, 3u);
}

TEST_F(SpawnerTest, EnvironmentIsWhatWasGivenAndNothingElse) {
  setenv("SECRET_OF_THE_DAEMON", "1", 1);
  start(1, {"env"});
  EXPECT_EQ(answer().result.output.find("SECRET"), std::string::npos);
}

TEST(Spawner, NothingOutlivesADaemonThatIsKilled) {
  // Every descendant holds the FIFO open for writing; reading it ends when the last of them has ended.
  const std::string fifo = ::testing::TempDir() + "/spawner_test_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    auto process = SpawnerProcess::start();
    ProcessSpec spec;
    spec.argv = {"sh", "-c", "exec 3>" + fifo + "; setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000"};
    spec.environment = {{"PATH", "/usr/bin:/bin"}};
    const std::string frame = encode(Request(StartRequest{1, spec}));
    if (::send(process->socket(), frame.data(), frame.size(), 0) < 0) _exit(1);
    for (;;) pause();
  }
  const int reader = open(fifo.c_str(), O_RDONLY);  // Returns when the program has opened it.
  ASSERT_GE(reader, 0);
  ASSERT_EQ(kill(daemon, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(daemon, &status, 0), daemon);
  wait_for_end(reader);
  close(reader);
  unlink(fifo.c_str());
}

TEST(SpawnerProtocol, RefusesDamagedFrames) {
  ProcessSpec spec;
  spec.argv = {"a", "b"};
  spec.environment = {{"K", "V"}};
  spec.input = "in";
  std::string buffer = encode(Request(StartRequest{5, spec}));
  const auto frame = take_frame(buffer);
  ASSERT_TRUE(frame);
  EXPECT_TRUE(buffer.empty());
  ASSERT_TRUE(decode_request(*frame));
  for (size_t n = 0; n < frame->size(); ++n) EXPECT_FALSE(decode_request(frame->substr(0, n))) << n;
  EXPECT_FALSE(decode_answer(*frame));
}

}  // namespace
}  // namespace freshet::spawner
