#include "tests/wire/http/harness.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <future>

namespace freshet::wire_test {

void LoopThread::run(std::function<void()> work) {
  std::promise<void> done;
  while (!loop_.deliver([&] {
    work();
    done.set_value();
  })) {
    std::this_thread::yield();
  }
  done.get_future().wait();
}

void LoopThread::end() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
}

void Tally::add() {
  const std::lock_guard lock(mutex_);
  ++count_;
  changed_.notify_all();
}

void Tally::wait_for(int count) {
  std::unique_lock lock(mutex_);
  ASSERT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return count_ >= count; }))
      << "only " << count_ << " of " << count;
}

int Tally::count() {
  const std::lock_guard lock(mutex_);
  return count_;
}

RawClient::RawClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const timeval net{20, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &net, sizeof(net));
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;  // The server has refused and closed: the test looks at the answer.
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void RawClient::half_close() {
  ::shutdown(fd_, SHUT_WR);
}

void RawClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool RawClient::fill() {
  char part[65536];
  const ssize_t n = ::recv(fd_, part, sizeof(part), 0);
  EXPECT_FALSE(n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << "no answer within the safety net";
  if (n <= 0) return false;
  buffer_.append(part, static_cast<size_t>(n));
  return true;
}

std::string RawClient::answer() {
  size_t head = 0;
  while ((head = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return std::exchange(buffer_, {});
  }
  size_t size = head + 4;
  const size_t length = buffer_.find("Content-Length: ");
  if (length < head) size += std::stoul(buffer_.substr(length + 16));
  while (buffer_.size() < size) {
    if (!fill()) return std::exchange(buffer_, {});
  }
  std::string whole = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return whole;
}

std::string RawClient::rest() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

AsUser::AsUser(unsigned user) {
  ::setfsuid(user);
}

AsUser::~AsUser() {
  ::setfsuid(::geteuid());
}

std::string get(std::string_view path, std::string_view more_headers) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more_headers) + "\r\n";
}

std::string post(std::string_view body, std::string_view more_headers) {
  return "POST / HTTP/1.1\r\nHost: localhost\r\n" + std::string(more_headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

int status_of(const std::string& answer) {
  return answer.size() > 12 && answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}

std::string body_of(const std::string& answer) {
  const size_t head = answer.find("\r\n\r\n");
  return head == std::string::npos ? "" : answer.substr(head + 4);
}

}  // namespace freshet::wire_test
