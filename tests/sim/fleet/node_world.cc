#include "tests/sim/fleet/node_world.h"

#include <netinet/in.h>

#include <utility>

#include "base/check.h"
#include "tests/sim/fleet/faulty_tables.h"

namespace freshet::fleet_sim {

namespace {

constexpr milliseconds kLongestSync{3};
constexpr uint16_t kNobody = 1;  // Nobody listens there.

uint16_t port_of(const SocketAddress& address) {
  return ntohs(address.storage.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port
                   : reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
}

}  // namespace

std::unique_ptr<Socket> NodeNetwork::connect(const SocketAddress& address) {
  if (!shut_.contains(port_of(address))) return all_.connect_from(node_, address);
  SocketAddress nobody;
  FRESHET_CHECK(parse_socket_address("127.0.0.1", kNobody, nobody), "that is an address");
  return all_.connect_from(node_, nobody);
}

void NodeNetwork::shut(uint16_t port) {
  shut_.insert(port);
  all_.freeze_between(node_, port);
}

NodeWorld::NodeWorld(SimClock& clock, sim::SimNetwork& network, uint64_t node, uint64_t seed, LogSink& log)
    : clock_(clock), random_(seed), files_(random_.next()), network_(network, node), log_(log), waiter_(clock) {
  clock_sync_.set(true);
}

std::optional<std::string> NodeWorld::variable(const std::string& name) const {
  if (name == "AWS_ACCESS_KEY_ID" || name == "AWS_SECRET_ACCESS_KEY") return "simulated";
  return std::nullopt;
}

Result<std::vector<std::unique_ptr<IoThread>>> NodeWorld::make_io_threads(unsigned, Loop&, bool) {
  auto io = IoThread::without_thread(clock_, network_);
  if (!io) return fail(std::move(io.error()));
  io_ = io->get();
  std::vector<std::unique_ptr<IoThread>> threads;
  threads.push_back(std::move(*io));
  return threads;
}

std::unique_ptr<BackgroundSync> NodeWorld::make_sync(Scheduler& scheduler, std::function<void()>) {
  return std::make_unique<SimSync>(files_, scheduler, kLongestSync);
}

std::unique_ptr<BackgroundWork> NodeWorld::make_work(Scheduler& scheduler, std::function<void()>) {
  return std::make_unique<SimWork>(files_, scheduler, kLongestSync);
}

std::unique_ptr<Spawner> NodeWorld::make_spawner(Scheduler& scheduler, Mailbox&, std::function<void()>) {
  return std::make_unique<sim::SimPrograms>(scheduler, programs_);
}

std::unique_ptr<Tables> NodeWorld::make_tables(Tables& store, Scheduler& scheduler) {
  if (engine_faults_ == nullptr) return nullptr;
  Loop* loop = dynamic_cast<Loop*>(&scheduler);
  FRESHET_CHECK(loop != nullptr, "a daemon runs in a loop");
  return std::make_unique<FaultyTables>(store, *loop, *engine_faults_);
}

std::unique_ptr<EngineStreams> NodeWorld::make_streams(EngineStreams& engine) {
  return shards_ == nullptr ? nullptr : std::make_unique<SplitStreams>(engine, *shards_);
}

}  // namespace freshet::fleet_sim
