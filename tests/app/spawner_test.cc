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
    send(StartRequest{id, std::move(spec), false});
  }
  // One whose output comes as it is written.
  void follow(uint64_t id, const std::string& script, size_t max_output = 1u << 20, ProcessLimits limits = {}) {
    ProcessSpec spec;
    spec.argv = {"sh", "-c", script};
    spec.environment = {{"PATH", "/usr/bin:/bin"}};
    spec.max_output = max_output;
    spec.limits = limits;
    send(StartRequest{id, std::move(spec), true});
  }
  Answer answer() { return std::get<Answer>(reply()); }
  Reply reply() {
    for (;;) {
      if (auto frame = take_frame(received_)) return decode_reply(*frame).value();
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

TEST_F(SpawnerTest, OutputOfAFollowedProgramComesWhileItRuns) {
  follow(1, "echo first; sleep 1000; echo never");
  const auto first = std::get<Output>(reply());
  EXPECT_EQ(first.id, 1u);
  EXPECT_EQ(first.bytes, "first\n");
  follow(2, "echo oops >&2; echo $$; sleep 1000");
  std::string seen;
  while (seen.find("oops") == std::string::npos || seen.size() < 7) {
    const Reply one = reply();
    if (const auto* output = std::get_if<Output>(&one)) {
      EXPECT_EQ(output->stream == OutputStream::kErrorOutput, output->bytes == "oops\n");
      if (output->id == 2) seen += output->bytes;
    }
  }
  send(KillRequest{2});
  for (;;) {
    const Reply one = reply();
    if (const auto* ended = std::get_if<Answer>(&one); ended && ended->id == 2) {
      EXPECT_EQ(ended->result.signal, SIGKILL);
      break;
    }
  }
}

TEST_F(SpawnerTest, AFlushComesAfterWhatWasWrittenBefore) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fds[1]);
  follow(1, "printf written; echo x > " + path + "; sleep 1000");
  char byte;
  ASSERT_EQ(read(fds[0], &byte, 1), 1);  // It has written by now.
  send(FlushRequest{1});
  EXPECT_EQ(std::get<Output>(reply()).bytes, "written");
  EXPECT_EQ(std::get<Flushed>(reply()).id, 1u);
  close(fds[0]);
  close(fds[1]);
}

TEST_F(SpawnerTest, WhatIsTooMuchOfAFollowedProgramIsCounted) {
  constexpr size_t kWritten = 8u << 20;
  follow(1, "yes | head -c " + std::to_string(kWritten), 1000);
  size_t taken = 0;
  uint64_t dropped = 0;
  for (;;) {
    const Reply one = reply();
    if (std::holds_alternative<Answer>(one)) break;
    taken += std::get<Output>(one).bytes.size();
    dropped += std::get<Output>(one).dropped;
  }
  EXPECT_EQ(taken + dropped, kWritten);
  EXPECT_GE(taken, 1000u);
  EXPECT_GT(dropped, kWritten / 2) << "a thousand bytes a second";
}

TEST_F(SpawnerTest, OneThatWritesWithoutEndKeepsNobodyWaiting) {
  follow(1, "yes", 1000);
  start(2, {"echo", "here"});
  for (;;) {
    const Reply one = reply();
    const auto* ended = std::get_if<Answer>(&one);
    if (ended == nullptr) continue;
    EXPECT_EQ(ended->id, 2u);
    EXPECT_EQ(ended->result.output, "here\n");
    break;
  }
}

TEST_F(SpawnerTest, AProgramAboveItsMemoryIsEndedWithItsChildren) {
  // The child holds the memory, in a session of its own.
  follow(1, "setsid sh -c 'x=$(head -c 80000000 /dev/zero | tr \"\\0\" x); sleep 1000' & wait", 1u << 20,
         {.memory = 64u << 20});
  for (;;) {
    const Reply one = reply();
    const auto* ended = std::get_if<Answer>(&one);
    if (ended == nullptr) continue;
    EXPECT_TRUE(ended->result.out_of_memory);
    EXPECT_EQ(ended->result.signal, SIGKILL);
    break;
  }
}

TEST_F(SpawnerTest, AProgramWithTooManyProcessesIsEnded) {
  follow(1, "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; setsid sleep 1000", 1u << 20, {.threads = 6});
  for (;;) {
    const Reply one = reply();
    const auto* ended = std::get_if<Answer>(&one);
    if (ended == nullptr) continue;
    EXPECT_TRUE(ended->result.too_many_threads);
    EXPECT_FALSE(ended->result.out_of_memory);
    EXPECT_EQ(ended->result.signal, SIGKILL);
    break;
  }
}

TEST_F(SpawnerTest, FilesHaveTheirLimits) {
  follow(1, "ulimit -n; ulimit -f; ulimit -c", 1u << 20,
         {.memory = 1u << 30, .file_bytes = 1u << 20, .open_files = 99});
  std::string seen;
  for (;;) {
    Reply one = reply();
    if (std::holds_alternative<Answer>(one)) break;
    seen += std::get<Output>(one).bytes;
  }
  EXPECT_EQ(seen, "99\n2048\n0\n");
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
  EXPECT_FALSE(decode_reply(*frame));
}

}  // namespace
}  // namespace freshet::spawner
