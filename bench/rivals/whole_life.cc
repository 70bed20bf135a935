// The whole life of a task, side by side: create durably -> take the newest -> done.
//
//   rivals_whole_life KIND PORT TASKS PRODUCERS CREATE_BATCH WORKERS TAKE_BATCH [FIRST_NUMBER]
//
// Producers and workers run at the same time, each on its own connection; every create and every completion is
// acknowledged and every task is checked to be seen exactly once. Prints one JSON object. bench/rivals/run.sh starts
// the servers.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "bench/rivals/store.h"

namespace freshet::rivals {

std::unique_ptr<Store> connect(const std::string& kind, int port) {
  if (kind == "freshet") return connect_freshet(port);
  if (kind == "redis") return connect_redis(port);
  if (kind == "beanstalkd") return connect_beanstalkd(port);
  throw std::runtime_error("unknown kind '" + kind + "': freshet, redis or beanstalkd");
}

namespace {

struct Plan {
  std::string kind;
  int port;
  uint64_t tasks;
  int producers, create_batch, workers, take_batch;
  uint64_t first;
};

// 100 bytes that start with the task's number.
std::string payload(uint64_t number) {
  std::string text = std::to_string(number) + " ";
  uint64_t x = number * 0x9E3779B97F4A7C15ULL + 1;
  while (text.size() < 100) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    text += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[x & 63];
  }
  return text;
}

class WholeLife {
 public:
  explicit WholeLife(Plan plan) : plan_(std::move(plan)), seen_(plan_.tasks) {}

  int run() {
    std::vector<std::unique_ptr<Store>> connections;
    for (int i = 0; i < plan_.producers + plan_.workers; ++i) connections.push_back(connect(plan_.kind, plan_.port));
    const auto started = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < plan_.producers + plan_.workers; ++i) {
      threads.emplace_back([this, i, &connections] {
        try {
          i < plan_.producers ? produce(*connections[static_cast<size_t>(i)])
                              : work(*connections[static_cast<size_t>(i)]);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "%s\n", error.what());
          failed_ = true;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    const std::chrono::duration<double> took = finished_ - started;
    uint64_t missing = 0;
    for (const auto& seen : seen_) missing += seen.load() == 0;
    const bool good = !failed_ && missing == 0 && doubled_ == 0;
    std::printf(R"({"kind":"%s","producers":%d,"create_batch":%d,"workers":%d,"take_batch":%d,"tasks":%llu,)"
                R"("tasks_per_s":%.0f,"missing":%llu,"doubled":%llu,"ok":%s})"
                "\n",
                plan_.kind.c_str(), plan_.producers, plan_.create_batch, plan_.workers, plan_.take_batch,
                static_cast<unsigned long long>(plan_.tasks), static_cast<double>(plan_.tasks) / took.count(),
                static_cast<unsigned long long>(missing), static_cast<unsigned long long>(doubled_.load()),
                good ? "true" : "false");
    return good ? 0 : 1;
  }

 private:
  void produce(Store& store) {
    const auto batch = static_cast<uint64_t>(plan_.create_batch);
    std::vector<Task> tasks;
    for (;;) {
      const uint64_t first = next_.fetch_add(batch);
      if (first >= plan_.tasks || failed_) return;
      tasks.clear();
      for (uint64_t i = first; i < std::min(first + batch, plan_.tasks); ++i) {
        tasks.push_back({plan_.first + i, "", payload(plan_.first + i)});
      }
      store.create(tasks);
    }
  }

  void work(Store& store) {
    std::vector<Task> done;
    while (done_ < plan_.tasks && !failed_) {
      auto taken = store.turn(done, plan_.take_batch, 50);
      count(done.size());
      for (const auto& task : taken) {
        const uint64_t index = task.number - plan_.first;
        if (index < plan_.tasks && seen_[index].fetch_add(1) > 0) ++doubled_;
      }
      done = std::move(taken);
    }
    if (!done.empty()) {
      store.turn(done, 0, 0);
      count(done.size());
    }
  }

  void count(size_t n) {
    if (n > 0 && done_.fetch_add(n) + n >= plan_.tasks) finished_ = std::chrono::steady_clock::now();
  }

  const Plan plan_;
  std::vector<std::atomic<uint8_t>> seen_;
  std::atomic<uint64_t> next_{0}, done_{0}, doubled_{0};
  std::atomic<bool> failed_{false};
  std::chrono::steady_clock::time_point finished_;  // Written by the one thread that finishes the last task.
};

}  // namespace
}  // namespace freshet::rivals

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(stderr, "usage: %s KIND PORT TASKS PRODUCERS CREATE_BATCH WORKERS TAKE_BATCH [FIRST_NUMBER]\n",
                 argv[0]);
    return 2;
  }
  const auto number = [&](int i) { return std::atoi(argv[i]); };
  try {
    return freshet::rivals::WholeLife({argv[1], number(2), static_cast<uint64_t>(std::atoll(argv[3])), number(4),
                                       number(5), number(6), number(7),
                                       argc > 8 ? static_cast<uint64_t>(std::atoll(argv[8])) : 0})
        .run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
