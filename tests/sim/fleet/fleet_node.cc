#include "tests/sim/fleet/fleet_node.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/daemon/plan.h"
#include "base/check.h"

namespace freshet::fleet_sim {

void NodeLog::write(LogLevel level, std::string_view line) {
  const std::string event = field_of(line, "event");
  if (!event.empty()) trace_.saw("log " + event);
  if (level >= LogLevel::kInfo) trace_.note("  " + name_ + " " + std::string(line));
  look_(line);
}

std::string field_of(std::string_view line, std::string_view name) {
  const std::string quoted = "\"" + std::string(name) + "\":\"";
  const size_t at = line.find(quoted);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + quoted.size();
  return std::string(line.substr(begin, line.find('"', begin) - begin));
}

uint64_t number_of(std::string_view line, std::string_view name) {
  const std::string quoted = "\"" + std::string(name) + "\":";
  const size_t at = line.find(quoted);
  if (at == std::string_view::npos) return 0;
  return std::strtoull(std::string(line.substr(at + quoted.size(), 20)).c_str(), nullptr, 10);
}

FleetNode::FleetNode(const Place& place, std::string name, uint64_t number, uint16_t port, uint64_t seed,
                     DaemonOptions options, std::function<void(std::string_view)> look)
    : name_(std::move(name)),
      log_(name_, place.trace, std::move(look)),
      trace_(place.trace),
      network_(place.network),
      number_(number),
      port_(port),
      world_(place.clock, place.network, number, seed, log_),
      options_(std::move(options)) {}

bool FleetNode::start() {
  auto plan = plan_daemon(options_);
  FRESHET_CHECK(plan.has_value(), plan.error().message.c_str());
  trace_.note("== " + name_ + " starts");
  began_ = world_.clock().boot();
  stopping_ = false;
  paused_until_ = {};
  daemon_ = make_daemon(world_, options_, std::move(*plan));
  if (auto opened = daemon_->open(); !opened) {
    trace_.note(name_ + " does not open: " + opened.error().message);
    kill();
    return false;
  }
  daemon_->begin();
  return true;
}

void FleetNode::kill() {
  if (!daemon_) return;
  SimFiles& files = world_.sim_files();
  files.crash_at(files.calls());  // Nothing that its destruction does reaches the disk.
  network_.vanish(number_, port_);
  world_.forget_io();
  world_.programs().daemon_ends = true;  // No attempt is counted for what its programs have asked for.
  daemon_.reset();
  world_.programs().daemon_ends = false;
  files.restart_process();
  stopping_ = false;
}

void FleetNode::stop() {
  stopping_ = true;
  daemon_->loop().post([this] { daemon_->stop(); });
}

std::string FleetNode::refusal() const {
  const auto& why = daemon_->refusal();
  return why ? why->message : std::string();
}

bool FleetNode::turn() {
  if (!daemon_ || is_paused() || daemon_->loop().stopped()) return false;
  bool worked = false;
  IoThread* io = world_.io();
  if (io != nullptr && (world_.node_network().has_ready_sockets() || io->next_due() <= world_.clock().boot())) {
    io->turn(BootTime{});
    worked = true;
  }
  if (daemon_->loop().ready()) {
    daemon_->loop().turn();
    worked = true;
    ++turns_;
  }
  return worked;
}

BootTime FleetNode::next_due() const {
  if (!daemon_ || daemon_->loop().stopped()) return BootTime::max();
  if (is_paused()) return paused_until_;
  BootTime next = daemon_->loop().next_deadline();
  if (world_.io() != nullptr) next = std::min(next, world_.io()->next_due());
  return next;
}

}  // namespace freshet::fleet_sim
