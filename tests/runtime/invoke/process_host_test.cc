// The process host with programs that the test plays.
#include "runtime/invoke/process_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/invoke/http_host.h"
#include "runtime/invoke/outcome.h"
#include "tests/runtime/invoke/process_host_fixture.h"

namespace freshet {
namespace {

TEST_F(ProcessHostTest, AnEventGoesThroughAndTheProcessStaysWarm) {
  start();
  const Running first = invoke("a");
  ASSERT_EQ(spawner_.programs.size(), 1u);
  program(0).ask();
  scheduler_.run_ready();
  const auto event = program(0).event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->request_id, "a");
  EXPECT_EQ(event->payload, R"({"n":"a"})");
  EXPECT_EQ(event->deadline_ms, 1'800'000'003'000);
  EXPECT_EQ(event->function_arn, "arn:aws:lambda:us-east-1:000000000000:function:Work");
  EXPECT_EQ(event->trace_id, "Root=1");
  ASSERT_TRUE(program(0).session->answer("a", {"7", std::nullopt}));
  EXPECT_EQ(outcome(first).payload, "7");
  program(0).ask();
  const Running second = invoke("b");
  work(program(0));
  EXPECT_EQ(outcome(second).payload, "1");
  EXPECT_EQ(spawner_.programs.size(), 1u);
  EXPECT_EQ(stats().starts, 1u);
}

TEST_F(ProcessHostTest, AProcessGetsReadyWithoutAnEvent) {
  start();
  const Running ready = make_ready();
  EXPECT_FALSE(ready->is_ready()) << "its program has not asked yet";
  program(0).ask();
  EXPECT_FALSE(outcome(ready).error);
  EXPECT_FALSE(program(0).has_event());
  // It is the process of the first event, and one that is ready is no second one.
  const Running first = invoke("r1");
  work(program(0));
  EXPECT_EQ(outcome(first).payload, "1");
  EXPECT_FALSE(outcome(make_ready()).error);
  EXPECT_EQ(stats().starts, 1u);
}

// ReservedConcurrentExecutions bounds the processes of a function: one that gets ready takes the first event.
TEST_F(ProcessHostTest, AnEventWaitsForTheProcessThatGetsReady) {
  start();
  const Running ready = make_ready();
  const Running first = invoke("r1");
  EXPECT_EQ(spawner_.programs.size(), 1u) << "it gets ready already";
  const Running again = make_ready();
  EXPECT_EQ(spawner_.programs.size(), 1u);
  EXPECT_FALSE(outcome(again).error);
  const Running second = invoke("r2");
  EXPECT_EQ(spawner_.programs.size(), 2u) << "the one that gets ready has an event already";
  work(program(0));
  EXPECT_FALSE(outcome(ready).error);
  EXPECT_EQ(outcome(first).payload, "1");
  work(program(1), "2");
  EXPECT_EQ(outcome(second).payload, "2");
}

TEST_F(ProcessHostTest, AnEventThatWaitedForAProcessWhichCannotGetReadyFailsWithIt) {
  start();
  const Running ready = make_ready();
  const Running first = invoke("r1");
  ASSERT_TRUE(program(0).session->fail_init({"{}", FunctionError{"Runtime.ImportModuleError", "none", true}}));
  program(0).exit(1);
  for (const Running& each : {ready, first}) {
    const InvokeOutcome failed = outcome(each);
    ASSERT_TRUE(failed.error);
    EXPECT_EQ(failed.error->type, "Runtime.ImportModuleError");
  }
}

TEST_F(ProcessHostTest, AProcessThatCannotGetReadySaysWhy) {
  start();
  const Running ready = make_ready();
  ASSERT_TRUE(program(0).session->fail_init(
      {"{}", FunctionError{"Runtime.ImportModuleError", "No module named 'requests'", true}}));
  program(0).exit(1);
  const InvokeOutcome failed = outcome(ready);
  ASSERT_TRUE(failed.error);
  EXPECT_EQ(failed.error->type, "Runtime.ImportModuleError");
}

TEST_F(ProcessHostTest, AProcessThatIsAboutToAskIsWaitedFor) {
  start();
  const Running first = invoke_and_answer("a");
  EXPECT_EQ(outcome(first).payload, "1");
  const Running second = invoke("b");  // Before it has asked again.
  EXPECT_EQ(spawner_.programs.size(), 1u);
  work(program(0), "2");
  EXPECT_EQ(outcome(second).payload, "2");
}

TEST_F(ProcessHostTest, OneThatDiesInsteadOfAskingLosesNothing) {
  start();
  const Running first = invoke_and_answer("a");
  const Running second = invoke("b");
  program(0).exit(1);
  scheduler_.run_ready();
  ASSERT_EQ(spawner_.programs.size(), 2u);
  work(program(1), "2");
  EXPECT_EQ(outcome(first).payload, "1");
  EXPECT_EQ(outcome(second).payload, "2");
  EXPECT_EQ(stats().crashes, 1u);
}

TEST_F(ProcessHostTest, OneThatNeitherAsksNorEndsIsEnded) {
  start();
  const Running first = invoke_and_answer("a");
  const Running second = invoke("b");
  scheduler_.run_for(seconds(2));
  EXPECT_FALSE(program(0).alive);
  ASSERT_EQ(spawner_.programs.size(), 2u);
  work(program(1), "2");
  EXPECT_EQ(outcome(first).payload, "1");
  EXPECT_EQ(outcome(second).payload, "2");
}

TEST_F(ProcessHostTest, ParallelInvocationsHaveAProcessEachAndIdleOnesAreStopped) {
  start();
  const Running a = invoke("a");
  const Running b = invoke("b");
  ASSERT_EQ(spawner_.programs.size(), 2u);
  work(program(0));
  work(program(1));
  EXPECT_EQ(outcome(a).payload, "1");
  EXPECT_EQ(outcome(b).payload, "1");
  scheduler_.run_for(std::chrono::minutes(4));
  invoke("c");  // The one used last is used again; the other one becomes old.
  work(program(1));
  scheduler_.run_for(std::chrono::minutes(3));
  EXPECT_FALSE(program(0).alive);
  EXPECT_TRUE(program(1).alive);
  EXPECT_EQ(stats().running, 1u);
  scheduler_.run_for(std::chrono::minutes(7));
  EXPECT_FALSE(program(1).alive);
  EXPECT_EQ(scheduler_.timers(), 0u);
  EXPECT_EQ(stats().crashes, 0u);
}

TEST_F(ProcessHostTest, TheTimeoutEndsTheProcessAndKeepsItsLastWords) {
  start();
  const Running late = invoke(function_, "a", true);
  program(0).ask();
  scheduler_.run_ready();
  const std::string id = program(0).event()->request_id;
  program(0).write("still at it\n");
  scheduler_.run_for(milliseconds(2999));
  EXPECT_FALSE(late->is_ready());
  scheduler_.run_for(milliseconds(1));
  const InvokeOutcome out = outcome(late);
  ASSERT_TRUE(out.error);
  EXPECT_EQ(out.error->type, "Sandbox.Timedout");
  EXPECT_EQ(out.error->message, "RequestId: a Error: Task timed out after 3.00 seconds");
  EXPECT_THAT(out.log, testing::HasSubstr("still at it\n"));
  EXPECT_FALSE(program(0).alive);
  invoke("b");
  EXPECT_EQ(spawner_.programs.size(), 2u);
}

TEST_F(ProcessHostTest, AnInvocationThatEndsWithItsCallerEndsItsProgram) {
  start();
  const Running gone = invoke(function_, "gone", false, true);
  program(0).ask();
  scheduler_.run_ready();
  ASSERT_TRUE(program(0).has_event());
  running_.erase(gone);
  scheduler_.run_ready();
  EXPECT_FALSE(program(0).alive);
  EXPECT_EQ(stats().crashes, 0u);
  const Running next = invoke("next");
  ASSERT_EQ(spawner_.programs.size(), 2u);
  work(program(1), "2");
  EXPECT_EQ(outcome(next).payload, "2");
}

// Its program is of use to the next one.
TEST_F(ProcessHostTest, OneThatHasNotBegunIsForgottenWithItsCaller) {
  start();
  const Running gone = invoke(function_, "gone", false, true);
  running_.erase(gone);
  program(0).ask();
  scheduler_.run_ready();
  EXPECT_TRUE(program(0).alive);
  EXPECT_FALSE(program(0).has_event());
  const Running next = invoke("next");
  work(program(0), "2");
  EXPECT_EQ(outcome(next).payload, "2");
  EXPECT_EQ(spawner_.programs.size(), 1u);
}

TEST_F(ProcessHostTest, OneThatWaitsForAProcessIsForgottenWithItsCaller) {
  ProcessOptions options;
  options.max_processes = 1;
  start(options);
  const Running first = invoke("first");
  const Running gone = invoke(function_, "gone", false, true);
  running_.erase(gone);
  work(program(0));
  EXPECT_EQ(outcome(first).payload, "1");
  EXPECT_FALSE(program(0).has_event());
  EXPECT_EQ(spawner_.programs.size(), 1u);
}

TEST_F(ProcessHostTest, AnAnswerAfterTheDeadlineIsRefusedAndCounted) {
  start();
  const Running late = invoke("a");
  program(0).ask();
  scheduler_.run_ready();
  spawner_.hold_output = true;  // It is not gone yet when it answers.
  scheduler_.run_for(seconds(3));
  EXPECT_EQ(outcome(late).error->type, "Sandbox.Timedout");
  EXPECT_FALSE(program(0).session->answer("a", {"1", std::nullopt}));
  program(0).ask();
  scheduler_.run_ready();
  EXPECT_FALSE(program(0).event()) << "it is to end";
  EXPECT_EQ(stats().bad_answers, 2u);
  spawner_.hold_output = false;
  const Running next = invoke("b");
  work(program(1), "2");
  EXPECT_EQ(outcome(next).payload, "2");
}

TEST_F(ProcessHostTest, AForgottenProcessEndsWithItsWork) {
  start();
  const Running busy = invoke("a");
  const Running idle = invoke("b");
  work(program(1));
  EXPECT_EQ(outcome(idle).payload, "1");
  host_->forget("Work");
  EXPECT_FALSE(program(1).alive);
  EXPECT_TRUE(program(0).alive);
  work(program(0), "7");
  EXPECT_EQ(outcome(busy).payload, "7");
  EXPECT_FALSE(program(0).alive);
  EXPECT_EQ(stats().crashes, 0u);
}

TEST_F(ProcessHostTest, ItsCodeIsInUseAsLongAsAnythingRunsFromIt) {
  start();
  EXPECT_FALSE(host_->uses_code("/code"));
  const Running busy = invoke("a");
  EXPECT_TRUE(host_->uses_code("/code"));
  host_->forget("Work");
  work(program(0), "7");
  EXPECT_EQ(outcome(busy).payload, "7");
  scheduler_.run_ready();
  EXPECT_FALSE(host_->uses_code("/code"));
  EXPECT_EQ(left_, std::vector<std::string>{"/code"});
}

TEST_F(ProcessHostTest, OneThatNeverGetsReadyIsEnded) {
  start();
  const Running running = invoke("a");
  scheduler_.run_for(seconds(10));
  const InvokeOutcome out = outcome(running);
  ASSERT_TRUE(out.error);
  EXPECT_EQ(out.error->message, "RequestId: a Error: Init timed out after 10.00 seconds");
  EXPECT_FALSE(program(0).alive);
  function_.timeout = seconds(60);  // It may start as long as it may work.
  const Running patient = invoke("b");
  scheduler_.run_for(seconds(59));
  work(program(1), "2");
  EXPECT_EQ(outcome(patient).payload, "2");
}

// A version manager may lack the interpreter that it starts: the error names the program.
TEST_F(ProcessHostTest, AnInterpreterThatIsNotThereAfterAllIsNamed) {
  start();
  const Running at_start = invoke("a");
  const std::string interpreter = program(0).spec.argv.front();
  program(0).exit(127);
  EXPECT_EQ(outcome(at_start).error->message,
            "RequestId: a Error: Runtime exited with error: exit status 127 (a program was not found: check " +
                interpreter + ", which starts the function)");
  const Running at_work = invoke("b");
  program(1).ask();
  scheduler_.run_ready();
  program(1).exit(127);
  EXPECT_EQ(outcome(at_work).error->message, "RequestId: b Error: Runtime exited with error: exit status 127")
      << "it had started";
}

TEST_F(ProcessHostTest, CrashesAreTheInvocationsError) {
  start();
  const Running at_start = invoke("a");
  program(0).exit(1);
  EXPECT_EQ(outcome(at_start).error->message, "RequestId: a Error: Runtime exited with error: exit status 1");
  const Running at_work = invoke("b");
  program(1).ask();
  scheduler_.run_ready();
  program(1).exit(0);
  const InvokeOutcome out = outcome(at_work);
  EXPECT_EQ(out.error->type, "Runtime.ExitError");
  EXPECT_EQ(out.error->message, "RequestId: b Error: Runtime exited without providing a reason");
  const Running ended = invoke("d");
  ProcessResult by_signal;
  by_signal.signal = 11;
  program(2).watcher->on_end(by_signal);
  EXPECT_EQ(outcome(ended).error->message, "RequestId: d Error: Runtime exited with error: signal: segmentation fault");
  const Running killed = invoke("c");
  ProcessResult result;
  result.signal = 9;
  result.out_of_memory = true;
  program(3).watcher->on_end(result);
  EXPECT_EQ(outcome(killed).error->message,
            "RequestId: c Error: Runtime exited with error: signal: killed (out of memory)");
  const Running forked = invoke("d");
  EXPECT_EQ(program(4).spec.limits.threads, 1024u);
  result.out_of_memory = false;
  result.too_many_threads = true;
  program(4).watcher->on_end(result);
  EXPECT_EQ(outcome(forked).error->message,
            "RequestId: d Error: Runtime exited with error: signal: killed (too many processes and threads)");
  EXPECT_EQ(stats().crashes, 5u);
}

TEST_F(ProcessHostTest, WhatCannotBeStartedSaysWhy) {
  start();
  const Running missing = invoke("a");
  program(0).watcher->on_end(fail(ErrorCode::kIo, "cannot start '/code/bootstrap': No such file or directory"));
  const InvokeOutcome failed = outcome(missing);
  EXPECT_EQ(failed.error->type, "Runtime.InvalidEntrypoint");
  EXPECT_THAT(failed.error->message, testing::HasSubstr("/code/bootstrap: put it there"));
  const Running later = invoke("b");
  program(1).watcher->on_end(fail(ErrorCode::kUnavailable, "out of processes"));
  EXPECT_TRUE(is_busy(outcome(later))) << "an asynchronous event tries again";
  api_.closed = true;
  const Running portless = invoke("c");
  EXPECT_TRUE(is_busy(outcome(portless)));
}

TEST_F(ProcessHostTest, AFailedInitIsTheOutcome) {
  start();
  const Running running = invoke("a");
  ASSERT_TRUE(
      program(0).session->fail_init(reported_failure("", R"({"errorType":"ImportError","errorMessage":"no x"})")));
  program(0).exit(1);
  const InvokeOutcome out = outcome(running);
  EXPECT_EQ(out.error->type, "ImportError");
  EXPECT_EQ(out.payload, R"({"errorType":"ImportError","errorMessage":"no x"})");
}

TEST_F(ProcessHostTest, AnswersThatDoNotFitAreRefusedAndCounted) {
  start();
  const Running running = invoke("a");
  EXPECT_FALSE(program(0).session->answer("a", {"1", std::nullopt})) << "it was not asked yet";
  program(0).ask();
  scheduler_.run_ready();
  EXPECT_EQ(program(0).event()->request_id, "a");
  EXPECT_FALSE(program(0).session->answer("b", {"1", std::nullopt})) << "somebody else's";
  EXPECT_TRUE(program(0).session->answer("a", {"1", std::nullopt}));
  EXPECT_FALSE(program(0).session->answer("a", {"2", std::nullopt})) << "twice";
  EXPECT_FALSE(program(0).session->fail_init({"{}", std::nullopt}));
  EXPECT_EQ(outcome(running).payload, "1");
  EXPECT_EQ(stats().bad_answers, 4u);
  EXPECT_EQ(log_.count("FUNCTION_BAD_ANSWER"), 1u) << "once for a process";
}

TEST_F(ProcessHostTest, ACallThatIsBrokenOffLeavesTheEventToTheNext) {
  start();
  invoke("a");
  work(program(0));
  program(0).break_off();
  const Running second = invoke("b");
  ASSERT_EQ(spawner_.programs.size(), 2u) << "nobody waits for an event in the first";
  work(program(1), "2");
  EXPECT_EQ(outcome(second).payload, "2");
  program(0).ask();
  scheduler_.run_ready();
  program(1).break_off();
  const Running third = invoke("c");
  work(program(0), "3");
  EXPECT_EQ(outcome(third).payload, "3");
}

// Its connection may have broken with the event on the way.
TEST_F(ProcessHostTest, WhoAsksAgainBeforeAnsweringGetsTheSameEvent) {
  start();
  const Running running = invoke("a");
  program(0).ask();
  scheduler_.run_ready();
  const auto first = program(0).event();
  scheduler_.run_for(seconds(1));
  program(0).ask();
  scheduler_.run_ready();
  ASSERT_TRUE(program(0).has_event());
  const auto second = program(0).event();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->request_id, "a");
  EXPECT_EQ(second->payload, first->payload);
  EXPECT_EQ(second->deadline_ms, first->deadline_ms) << "it has no more time for that";
  EXPECT_TRUE(program(0).session->answer("a", {"1", std::nullopt}));
  EXPECT_EQ(outcome(running).payload, "1");
  EXPECT_EQ(stats().bad_answers, 0u);
}

TEST_F(ProcessHostTest, ALineWithoutAnEndIsLoggedWithItsInvocation) {
  start();
  invoke("a");
  program(0).ask();
  scheduler_.run_ready();
  program(0).write("no end");
  EXPECT_EQ(log_.count("no end"), 0u);
  EXPECT_TRUE(program(0).session->answer(program(0).event()->request_id, {"1", std::nullopt}));
  scheduler_.run_ready();
  EXPECT_EQ(log_.count(R"("requestId":"a","stream":"stdout","line":"no end")"), 1u);
  EXPECT_EQ(stats().log_lines, 1u);
}

TEST_F(ProcessHostTest, LinesBelongToTheirInvocation) {
  start();
  const Running first = invoke(function_, "a", true);
  program(0).ask();
  scheduler_.run_ready();
  program(0).write("one\ntw");
  spawner_.hold_output = true;
  ASSERT_TRUE(program(0).session->answer(program(0).event()->request_id, {"1", std::nullopt}));
  program(0).ask();
  invoke("b");
  EXPECT_FALSE(first->is_ready()) << "its log is not all there";
  EXPECT_FALSE(program(0).has_event()) << "what it wrote for the first may still be on its way";
  program(0).write("o\n");
  program(0).watcher->on_flushed();
  EXPECT_THAT(outcome(first).log,
              testing::MatchesRegex("START RequestId: a Version: .LATEST\none\ntwo\n"
                                    "END RequestId: a\nREPORT RequestId: a\tDuration: 0.00 ms\t.*"));
  program(0).write("three\n");
  EXPECT_EQ(log_.count(R"("function":"Work","requestId":"a","stream":"stdout","line":"two")"), 1u);
  EXPECT_EQ(log_.count(R"("requestId":"b","stream":"stdout","line":"three")"), 1u);
  EXPECT_EQ(stats().log_lines, 3u);
}

TEST_F(ProcessHostTest, AFloodOfLinesIsCutAndCounted) {
  start();
  invoke("a");
  std::string flood;
  for (int i = 0; i < 6000; ++i) flood += "x\n";
  program(0).write(flood + std::string(20'000, 'y'));
  program(0).watcher->on_output(OutputStream::kErrorOutput, "z\n", 77);
  EXPECT_EQ(stats().log_lines, static_cast<uint64_t>(ProcessLog::kLinesAStep)) << "the loop has other things to do";
  scheduler_.run_ready();
  EXPECT_EQ(stats().log_lines, ProcessLog::kMaxLinesASecond);
  EXPECT_EQ(stats().log_dropped_lines, 6001 - ProcessLog::kMaxLinesASecond);
  EXPECT_EQ(stats().log_dropped_bytes, 77u);
  scheduler_.run_for(seconds(1));
  program(0).write("\n");
  EXPECT_EQ(log_.count("\"line\":\"" + std::string(ProcessLog::kMaxLineBytes, 'y') + "\",\"cut\":true"), 1u);
}

TEST_F(ProcessHostTest, AProgramThatEndsInItsFloodIsOverWhenItsLinesAreLogged) {
  start();
  const Running running = invoke(function_, "a", true);
  program(0).ask();
  scheduler_.run_ready();
  std::string flood;
  for (int i = 0; i < 1000; ++i) flood += "x\n";
  program(0).write(flood + "last words\n");
  program(0).exit(7);
  EXPECT_FALSE(running->is_ready());
  const InvokeOutcome out = outcome(running);
  EXPECT_EQ(out.error->type, "Runtime.ExitError");
  EXPECT_THAT(out.log, testing::HasSubstr("x\nlast words\n"));
  EXPECT_EQ(log_.count(R"("requestId":"a","stream":"stdout","line":"last words")"), 1u);
  EXPECT_EQ(stats().crashes, 1u);
}

TEST_F(ProcessHostTest, TheTailHasTheEndOfAFlood) {
  scheduler_.run_for(seconds(5));
  start();
  const Running running = invoke(function_, "a", true);
  program(0).ask();
  scheduler_.run_ready();
  program(0).write("begun");
  std::string flood;
  for (int i = 0; i < 20'000; ++i) flood += "line " + std::to_string(i) + "\n";
  program(0).write(flood);
  program(0).write("no end");
  ASSERT_TRUE(program(0).session->answer(program(0).event()->request_id, {"1", std::nullopt}));
  const std::string log = outcome(running).log;
  EXPECT_EQ(log.size(), ProcessLog::kTailBytes);
  EXPECT_THAT(log, testing::HasSubstr("\nline 19998\nline 19999\nno end\nEND RequestId: a\n"));
  EXPECT_EQ(stats().log_lines, ProcessLog::kMaxLinesASecond);
  EXPECT_EQ(stats().log_dropped_lines, 20'001 - ProcessLog::kMaxLinesASecond);
  EXPECT_EQ(log_.count("\"line\":\"begunline 0\""), 1u);
}

TEST_F(ProcessHostTest, AtTheBoundAnInvocationWaitsAndIsThenRefused) {
  ProcessOptions options;
  options.max_processes = 1;
  start(options);
  FunctionDefinition other = function_;
  other.name = "Other";
  const Running first = invoke("a");
  program(0).ask();
  scheduler_.run_ready();
  const Running waits = invoke(other, "b");
  EXPECT_EQ(spawner_.programs.size(), 1u);
  scheduler_.run_for(milliseconds(2000));
  const Running patient = invoke(other, "c");
  scheduler_.run_for(milliseconds(999));
  ASSERT_TRUE(program(0).session->answer(program(0).event()->request_id, {"1", std::nullopt}));
  scheduler_.run_for(milliseconds(1));
  EXPECT_TRUE(is_busy(outcome(waits)));
  program(0).ask();
  scheduler_.run_ready();
  EXPECT_FALSE(program(0).alive) << "idle, it makes room";
  ASSERT_EQ(spawner_.programs.size(), 2u);
  work(program(1), "3");
  EXPECT_EQ(outcome(first).payload, "1");
  EXPECT_EQ(outcome(patient).payload, "3");
}

TEST_F(ProcessHostTest, AnotherDefinitionHasAnotherProcess) {
  start();
  invoke("a");
  work(program(0));
  function_.environment["COLOUR"] = "red";
  invoke("b");
  ASSERT_EQ(spawner_.programs.size(), 2u);
  EXPECT_EQ(program(1).spec.environment["COLOUR"], "red");
  work(program(1));
  host_->forget("Work");
  EXPECT_FALSE(program(0).alive);
  EXPECT_FALSE(program(1).alive);
  EXPECT_EQ(stats().running, 0u);
}

// A deployment of new code makes nobody wait for the old one, which may have its function's timeout still to go.
TEST_F(ProcessHostTest, NewCodeStartsBesideAnOldProcessThatIsAtWork) {
  start();
  const Running old = invoke("a");
  host_->forget("Work");
  function_.code = "/new";
  const Running fresh = invoke("b");
  ASSERT_EQ(spawner_.programs.size(), 2u);
  EXPECT_EQ(stats().running, 2u);
  work(program(1), "2");
  EXPECT_EQ(outcome(fresh).payload, "2");
  EXPECT_TRUE(program(0).alive);
  work(program(0), "1");
  EXPECT_EQ(outcome(old).payload, "1");
  EXPECT_FALSE(program(0).alive);
  EXPECT_EQ(stats().running, 1u);
}

TEST_F(ProcessHostTest, NothingStartsBeforeItIsServed) {
  start({}, false);
  const Running running = invoke("a");
  EXPECT_TRUE(spawner_.programs.empty());
  host_->serve({});
  ASSERT_EQ(spawner_.programs.size(), 1u);
  work(program(0));
  EXPECT_EQ(outcome(running).payload, "1");
}

TEST_F(ProcessHostTest, TheProgramSeesItsEnvironmentAndNothingElse) {
  ASSERT_EQ(setenv("FRESHET_SECRET_OF_THE_DAEMON", "x", 1), 0);
  function_.environment = {{"COLOUR", "red"}, {"TZ", "Europe/Berlin"}, {"AWS_REGION", "mars"}};
  ProgramSettings settings;
  settings.endpoint = "http://127.0.0.1:7070";
  settings.path = "/bin";
  const ProcessSpec spec = process_spec(function_, settings, "127.0.0.1:9");
  std::vector<std::string> names;
  for (const auto& [name, value] : spec.environment) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre(
                         "AWS_ACCESS_KEY_ID", "AWS_CONFIG_FILE", "AWS_DEFAULT_REGION", "AWS_EC2_METADATA_DISABLED",
                         "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_DYNAMODB_STREAMS",
                         "AWS_ENDPOINT_URL_LAMBDA", "AWS_ENDPOINT_URL_SNS", "AWS_EXECUTION_ENV",
                         "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION",
                         "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME", "AWS_LAMBDA_LOG_STREAM_NAME",
                         "AWS_LAMBDA_RUNTIME_API", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SHARED_CREDENTIALS_FILE",
                         "AWS_XRAY_CONTEXT_MISSING", "AWS_XRAY_DAEMON_ADDRESS", "COLOUR", "LAMBDA_RUNTIME_DIR",
                         "LAMBDA_TASK_ROOT", "LANG", "LD_LIBRARY_PATH", "PATH", "TZ", "_HANDLER"));
  EXPECT_EQ(spec.environment.at("AWS_REGION"), "us-east-1") << "reserved";
  EXPECT_EQ(spec.environment.at("TZ"), "Europe/Berlin");
  EXPECT_EQ(spec.argv, std::vector<std::string>{"/code/bootstrap"});
  EXPECT_EQ(spec.directory, "/code");
  EXPECT_EQ(spec.limits.memory, uint64_t{128} << 20);
}

}  // namespace
}  // namespace freshet
