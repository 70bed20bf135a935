// A whole daemon in the simulated world, and a client of it. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/daemon/daemon.h"
#include "app/daemon/modules.h"
#include "app/daemon/plan.h"
#include "tests/sim/log_capture.h"
#include "tests/sim/machine/sim_world.h"
#include "tests/sim/source_dir.h"
#include "wire/http/client.h"

namespace freshet {

inline DaemonOptions options_of_lifo() {
  DaemonOptions options;
  options.deploy.path = source_dir() + "/config/lifo.yaml";
  options.deploy.parameters = {"TaskRunner=none"};
  options.data = "/simulated/data";
  options.listen = "127.0.0.1:7070";
  options.drain_ms = 1000;
  return options;
}

// A daemon of these modules, and a client of it.
class House {
 public:
  explicit House(std::vector<ModuleKind> modules, DaemonOptions options = options_of_lifo())
      : modules_(std::move(modules)), options_(std::move(options)) {}

  bool start() {
    auto plan = plan_daemon(options_, modules_);
    if (!plan) return false;
    daemon_ = make_daemon(world_, options_, std::move(*plan));
    if (!daemon_->open()) return false;
    daemon_->begin();
    return run_until([&] { return daemon_->ready(); });
  }
  bool stop() {
    daemon_->stop();
    const bool stopped = run_until([&] { return daemon_->loop().stopped(); });
    world_.forget_io();
    const int status = daemon_->exit_status();
    daemon_.reset();
    return stopped && status == 0;
  }

  // Stops the daemon this many turns after the start has begun, and returns the fault; empty if there is none.
  // `is_ready` tells if the daemon was ready before the stop.
  std::string stop_after(int turns, bool& is_ready) {
    auto plan = plan_daemon(options_, modules_);
    if (!plan) return plan.error().message;
    daemon_ = make_daemon(world_, options_, std::move(*plan));
    if (auto opened = daemon_->open(); !opened) return opened.error().message;
    daemon_->begin();
    run_until([&] { return turns-- <= 0; });
    is_ready = daemon_->ready();
    const auto refusal = [this] { return daemon_->refusal() ? daemon_->refusal()->message : ""; };
    if (daemon_->loop().stopped()) return "stopped by itself: " + std::string(refusal());
    daemon_->stop();
    daemon_->stop();
    const bool stopped = run_until([&] { return daemon_->loop().stopped(); });
    const std::string last = log.lines.empty() ? "" : log.lines.back();
    if (stopped && (last.find("the start was not over yet") == std::string::npos) != is_ready) return last;
    std::string wrong = stopped ? refusal() : "it does not stop";
    if (wrong.empty() && daemon_->exit_status() != 0) wrong = "status " + std::to_string(daemon_->exit_status());
    world_.forget_io();
    daemon_.reset();
    return wrong;
  }

  HttpResponse call(const std::string& method, const std::string& path, std::string body = {},
                    HttpHeaders headers = {}) {
    HttpRequest request;
    request.method = method;
    request.headers = std::move(headers);
    request.body = std::move(body);
    auto answer = http_->send("http://127.0.0.1:7070" + path, std::move(request), seconds(30));
    if (!run_until([&] { return answer.is_ready(); })) return HttpResponse{0, "", {}, "no answer"};
    auto result = answer.take();
    return result ? std::move(*result) : HttpResponse{0, "", {}, result.error().message};
  }

  bool run_until(const std::function<bool()>& done) {
    for (int turns = 0; turns < 200'000; ++turns) {
      if (done()) return true;
      world_.sim_network().run_due();
      outside_io_->turn(BootTime{});
      outside_.turn();
      if (daemon_ && !daemon_->loop().stopped()) {
        if (world_.io() != nullptr) world_.io()->turn(BootTime{});
        daemon_->loop().turn();
      }
      world_.sim_clock().advance(std::chrono::microseconds(100));
    }
    return false;
  }

  void pass(nanoseconds time) {
    const BootTime until = world_.clock().boot() + time;
    while (!run_until([&] { return world_.clock().boot() >= until; })) continue;
  }

  // Passes a long time in steps of 50 ms.
  void pass_coarsely(nanoseconds time) {
    const BootTime until = world_.clock().boot() + time;
    for (; world_.clock().boot() < until; world_.sim_clock().advance(milliseconds(50))) {
      run_until([turns = 2]() mutable { return turns-- == 0; });
    }
  }

  // Sets the wall clock.
  void step_wall(milliseconds by) { world_.sim_clock().step_wall(by); }

  LogCapture log;

 private:
  const std::vector<ModuleKind> modules_;
  const DaemonOptions options_;
  sim::SimWorld world_{7, WallTime(milliseconds(1'800'000'000'000)), log};
  SimWaiter outside_waiter_{world_.sim_clock()};
  Loop outside_{world_.clock(), outside_waiter_};
  std::unique_ptr<IoThread> outside_io_ = std::move(*IoThread::without_thread(world_.clock(), world_.network()));
  std::unique_ptr<HttpClient> http_ = make_http_client({}, {outside_io_.get()}, world_.clock(), outside_, outside_);
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace freshet
