// The client within TLS: against the product's own server, with certificates of a test's own authority.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <future>

#include "tests/wire/http/harness.h"
#include "wire/http/client.h"
#include "wire/http/simple_route.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using wire_test::Driver;
using wire_test::LoopThread;

// The contents of a certificate.
struct Subject {
  std::string names = "DNS:localhost, IP:127.0.0.1";
  long ends_in = 3600;  // Seconds from now.
  bool authority = false;
};

// A key and a certificate as files; its own authority unless another one signs.
class SignedIdentity {
 public:
  SignedIdentity(const std::string& name, const Subject& subject, const SignedIdentity* signed_by = nullptr)
      : certificate(testing::TempDir() + "freshet_tls_client_" + std::to_string(getpid()) + name + ".crt"),
        key(testing::TempDir() + "freshet_tls_client_" + std::to_string(getpid()) + name + ".key"),
        pair_(EVP_EC_gen("P-256")),
        x509_(X509_new()) {
    X509_set_version(x509_, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509_), static_cast<long>(std::hash<std::string>()(name) >> 33));
    X509_gmtime_adj(X509_getm_notBefore(x509_), -7200);
    X509_gmtime_adj(X509_getm_notAfter(x509_), subject.ends_in);
    X509_set_pubkey(x509_, pair_);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509_), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(x509_, X509_get_subject_name(signed_by ? signed_by->x509_ : x509_));
    if (subject.authority) {
      extend(NID_basic_constraints, "critical,CA:TRUE");
    } else {
      extend(NID_subject_alt_name, subject.names.c_str());
    }
    X509_sign(x509_, signed_by ? signed_by->pair_ : pair_, EVP_sha256());
    FILE* file = std::fopen(certificate.c_str(), "w");
    PEM_write_X509(file, x509_);
    std::fclose(file);
    file = std::fopen(key.c_str(), "w");
    PEM_write_PrivateKey(file, pair_, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
  }
  SignedIdentity(const SignedIdentity&) = delete;
  ~SignedIdentity() {
    X509_free(x509_);
    EVP_PKEY_free(pair_);
    unlink(certificate.c_str());
    unlink(key.c_str());
  }
  const std::string certificate;
  const std::string key;

 private:
  void extend(int what, const char* text) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, text);
    X509_add_ext(x509_, extension, -1);
    X509_EXTENSION_free(extension);
  }
  EVP_PKEY* pair_;
  X509* x509_;
};

class TlsClientTest : public testing::TestWithParam<Driver> {
 protected:
  using Outcome = Result<HttpResponse>;
  TlsClientTest() { ::signal(SIGPIPE, SIG_IGN); }  // As the daemon does.

  uint16_t serve(const SignedIdentity& identity) {
    HttpServerOptions options;
    options.tls = *TlsContext::make(identity.certificate, identity.key);
    return serve(std::move(options));
  }
  uint16_t serve(HttpServerOptions options) {
    std::vector<std::unique_ptr<Route>> routes;
    routes.push_back(make_simple_route("POST", "/", [](const HttpRequest& request) -> Async<HttpResponse> {
      HttpResponse response;
      response.body = request.body;
      return response;
    }));
    loop_.run([&] {
      servers_.push_back(std::move(*HttpServer::start(
          std::move(options), *HttpListener::bind("127.0.0.1", 0), std::move(routes), {io_.get()}, loop_.clock(),
          loop_.loop(), loop_.loop(), []() -> Async<Result<void>> { return Result<void>{}; })));
    });
    return servers_.back()->port();
  }
  void trust(const std::string& ca_file) {
    HttpClientOptions options;
    options.trust = *TlsTrust::make(ca_file);
    start(std::move(options));
  }
  void start(HttpClientOptions options) {
    loop_.run([&] {
      client_ = make_http_client(std::move(options), {&loop_.io()}, loop_.clock(), loop_.loop(), loop_.loop());
    });
  }
  void TearDown() override {
    loop_.run([&] {
      scope_.clear();
      client_.reset();
      servers_.clear();
    });
    loop_.end();
  }
  static Async<void> carry(HttpClient& client, std::string url, std::string body, milliseconds timeout,
                           std::shared_ptr<std::promise<Outcome>> done) {
    HttpRequest request{"POST", "", {}, std::move(body)};
    Outcome outcome = co_await client.send(std::move(url), std::move(request), timeout);
    done->set_value(std::move(outcome));
  }
  std::future<Outcome> send(const std::string& url, std::string body = "hello", milliseconds timeout = seconds(20)) {
    auto done = std::make_shared<std::promise<Outcome>>();
    loop_.run([&] { scope_.spawn(carry(*client_, url, std::move(body), timeout, done)); });
    return done->get_future();
  }
  std::string error_of(const std::string& url, milliseconds timeout = seconds(20)) {
    const Outcome outcome = send(url, "hello", timeout).get();
    if (outcome) return "none: " + outcome->body;
    EXPECT_TRUE(was_never_sent(outcome.error())) << outcome.error().message;
    return outcome.error().message;
  }
  static std::string local(uint16_t port) { return "https://localhost:" + std::to_string(port); }

  SignedIdentity authority_{"authority", {"", 3600, true}};
  LoopThread loop_{LoopOptions{}, GetParam()};
  std::unique_ptr<IoThread> io_ = *IoThread::start(loop_.clock());
  std::vector<std::unique_ptr<HttpServer>> servers_;
  std::unique_ptr<HttpClient> client_;
  Scope scope_;  // Loop thread.
};

TEST_P(TlsClientTest, BodiesOfEverySizeGoBothWays) {
  const SignedIdentity good("good", {}, &authority_);
  const uint16_t port = serve(good);
  trust(authority_.certificate);
  for (const size_t size : {0, 1, 16'383, 16'384, 16'385, 200'000, 3'000'000}) {
    const std::string body(size, 'x');
    const Outcome outcome = send(local(port) + "/", body).get();
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body.size(), size);
  }
  EXPECT_TRUE(send("https://127.0.0.1:" + std::to_string(port) + "/").get()) << "it is made out to the address, too";
  std::vector<std::future<Outcome>> many;
  for (int i = 0; i < 50; ++i) many.push_back(send(local(port) + "/", std::string(20'000, 'y')));
  for (auto& one : many) EXPECT_EQ(one.get()->body.size(), 20'000u);
}

TEST_P(TlsClientTest, ACertificateMustBeValidTrustedAndForTheHost) {
  trust(authority_.certificate);
  const SignedIdentity other("other-host", {"DNS:example.org, IP:127.0.0.9"}, &authority_);
  const uint16_t wrong = serve(other);
  EXPECT_EQ(
      error_of(local(wrong)),
      local(wrong) + ": its certificate is refused: hostname mismatch (call it by a name that its certificate is for)");
  EXPECT_THAT(error_of("https://127.0.0.1:" + std::to_string(wrong)), HasSubstr("refused: IP address mismatch"));
  const SignedIdentity old("expired", {"DNS:localhost", -60}, &authority_);
  EXPECT_THAT(error_of(local(serve(old))), HasSubstr("refused: certificate has expired"));
  const SignedIdentity stranger("stranger", {"", 3600, true});
  const SignedIdentity unknown("unknown", {}, &stranger);
  EXPECT_THAT(error_of(local(serve(unknown))), HasSubstr("refused: unable to get local issuer certificate"));
  const SignedIdentity alone("alone", {});
  EXPECT_THAT(error_of(local(serve(alone))), HasSubstr("refused: self-signed certificate"));
}

TEST_P(TlsClientTest, WhatSpeaksNoTlsIsToldApart) {
  trust(authority_.certificate);
  const uint16_t plain = serve(HttpServerOptions{});
  EXPECT_THAT(error_of(local(plain)), StartsWith(local(plain) + ": TLS: "));
  const Outcome without = send("http://localhost:" + std::to_string(plain) + "/").get();
  EXPECT_TRUE(without) << "both kinds of one host";
}

// A server that takes connections and never says anything.
TEST_P(TlsClientTest, AnEndpointThatHangsInTheHandshakeTimesOut) {
  trust(authority_.certificate);
  const Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(silent.get(), 16), 0);
  ::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size);
  EXPECT_THAT(error_of("https://127.0.0.1:" + std::to_string(ntohs(address.sin_port)), milliseconds(200)),
              HasSubstr("no connection in time"));
}

// A server that answers one request with bytes as they are, and whose end is said only if it is to be.
class RawTlsServer {
 public:
  RawTlsServer(const SignedIdentity& identity, std::string answer, bool says_end)
      : context_(*TlsContext::make(identity.certificate, identity.key)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    done_ = std::async(std::launch::async, [this, answer = std::move(answer), says_end] {
      const Fd socket(::accept(listener_.get(), nullptr, nullptr));
      const auto stream = context_->accept(socket.get());
      std::string got(4096, '\0');
      EXPECT_GT(stream->receive(got.data(), got.size()), 0);  // The socket blocks.
      const iovec all{const_cast<char*>(answer.data()), answer.size()};
      EXPECT_EQ(stream->send(&all, 1), static_cast<ssize_t>(answer.size()));
      if (says_end) stream->end();
    });
  }
  uint16_t port = 0;

 private:
  const std::shared_ptr<const TlsContext> context_;
  const Fd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::future<void> done_;  // Last: waited for first.
};

TEST_P(TlsClientTest, AnAnswerThatEndsWithTheConnectionIsWholeOnlyIfTheServerSaysSo) {
  const SignedIdentity good("raw", {}, &authority_);
  trust(authority_.certificate);
  const RawTlsServer whole(good, "HTTP/1.1 200 OK\r\n\r\nall of it", true);
  EXPECT_EQ(send(local(whole.port)).get()->body, "all of it");
  const RawTlsServer cut(good, "HTTP/1.1 200 OK\r\n\r\nhalf of", false);
  const Outcome half = send(local(cut.port)).get();
  ASSERT_FALSE(half) << half->body;
  EXPECT_THAT(half.error().message, HasSubstr("unexpected eof"));
  const RawTlsServer counted(good, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nall", false);
  EXPECT_EQ(send(local(counted.port)).get()->body, "all") << "its length says that it is whole";
}

TEST_P(TlsClientTest, WithoutCertificatesThereIsNoHttps) {
  start({});
  EXPECT_THAT(error_of("https://localhost:1/"), HasSubstr("no certificates to trust"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, TlsClientTest, testing::Values(Driver::kThread, Driver::kLoop),
                         [](const auto& one) { return one.param == Driver::kLoop ? "Loop" : "Thread"; });

TEST(TlsTrust, AFileThatHoldsNoneIsRefused) {
  const auto missing = TlsTrust::make("/nonexistent/ca.pem");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message,
              StartsWith("cannot use the certificates of '/nonexistent/ca.pem': No such file"));
}

}  // namespace
}  // namespace freshet
