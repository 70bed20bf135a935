// How asynchronous events and callers share the processes of a host.
#include "tests/runtime/invoke/process_host_fixture.h"

namespace freshet {
namespace {

// Not in the host, where they would stand before every other function's callers.
TEST_F(ProcessHostTest, EventsWaitInTheirQueue) {
  ProcessOptions options;
  options.max_processes = 1;
  start(options);
  FunctionDefinition other = function_;
  other.name = "Other";
  other.reserved_concurrency = 1;
  const auto made = make_invoker({function_, other});
  FunctionInvoker& invoker = *made;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(invoker.invoke_async("Work", "{}").is_ready());
  scheduler_.run_ready();
  EXPECT_EQ(invoker.stats()["Work"].queued, 9u);
  auto called = invoker.invoke("Other", "{}");
  scheduler_.run_ready();
  work(program(0));
  EXPECT_FALSE(program(0).alive) << "it makes room for the caller";
  EXPECT_EQ(invoker.stats()["Work"].queued, 8u) << "one stands behind the caller";
  ASSERT_EQ(spawner_.programs.size(), 2u);
  work(program(1));
  EXPECT_TRUE(called.is_ready());
  EXPECT_EQ(invoker.stats()["Work"].queued, 8u) << "its end has started the next event";
  ASSERT_EQ(spawner_.programs.size(), 3u);
  for (int i = 0; i < 9; ++i) work(program(2));
  EXPECT_EQ(invoker.stats()["Work"].queued, 0u);
  EXPECT_EQ(invoker.stats()["Work"].running, 0);
}

// As long as there are callers the host is full. Events get their share all the same, and callers keep theirs.
TEST_F(ProcessHostTest, CallersDoNotKeepEventsOut) {
  ProcessOptions options;
  options.max_processes = 1;
  start(options);
  const auto made = make_invoker({function_});
  FunctionInvoker& invoker = *made;
  std::list<Async<Result<InvokeOutcome>>> callers;
  const auto call = [&] { callers.push_back(invoker.invoke("Work", "\"call\"")); };
  for (int i = 0; i < 3; ++i) call();
  scheduler_.run_ready();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(invoker.invoke_async("Work", "\"event\"").is_ready());
  scheduler_.run_ready();
  int events = 0;
  int calls = 0;
  program(0).ask();
  for (int i = 0; i < 40; ++i) {
    scheduler_.run_ready();
    ASSERT_TRUE(program(0).has_event());
    const auto event = program(0).event();
    ASSERT_TRUE(event);
    const bool is_call = event->payload == "\"call\"";
    ++(is_call ? calls : events);
    ASSERT_TRUE(program(0).session->answer(event->request_id, {"1", std::nullopt}));
    program(0).ask();
    if (is_call) call();  // There are always three.
  }
  EXPECT_GE(events, 10);
  EXPECT_GE(calls, 10);
}

}  // namespace
}  // namespace freshet
