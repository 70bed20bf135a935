// The item store over the wire: a cheap client of one thread, and the bare Beast server that it is measured beside.
// bench/items.py starts the servers, has this run against them in turn, and prints the table.
//
//   item_bench bare                     serves what it read from standard input as the answer to everything; first
//   prints
//                                       its port
//   item_bench setup PORT               makes the table and 10,000 items of 200 bytes, ten under each partition key
//   item_bench fill PORT ITEMS          the same with as many items as said, each under a partition key of its own
//   item_bench body PORT OPERATION      the body of one answer
//   item_bench load PORT OPERATION CONNECTIONS SECONDS
//   item_bench scan PORT SEGMENTS       reads the whole table, a connection for each segment
//   item_bench latency PORT OPERATION DIRECTORY COUNT
//                                       p50 of one request at a time, and of an fdatasync of 4 KB in that directory
//
// OPERATION: PutItem (over an item of other bytes), GetItem, UpdateItem (with a condition that holds), Query (10
// items). Requests are made before the clock starts, and of an answer only its status and length are looked at, so that
// the client takes as little as can be of the cores that it shares with the server.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/bare_beast.h"

namespace {

using Steady = std::chrono::steady_clock;

constexpr size_t kPartitions = 1000;
constexpr size_t kItemsOfPartition = 10;
constexpr size_t kPreparedKeys = 4096;
constexpr size_t kPreparedRequests = 2 * kPreparedKeys;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "item_bench: %s\n", why.c_str());
  std::exit(1);
}

double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

double median(std::vector<double> values) {
  if (values.empty()) die("nothing was measured");
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void serve_bare() {
  const freshet::BareBeast server({std::istreambuf_iterator<char>(std::cin), {}});
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  for (;;) ::pause();  // Until a signal ends it.
}

// Requests.

std::string request(std::string_view operation, const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept-Encoding: identity\r\nX-Amz-Target: DynamoDB_20120810." +
         std::string(operation) +
         "\r\nContent-Type: application/x-amz-json-1.0\r\n"
         "User-Agent: Boto3/1.26.27 Python/3.11.2 Linux/6.1 Botocore/1.29.27\r\nX-Amz-Date: 20261121T093115Z\r\n"
         "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/us-east-1/dynamodb/aws4_request, "
         "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=0123456789abcdef0123456789abcdef\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string partition(size_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "customer-%08zu", number);
  return text;
}

// 200 bytes as the service counts them: names and values.
std::string item(const std::string& id, size_t at, size_t version = 1) {
  static const std::string kPayload(125, 'x');
  return R"({"id":{"S":")" + id + R"("},"at":{"N":")" + std::to_string(1'800'000'000 + at) +
         R"("},"status":{"S":"PENDING"},"version":{"N":")" + std::to_string(version) +
         R"("},"total":{"N":"17.25"},"note":{"S":")" + kPayload + R"("}})";
}

std::string key(size_t number) {
  return R"({"id":{"S":")" + partition(number % kPartitions) + R"("},"at":{"N":")" +
         std::to_string(1'800'000'000 + number / kPartitions % kItemsOfPartition) + R"("}})";
}

// Tells the puts of this process from those of others before: a put of what is there already would write nothing.
size_t first_version() {
  static const auto kFirst = static_cast<size_t>(Steady::now().time_since_epoch() / std::chrono::microseconds(1));
  return kFirst % 1'000'000'000;
}

// `round` tells two requests of one key apart.
std::string operation_request(std::string_view operation, size_t number, size_t round = 0) {
  std::string body = R"({"TableName":"Orders",)";
  if (operation == "PutItem") {
    body += "\"Item\":" +
            item(partition(number % kPartitions), number / kPartitions % kItemsOfPartition, first_version() + round) +
            "}";
  } else if (operation == "GetItem") {
    body += "\"Key\":" + key(number) + R"(,"ConsistentRead":true})";
  } else if (operation == "UpdateItem") {
    body += "\"Key\":" + key(number) +
            R"(,"UpdateExpression":"SET #s = :s, version = version + :one","ConditionExpression":"version >= :one",)"
            R"("ExpressionAttributeNames":{"#s":"status"},)"
            R"("ExpressionAttributeValues":{":s":{"S":"TAKEN"},":one":{"N":"1"}}})";
  } else if (operation == "Query") {
    body += R"("KeyConditionExpression":"id = :id","ScanIndexForward":false,"Limit":10,)"
            R"("ExpressionAttributeValues":{":id":{"S":")" +
            partition(number % kPartitions) + R"("}}})";
  } else {
    die("no operation '" + std::string(operation) + "'");
  }
  return request(operation, body);
}

// Connections.

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) die("nothing listens there");
  return fd;
}

// One request at a time; reads the answer as it comes.
class Connection {
 public:
  explicit Connection(int port) : fd_(connect_to(port)) {}
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  int fd() const { return fd_; }

  void send(std::string_view bytes) {
    received_ = 0;
    body_at_ = 0;
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) die("the server has hung up");
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  // Reads once what is there; true when the answer is whole.
  bool receive() {
    if (buffer_.size() - received_ < kRoom) buffer_.resize(2 * buffer_.size());
    const ssize_t n = ::recv(fd_, buffer_.data() + received_, buffer_.size() - received_, 0);
    if (n <= 0) die("the server has hung up");
    received_ += static_cast<size_t>(n);
    if (body_at_ == 0) read_head();
    return body_at_ != 0 && received_ >= body_at_ + body_bytes_;
  }
  std::string_view body() const { return {buffer_.data() + body_at_, body_bytes_}; }
  std::string_view ask(std::string_view bytes) {
    send(bytes);
    while (!receive()) {
    }
    return body();
  }

 private:
  static constexpr size_t kRoom = 16u << 10;

  void read_head() {
    const std::string_view text(buffer_.data(), received_);
    const size_t end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) return;
    if (!text.starts_with("HTTP/1.1 200")) die("refused: " + std::string(text.substr(0, 600)));
    static constexpr std::string_view kLength = "content-length:";
    for (size_t line = text.find("\r\n"); line < end; line = text.find("\r\n", line + 2)) {
      if (::strncasecmp(text.data() + line + 2, kLength.data(), kLength.size()) != 0) continue;
      body_bytes_ = std::strtoull(text.data() + line + 2 + kLength.size(), nullptr, 10);
      body_at_ = end + 4;
      return;
    }
    die("an answer without its length");
  }

  const int fd_;
  std::vector<char> buffer_ = std::vector<char>(4 * kRoom);
  size_t received_ = 0;
  size_t body_at_ = 0;  // 0 until the head is whole.
  size_t body_bytes_ = 0;
};

// Keeps all connections busy with what `next` gives, until that is empty; each answer goes to `done`.
class Crowd {
 public:
  Crowd(int port, size_t connections) : epoll_(::epoll_create1(EPOLL_CLOEXEC)), events_(connections) {
    for (size_t i = 0; i < connections; ++i) {
      connections_.push_back(std::make_unique<Connection>(port));
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[i]->fd(), &event);
    }
  }
  ~Crowd() { ::close(epoll_); }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  template <class Next, class Done>
  void run(Next next, Done done) {
    size_t open = 0;
    const auto send = [&](size_t i) {
      const std::string_view bytes = next(i);
      if (bytes.empty()) return;
      connections_[i]->send(bytes);
      ++open;
    };
    for (size_t i = 0; i < connections_.size(); ++i) send(i);
    while (open > 0) {
      const int ready = ::epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), -1);
      for (int e = 0; e < ready; ++e) {
        const size_t i = events_[static_cast<size_t>(e)].data.u64;
        if (!connections_[i]->receive()) continue;
        --open;
        done(i, connections_[i]->body());
        send(i);
      }
    }
  }

 private:
  const int epoll_;
  std::vector<epoll_event> events_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

// The cases.

void make_table(int port) {
  Connection connection(port);
  connection.ask(request("CreateTable", R"({"TableName":"Orders","BillingMode":"PAY_PER_REQUEST","KeySchema":[)"
                                        R"({"AttributeName":"id","KeyType":"HASH"},)"
                                        R"({"AttributeName":"at","KeyType":"RANGE"}],"AttributeDefinitions":[)"
                                        R"({"AttributeName":"id","AttributeType":"S"},)"
                                        R"({"AttributeName":"at","AttributeType":"N"}]})"));
  const std::string describe = request("DescribeTable", R"({"TableName":"Orders"})");
  while (connection.ask(describe).find("\"ACTIVE\"") == std::string_view::npos) ::usleep(10'000);
}

// `item_of` makes the i-th of `count` items.
void write_items(int port, size_t count, const std::function<std::string(size_t)>& item_of) {
  constexpr size_t kBatch = 25;
  Crowd crowd(port, 8);
  size_t next = 0;
  std::vector<std::string> requests(8);
  crowd.run(
      [&](size_t i) {
        std::string body = R"({"RequestItems":{"Orders":[)";
        for (size_t n = 0; n < kBatch && next < count; ++n, ++next) {
          body += (n == 0 ? "" : ",") + (R"({"PutRequest":{"Item":)" + item_of(next)) + "}}";
        }
        requests[i] = body.ends_with('[') ? std::string() : request("BatchWriteItem", body + "]}}");
        return std::string_view(requests[i]);
      },
      [](size_t, std::string_view body) {
        if (body.find("\"PutRequest\"") != std::string_view::npos) die("items were left unprocessed");
      });
}

void load(int port, std::string_view operation, size_t connections, double duration) {
  std::vector<std::string> requests;
  for (size_t i = 0; i < kPreparedRequests; ++i) {
    requests.push_back(operation_request(operation, i % kPreparedKeys * 7919, i / kPreparedKeys));
  }
  Crowd crowd(port, connections);
  std::vector<Steady::time_point> sent(connections);
  std::vector<double> latencies;
  latencies.reserve(1u << 20);
  size_t next = 0;
  const auto begin = Steady::now();
  auto now = begin;
  const auto end = begin + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(duration));
  crowd.run(
      [&](size_t i) -> std::string_view {
        if (now >= end) return {};
        sent[i] = now;
        return requests[next++ % kPreparedRequests];
      },
      [&](size_t i, std::string_view) {
        now = Steady::now();
        latencies.push_back(std::chrono::duration<double, std::micro>(now - sent[i]).count());
      });
  const double took = seconds_since(begin);
  std::printf("%.0f requests/s, p50 %.1f us\n", static_cast<double>(latencies.size()) / took, median(latencies));
}

std::string scan_request(size_t segment, size_t segments, std::string_view start_key) {
  std::string body = R"({"TableName":"Orders")";
  if (segments > 1) {
    body += ",\"Segment\":" + std::to_string(segment) + ",\"TotalSegments\":" + std::to_string(segments);
  }
  if (!start_key.empty()) body += ",\"ExclusiveStartKey\":" + std::string(start_key);
  return request("Scan", body + "}");
}

// The text behind `name` in a response's last bytes, where the figures are.
std::string_view tail_member(std::string_view body, std::string_view name) {
  const std::string_view tail = body.substr(body.size() - std::min<size_t>(body.size(), 400));
  const size_t at = tail.find(name);
  return at == std::string_view::npos ? std::string_view() : tail.substr(at + name.size());
}

void scan(int port, size_t segments) {
  Crowd crowd(port, segments);
  std::vector<std::string> requests;
  for (size_t i = 0; i < segments; ++i) requests.push_back(scan_request(i, segments, {}));
  size_t items = 0;
  const auto begin = Steady::now();
  crowd.run([&](size_t i) { return std::string_view(requests[i]); },
            [&](size_t i, std::string_view body) {
              items += std::strtoull(std::string(tail_member(body, "\"Count\":")).c_str(), nullptr, 10);
              const std::string_view last = tail_member(body, "\"LastEvaluatedKey\":");
              requests[i].clear();
              // The key's own braces end at the first "}}".
              if (!last.empty()) requests[i] = scan_request(i, segments, last.substr(0, last.find("}}") + 2));
            });
  const double took = seconds_since(begin);
  std::printf("%zu items, %.0f items/s\n", items, static_cast<double>(items) / took);
}

// Appends 4 KB to a file that has its space already, as a log does.
class Disk {
 public:
  explicit Disk(const std::string& directory)
      : path_(directory + "/disk"), fd_(::open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) {
    const std::string zeros(kBytes, '\0');
    if (fd_ < 0 || ::write(fd_, zeros.data(), kBytes) < 0 || ::fsync(fd_) != 0) die("cannot write to " + directory);
  }
  ~Disk() {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  void sync() {
    const std::string page(kPage, 'x');
    if (::pwrite(fd_, page.data(), kPage, at_) < 0 || ::fdatasync(fd_) != 0) die("cannot sync");
    at_ = (at_ + static_cast<off_t>(kPage)) % static_cast<off_t>(kBytes);
  }

 private:
  static constexpr size_t kBytes = 16u << 20;
  static constexpr size_t kPage = 4096;
  const std::string path_;
  const int fd_;
  off_t at_ = 0;
};

// One request at a time, and between any two of them a sync of our own: what both cost at that moment.
void latency(int port, std::string_view operation, const std::string& directory, size_t count) {
  Connection connection(port);
  Disk disk(directory);
  std::vector<double> answers;
  std::vector<double> syncs;
  const size_t warm_up = count / 10;
  for (size_t i = 0; i < warm_up + count; ++i) {
    const std::string bytes = operation_request(operation, i % kPreparedKeys * 7919, i);
    const auto begin = Steady::now();
    connection.ask(bytes);
    const double answered = seconds_since(begin);
    const auto sync_begin = Steady::now();
    disk.sync();
    if (i < warm_up) continue;
    answers.push_back(answered * 1e6);
    syncs.push_back(seconds_since(sync_begin) * 1e6);
  }
  std::printf("p50 %.1f us, sync %.1f us\n", median(answers), median(syncs));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string what = words.empty() ? "" : words[0];
  const auto word = [&](size_t i) { return i < words.size() ? words[i] : (die("too few arguments"), std::string()); };
  const auto number = [&](size_t i) { return std::strtoull(word(i).c_str(), nullptr, 10); };
  const auto port = [&] { return static_cast<int>(number(1)); };
  if (what == "bare") {
    serve_bare();
  } else if (what == "setup") {
    make_table(port());
    write_items(port(), kPartitions * kItemsOfPartition,
                [](size_t i) { return item(partition(i % kPartitions), i / kPartitions); });
  } else if (what == "fill") {
    make_table(port());
    write_items(port(), number(2), [](size_t i) { return item(partition(i), 0); });
  } else if (what == "body") {
    Connection connection(port());
    std::fputs(std::string(connection.ask(operation_request(word(2), 0))).c_str(), stdout);
  } else if (what == "load") {
    load(port(), word(2), number(3), std::atof(word(4).c_str()));
  } else if (what == "scan") {
    scan(port(), number(2));
  } else if (what == "latency") {
    latency(port(), word(2), word(3), number(4));
  } else {
    die("bare, setup, fill, body, load, scan or latency");
  }
  return 0;
}
