// The server within TLS, with OpenSSL's client.
#include "wire/http/tls.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

#include "tests/wire/http/harness.h"
#include "wire/http/simple_route.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using wire_test::body_of;
using wire_test::get;
using wire_test::LoopThread;
using wire_test::post;
using wire_test::status_of;

// A key and a certificate for localhost signed with it, as files.
class Identity {
 public:
  explicit Identity(const std::string& name)
      : certificate(testing::TempDir() + "freshet_tls_" + std::to_string(getpid()) + name + ".crt"),
        key(testing::TempDir() + "freshet_tls_" + std::to_string(getpid()) + name + ".key") {
    EVP_PKEY* pair = EVP_EC_gen("P-256");
    X509* x509 = X509_new();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, pair);
    X509_NAME* subject = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1,
                               0);
    X509_set_issuer_name(x509, subject);
    X509_sign(x509, pair, EVP_sha256());
    FILE* file = std::fopen(certificate.c_str(), "w");
    PEM_write_X509(file, x509);
    std::fclose(file);
    file = std::fopen(key.c_str(), "w");
    PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    X509_free(x509);
    EVP_PKEY_free(pair);
  }
  ~Identity() {
    unlink(certificate.c_str());
    unlink(key.c_str());
  }
  const std::string certificate;
  const std::string key;
};

int connect_to(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const timeval patience{20, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return fd;
}

// A blocking client.
class TlsClient {
 public:
  TlsClient(uint16_t port, const std::string& trusted, int version = TLS1_3_VERSION,
            const char* ciphers = "ALL:@SECLEVEL=0")
      : context_(SSL_CTX_new(TLS_client_method())), fd_(connect_to(port)) {
    SSL_CTX_load_verify_locations(context_, trusted.c_str(), nullptr);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_max_proto_version(context_, version);
    SSL_CTX_set_cipher_list(context_, ciphers);  // For TLS 1.2.
    stream_ = SSL_new(context_);
    SSL_set_fd(stream_, fd_);
    SSL_set1_host(stream_, "localhost");
    connected_ = SSL_connect(stream_) == 1;
  }
  ~TlsClient() {
    SSL_free(stream_);
    SSL_CTX_free(context_);
    ::close(fd_);
  }
  TlsClient(const TlsClient&) = delete;
  bool connected() const { return connected_; }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const int n = SSL_write(stream_, bytes.data(), static_cast<int>(bytes.size()));
      ASSERT_GT(n, 0);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  std::string answer() {
    size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!fill()) return buffer_;
    }
    const size_t at = buffer_.find("Content-Length: ");
    const size_t size = end + 4 + std::stoul(buffer_.substr(at + 16));
    while (buffer_.size() < size) {
      if (!fill()) return buffer_;
    }
    std::string whole = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return whole;
  }
  // True if the stream ends with TLS's own end: then nobody can have cut it.
  bool ends() {
    while (fill()) {
    }
    return SSL_get_shutdown(stream_) == SSL_RECEIVED_SHUTDOWN;
  }

 private:
  bool fill() {
    char part[20'000];
    const int n = SSL_read(stream_, part, sizeof(part));
    if (n > 0) buffer_.append(part, static_cast<size_t>(n));
    return n > 0;
  }
  SSL_CTX* context_;
  int fd_;
  SSL* stream_ = nullptr;
  bool connected_ = false;
  std::string buffer_;
};

class TlsTest : public testing::Test {
 protected:
  TlsTest() { ::signal(SIGPIPE, SIG_IGN); }  // As the daemon does.
  void start(HttpServerOptions options = {}) {
    io_ = *IoThread::start(loop_.clock());
    std::vector<std::unique_ptr<Route>> routes;
    routes.push_back(make_simple_route("POST", "/", [](const HttpRequest& request) -> Async<HttpResponse> {
      HttpResponse response;
      response.body = request.body;
      return response;
    }));
    options.tls = *TlsContext::make(identity_.certificate, identity_.key);
    loop_.run([&] {
      server_ = std::move(*HttpServer::start(std::move(options), *HttpListener::bind("127.0.0.1", 0), std::move(routes),
                                             {io_.get()}, loop_.clock(), loop_.loop(), loop_.loop(),
                                             []() -> Async<Result<void>> { return Result<void>{}; }));
    });
  }
  void TearDown() override {
    loop_.run([&] { server_.reset(); });
    loop_.end();
  }

  Identity identity_{"a"};
  LoopThread loop_;
  std::unique_ptr<IoThread> io_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(TlsTest, RequestsOfEverySizeAreAnswered) {
  start();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(server_->port(), identity_.certificate, version);
    ASSERT_TRUE(client.connected());
    for (const size_t size : {0, 1, 16'383, 16'384, 16'385, 200'000, 3'000'000}) {
      const std::string body(size, 'x');
      client.send(post(body));
      EXPECT_EQ(body_of(client.answer()), body) << size;
    }
    std::string pipeline;
    for (int i = 0; i < 100; ++i) pipeline += post(std::to_string(i));
    client.send(pipeline);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(body_of(client.answer()), std::to_string(i));
  }
}

TEST_F(TlsTest, AClientThatReadsLateGetsAllOfALargeAnswer) {
  start();
  TlsClient client(server_->port(), identity_.certificate);
  const std::string body(8'000'000, 'y');
  client.send(post(body) + post("more"));  // More than sockets hold: it has to wait in the middle of a record.
  EXPECT_EQ(body_of(client.answer()), body);
  EXPECT_EQ(body_of(client.answer()), "more");
}

TEST_F(TlsTest, TheEndIsToldWithinTls) {
  start();
  TlsClient client(server_->port(), identity_.certificate);
  client.send(post("bye", "Connection: close\r\n"));
  EXPECT_EQ(body_of(client.answer()), "bye");
  EXPECT_TRUE(client.ends());
}

TEST_F(TlsTest, PlainTextAndNoiseAreRefused) {
  start();
  for (const std::string& noise : {post("x"), std::string(5'000, '\0'), std::string("\x16\x03\x01\xff\xff", 5)}) {
    const int fd = connect_to(server_->port());
    EXPECT_EQ(::send(fd, noise.data(), noise.size(), MSG_NOSIGNAL), static_cast<ssize_t>(noise.size()));
    ::shutdown(fd, SHUT_WR);
    std::string all;
    char part[4096];
    ssize_t n = 0;
    while ((n = ::recv(fd, part, sizeof(part), 0)) > 0) all.append(part, static_cast<size_t>(n));
    // A client of http:// learns why it is refused, in the one form that it can read.
    const bool is_http = noise.starts_with("POST ");
    EXPECT_EQ(all.starts_with("HTTP/1.1 400 "), is_http) << all;
    const bool is_told =
        all.find(R"({"error":{"code":"ValidationException","message":"this port speaks HTTPS)") != std::string::npos;
    EXPECT_EQ(is_told, is_http) << all;
    ::close(fd);
  }
  Identity other("b");
  EXPECT_FALSE(TlsClient(server_->port(), other.certificate).connected());  // The client does not trust it.
  TlsClient client(server_->port(), identity_.certificate);
  client.send(post("still there"));
  EXPECT_EQ(body_of(client.answer()), "still there");
}

TEST_F(TlsTest, OnlyEphemeralKeysAndAuthenticatedEncryption) {
  start();
  const auto connects = [&](const char* ciphers) {
    return TlsClient(server_->port(), identity_.certificate, TLS1_2_VERSION, ciphers).connected();
  };
  for (const char* good :
       {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"}) {
    EXPECT_TRUE(connects(good)) << good;
  }
  for (const char* bad : {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-CCM"}) {
    EXPECT_FALSE(connects(bad)) << bad;
  }
}

TEST_F(TlsTest, AHandshakeThatDoesNotGoOnIsCut) {
  HttpServerOptions options;
  options.read_timeout = milliseconds(50);  // An idle connection may stay much longer.
  start(std::move(options));
  const int fd = connect_to(server_->port());
  char part[16];
  EXPECT_LE(::recv(fd, part, sizeof(part), 0), 0);
  ::close(fd);
}

TEST_F(TlsTest, WrongFilesAreTold) {
  start();
  Identity other("c");
  const auto error = [](const std::string& certificate, const std::string& key) {
    const auto made = TlsContext::make(certificate, key);
    return made ? std::string() : made.error().message;
  };
  EXPECT_THAT(error("/nothing", identity_.key), HasSubstr("cannot use the certificate '/nothing'"));
  EXPECT_THAT(error(identity_.certificate, "/nothing"), HasSubstr("cannot use the private key '/nothing'"));
  EXPECT_EQ(error(identity_.key, identity_.key),
            "cannot use the certificate '" + identity_.key + "': it is not PEM text (-----BEGIN ...-----)");
  EXPECT_EQ(error(identity_.certificate, other.key),
            "cannot use the private key '" + other.key + "': it is the key of another certificate");
  EXPECT_EQ(error("/tmp", identity_.key), "cannot use the certificate '/tmp': Is a directory");
  EXPECT_EQ(error(identity_.certificate, "/tmp"), "cannot use the private key '/tmp': Is a directory");
  EXPECT_EQ(TlsTrust::make("/tmp").error().message, "cannot use the certificates of '/tmp': Is a directory");
  EXPECT_EQ(TlsTrust::make(identity_.key).error().message, "cannot use the certificates of '" + identity_.key +
                                                               "': it holds no certificate in PEM text (-----BEGIN "
                                                               "CERTIFICATE-----)");
}

}  // namespace
}  // namespace freshet
