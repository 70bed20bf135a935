// Compressed bodies, pages of other origins and other users of the machine, through a real socket.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/wire/http/harness.h"
#include "wire/auth/signature_gate.h"
#include "wire/auth/sigv4.h"
#include "wire/http/blocking_client.h"
#include "wire/http/cors.h"
#include "wire/http/simple_route.h"

namespace freshet {
namespace {

using wire_test::body_of;
using wire_test::get;
using wire_test::LoopThread;
using wire_test::post;
using wire_test::RawClient;
using wire_test::status_of;

std::string gzip(const std::string& text) {
  std::string out(text.size() + 100, '\0');
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string headers_of(const HttpRequest& request) {
  std::string headers;
  for (const auto& [name, value] : request.headers) {
    if (name != "Host") headers += name + ": " + value + "\r\n";
  }
  return headers;
}

class ServerBodyTest : public testing::Test {
 protected:
  void start(HttpServerOptions options = {}, const std::string& address = "127.0.0.1") {
    auto listener = HttpListener::bind(address, 0);
    if (address != "127.0.0.1" && !listener) GTEST_SKIP() << listener.error().message;  // No IPv6 here.
    ASSERT_TRUE(listener) << listener.error().message;
    io_ = *IoThread::start(loop_.clock());
    std::vector<std::unique_ptr<Route>> routes;
    routes.push_back(make_simple_route("POST", "/", [](const HttpRequest& request) -> Async<HttpResponse> {
      HttpResponse response;
      response.body = request.body;
      return response;
    }));
    loop_.run([&] {
      server_ = std::move(*HttpServer::start(std::move(options), std::move(*listener), std::move(routes), {io_.get()},
                                             loop_.clock(), loop_.loop(), loop_.loop(),
                                             []() -> Async<Result<void>> { return Result<void>{}; }));
    });
  }
  void TearDown() override {
    loop_.run([&] { server_.reset(); });
    loop_.end();
  }

  LoopThread loop_;
  std::unique_ptr<IoThread> io_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ServerBodyTest, CompressedBodiesReachTheRoutesAsTheyWere) {
  HttpServerOptions options;
  options.limits.body_bytes = 10'000;
  start(std::move(options));
  RawClient client(server_->port());
  const std::string text(10'000, 'x');
  client.send(post(gzip(text), "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(body_of(client.answer()), text);
  client.send(post(gzip(text + "x"), "Content-Encoding: gzip\r\n"));
  const std::string bomb = client.answer();
  EXPECT_EQ(status_of(bomb), 413);
  EXPECT_NE(bomb.find("longer than 10000 bytes when decompressed"), std::string::npos) << bomb;
  client.send(post("not gzip", "Content-Encoding: gzip\r\n"));
  const std::string broken = client.answer();
  EXPECT_EQ(status_of(broken), 400);
  EXPECT_NE(broken.find("SerializationException"), std::string::npos) << broken;
  for (const char* headers : {"Content-Encoding: br\r\n", "Content-Encoding: gzip, gzip\r\n",
                              "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n"}) {
    client.send(post(gzip(gzip("x")), headers));
    EXPECT_EQ(status_of(client.answer()), 415) << headers;
  }
  client.send(post("plain", "Content-Encoding: identity\r\n"));
  EXPECT_EQ(body_of(client.answer()), "plain");
}

// A form or script of any web page may POST here without asking first; only its Origin gives it away. Pages of other
// ports of this machine are pages of others.
TEST_F(ServerBodyTest, OnlyItsOwnPagesMayChangeAnything) {
  HttpServerOptions options;
  options.host_names = {"queue.example"};
  options.cors_origins = {"https://app.example"};
  start(std::move(options));
  const std::string own = "localhost:" + std::to_string(server_->port());
  const auto answer = [&](const std::string& host, const std::string& more, const std::string& method = "POST") {
    RawClient client(server_->port());
    client.send(method + " / HTTP/1.1\r\nHost: " + host + "\r\n" + more + "Content-Length: 0\r\n\r\n");
    return status_of(client.answer());
  };
  const auto from = [&](const std::string& origin, const std::string& host, const std::string& method = "POST") {
    return answer(host, "Origin: " + origin + "\r\n", method);
  };
  EXPECT_EQ(answer(own, ""), 200) << "SDKs and curl";
  EXPECT_EQ(from("http://" + own, own), 200);
  EXPECT_EQ(from("HTTP://LOCALHOST:80", "localhost"), 200);
  EXPECT_EQ(from("http://[::1]:7070", "[::1]:7070"), 200);
  EXPECT_EQ(from("https://Queue.example", "queue.example"), 200) << "a proxy in front speaks TLS";
  EXPECT_EQ(from("https://app.example", own), 200) << "named by cors_origins";
  for (const std::string bad :
       {"http://localhost:3000", "http://localhost", "https://localhost:7070", "http://127.0.0.1:7070",
        "http://queue.example", "http://evil.example", "null", "", "localhost:7070", "http://", "ftp://localhost:7070",
        "http://localhost.evil.example", "http://localhost:7070@evil.example", "http://a/localhost:7070"}) {
    for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TAKE"}) {
      EXPECT_EQ(from(bad, "localhost:7070", method), 403) << method << " " << bad;
    }
  }
  EXPECT_EQ(from("https://localhost", "localhost"), 403) << "another port, though neither is named";
  EXPECT_EQ(answer(own, "Origin: http://" + own + "\r\norigin: http://localhost:1\r\n"), 403);
  // No page of this machine can read what it gets.
  EXPECT_EQ(from("http://localhost:3000", own, "GET"), 405) << "let in, though only POST is there";
  EXPECT_EQ(from("http://evil.example", own, "GET"), 403);
}

TEST_F(ServerBodyTest, APageThatNamesNoOriginIsKnownByItsSite) {
  start();
  const auto status = [&](const std::string& headers, const std::string& method = "POST") {
    RawClient client(server_->port());
    client.send(method + " / HTTP/1.1\r\nHost: localhost\r\n" + headers + "Content-Length: 0\r\n\r\n");
    return status_of(client.answer());
  };
  EXPECT_EQ(status("Sec-Fetch-Site: same-origin\r\n"), 200);
  EXPECT_EQ(status("Sec-Fetch-Site: none\r\n"), 200);
  for (const std::string bad : {"same-site", "cross-site", "anything", "none\r\nSec-Fetch-Site: cross-site"}) {
    EXPECT_EQ(status("sec-fetch-site: " + bad + "\r\n"), 403) << bad;
    EXPECT_EQ(status("sec-fetch-site: " + bad + "\r\n", "GET"), 405) << bad;
  }
  RawClient client(server_->port());
  client.send("POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(
      body_of(client.answer()),
      "{\"__type\":\"Forbidden\",\"message\":\"requests from web pages of 'http://evil.example' are refused; name "
      "that origin with --cors-origin if its pages may use this server\"}");
}

// A proxy with TLS in front, of which the server was not told, or which sends a Host of its own.
TEST_F(ServerBodyTest, ARefusedPageByHttpsIsToldWhatAProxyNeeds) {
  HttpServerOptions options;
  options.host_names = {"queue.example"};
  start(std::move(options));
  for (const std::string host : {"127.0.0.1:7070", "localhost", "queue.example:8443"}) {
    RawClient client(server_->port());
    client.send("POST / HTTP/1.1\r\nHost: " + host + "\r\nOrigin: https://queue.example\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(
        body_of(client.answer()),
        "{\"__type\":\"Forbidden\",\"message\":\"requests from web pages of 'https://queue.example' are refused; "
        "name that origin with --cors-origin if its pages may use this server. If a proxy in front of this server "
        "speaks TLS, the proxy must pass the browser's Host header on unchanged (this request has '" +
            host + "'), and --allowed-host must name that host, which may not be a loopback name\"}");
  }
}

TEST_F(ServerBodyTest, ServesOnlyItsOwnUserIfItIsToldTo) {
  HttpServerOptions options;
  options.own_user_only = true;
  start(std::move(options));
  RawClient own(server_->port());
  own.send(post("x"));
  EXPECT_EQ(status_of(own.answer()), 200);
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  const wire_test::AsUser nobody(65'534);
  RawClient other(server_->port());
  EXPECT_EQ(status_of(other.answer()), 403);
  EXPECT_EQ(other.rest(), "") << "cut at once";
}

TEST_F(ServerBodyTest, WithoutConfiguredOriginsThereAreNoCorsHeaders) {
  start();
  RawClient client(server_->port());
  client.send(post("x", "Origin: http://localhost:3000\r\n"));
  EXPECT_EQ(client.answer().find("Access-Control"), std::string::npos);
  client.send(post("x", "Origin: https://app.example\r\n"));
  EXPECT_EQ(status_of(client.answer()), 403);
}

TEST_F(ServerBodyTest, PagesOfConfiguredOriginsMayReadAnswers) {
  HttpServerOptions options;
  options.cors_origins = {"https://app.example"};
  start(std::move(options));
  RawClient client(server_->port());
  client.send(post("x", "Origin: https://app.example\r\n"));
  const std::string answer = client.answer();
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_NE(answer.find("Access-Control-Allow-Origin: https://app.example\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Vary: Origin\r\n"), std::string::npos);
  client.send(get("/nothing", "Origin: https://app.example\r\n"));
  const std::string missing = client.answer();
  EXPECT_EQ(status_of(missing), 404);
  EXPECT_NE(missing.find("Access-Control-Allow-Origin"), std::string::npos) << missing;
  client.send(
      "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\n"
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-amz-target\r\n\r\n");
  const std::string preflight = client.answer();
  EXPECT_EQ(status_of(preflight), 204);
  EXPECT_NE(preflight.find("Access-Control-Allow-Headers: x-amz-target\r\n"), std::string::npos) << preflight;
  client.send(post("x", "Origin: https://other.example\r\n"));
  EXPECT_EQ(status_of(client.answer()), 403);
}

// Refusals before a route is reached: without these headers a page only learns that something failed.
TEST_F(ServerBodyTest, PagesOfConfiguredOriginsMayReadEveryRefusal) {
  HttpServerOptions options;
  options.cors_origins = {"https://app.example"};
  options.limits.body_bytes = 10'000;
  options.max_body_bytes = 5'000;
  options.max_connections = 1;
  start(std::move(options));
  const std::string origin = "Origin: https://app.example\r\n";
  const std::string head = "POST / HTTP/1.1\r\nHost: localhost\r\n" + origin;
  const std::pair<std::string, int> refusals[] = {
      {head + "Content-Length: 10001\r\n\r\n", 413},
      {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {head + "Content-Length: 6000\r\n\r\n" + std::string(5'500, 'x'), 503},
      {head + "Content-Length: 6000\r\n\r\n" + std::string(6'000, 'x'), 503},
      {"POST / HTTP/1.1\r\nHost: evil.example\r\n" + origin + "Content-Length: 0\r\nConnection: close\r\n\r\n", 421},
  };
  for (const auto& [request, status] : refusals) {
    while (server_->connections() > 0) std::this_thread::yield();
    RawClient client(server_->port());
    client.send(request);
    client.half_close();
    const std::string answer = client.rest();
    EXPECT_EQ(status_of(answer), status) << answer;
    const size_t mark = answer.find("Access-Control-Allow-Origin: https://app.example\r\n");
    EXPECT_NE(mark, std::string::npos) << answer;
    EXPECT_EQ(answer.find("Access-Control-Allow-Origin", mark + 1), std::string::npos) << answer;
  }
  while (server_->connections() > 0) std::this_thread::yield();
  RawClient first(server_->port());
  first.send(post("x", origin));
  EXPECT_EQ(status_of(first.answer()), 200);
  RawClient second(server_->port());
  const std::string refused = second.rest();
  EXPECT_EQ(status_of(refused), 503);
  EXPECT_NE(refused.find("Access-Control-Allow-Origin: https://app.example\r\n"), std::string::npos) << refused;
}

TEST_F(ServerBodyTest, TheCommandLinesClientSpeaksToAnyAddress) {
  start({}, "::1");
  if (!server_) return;  // A machine without IPv6.
  const auto client = BlockingClient::make("http://[::1]:" + std::to_string(server_->port()));
  const auto answer = (*client)->call("POST", "/", "hello");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "hello");
}

TEST_F(ServerBodyTest, AGateLooksAtWhatCameOverTheWire) {
  const auto keys = Credentials::parse("[a]\naws_access_key_id=A\naws_secret_access_key=s\n", "keys");
  HttpServerOptions options;
  options.gate = make_signature_gate({*keys, "us-east-1", false, 7}, loop_.clock());
  start(std::move(options));
  RawClient client(server_->port());
  client.send(post("x"));
  EXPECT_NE(client.answer().find("MissingAuthenticationTokenException"), std::string::npos);
  client.send(post("not gzip", "Content-Encoding: gzip\r\n"));  // Not looked into before it is let in.
  EXPECT_NE(client.answer().find("MissingAuthenticationTokenException"), std::string::npos);
  HttpRequest request{"POST", "/", {{"Host", "localhost"}, {"Content-Encoding", "gzip"}}, gzip("hello")};
  sign_request(request, keys->first(), {"us-east-1", "x"}, loop_.clock().wall());
  client.send(post(request.body, headers_of(request)));
  EXPECT_EQ(body_of(client.answer()), "hello");
  const std::string url = "http://127.0.0.1:" + std::to_string(server_->port());
  EXPECT_EQ((*BlockingClient::make(url, {keys->first(), ""}))->call("POST", "/", "hi")->body, "hi");
  EXPECT_EQ((*BlockingClient::make(url))->call("POST", "/", "hi")->status, 400);
}

// Else uploads that nobody has signed, and that never end, would leave no room for others until they time out.
TEST_F(ServerBodyTest, AGateRefusesWhatIsStillArriving) {
  const auto keys = Credentials::parse("[a]\naws_access_key_id=A\naws_secret_access_key=s\n", "keys");
  HttpServerOptions options;
  options.gate = make_signature_gate({*keys, "us-east-1", false, 7}, loop_.clock());
  options.max_body_bytes = 200'000;
  start(std::move(options));
  const std::string length = "Host: localhost\r\nContent-Length: 100000\r\n";
  const std::string part(50'000, 'x');
  std::vector<std::unique_ptr<RawClient>> stalled;
  for (const char* start_line : {"POST / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n", "POST /queues/Q/put HTTP/1.1\r\n",
                                 "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\n"}) {
    for (int i = 0; i < 3; ++i) {
      stalled.push_back(std::make_unique<RawClient>(server_->port()));
      stalled.back()->send(start_line + length + "\r\n" + part);
      EXPECT_NE(stalled.back()->answer().find("MissingAuthenticationTokenException"), std::string::npos) << start_line;
    }
  }
  HttpRequest request{"POST", "/", {{"Host", "localhost"}}, part + part};
  sign_request(request, {"B", "s", ""}, {"us-east-1", "x"}, loop_.clock().wall());
  RawClient stranger(server_->port());
  stranger.send("POST / HTTP/1.1\r\n" + length + headers_of(request) + "\r\n" + part);
  EXPECT_NE(stranger.answer().find("UnrecognizedClientException"), std::string::npos);
  RawClient waiting(server_->port());
  waiting.send("POST / HTTP/1.1\r\n" + length + "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_of(waiting.answer()), 400) << "it was asked for a body that nobody wants";
  RawClient head(server_->port());
  head.send("HEAD / HTTP/1.1\r\n" + length + "\r\n" + part);
  const std::string bare = head.rest();
  EXPECT_EQ(status_of(bare), 403);
  EXPECT_TRUE(bare.ends_with("\r\n\r\n")) << bare;

  request.headers.resize(1);
  sign_request(request, keys->first(), {"us-east-1", "x"}, loop_.clock().wall());
  RawClient welcome(server_->port());
  welcome.send("POST / HTTP/1.1\r\n" + length + headers_of(request) + "\r\n" + part);
  welcome.send(part);
  EXPECT_EQ(body_of(welcome.answer()).size(), 100'000u);
}

// A few bytes may be many: without a signature nobody makes the server find out.
TEST_F(ServerBodyTest, BodiesOfGetsAreLeftAlone) {
  start({});
  RawClient client(server_->port());
  client.send("GET /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nbad");
  EXPECT_EQ(status_of(client.answer()), 404);
}

TEST(CorsOrigins, AreChecked) {
  for (const char* good : {"*", "https://app.example", "http://localhost:3000", "http://[::1]:8080", "http://a:443"})
    EXPECT_EQ(check_origin(good), "");
  for (const char* bad :
       {"", "null", "app.example", "https://", "https://a/", "https://a/b", "://a", "https://App.example",
        "https://app.example:443", "http://a:80", "https://*.example", "https://u@h", "ftp://a"}) {
    EXPECT_NE(check_origin(bad), "") << bad;
  }
  EXPECT_TRUE(Cors({"*"}).allows("https://anything.example"));
  EXPECT_FALSE(Cors({}).allows("https://anything.example"));
}

}  // namespace
}  // namespace freshet
