// freshet bench: stresses a running daemon's queue with more work than its workers can do, and says what became of it.
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/cli/remote.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct BenchOptions {
  Remote remote;
  double rate = 400;
  double seconds = 10;
  int slots = 4;
  double service_ms = 20;
  double deadline_ms = 1000;
  double ttl = 5;
};

double since_ms(SteadyClock::time_point t) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - t).count();
}

// Counts what the workers saw. Their threads share it.
class Observations {
 public:
  void started(double age_ms) {
    const std::lock_guard lock(mutex_);
    ages_.push_back(age_ms);
  }
  void finished(bool in_time) {
    const std::lock_guard lock(mutex_);
    ++finished_;
    in_time_ += in_time;
  }
  Json report(size_t created, double seconds, const BenchOptions& options) {
    const std::lock_guard lock(mutex_);
    std::sort(ages_.begin(), ages_.end());
    const auto percentile = [&](double p) {
      return ages_.empty()
                 ? 0.0
                 : ages_[std::min(ages_.size() - 1, static_cast<size_t>(p * static_cast<double>(ages_.size())))];
    };
    const double capacity = options.slots * 1000 / options.service_ms;
    return Json{{"offeredPerSecond", static_cast<double>(created) / seconds},
                {"capacityPerSecond", capacity},
                {"created", created},
                {"finished", finished_},
                {"inTime", in_time_},
                {"goodput", static_cast<double>(in_time_) / (capacity * seconds)},
                {"ageAtStartMs", {{"p50", percentile(0.5)}, {"p99", percentile(0.99)}}}};
  }

 private:
  std::mutex mutex_;
  std::vector<double> ages_;
  size_t finished_ = 0, in_time_ = 0;
};

class Stress {
 public:
  explicit Stress(const BenchOptions& options) : options_(options) {}

  int run() {
    // Reports a missing daemon or queue once: each worker would repeat it.
    Session first(options_.remote);
    const Json stats = first.call("GET", "/stats");
    if (stats.is_null()) return first.exit_status();
    if (const auto runner = stats.value("runner", "none"); runner != "none") return refuse(first.queue(), runner);
    std::vector<std::thread> workers;
    for (int i = 0; i < options_.slots; ++i) workers.emplace_back([this] { guarded([this] { work(); }); });
    size_t created = 0;
    guarded([&] { created = produce(); });
    stopping_ = true;
    for (auto& worker : workers) worker.join();
    if (strange_) std::rethrow_exception(strange_);
    if (exit_status_ != kDone) return exit_status_;
    const Json report = observations_.report(created, options_.seconds, options_);
    if (options_.remote.json) {
      std::cout << report.dump() << '\n';
    } else {
      print(report);
    }
    return kDone;
  }

 private:
  // It would do real work with tasks that mean nothing, and the figures would not be those of the bench's workers.
  static int refuse(const std::string& queue, const std::string& runner) {
    std::cerr << "freshet bench: queue '" << plain_text(queue) << "' has a task runner of its own ("
              << plain_text(runner)
              << "), which would be given the bench's tasks: name a queue without one, as freshet serve NAME --pull "
                 "starts it\n";
    return kUsage;
  }

  // Another server's JSON ends all threads; the last exception is for who called run().
  template <class Part>
  void guarded(const Part& part) {
    try {
      part();
    } catch (const Json::exception&) {
      const std::lock_guard lock(strange_mutex_);
      strange_ = std::current_exception();
      exit_status_ = kFailed;
    }
  }

  // Open loop: tasks are created when they are due, however long the answers take.
  size_t produce() {
    Session session(options_.remote);
    size_t created = 0;
    const auto text = [&](int second) {
      return std::to_string(second) + " of " + std::to_string(static_cast<int>(options_.seconds)) + " s";
    };
    Progress progress(text(0));
    for (int second = 0;; std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      const double elapsed = since_ms(start_) / 1000;
      if (elapsed >= options_.seconds || exit_status_ != kDone) return created;
      const auto due = static_cast<size_t>(elapsed * options_.rate);
      while (created < due) {
        Json batch = Json::array();
        for (; created + batch.size() < due && batch.size() < 500;) {
          batch.push_back({{"payload", {{"sentMs", since_ms(start_)}}}, {"ttlSeconds", options_.ttl}});
        }
        const Json answer = session.call("POST", "/tasks", Json{{"tasks", batch}});
        if (answer.is_null()) return failed(session), created;
        created += answer.at("results").size();  // As many as the batch has.
      }
      if (static_cast<int>(elapsed) > second) progress.show(text(++second));
    }
  }

  void work() {
    Session session(options_.remote);
    Json settle = Json::array();
    while (!stopping_ && exit_status_ == kDone) {
      const Json answer = session.call("POST", "/take", Json{{"waitMs", 200}, {"settle", settle}});
      if (answer.is_null()) return failed(session);
      settle = Json::array();
      for (const auto& task : answer.at("tasks")) {
        const Json& payload = task.at("payload");
        const double sent = payload.is_object() ? payload.value("sentMs", 0.0) : 0.0;
        observations_.started(since_ms(start_) - sent);
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options_.service_ms));
        observations_.finished(since_ms(start_) - sent <= options_.deadline_ms);
        settle.push_back({{"taskId", task.at("taskId")}, {"lease", task.at("lease")}, {"outcome", "complete"}});
      }
    }
    if (!settle.empty()) session.call("POST", "/settle", Json{{"settle", settle}});
  }

  void failed(const Session& session) { exit_status_ = session.exit_status(); }

  static void print(const Json& report) {
    std::cout << std::fixed << std::setprecision(1) << "offered   " << report["offeredPerSecond"].get<double>()
              << "/s, " << report["offeredPerSecond"].get<double>() / report["capacityPerSecond"].get<double>()
              << " x what the workers can do\n"
              << "finished  " << report["finished"] << " of " << report["created"] << ", in time " << report["inTime"]
              << "\ngoodput   " << 100 * report["goodput"].get<double>() << " % of capacity\n"
              << "age when started: p50 " << report["ageAtStartMs"]["p50"].get<double>() << " ms, p99 "
              << report["ageAtStartMs"]["p99"].get<double>() << " ms\n";
  }

  const BenchOptions& options_;
  const SteadyClock::time_point start_ = SteadyClock::now();
  Observations observations_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> exit_status_{kDone};
  std::mutex strange_mutex_;
  std::exception_ptr strange_;
};

}  // namespace

void add_bench(Command app, int& exit_status) {
  auto options = std::make_shared<BenchOptions>();
  const Command command =
      app.add_subcommand("bench", "Put more tasks into a running daemon's queue than its workers can do");
  command.footer(
      "Creates tasks at a fixed rate and takes them with workers that need a fixed time for each. The queue must have\n"
      "no task runner of its own:\n"
      "  freshet serve stress --pull --data :memory:\n"
      "  freshet bench --rate 1000 --seconds 30 --json");
  options->remote.add_options(command);
  command.add_option("--rate", options->rate, "Tasks to create per second").check(above_zero()).capture_default_str();
  command.add_option("--seconds", options->seconds, "Length of the run in seconds")
      .check(whole(1, 3600))
      .capture_default_str();
  command.add_option("--slots", options->slots, "Number of workers").check(whole(1, 256)).capture_default_str();
  command.add_option("--service-ms", options->service_ms, "Milliseconds that a worker needs for a task")
      .check(above_zero())
      .capture_default_str();
  command
      .add_option("--deadline-ms", options->deadline_ms,
                  "Milliseconds from its creation within which a task must end to be in time")
      .check(above_zero())
      .capture_default_str();
  command.add_option("--ttl", options->ttl, "Seconds until a task that has not started is shed")
      .check(above_zero())
      .capture_default_str();
  add_bench_overload(command, exit_status);
  command.callback([options, command, &exit_status] {
    if (!command.has_parsed_subcommand()) exit_status = Stress(*options).run();
  });
}

}  // namespace freshet::cli
