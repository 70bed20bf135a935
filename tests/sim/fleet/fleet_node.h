// A daemon of the simulated fleet, through all its lives: the engine or a member. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/daemon/daemon.h"
#include "tests/sim/fleet/node_world.h"
#include "tests/sim/machine/trace.h"

namespace freshet::fleet_sim {

// Passes the log on, with the node's name, and shows each line to `look`.
class NodeLog final : public LogSink {
 public:
  NodeLog(std::string name, sim::Trace& trace, std::function<void(std::string_view line)> look)
      : name_(std::move(name)), trace_(trace), look_(std::move(look)) {}
  void write(LogLevel level, std::string_view line) override;

 private:
  const std::string name_;
  sim::Trace& trace_;
  const std::function<void(std::string_view)> look_;
};

// The value of a text or number in a line of the log; empty if it is not there.
std::string field_of(std::string_view line, std::string_view name);

uint64_t number_of(std::string_view line, std::string_view name);

class FleetNode {
 public:
  struct Place {
    SimClock& clock;
    sim::SimNetwork& network;
    sim::Trace& trace;
  };
  // `number`: not 0, and nobody else's.
  FleetNode(const Place& place, std::string name, uint64_t number, uint16_t port, uint64_t seed, DaemonOptions options,
            std::function<void(std::string_view line)> look);
  ~FleetNode() { kill(); }

  const std::string& name() const { return name_; }
  NodeWorld& world() { return world_; }
  DaemonOptions& options() { return options_; }  // Change them only between two lives.

  // False if it could not even open; then it is down.
  bool start();
  void kill();
  void stop();  // As SIGTERM does.
  bool is_up() const { return daemon_ != nullptr; }
  bool is_stopping() const { return stopping_; }
  // True once a life has ended by itself.
  bool has_ended() const { return daemon_ && daemon_->loop().stopped(); }
  int exit_status() const { return daemon_->exit_status(); }
  std::string refusal() const;

  void pause_until(BootTime until) { paused_until_ = until; }
  bool is_paused() const { return world_.clock().boot() < paused_until_; }
  BootTime paused_until() const { return paused_until_; }

  bool turn();  // True if it had something to do.
  BootTime next_due() const;
  uint64_t turns() const { return turns_; }
  BootTime began() const { return began_; }

 private:
  const std::string name_;
  NodeLog log_;
  sim::Trace& trace_;
  sim::SimNetwork& network_;
  const uint64_t number_;
  const uint16_t port_;
  mutable NodeWorld world_;
  DaemonOptions options_;
  std::unique_ptr<Daemon> daemon_;
  bool stopping_ = false;
  BootTime paused_until_{};
  BootTime began_{};
  uint64_t turns_ = 0;
};

}  // namespace freshet::fleet_sim
