// beanstalkd: newest first by a priority that falls with every task.
#include <stdexcept>

#include "bench/rivals/socket.h"
#include "bench/rivals/store.h"

namespace freshet::rivals {
namespace {

class BeanstalkdStore final : public Store {
 public:
  explicit BeanstalkdStore(int port) : socket_(port) {}

  void create(const std::vector<Task>& tasks) override {
    std::string out;
    for (const auto& task : tasks) {
      const uint64_t priority = 0xFFFFFFFFULL - task.number;
      out += "put " + std::to_string(priority) + " 0 3600 " + std::to_string(task.payload.size()) + "\r\n" +
             task.payload + "\r\n";
    }
    socket_.send(out);
    for (size_t i = 0; i < tasks.size(); ++i) expect(socket_.read_line(), "INSERTED");
  }

  std::vector<Task> turn(const std::vector<Task>& done, int max, int wait_ms) override {
    std::string out;
    for (const auto& task : done) out += "delete " + task.handle + "\r\n";
    for (int i = 0; i < max; ++i) out += "reserve-with-timeout 0\r\n";
    socket_.send(out);
    for (size_t i = 0; i < done.size(); ++i) expect(socket_.read_line(), "DELETED");
    std::vector<Task> taken;
    for (int i = 0; i < max; ++i) reserved(taken);
    if (taken.empty() && max > 0 && wait_ms > 0) {
      socket_.send("reserve-with-timeout 1\r\n");  // Whole seconds are the least it can wait.
      reserved(taken);
    }
    return taken;
  }

 private:
  static void expect(const std::string& line, const char* start) {
    if (line.rfind(start, 0) != 0) throw std::runtime_error("beanstalkd: " + line);
  }
  void reserved(std::vector<Task>& into) {
    const std::string line = socket_.read_line();
    if (line == "TIMED_OUT") return;
    expect(line, "RESERVED ");
    const auto blank = line.find(' ', 9);
    Task task;
    task.handle = line.substr(9, blank - 9);
    task.payload = socket_.read_bytes(std::stoul(line.substr(blank + 1)));
    socket_.read_bytes(2);
    task.number = std::strtoull(task.payload.c_str(), nullptr, 10);
    into.push_back(std::move(task));
  }

  Socket socket_;
};

}  // namespace

std::unique_ptr<Store> connect_beanstalkd(int port) {
  return std::make_unique<BeanstalkdStore>(port);
}

}  // namespace freshet::rivals
