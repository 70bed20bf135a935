// The command line's client: what it does when a server closes a connection that it keeps.
#include "wire/http/blocking_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace freshet {
namespace {

// Answers the requests of one connection after the other, as the script says.
class ScriptedServer {
 public:
  enum class Step {
    kAnswer,          // And keeps the connection.
    kAnswerAndClose,  // Though it said that it would keep it.
    kClose,           // Instead of an answer.
  };
  explicit ScriptedServer(std::vector<Step> script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  // The client goes before it, so that no connection stays open.
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  const std::string& url() const { return url_; }
  size_t requests() const { return requests_; }
  void wait_until_closed() { closed_.get_future().wait(); }  // Waits until the first kAnswerAndClose has closed.

 private:
  void serve() {
    for (;;) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      while (take_request(client) && step(client)) {
      }
      ::close(client);
      if (answered_and_closed_) closed_.set_value();
      answered_and_closed_ = false;
    }
  }
  // Requests of these tests have no body.
  static bool take_request(int client) {
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n")) {
      if (::recv(client, &byte, 1, 0) != 1) return false;
      head += byte;
    }
    return true;
  }
  bool step(int client) {
    const Step step = script_[requests_++];
    if (step == Step::kClose) return false;
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    EXPECT_EQ(::send(client, answer.data(), answer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(answer.size()));
    answered_and_closed_ = step == Step::kAnswerAndClose;
    return step == Step::kAnswer;
  }

  const std::vector<Step> script_;
  int listener_ = -1;
  std::string url_;
  std::atomic<size_t> requests_{0};
  bool answered_and_closed_ = false;
  std::promise<void> closed_;
  std::thread thread_;
};

using Step = ScriptedServer::Step;

TEST(BlockingClientTest, AChangeThatGotNoAnswerIsNotSentAgain) {
  ScriptedServer server({Step::kAnswer, Step::kClose, Step::kAnswer});
  const auto client = BlockingClient::make(server.url());
  ASSERT_TRUE(client);
  ASSERT_TRUE((*client)->call("POST", "/first", ""));
  const auto lost = (*client)->call("POST", "/second", "");
  ASSERT_FALSE(lost) << "it may have been carried out: whoever asked must be told";
  EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(server.requests(), 2u);
  EXPECT_TRUE((*client)->call("POST", "/third", ""));
}

TEST(BlockingClientTest, ALookIsRepeatedOnAnotherConnection) {
  ScriptedServer server({Step::kAnswer, Step::kClose, Step::kAnswer, Step::kClose, Step::kClose});
  const auto client = BlockingClient::make(server.url());
  ASSERT_TRUE(client);
  ASSERT_TRUE((*client)->call("GET", "/first", ""));
  EXPECT_TRUE((*client)->call("GET", "/second", ""));
  EXPECT_EQ(server.requests(), 3u);
  EXPECT_FALSE((*client)->call("GET", "/third", "")) << "once";
  EXPECT_EQ(server.requests(), 5u);
}

TEST(BlockingClientTest, AConnectionThatIsClosedBeforehandIsReplaced) {
  ScriptedServer server({Step::kAnswerAndClose, Step::kAnswer});
  const auto client = BlockingClient::make(server.url());
  ASSERT_TRUE(client);
  ASSERT_TRUE((*client)->call("POST", "/first", ""));
  server.wait_until_closed();
  const auto second = (*client)->call("POST", "/second", "");
  EXPECT_TRUE(second) << second.error().message;
  EXPECT_EQ(server.requests(), 2u);
}

TEST(BlockingClientTest, AFileWithoutCertificatesIsRefusedWithTheReason) {
  const auto error = [](const char* file) {
    BlockingClientOptions options;
    options.ca_file = file;
    const auto client = BlockingClient::make("https://127.0.0.1:1", options);
    return client ? std::string() : client.error().message;
  };
  EXPECT_EQ(error("/tmp"), "cannot use the certificates of '/tmp': Is a directory");
  EXPECT_EQ(error("/dev/null"),
            "cannot use the certificates of '/dev/null': it holds no certificate in PEM text (-----BEGIN "
            "CERTIFICATE-----)");
}

}  // namespace
}  // namespace freshet
