// Attempts on tasks are spans, and what does their work is below them.
#include "functions/runners/traced_runner.h"

#include <gmock/gmock.h>

#include "runtime/trace/recent_spans.h"
#include "runtime/trace/tracer.h"
#include "tests/functions/world.h"

namespace freshet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Pair;

constexpr const char* kRun = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

class TracedRunnerTest : public ::testing::Test {
 protected:
  TracedRunnerTest() {
    auto kept = std::make_unique<RecentSpans>();
    spans = kept.get();
    tracer.add_sink(std::move(kept));
  }
  std::unique_ptr<Runner> traced(const RunnerSettings& settings) {
    return trace_attempts(make_runner(settings, *world.services, kRun), settings, {tracer, *world.services}, kRun,
                          "emails");
  }
  static ItemRef task() { return ItemRef::encode(Item{{"taskId", Value("a")}, {"attempt", Value::number(2)}}); }
  std::vector<Span> spans_of_task() {
    tracer.flush();
    return spans->of_task("emails", "a", 100).spans;
  }

  QueueWorld world{false};
  Tracer tracer{world.scheduler, world.random};
  RecentSpans* spans = nullptr;
};

TEST_F(TracedRunnerTest, TheRequestForATaskIsBelowItsAttempt) {
  RunnerSettings settings;
  settings.kind = RunnerKind::kHttp;
  settings.url = "http://127.0.0.1:1/work?key=secret";
  HttpHeaders sent;
  world.http.answer = [&](const HttpRequest& request) {
    sent = request.headers;
    return HttpResponse{500, "application/json", {}, "no"};
  };
  const auto runner = traced(settings);
  EXPECT_EQ(world.wait(runner->run(task(), "lease")).kind, RunResult::Kind::kFailure);
  const auto found = spans_of_task();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, "attempt");
  EXPECT_EQ(found[0].name, "emails attempt");
  EXPECT_EQ(found[0].parent_id, "53995c3f42cd8ad8") << "below the run of the processor";
  EXPECT_THAT(found[0].attributes,
              AllOf(Contains(Pair("freshet.queue", "emails")), Contains(Pair("freshet.task_id", "a")),
                    Contains(Pair("freshet.attempt", "2"))));
  EXPECT_EQ(found[0].error, "the handler answered 500: no");
  EXPECT_EQ(found[1].name, "POST http://127.0.0.1:1/work");
  EXPECT_EQ(found[1].parent_id, found[0].span_id);
  EXPECT_EQ(found[1].trace_id, found[0].trace_id);
  EXPECT_EQ(header(sent, "X-Amzn-Trace-Id"), Tracer::header_of(found[1])) << "the handler goes on with it";
}

TEST_F(TracedRunnerTest, AnAttemptThatIsDroppedHasItsSpan) {
  RunnerSettings settings;
  settings.kind = RunnerKind::kFake;
  settings.fake_slots = 1;
  settings.fake_duration = seconds(1);
  const auto runner = traced(settings);
  {
    auto dropped = runner->run(task(), "lease");
    world.pass(milliseconds(100));
    EXPECT_FALSE(dropped.is_ready());
    // The slots of the sample's runner are shared by all attempts.
    EXPECT_EQ(world.wait(runner->run(task(), "other")).kind, RunResult::Kind::kBounced);
  }
  const auto found = spans_of_task();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].error, "dropped before it ended");
  EXPECT_EQ(found[1].error, "handed back: no slot is free");
}

TEST_F(TracedRunnerTest, ASuccessHasNoError) {
  RunnerSettings settings;
  settings.kind = RunnerKind::kFake;
  settings.fake_slots = 1;
  settings.fake_duration = seconds(1);
  const auto runner = traced(settings);
  EXPECT_EQ(world.wait(runner->run(task(), "lease")).kind, RunResult::Kind::kSuccess);
  const auto found = spans_of_task();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].error, "");
  EXPECT_GE(found[0].end_ns - found[0].start_ns, 1'000'000'000);
}

}  // namespace
}  // namespace freshet
