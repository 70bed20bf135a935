#include "wire/http/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/wire/http/harness.h"

namespace freshet {
namespace {

using wire_test::LoopThread;

// A server of raw bytes: the test accepts connections and plays each answer by hand.
class RawServer {
 public:
  RawServer() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_.get(), 16), 0);
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  Fd accept() {
    Fd client(::accept(fd_.get(), nullptr, nullptr));
    const timeval net{20, 0};
    ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &net, sizeof(net));
    return client;
  }
  uint16_t port() const { return port_; }
  std::string url(const std::string& path = "/x") const { return "http://127.0.0.1:" + std::to_string(port_) + path; }

 private:
  Fd fd_;
  uint16_t port_ = 0;
};

// Reads until `end` has come.
std::string read_until(const Fd& fd, std::string_view end) {
  std::string all;
  char part[4096];
  while (all.find(end) == std::string::npos) {
    const ssize_t n = ::recv(fd.get(), part, sizeof(part), 0);
    if (n <= 0) break;
    all.append(part, static_cast<size_t>(n));
  }
  return all;
}
void write_all(const Fd& fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

class HttpClientTest : public testing::Test {
 protected:
  using Outcome = Result<HttpResponse>;
  void start(HttpClientOptions options = {}) {
    loop_.run([&] { client_ = make_http_client(options, {io_.get()}, loop_.clock(), loop_.loop(), loop_.loop()); });
  }
  void TearDown() override {
    loop_.run([&] {
      scope_.clear();
      client_.reset();
    });
  }
  static Async<void> carry(HttpClient& client, std::string url, HttpRequest request, milliseconds timeout,
                           std::shared_ptr<std::promise<Outcome>> done) {
    Outcome outcome = co_await client.send(std::move(url), std::move(request), timeout);
    done->set_value(std::move(outcome));
  }
  std::future<Outcome> send(std::string url, HttpRequest request = {}, milliseconds timeout = seconds(20)) {
    auto done = std::make_shared<std::promise<Outcome>>();
    loop_.run([&] { scope_.spawn(carry(*client_, std::move(url), std::move(request), timeout, done)); });
    return done->get_future();
  }

  LoopThread loop_;
  std::unique_ptr<IoThread> io_ = *IoThread::start(loop_.clock());
  std::unique_ptr<HttpClient> client_;
  Scope scope_;  // Loop thread.
};

TEST_F(HttpClientTest, SendsAndKeepsTheConnection) {
  start();
  RawServer server;
  Fd peer;
  for (int i = 0; i < 3; ++i) {
    HttpRequest request{"POST", "", {{"X-A", "b"}, {"Content-Length", "999"}}, "body" + std::to_string(i)};
    auto outcome = send(server.url("/x?y=1"), request);
    if (i == 0) peer = server.accept();
    const std::string seen = read_until(peer, "body" + std::to_string(i));
    EXPECT_EQ(seen, "POST /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
                        "\r\nX-A: b\r\nContent-Length: 5\r\n\r\nbody" + std::to_string(i));
    write_all(peer,
              "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\nContent-Length: 3\r\n\r\n");
    write_all(peer, "abc");
    const Outcome result = outcome.get();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->status, 429);
    EXPECT_EQ(header(result->headers, "retry-after"), "7");
    EXPECT_EQ(result->body, "abc");
  }
}

TEST_F(HttpClientTest, ReadsChunkedHeadAndEndOfStreamAnswers) {
  start();
  RawServer server;
  auto chunked = send(server.url());
  Fd peer = server.accept();
  read_until(peer, "\r\n\r\n");
  write_all(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.get()->body, "abcdefg");
  auto head = send(server.url(), {"HEAD", "", {}, ""});
  read_until(peer, "\r\n\r\n");
  write_all(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  EXPECT_EQ(head.get()->body, "");
  auto to_end = send(server.url());
  read_until(peer, "\r\n\r\n");
  write_all(peer, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it");
  peer.reset();
  const Outcome result = to_end.get();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->body, "all of it");
  EXPECT_EQ(result->content_type, "text/plain");
}

TEST_F(HttpClientTest, SaysWhatWentWrong) {
  HttpClientOptions options;
  options.limits.body_bytes = 10;
  start(options);
  uint16_t closed_port = 0;
  {
    RawServer gone;
    closed_port = gone.port();
  }
  const auto error = [&](std::string url, HttpRequest request = {}) {
    const Outcome outcome = send(std::move(url), std::move(request)).get();
    return outcome ? "no error" : std::string(error_name(outcome.error().code)) + ": " + outcome.error().message;
  };
  const std::string where = "127.0.0.1:" + std::to_string(closed_port);
  EXPECT_EQ(error("http://" + where), std::string(error_name(ErrorCode::kUnavailable)) + ": http://" + where +
                                          ": cannot connect: Connection refused");
  EXPECT_TRUE(was_never_sent(send("http://" + where).get().error()));
  EXPECT_TRUE(was_never_sent(send("http://no-such-host.invalid/").get().error()));
  EXPECT_NE(error("http://no-such-host.invalid/").find("cannot find the host 'no-such-host.invalid'"),
            std::string::npos);
  EXPECT_NE(error("http://127.0.0.1/", {"GET", "", {{"X", "a\r\nY: b"}}, ""}).find("control characters"),
            std::string::npos);
  EXPECT_NE(error("http://127.0.0.1/", {"GE T", "", {}, ""}).find("not an HTTP method"), std::string::npos);

  RawServer server;
  const auto answered = [&](std::string_view answer) {
    auto outcome = send(server.url());
    Fd peer = server.accept();
    read_until(peer, "\r\n\r\n");
    write_all(peer, answer);
    peer.reset();
    const Outcome result = outcome.get();
    return result ? "no error" : result.error().message;
  };
  EXPECT_NE(answered("").find("the connection was closed before an answer"), std::string::npos);
  EXPECT_NE(answered("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab").find("closed within the answer"),
            std::string::npos);
  EXPECT_NE(answered("garbage\r\n\r\n").find("not a usable answer"), std::string::npos);
  EXPECT_NE(answered("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n").find("longer than 10 bytes"), std::string::npos);
}

TEST_F(HttpClientTest, TimesOutAndClosesTheConnection) {
  start();
  RawServer server;
  auto outcome = send(server.url(), {}, milliseconds(20));
  Fd peer = server.accept();
  read_until(peer, "\r\n\r\n");
  const Outcome result = outcome.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kTimeout);
  EXPECT_FALSE(was_never_sent(result.error()));
  EXPECT_EQ(read_until(peer, "never"), "") << "the connection is still open";
}

TEST_F(HttpClientTest, AnAbandonedRequestClosesItsConnection) {
  start();
  RawServer server;
  auto outcome = send(server.url());
  Fd peer = server.accept();
  read_until(peer, "\r\n\r\n");
  loop_.run([&] { scope_.clear(); });
  EXPECT_EQ(read_until(peer, "never"), "");
}

TEST_F(HttpClientTest, ReplacesAConnectionThatThePeerHasClosed) {
  start();
  RawServer server;
  for (int i = 0; i < 20; ++i) {
    auto outcome = send(server.url());
    Fd peer = server.accept();
    read_until(peer, "\r\n\r\n");
    write_all(peer, "HTTP/1.1 204 No Content\r\n\r\n");
    ASSERT_EQ(outcome.get()->status, 204);
  }  // The peer closes without a word; the next request needs a new connection.
}

TEST_F(HttpClientTest, DoesNotRepeatARequestThatWasSentInFull) {
  start();
  RawServer server;
  auto first = send(server.url());
  Fd peer = server.accept();
  read_until(peer, "\r\n\r\n");
  write_all(peer, "HTTP/1.1 204 No Content\r\n\r\n");
  first.get();
  auto second = send(server.url());
  read_until(peer, "\r\n\r\n");
  peer.reset();
  const Outcome result = second.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(was_never_sent(result.error()));
}

TEST_F(HttpClientTest, ReadsTheAnswerOfAServerThatDoesNotWantTheBody) {
  start();
  RawServer server;
  auto outcome = send(server.url(), {"POST", "", {}, std::string(8u << 20, 'x')});
  Fd peer = server.accept();
  write_all(peer, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  const Outcome result = outcome.get();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->status, 413);
}

TEST_F(HttpClientTest, BoundsCalls) {
  HttpClientOptions options;
  options.max_calls = 1;
  start(options);
  RawServer server;
  auto first = send(server.url());
  const Outcome second = send(server.url()).get();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(was_never_sent(second.error()));
}

}  // namespace
}  // namespace freshet
