// The world of one daemon of several: files, I/O, sockets and a wall clock of its own, over a clock and a network that
// all nodes share. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/daemon/world.h"
#include "base/random.h"
#include "tests/sim/fleet/engine_faults.h"
#include "tests/sim/fleet/split_streams.h"
#include "tests/sim/machine/sim_network.h"
#include "tests/sim/machine/sim_programs.h"
#include "tests/sim/sim_files.h"

namespace freshet::fleet_sim {

// Boot time is everybody's; the wall clock may be off.
class NodeClock final : public Clock {
 public:
  explicit NodeClock(const SimClock& all) : all_(all) {}
  WallTime wall() const override { return all_.wall() + off_; }
  BootTime boot() const override { return all_.boot(); }
  void set_off(milliseconds by) { off_ = by; }
  milliseconds off() const { return off_; }

 private:
  const SimClock& all_;
  milliseconds off_{0};
};

// A node's way into the network. Ports can be shut to it: new connections are refused, and those that are there are
// silent from then on.
class NodeNetwork final : public Network {
 public:
  // `node`: not 0, and nobody else's.
  NodeNetwork(sim::SimNetwork& all, uint64_t node) : all_(all), node_(node) {}
  Result<std::unique_ptr<Acceptor>> bind(const std::string& address, uint16_t port) override {
    return all_.bind(address, port);
  }
  std::unique_ptr<Socket> connect(const SocketAddress& address) override;
  Result<std::unique_ptr<Poller>> make_poller(const Clock&) override { return all_.make_poller(rung_); }

  bool has_ready_sockets() const { return rung_ > 0; }
  void shut(uint16_t port);
  void open_all() { shut_.clear(); }

 private:
  sim::SimNetwork& all_;
  const uint64_t node_;
  size_t rung_ = 0;
  std::set<uint16_t> shut_;
};

class NodeWorld final : public World {
 public:
  // All references outlive it.
  NodeWorld(SimClock& clock, sim::SimNetwork& network, uint64_t node, uint64_t seed, LogSink& log);

  const Clock& clock() const override { return clock_; }
  const ClockSync& clock_sync() const override { return clock_sync_; }
  Files& files() override { return files_; }
  Network& network() override { return network_; }
  LogSink& log() override { return log_; }
  uint64_t seed() override { return random_.next(); }
  std::optional<std::string> variable(const std::string& name) const override;
  Waiter& waiter() override { return waiter_; }
  Result<std::vector<std::unique_ptr<IoThread>>> make_io_threads(unsigned count, Loop& loop, bool lend) override;
  std::unique_ptr<BackgroundSync> make_sync(Scheduler& scheduler, std::function<void()> on_over) override;
  std::unique_ptr<BackgroundWork> make_work(Scheduler& scheduler, std::function<void()> on_over) override;
  std::unique_ptr<Spawner> make_spawner(Scheduler& scheduler, Mailbox& mailbox, std::function<void()> on_lost) override;

  std::unique_ptr<Tables> make_tables(Tables& store, Scheduler& scheduler) override;
  std::unique_ptr<EngineStreams> make_streams(EngineStreams& engine) override;

  // From the next life on, its daemon is an engine with these faults, which outlive it.
  void make_engine(EngineFaults& faults) { engine_faults_ = &faults; }
  // From the next life on, its daemon reads the engine's stream as these shards, which outlive it.
  void split_streams(ShardTree& shards) { shards_ = &shards; }
  NodeClock& node_clock() { return clock_; }
  NodeNetwork& node_network() { return network_; }
  sim::ProgramPlay& programs() { return programs_; }
  SimFiles& sim_files() { return files_; }
  IoThread* io() { return io_; }
  void forget_io() { io_ = nullptr; }

 private:
  NodeClock clock_;
  SimClockSync clock_sync_;
  Random random_;
  SimFiles files_;
  NodeNetwork network_;
  LogSink& log_;
  SimWaiter waiter_;
  sim::ProgramPlay programs_;
  EngineFaults* engine_faults_ = nullptr;
  ShardTree* shards_ = nullptr;
  IoThread* io_ = nullptr;  // Its daemon owns it.
};

}  // namespace freshet::fleet_sim
