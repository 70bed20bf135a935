// Segments over UDP, and requests that come with a trace.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/wire/http/harness.h"
#include "wire/xray/segment_receiver.h"
#include "wire/xray/traced_route.h"

namespace freshet {
namespace {

using wire_test::LoopThread;
using wire_test::Tally;

void send(uint16_t port, const std::string& datagram) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(sendto(socket, datagram.data(), datagram.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to),
            static_cast<ssize_t>(datagram.size()));
  close(socket);
}

TEST(SegmentReceiver, HandsSegmentsToTheLoopAndCountsTheRest) {
  LoopThread loop;
  Tally taken;
  std::vector<Span> spans;
  auto receiver = SegmentReceiver::start(0, loop.loop(), [&](std::vector<Span> more, bool) {
    spans.insert(spans.end(), more.begin(), more.end());
    taken.add();
    return size_t{0};
  });
  ASSERT_TRUE(receiver) << receiver.error().message;
  send((*receiver)->port(), "nonsense");
  send((*receiver)->port(), "");
  send((*receiver)->port(),
       "{\"format\":\"json\",\"version\":1}\n{\"trace_id\":\"1-5759e988-bd862e3fe1be46a994272793\",\"id\":"
       "\"00000000000000aa\",\"name\":\"work\",\"start_time\":1,\"end_time\":2.5}");
  taken.wait_for(1);
  loop.run([&] {
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].name, "work");
    EXPECT_EQ(spans[0].end_ns, 2'500'000'000);
  });
  EXPECT_EQ((*receiver)->refused(), 1u);
  const auto second =
      SegmentReceiver::start((*receiver)->port(), loop.loop(), [](std::vector<Span>, bool) { return size_t{0}; });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kIo);
}

// Uses a socket that is still open when the datagram is read: the kernel knows the owner only of those.
TEST(SegmentReceiver, SaysWhetherAProcessOfItsUserSentThem) {
  constexpr const char* kSegment =
      "{\"format\":\"json\",\"version\":1}\n{\"trace_id\":\"1-5759e988-bd862e3fe1be46a994272793\",\"id\":"
      "\"00000000000000aa\",\"name\":\"work\",\"start_time\":1,\"end_time\":2.5}";
  LoopThread loop;
  Tally taken;
  std::vector<bool> seen;
  auto receiver = SegmentReceiver::start(0, loop.loop(), [&](std::vector<Span> spans, bool ours) {
    seen.push_back(ours);
    taken.add();
    return ours ? size_t{0} : spans.size();
  });
  ASSERT_TRUE(receiver) << receiver.error().message;
  const auto send_from = [&](int socket) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons((*receiver)->port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string datagram = kSegment;
    EXPECT_EQ(sendto(socket, datagram.data(), datagram.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to),
              static_cast<ssize_t>(datagram.size()));
  };
  const Fd own(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  send_from(own.get());
  taken.wait_for(1);
  if (geteuid() == 0) {
    const wire_test::AsUser nobody(65'534);
    const Fd other(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    send_from(other.get());
    taken.wait_for(2);
    loop.run([] {});
    EXPECT_EQ((*receiver)->refused(), 1u);
  }
  loop.run([&] { EXPECT_EQ(seen, geteuid() == 0 ? std::vector<bool>({true, false}) : std::vector<bool>({true})); });
}

HttpRequest with(const std::string& name, const std::string& value) {
  HttpRequest request;
  request.headers = {{name, value}};
  return request;
}

TEST(TracedRoute, TakesBothKindsOfHeaders) {
  const std::string own = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0";
  EXPECT_EQ(trace_header_of(with("x-amzn-trace-id", own)), own);
  EXPECT_EQ(trace_header_of(with("X-Amzn-Trace-Id", "Root=odd")), "");
  // It is kept for every write that the request makes.
  EXPECT_EQ(trace_header_of(with("X-Amzn-Trace-Id", "Self=x;Root=1-5759e988-bd862e3fe1be46a994272793; Lineage=" +
                                                        std::string(20'000, 'x'))),
            "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1");
  EXPECT_EQ(trace_header_of(with("traceparent", "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01")),
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1");
  EXPECT_EQ(trace_header_of(with("traceparent", "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-00")),
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0");
  for (const char* odd : {"", "00-00000000000000000000000000000000-53995c3f42cd8ad8-01",
                          "00-5759e988bd862e3fe1be46a994272793-0000000000000000-01",
                          "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-0x",
                          "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8",
                          "00-5759e988bd862e3fe1be46a99427279X-53995c3f42cd8ad8-01",
                          "01-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01"}) {
    EXPECT_EQ(trace_header_of(with("traceparent", odd)), "") << odd;
  }
}

class NotingExchange final : public Exchange {
 public:
  NotingExchange(TraceLinks& links, std::string& seen) : links_(links), seen_(seen) {}
  Async<void> run() override {
    seen_ = links_.current();
    return {};
  }
  HttpResponse respond() override { return {}; }

 private:
  TraceLinks& links_;
  std::string& seen_;
};

class NotingRoute final : public Route {
 public:
  NotingRoute(TraceLinks& links, std::string& seen) : links_(links), seen_(seen) {}
  bool matches(const HttpRequest& request) const override { return request.method == "GET"; }
  bool changes(const HttpRequest& request) const override { return request.target == "/take"; }
  std::unique_ptr<Exchange> accept(HttpRequest) override { return std::make_unique<NotingExchange>(links_, seen_); }

 private:
  TraceLinks& links_;
  std::string& seen_;
};

TEST(TracedRoute, WhatARequestDoesHasItsTrace) {
  TraceLinks links;
  std::string seen = "nothing yet";
  const auto route = make_traced_route(std::make_unique<NotingRoute>(links, seen), links);
  EXPECT_FALSE(route->matches({}));
  EXPECT_TRUE(route->changes({"GET", "/take", {}, {}}));
  EXPECT_FALSE(route->changes({"GET", "/look", {}, {}}));
  const std::string own = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
  const auto traced = route->accept(with("X-Amzn-Trace-Id", own));
  EXPECT_TRUE(traced->run().is_ready());
  EXPECT_EQ(seen, own);
  EXPECT_EQ(links.current(), "");
  EXPECT_TRUE(route->accept({})->run().is_ready());
  EXPECT_EQ(seen, "");
}

}  // namespace
}  // namespace freshet
