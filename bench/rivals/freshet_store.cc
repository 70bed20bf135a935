// Ours: the pull API over keep-alive HTTP, with leases and books. Finish and take is one request.
#include <simdjson.h>

#include <stdexcept>

#include "bench/rivals/socket.h"
#include "bench/rivals/store.h"

namespace freshet::rivals {
namespace {

class FreshetStore final : public Store {
 public:
  explicit FreshetStore(int port) : socket_(port) {}

  void create(const std::vector<Task>& tasks) override {
    std::string body = R"({"tasks":[)";
    for (const auto& task : tasks) {
      body += body.back() == '[' ? R"({"payload":")" : R"(,{"payload":")";
      body += task.payload + "\"}";
    }
    const auto& answer = post("tasks", body + "]}");
    size_t created = 0;
    for (const auto result : answer["results"].get_array()) created += result["created"].get_bool().value_unsafe();
    if (created != tasks.size()) throw std::runtime_error("freshet refused a task: " + body_);
  }

  std::vector<Task> turn(const std::vector<Task>& done, int max, int wait_ms) override {
    std::string body;
    for (const auto& task : done) {
      body += body.empty() ? R"("settle":[)" : ",";
      body += R"({"taskId":")" + task.handle.substr(0, task.handle.find(' ')) + R"(","lease":")" +
              task.handle.substr(task.handle.find(' ') + 1) + R"(","outcome":"complete"})";
    }
    if (!body.empty()) body += "]";
    std::vector<Task> taken;
    if (max == 0) {
      check_settled(post("settle", "{" + body + "}"), done.size());
      return taken;
    }
    if (!body.empty()) body += ",";
    body = "{" + body + R"("max":)" + std::to_string(max) + R"(,"waitMs":)" + std::to_string(wait_ms) + "}";
    const auto& answer = post("take", body);
    if (!done.empty()) check_settled(answer, done.size());
    for (const auto item : answer["tasks"].get_array()) {
      Task task;
      task.payload = std::string_view(item["payload"]);
      task.handle = std::string(std::string_view(item["taskId"])) + " " + std::string(std::string_view(item["lease"]));
      task.number = std::strtoull(task.payload.c_str(), nullptr, 10);
      taken.push_back(std::move(task));
    }
    return taken;
  }

 private:
  void check_settled(const simdjson::dom::element& answer, size_t expected) {
    size_t settled = 0;
    for (const auto result : answer["settled"].get_array()) settled += result["error"].error() != simdjson::SUCCESS;
    if (settled != expected) throw std::runtime_error("freshet refused a completion: " + body_);
  }

  const simdjson::dom::element& post(const char* what, const std::string& body) {
    socket_.send("POST /queues/QueueTable/" + std::string(what) +
                 " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " +
                 std::to_string(body.size()) + "\r\n\r\n" + body);
    const bool good = socket_.read_line().find(" 200 ") != std::string::npos;
    size_t length = 0;
    for (std::string line = socket_.read_line(); !line.empty(); line = socket_.read_line()) {
      if (strncasecmp(line.c_str(), "content-length:", 15) == 0) length = std::strtoull(line.c_str() + 15, nullptr, 10);
    }
    body_ = socket_.read_bytes(length);
    if (!good || parser_.parse(body_).get(document_) != simdjson::SUCCESS) {
      throw std::runtime_error("freshet: " + body_);
    }
    return document_;
  }

  Socket socket_;
  std::string body_;
  simdjson::dom::parser parser_;
  simdjson::dom::element document_;
};

}  // namespace

std::unique_ptr<Store> connect_freshet(int port) {
  return std::make_unique<FreshetStore>(port);
}

}  // namespace freshet::rivals
