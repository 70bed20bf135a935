// Redis lists: LPUSH q, LPOP q (newest first), SET d:<number> as the marker of what is done. A task whose worker dies
// between the two is lost; that is what people do when they want it fast.
#include <stdexcept>

#include "bench/rivals/socket.h"
#include "bench/rivals/store.h"

namespace freshet::rivals {
namespace {

class RedisStore final : public Store {
 public:
  explicit RedisStore(int port) : socket_(port) {}

  void create(const std::vector<Task>& tasks) override {
    std::string out;
    for (const auto& task : tasks) command(out, {"LPUSH", "q", task.payload});
    socket_.send(out);
    for (size_t i = 0; i < tasks.size(); ++i) reply(nullptr);
  }

  std::vector<Task> turn(const std::vector<Task>& done, int max, int wait_ms) override {
    std::string out;
    for (const auto& task : done) command(out, {"SET", "d:" + std::to_string(task.number), "1", "EX", "3600"});
    if (max > 0) command(out, {"LPOP", "q", std::to_string(max)});
    socket_.send(out);
    for (size_t i = 0; i < done.size(); ++i) reply(nullptr);
    std::vector<Task> taken;
    if (max > 0) reply(&taken);
    if (taken.empty() && max > 0 && wait_ms > 0) {
      out.clear();
      command(out, {"BLPOP", "q", std::to_string(wait_ms / 1000.0)});
      socket_.send(out);
      reply(&taken);
      if (!taken.empty()) taken.erase(taken.begin());  // BLPOP answers with the list's name first.
    }
    return taken;
  }

 private:
  static void command(std::string& out, std::initializer_list<std::string> words) {
    out += "*" + std::to_string(words.size()) + "\r\n";
    for (const auto& word : words) out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }

  void reply(std::vector<Task>* into) {
    const std::string line = socket_.read_line();
    const long count = line.size() > 1 ? std::atol(line.c_str() + 1) : 0;
    if (line.front() == '-') throw std::runtime_error("redis: " + line);
    if (line.front() == '*') {
      for (long i = 0; i < count; ++i) reply(into);
    } else if (line.front() == '$' && count >= 0) {
      Task task;
      task.payload = socket_.read_bytes(static_cast<size_t>(count));
      socket_.read_bytes(2);
      task.number = std::strtoull(task.payload.c_str(), nullptr, 10);
      if (into != nullptr) into->push_back(std::move(task));
    }
  }

  Socket socket_;
};

}  // namespace

std::unique_ptr<Store> connect_redis(int port) {
  return std::make_unique<RedisStore>(port);
}

}  // namespace freshet::rivals
