// Traces: spans of invocations that go on with what caused them, segments of SDKs, and the formats they are kept in.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/invoke/trace.h"
#include "runtime/trace/otlp_sender.h"
#include "runtime/trace/span_json.h"
#include "runtime/trace/tracer.h"
#include "runtime/trace/xray_segment.h"
#include "tables/value/json_reader.h"
#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kRoot = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
constexpr const char* kTraceId = "5759e988bd862e3fe1be46a994272793";

struct KeptSpans final : SpanSink {
  explicit KeptSpans(std::vector<Span>& s) : spans(s) {}
  void take(const std::vector<Span>& more) override { spans.insert(spans.end(), more.begin(), more.end()); }
  void close() override {}
  std::vector<Span>& spans;
};

// A table whose stream drives "Trigger", which publishes to a topic that "Process" subscribes to.
struct TraceTest : testing::Test {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  Random random{7};
  SimLoop sim{clock};
  FakeHttp http{sim.loop()};
  NoSpawner spawner;
  NativeRegistry natives;
  std::vector<Span> spans;
  Tracer tracer{sim.loop(), random};
  std::unique_ptr<EmbeddedTables> tables;
  std::unique_ptr<Runtime> runtime;

  TraceTest() {
    tracer.add_sink(std::make_unique<KeptSpans>(spans));
    EmbeddedOptions store;
    store.directory = std::string(kMemoryDirectory);
    store.trace_links = &tracer.links();
    tables = std::move(*open_embedded(nullptr, sim.loop(), random, store));
    sim.loop().add(*tables);
    natives.add("publish", [](Context& context) { return publish(context); });
    natives.add("call", [](Context& context) { return call(context); });
    RuntimePorts ports{*tables, sim.loop(), random, http, spawner, natives, nullptr, &tracer};
    runtime = std::make_unique<Runtime>(ports);
    must(runtime->start());
  }
  ~TraceTest() override {
    runtime.reset();
    sim.loop().remove(*tables);
  }

  template <class T>
  T must(Async<Result<T>> work) {
    EXPECT_TRUE(sim.run_until([&] { return work.is_ready(); }, seconds(60)));
    Result<T> result = work.take();
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }
  // Publishes after a wait: a coroutine keeps its trace.
  static Async<Result<std::string>> publish(Context& context) {
    co_await sleep_for(context.services.scheduler, milliseconds(5));
    PublishInput input;
    input.topic_arn = "arn:aws:sns:us-east-1:000000000000:Topic";
    input.message = "Start";
    auto published = co_await context.services.topics.publish(std::move(input));
    if (!published) co_return fail(published.error());
    co_return std::string("null");
  }
  static Async<Result<std::string>> call(Context& context) {
    HttpRequest request;
    auto answer =
        co_await context.services.http.send("http://127.0.0.1:9/task?secret=1", std::move(request), seconds(1));
    if (!answer) co_return fail(answer.error());
    co_return fail(ErrorCode::kInternal, "it went wrong");
  }
  void add(const std::string& name, const std::string& handler) {
    FunctionDefinition function;
    function.name = name;
    function.handler = handler;
    function.async.max_retries = 0;
    must(runtime->put_function(function));
  }
  void add_chain() {
    TableDefinition table;
    table.name = "Tasks";
    table.keys = KeySchema{{"taskId", Type::kString}, {}};
    table.stream = StreamView::kKeysOnly;
    must(tables->create_table(table));
    must(runtime->put_topic({"Topic"}));
    add("Trigger", "publish");
    add("Process", "call");
    SubscriptionDefinition subscription;
    subscription.topic = "Topic";
    subscription.protocol = "lambda";
    subscription.endpoint = "Process";
    must(runtime->subscribe(subscription));
    MappingDefinition mapping;
    mapping.table = "Tasks";
    mapping.function = "Trigger";
    must(runtime->put_mapping(mapping));
  }
  void put(const std::string& trace) {
    const TraceLinks::Scope scope(&tracer.links(), trace);
    PutItemInput input;
    input.table = "Tasks";
    input.item = Item{{"taskId", "t" + std::to_string(++puts)}};
    must(tables->put_item(std::move(input)));
  }
  const Span& span(const std::string& name) {
    for (const Span& one : spans) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << "no span " << name;
    static const Span none;
    return none;
  }
  int puts = 0;
};

// A datagram has 64 KB, and 10,000 spans wait.
TEST_F(TraceTest, TextsOfSpansAreCut) {
  Span span = tracer.begin(std::string(999, 'n') + "\u00e4", kRoot);
  span.error = std::string(60'000, 'e');
  span.attributes.emplace_back("rpc.method", std::string(60'000, 'm'));
  tracer.finish(std::move(span));
  tracer.flush();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].name, std::string(999, 'n')) << "no half character";
  EXPECT_EQ(spans[0].error.size(), 1'000u);
  EXPECT_EQ(spans[0].attributes[0].second.size(), 1'000u);
}

// A process of another user proves with the trace id that it works for the daemon.
TEST_F(TraceTest, SpansOfOthersAreTakenIfTheirTraceIsKnown) {
  const auto foreign = [&](const std::string& trace, bool trusted) {
    Span span;
    span.trace_id = trace;
    span.span_id = "00000000000000aa";
    span.name = "foreign";
    span.start_ns = span.end_ns = 1;
    return tracer.finish_foreign({span, span}, trusted);
  };
  EXPECT_EQ(foreign(kTraceId, false), 2u);
  EXPECT_EQ(foreign("", false), 2u);
  EXPECT_EQ(foreign(kTraceId, true), 0u);
  tracer.finish(tracer.begin("own", kRoot));
  EXPECT_EQ(foreign(kTraceId, false), 0u);
  for (size_t i = 0; i < Tracer::kMostKnown; ++i) tracer.begin("another", "");
  EXPECT_EQ(foreign(kTraceId, false), 2u) << "the oldest is forgotten";
  tracer.flush();
  EXPECT_EQ(spans.size(), 5u);
}

TEST_F(TraceTest, AWriteItsStreamTheTriggerTheTopicAndTheTaskAreOneTrace) {
  add_chain();
  put(kRoot);
  sim.run_for(seconds(2));
  ASSERT_EQ(spans.size(), 3u);
  for (const Span& one : spans) EXPECT_EQ(one.trace_id, kTraceId) << one.name;
  EXPECT_EQ(span("Trigger").parent_id, "53995c3f42cd8ad8");
  EXPECT_EQ(span("Process").parent_id, span("Trigger").span_id);
  EXPECT_EQ(span("POST http://127.0.0.1:9/task").parent_id, span("Process").span_id);
  EXPECT_EQ(span("Trigger").end_ns - span("Trigger").start_ns, 5'000'000);
  EXPECT_EQ(span("Trigger").start_ns / 1'000'000'000, 1'700'000'000);
  EXPECT_TRUE(span("Trigger").error.empty());
  EXPECT_THAT(span("Process").error, HasSubstr("it went wrong"));
  ASSERT_EQ(http.sent.size(), 1u);
  const std::string sent(header(http.sent[0].second.headers, "X-Amzn-Trace-Id"));
  EXPECT_EQ(parse_trace(sent).root, "1-5759e988-bd862e3fe1be46a994272793");
  EXPECT_EQ(parse_trace(sent).parent, span("POST http://127.0.0.1:9/task").span_id);
}

TEST_F(TraceTest, WhatNothingTracedCausedBeginsATraceAndUnsampledOnesLeaveNone) {
  add_chain();
  put("");
  sim.run_for(seconds(2));
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_NE(spans[0].trace_id, kTraceId);
  EXPECT_TRUE(span("Trigger").parent_id.empty());
  EXPECT_EQ(span("Process").trace_id, span("Trigger").trace_id);
  spans.clear();
  InvokeWishes wishes{false, "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0"};
  must(runtime->invoker().invoke("Process", "{}", wishes));
  sim.run_for(seconds(2));
  EXPECT_TRUE(spans.empty());
}

Async<void> call_later(Services& services, std::shared_ptr<const void> /*kept*/) {
  co_await sleep_for(services.scheduler, seconds(5));
  HttpRequest request;
  auto answer = co_await services.http.send("http://127.0.0.1:9/task", std::move(request), seconds(1));
  EXPECT_TRUE(answer);
}

// Such as the processor, whose slow tasks do not hold up its next run.
TEST_F(TraceTest, WorkThatAnInvocationLeavesGoesOnWithItsTrace) {
  Scope left;
  natives.add("leave", [&left](Context& context) {
    left.spawn(call_later(context.services, context.services_kept));
    return Async<Result<std::string>>(std::string("null"));
  });
  add("Leaves", "leave");
  InvokeWishes wishes{false, kRoot};
  must(runtime->invoker().invoke("Leaves", "{}", wishes));
  EXPECT_EQ(http.sent.size(), 0u);
  sim.run_for(seconds(10));
  ASSERT_EQ(http.sent.size(), 1u);
  EXPECT_EQ(parse_trace(header(http.sent[0].second.headers, "X-Amzn-Trace-Id")).root,
            "1-5759e988-bd862e3fe1be46a994272793");
  EXPECT_EQ(span("POST http://127.0.0.1:9/task").parent_id, span("Leaves").span_id);
  EXPECT_EQ(left.size(), 0u);
}

TEST_F(TraceTest, SpansThatNobodyTakesInTimeAreDroppedAndCounted) {
  for (size_t i = 0; i < Tracer::kMostWaiting + 5; ++i) tracer.finish(tracer.begin("x", ""));
  EXPECT_EQ(tracer.dropped(), 5u);
  sim.run_for(seconds(2));
  EXPECT_EQ(spans.size(), Tracer::kMostWaiting);
}

TEST_F(TraceTest, AnEndpointGetsThemAndIsToldOnceWhenItFails) {
  OtlpSender sender(http, sim.loop(), {}, "http://127.0.0.1:4318/v1/traces");
  http.answers = {HttpResponse{503, "", {}, ""}, HttpResponse{200, "", {}, ""}, fail(ErrorCode::kUnavailable, "gone"),
                  fail(ErrorCode::kUnavailable, "gone")};
  Span one = tracer.begin("one", kRoot);
  sender.take({one});
  sim.run_for(seconds(5));
  ASSERT_EQ(http.sent.size(), 2u) << "once more";
  EXPECT_EQ(http.sent[0].second.body, http.sent[1].second.body);
  EXPECT_THAT(http.sent[0].second.body, HasSubstr(R"("name":"one")"));
  EXPECT_EQ(sender.dropped(), 0u);
  sender.take({one, one});
  sim.run_for(seconds(5));
  EXPECT_EQ(http.sent.size(), 4u);
  EXPECT_EQ(sender.dropped(), 2u);
}

TEST(TraceLinks, ForgetsTheOldest) {
  TraceLinks links(2);
  const TraceLinks::Scope scope(&links, "a");
  for (uint64_t i = 1; i <= 3; ++i) links.note("T", i);
  EXPECT_EQ(links.find("T", 1), "");
  EXPECT_EQ(links.find("T", 3), "a");
  EXPECT_EQ(links.find("U", 3), "");
  {
    const TraceLinks::Scope inner(&links, "b");
    EXPECT_EQ(links.current(), "b");
    const TraceLinks::Scope nothing(&links, "");
    EXPECT_EQ(links.current(), "b");
  }
  EXPECT_EQ(links.current(), "a");
  const TraceLinks::Scope later(&links, "c");
  links.note("T", 3);  // The record of a table that was made again.
  EXPECT_EQ(links.find("T", 3), "c");
}

Span made(const std::string& name, const std::string& id, const std::string& parent, int64_t start, int64_t end) {
  Span span;
  span.trace_id = kTraceId;
  span.span_id = id;
  span.parent_id = parent;
  span.name = name;
  span.start_ns = start;
  span.end_ns = end;
  return span;
}

TEST(SpanJson, OtlpIsOneRequest) {
  Span span = made("a \"b\"", "0000000000000001", "", 1'000'000'001, 2'000'000'000);
  span.error = "bad";
  span.attributes = {{"faas.name", "F"}};
  const std::string text = otlp_json(std::vector<Span>{span, span});
  JsonDocument document;
  ASSERT_TRUE(document.parse(text)) << text;
  EXPECT_THAT(text, HasSubstr(R"({"traceId":"5759e988bd862e3fe1be46a994272793","spanId":"0000000000000001",)"
                              R"("name":"a \"b\"","kind":5,"startTimeUnixNano":"1000000001",)"
                              R"("endTimeUnixNano":"2000000000","attributes":[{"key":"faas.name","value":)"
                              R"({"stringValue":"F"}}],"status":{"code":2,"message":"bad"}})"));
}

TEST(SpanJson, ChromeHasTracksForWhatRanSideBySideAndArrowsFromTheCause) {
  ChromeTrace chrome;
  std::string text = "[" + chrome.events(std::vector<Span>{
                               made("F", "0000000000000002", "0000000000000001", 2000, 3000),  // Before its cause.
                               made("F", "0000000000000001", "", 1000, 2500),
                               made("F", "0000000000000003", "0000000000000001", 2600, 2700)});
  text.resize(text.size() - 2);  // The last comma, which readers of this format do not mind.
  JsonDocument document;
  const auto all = document.parse(text + "]");
  ASSERT_TRUE(all) << text;
  EXPECT_THAT(text, HasSubstr(R"("ph":"X","pid":1,"tid":1,"ts":2.000,"dur":1.000)"));
  EXPECT_THAT(text, HasSubstr(R"("ph":"X","pid":1,"tid":2,"ts":1.000,"dur":1.500)"));
  EXPECT_THAT(text, HasSubstr(R"("ph":"s","id":"0000000000000002","pid":1,"tid":2,"ts":2.000)"));
  EXPECT_THAT(text, HasSubstr(R"("ph":"f","id":"0000000000000002","pid":1,"tid":1,"ts":2.000,"bp":"e")"));
  // It began after its cause had ended: the arrow leaves at that end.
  EXPECT_THAT(text, HasSubstr(R"("ph":"s","id":"0000000000000003","pid":1,"tid":2,"ts":2.500)"));
  EXPECT_THAT(text, HasSubstr(R"("name":"thread_name","ph":"M")"));
}

TEST(SpanJson, ChromeKeepsDrawingArrowsAndItsTracksAreBounded) {
  ChromeTrace chrome;
  std::vector<Span> strangers;  // Spans of other programs' traces: their parents never come.
  for (int i = 0; i < 20'000; ++i) {
    strangers.push_back(made("host" + std::to_string(i), "00000000000000aa", fmt::format("{:016x}", 100 + i), 1, 2));
  }
  const std::string before = chrome.events(strangers);
  EXPECT_THAT(before, HasSubstr(R"("args":{"name":"host1000"})"));
  EXPECT_THAT(before, Not(HasSubstr(R"("args":{"name":"host2000"})")));
  EXPECT_THAT(before, HasSubstr(R"x("args":{"name":"(others)"})x"));
  const std::string text = chrome.events(std::vector<Span>{
      made("F", "0000000000000002", "0000000000000001", 2000, 3000), made("F", "0000000000000001", "", 1000, 2500)});
  EXPECT_THAT(text, HasSubstr(R"("ph":"s","id":"0000000000000002")"));
}

std::string datagram(const std::string& segment) {
  return "{\"format\":\"json\",\"version\":1}\n" + segment;
}

TEST(XraySegment, SubsegmentsBecomeSpansWithAllBelowThem) {
  const auto spans = spans_of_datagram(datagram(
      R"({"trace_id":"1-5759e988-bd862e3fe1be46a994272793","id":"0000000000000001","parent_id":"53995c3f42cd8ad8",)"
      R"("type":"subsegment","name":"DynamoDB","namespace":"aws","start_time":1461096053.37518,"end_time":1461096053.4042,)"
      R"("aws":{"operation":"PutItem","table_name":"Tasks"},"fault":true,)"
      R"("cause":{"exceptions":[{"message":"no such table"}]},)"
      R"("subsegments":[{"id":"0000000000000002","name":"retry","start_time":1461096053.4,"in_progress":true}]})"));
  ASSERT_TRUE(spans) << spans.error().message;
  ASSERT_EQ(spans->size(), 1u) << "what is under way comes again";
  const Span& span = spans->front();
  EXPECT_EQ(span.trace_id, kTraceId);
  EXPECT_EQ(span.parent_id, "53995c3f42cd8ad8");
  EXPECT_EQ(span.start_ns, 1'461'096'053'375'180'000);
  EXPECT_EQ(span.end_ns, 1'461'096'053'404'200'000);
  EXPECT_EQ(span.error, "no such table");
  EXPECT_THAT(span.attributes, testing::Contains(testing::Pair("rpc.method", "PutItem")));
}

// The clock was set back between its begin and its end; a negative duration would be no JSON.
TEST(XraySegment, AnEndBeforeTheBeginIsTheBegin) {
  const auto spans = spans_of_datagram(datagram(
      R"({"trace_id":"1-5759e988-bd862e3fe1be46a994272793","id":"0000000000000001","name":"n","start_time":2,"end_time":1})"));
  ASSERT_TRUE(spans) << spans.error().message;
  EXPECT_EQ(spans->front().end_ns, spans->front().start_ns);
}

TEST(XraySegment, WhatIsNoneIsRefused) {
  const std::string good = R"("trace_id":"1-5759e988-bd862e3fe1be46a994272793","id":"0000000000000001")";
  for (const std::string& bad :
       {std::string(), std::string("x\ny"), std::string("{}\n{}"), datagram("[]"), datagram("{}"),
        datagram("{" + good + "}"), datagram("{" + good + R"(,"name":"n","start_time":-1})"),
        datagram("{" + good + R"(,"name":"n","start_time":1e300})"),
        datagram("{" + good + R"(,"name":"n","start_time":9300000000,"end_time":9300000000})"),
        datagram("{" + good + R"(,"name":"n","start_time":1,"parent_id":"x"})"),
        datagram(R"({"trace_id":"1-x","id":"0000000000000001","name":"n","start_time":1})")}) {
    EXPECT_FALSE(spans_of_datagram(bad)) << bad;
  }
}

}  // namespace
}  // namespace freshet
