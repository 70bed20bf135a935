#include "wire/http/listener.h"

#include <gtest/gtest.h>

#include "tests/wire/http/harness.h"

namespace freshet {
namespace {

using wire_test::LoopThread;

TEST(HttpListener, SaysWhyItCannotListen) {
  LoopThread loop;
  auto io = *IoThread::start(loop.clock());
  const auto start = [&](HttpListener listener) {
    return HttpServer::start({}, std::move(listener), {}, {io.get()}, loop.clock(), loop.loop(), loop.loop(),
                             []() -> Async<Result<void>> { return Result<void>{}; });
  };
  loop.run([&] {
    auto named = HttpListener::bind("localhost", 0);
    ASSERT_FALSE(named);
    EXPECT_EQ(named.error().message, "cannot listen on 'localhost': it is not an IPv4 or IPv6 address");
    auto bound = HttpListener::bind("127.0.0.1", 0);
    ASSERT_TRUE(bound);
    const uint16_t port = bound->port();
    auto rival = HttpListener::bind("127.0.0.1", port);  // Nobody listens there yet.
    auto first = start(std::move(*bound));
    ASSERT_TRUE(first);
    EXPECT_EQ((*first)->port(), port);
    const std::string taken = "cannot listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use";
    auto second = HttpListener::bind("127.0.0.1", port);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message, taken);
    ASSERT_TRUE(rival);
    auto third = start(std::move(*rival));
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().message, taken);
  });
}

}  // namespace
}  // namespace freshet
