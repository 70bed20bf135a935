// The HTTP server beside a bare Beast server of the same build: the same answer, the same client, alternating rounds,
// medians. Ours has a loop thread besides its I/O thread, as a daemon has; Beast answers inside its only thread.
//
//   http_bench [SECONDS_PER_ROUND=0.5] [ROUNDS=5]
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/bare_beast.h"
#include "runtime/loop/loop.h"
#include "wire/http/io_thread.h"
#include "wire/http/io_waiter.h"
#include "wire/http/server.h"

namespace {

using namespace freshet;
using SteadyClock = std::chrono::steady_clock;

const std::string kAnswer = R"({"Attributes":{"taskId":{"S":"7f9c24e5"},"taskStatus":{"S":"TAKEN"}}})";
const std::string kRequest = [] {
  const std::string body = R"({"TableName":"QueueTable","Key":{"taskId":{"S":"7f9c24e5"}},"UpdateExpression":)"
                           R"("set taskStatus = :to","ExpressionAttributeValues":{":to":{"S":"TAKEN"}}})";
  return "POST / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept-Encoding: identity\r\n"
         "X-Amz-Target: DynamoDB_20120810.UpdateItem\r\nContent-Type: application/x-amz-json-1.0\r\n"
         "User-Agent: Boto3/1.26.27 Python/3.11.2 Linux/6.1 Botocore/1.29.27\r\nX-Amz-Date: 20261121T093115Z\r\n"
         "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/us-east-1/dynamodb/aws4_request, "
         "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=0123456789abcdef0123456789abcdef\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}();

// Ours.

class ConstantExchange final : public Exchange {
 public:
  Async<void> run() override { return {}; }
  HttpResponse respond() override {
    HttpResponse response;
    response.body = kAnswer;
    return response;
  }
};

class ConstantRoute final : public Route {
 public:
  bool matches(const HttpRequest& request) const override { return request.target == "/"; }
  std::unique_ptr<Exchange> accept(HttpRequest) override { return std::make_unique<ConstantExchange>(); }
};

class OurServer {
 public:
  OurServer() : waiter_(clock_), loop_(clock_, waiter_), io_(*IoThread::start(clock_)) {
    std::vector<std::unique_ptr<Route>> routes;
    routes.push_back(std::make_unique<ConstantRoute>());
    server_ = *HttpServer::start({}, *HttpListener::bind("127.0.0.1", 0), std::move(routes), {io_.get()}, clock_, loop_,
                                 loop_, []() -> Async<Result<void>> { return Result<void>{}; });
    waiter_.attach(*io_, loop_);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~OurServer() {
    loop_.stop();
    thread_.join();
  }
  uint16_t port() const { return server_->port(); }

 private:
  SystemClock clock_;
  IoWaiter waiter_;
  Loop loop_;
  std::unique_ptr<IoThread> io_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

// The client: one thread, one request at a time on each connection.

struct Measured {
  double per_second = 0;
  double p50_us = 0;
  double server_cpu_us = 0;  // Processor time of the process without the client's thread, per request.
};

double cpu_us(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

struct ClientConnection {
  int fd = -1;
  size_t received = 0;
  SteadyClock::time_point sent;
};

int connect_to(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) std::abort();
  return fd;
}

// The size of one whole answer, from a first request.
size_t answer_size(int fd) {
  if (::send(fd, kRequest.data(), kRequest.size(), 0) < 0) std::abort();
  std::string all;
  char part[4096];
  while (!all.ends_with(kAnswer)) {
    const ssize_t n = ::recv(fd, part, sizeof(part), 0);
    if (n <= 0) std::abort();
    all.append(part, static_cast<size_t>(n));
  }
  return all.size();
}

Measured load(uint16_t port, size_t connections, double seconds) {
  std::vector<ClientConnection> clients(connections);
  const int epoll = ::epoll_create1(0);
  size_t size = 0;
  for (size_t i = 0; i < connections; ++i) {
    clients[i].fd = connect_to(port);
    size = answer_size(clients[i].fd);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &event);
  }
  const auto send = [&](ClientConnection& client) {
    client.sent = SteadyClock::now();
    client.received = 0;
    if (::send(client.fd, kRequest.data(), kRequest.size(), 0) < 0) std::abort();
  };
  const double cpu_before = cpu_us(RUSAGE_SELF) - cpu_us(RUSAGE_THREAD);
  const auto start = SteadyClock::now();
  const auto end = start + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
  for (ClientConnection& client : clients) send(client);
  std::vector<double> latencies;
  std::vector<epoll_event> events(connections);
  auto now = start;
  while (now < end) {
    const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 1000);
    for (int i = 0; i < ready; ++i) {
      ClientConnection& client = clients[events[static_cast<size_t>(i)].data.u64];
      char part[4096];
      const ssize_t n = ::recv(client.fd, part, sizeof(part), 0);
      if (n <= 0) std::abort();
      client.received += static_cast<size_t>(n);
      if (client.received < size) continue;
      now = SteadyClock::now();
      latencies.push_back(std::chrono::duration<double, std::micro>(now - client.sent).count());
      send(client);
    }
  }
  for (const ClientConnection& client : clients) ::close(client.fd);
  ::close(epoll);
  std::sort(latencies.begin(), latencies.end());
  const double cpu = cpu_us(RUSAGE_SELF) - cpu_us(RUSAGE_THREAD) - cpu_before;
  const double spent = std::chrono::duration<double>(now - start).count();
  const auto count = static_cast<double>(latencies.size());
  return {count / spent, latencies[latencies.size() / 2], cpu / count};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds_per_round = argc > 1 ? std::atof(argv[1]) : 0.5;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  OurServer ours;
  BareBeast bare(kAnswer);
  for (const size_t connections : {1u, 8u, 32u}) {
    std::vector<double> ratios;
    std::vector<double> our_rates;
    std::vector<double> bare_rates;
    std::vector<double> our_p50;
    std::vector<double> bare_p50;
    std::vector<double> our_cpu;
    std::vector<double> bare_cpu;
    for (int round = 0; round < rounds; ++round) {
      const Measured a = load(ours.port(), connections, seconds_per_round);
      const Measured b = load(bare.port(), connections, seconds_per_round);
      our_rates.push_back(a.per_second);
      bare_rates.push_back(b.per_second);
      our_p50.push_back(a.p50_us);
      bare_p50.push_back(b.p50_us);
      our_cpu.push_back(a.server_cpu_us);
      bare_cpu.push_back(b.server_cpu_us);
      ratios.push_back(a.per_second / b.per_second);
    }
    fmt::print(
        "{:3} connections: freshet {:6.0f}/s, p50 {:5.1f} us, {:4.1f} us of CPU   bare Beast {:6.0f}/s, p50 {:5.1f} "
        "us, "
        "{:4.1f} us of CPU   ratio {:.2f}\n",
        connections, median(our_rates), median(our_p50), median(our_cpu), median(bare_rates), median(bare_p50),
        median(bare_cpu), median(ratios));
  }
  return 0;
}
