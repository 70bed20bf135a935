// A `provided` function without any SDK: the Runtime API over a socket, and for each event one Publish, signed with
// Signature Version 4.
#include <arpa/inet.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// One connection, for one server's answers in order.
class Connection {
 public:
  explicit Connection(const std::string& address) : address_(address) {
    const size_t colon = address.rfind(':');
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &there.sin_addr);
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&there), sizeof there) != 0) throw std::runtime_error("connect");
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(socket_); }

  // The answer's head; its body is in `body`.
  std::string call(const std::string& method, const std::string& path, const std::string& headers,
                   const std::string& sent, std::string& body) {
    std::string request = method + " " + path + " HTTP/1.1\r\nHost: " + address_ + "\r\n" + headers;
    if (method == "POST") request += "Content-Length: " + std::to_string(sent.size()) + "\r\n";
    request += "\r\n" + sent;
    for (size_t done = 0; done < request.size();) {
      const ssize_t wrote = write(socket_, request.data() + done, request.size() - done);
      if (wrote <= 0) throw std::runtime_error("write");
      done += static_cast<size_t>(wrote);
    }
    size_t end = 0;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) more();
    std::string head = received_.substr(0, end + 2);
    received_.erase(0, end + 4);
    const std::string length = header(head, "content-length");
    const size_t size = length.empty() ? 0 : std::stoul(length);
    while (received_.size() < size) more();
    body = received_.substr(0, size);
    received_.erase(0, size);
    return head;
  }

  static std::string header(const std::string& head, const std::string& name) {
    for (size_t line = 0; line < head.size(); line = head.find("\r\n", line) + 2) {
      size_t at = 0;
      while (at < name.size() && std::tolower(head[line + at]) == name[at]) ++at;
      if (at < name.size() || head[line + at] != ':') continue;
      const size_t from = head.find_first_not_of(' ', line + at + 1);
      return head.substr(from, head.find("\r\n", from) - from);
    }
    return "";
  }

 private:
  void more() {
    char part[4096];
    const ssize_t got = read(socket_, part, sizeof part);
    if (got <= 0) throw std::runtime_error("read");
    received_.append(part, static_cast<size_t>(got));
  }

  const std::string address_;
  int socket_ = -1;
  std::string received_;
};

std::string hex(const unsigned char* bytes, size_t size) {
  std::string out;
  char two[3];
  for (size_t i = 0; i < size; ++i) {
    std::snprintf(two, sizeof two, "%02x", bytes[i]);
    out += two;
  }
  return out;
}

std::string sha256(const std::string& text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return hex(digest, sizeof digest);
}

std::string hmac(const std::string& key, const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), digest, &size);
  return {reinterpret_cast<char*>(digest), size};
}

std::string encoded(const std::string& text) {
  std::string out;
  char three[4];
  for (const unsigned char c : text) {
    if (std::isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += static_cast<char>(c);
    } else {
      std::snprintf(three, sizeof three, "%%%02X", c);
      out += three;
    }
  }
  return out;
}

std::string signature_headers(const std::string& host, const std::string& body) {
  char time[20];
  const std::time_t now = std::time(nullptr);
  std::strftime(time, sizeof time, "%Y%m%dT%H%M%SZ", std::gmtime(&now));
  const std::string region = variable("AWS_REGION");
  const std::string scope = std::string(time, 8) + "/" + region + "/sns/aws4_request";
  const std::string request =
      "POST\n/\n\nhost:" + host + "\nx-amz-date:" + time + "\n\nhost;x-amz-date\n" + sha256(body);
  const std::string text = "AWS4-HMAC-SHA256\n" + std::string(time) + "\n" + scope + "\n" + sha256(request);
  std::string key = hmac("AWS4" + variable("AWS_SECRET_ACCESS_KEY"), std::string(time, 8));
  for (const std::string& part : {region, std::string("sns"), std::string("aws4_request")}) key = hmac(key, part);
  const std::string mac = hmac(key, text);
  return "Content-Type: application/x-www-form-urlencoded\r\nX-Amz-Date: " + std::string(time) +
         "\r\nAuthorization: AWS4-HMAC-SHA256 Credential=" + variable("AWS_ACCESS_KEY_ID") + "/" + scope +
         ", SignedHeaders=host;x-amz-date, Signature=" +
         hex(reinterpret_cast<const unsigned char*>(mac.data()), mac.size()) + "\r\n";
}

void publish_start() {
  const std::string host = variable("AWS_ENDPOINT_URL_SNS").substr(std::string("http://").size());
  const std::string body =
      "Action=Publish&Version=2010-03-31&Message=Start&TopicArn=" + encoded(variable("PROCESS_TASKS_TOPIC_ARN"));
  Connection there(host);
  std::string answer;
  const std::string head = there.call("POST", "/", signature_headers(host, body), body, answer);
  if (head.find(" 200 ") == std::string::npos) throw std::runtime_error(answer);
}

}  // namespace

int main() {
  Connection api(variable("AWS_LAMBDA_RUNTIME_API"));
  const std::string root = "/2018-06-01/runtime/invocation/";
  for (;;) {
    std::string event;
    std::string ignored;
    const std::string head = api.call("GET", root + "next", "", "", event);
    const std::string id = Connection::header(head, "lambda-runtime-aws-request-id");
    try {
      publish_start();
      std::printf("TRIGGERED by %s\n", event.find("aws:sns") != std::string::npos ? "topic" : "stream");
      std::fflush(stdout);
      api.call("POST", root + id + "/response", "", "\"started\"", ignored);
    } catch (const std::exception& error) {
      std::printf("NOT_TRIGGERED %s\n", error.what());
      std::fflush(stdout);
      api.call("POST", root + id + "/error", "", R"({"errorType":"NotPublished","errorMessage":"see the log"})",
               ignored);
    }
  }
}
