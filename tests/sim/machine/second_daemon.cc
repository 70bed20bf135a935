#include "tests/sim/machine/second_daemon.h"

#include <utility>

#include "app/daemon/daemon.h"
#include "app/daemon/plan.h"

namespace freshet::sim {

void start_second_daemon(SimWorld& world, DaemonOptions options, Verdict& verdict, Trace& trace) {
  options.listen = "127.0.0.1:7071";
  auto plan = plan_daemon(options);
  IoThread* io = world.io();
  {
    auto second = make_daemon(world, options, std::move(*plan));
    auto opened = second->open();
    verdict.insist(!opened, "two daemons have one folder", "the second one was let in");
    if (!opened) trace.note("the second daemon: " + opened.error().message);
  }
  world.set_io(io);
}

}  // namespace freshet::sim
