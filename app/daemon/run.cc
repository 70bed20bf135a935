#include <signal.h>
#include <unistd.h>

#include <utility>

#include "app/daemon/daemon.h"
#include "app/daemon/human_log.h"
#include "app/daemon/real_world.h"
#include "app/daemon/secrets.h"
#include "app/daemon/signals.h"
#include "app/daemon/start_refusal.h"
#include "app/spawner/spawner.h"
#include "base/allocation.h"
#include "runtime/loop/turn_watch.h"

namespace freshet {

namespace {

constexpr milliseconds kLongTurn{1000};
// A debug build ends when a turn has used that much of the processor's time, as nothing that the loop may compute takes
// as much. Users' programs say it, and go on.
constexpr milliseconds kTurnBudget{5'000};
#ifdef NDEBUG
constexpr bool kStrict = false;
#else
constexpr bool kStrict = true;
#endif

int refuse(const Daemon& daemon, const DaemonOptions& options, const Error& error) {
  // A person reads it once.
  if (!log_is_for_people(options.log_format)) {
    daemon.log().error("START_REFUSED", {{"error", error_name(error.code)}, {"message", error.message}});
  }
  print_refusal(error);
  return 1;
}

int run_until_signal(Daemon& daemon, const DaemonOptions& options, Signals& signals) {
  if (auto opened = daemon.open(); !opened) return refuse(daemon, options, opened.error());
  Loop& loop = daemon.loop();
  signals.watch([&] { return loop.deliver([&daemon] { daemon.stop(); }); }, [&daemon] { daemon.reload(); });
  const EventLog log = daemon.log();
  const TurnWatch turns(loop, kLongTurn, [log](const SlowTurn& turn) {
    const char* state = turn.computes ? "computes" : "waits";
    log.warn("TURN_SLOW",
             {{"ms", turn.taken.count()}, {"part", turn.part}, {"state", state}, {"what", turn.functions}});
    if (kStrict && turn.computes && turn.computed >= kTurnBudget) abort_for(turn);
  });
  daemon.begin();
  loop.run();
  signals.forget();  // They may come while the daemon is taken apart.
  if (daemon.refusal()) return refuse(daemon, options, *daemon.refusal());
  return daemon.exit_status();
}

}  // namespace

int run_daemon(const DaemonOptions& options) {
  // A SIGHUP that comes while the files are read waits, and is carried out once the daemon is up: it must not end it.
  sigset_t reload;
  sigemptyset(&reload);
  sigaddset(&reload, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &reload, nullptr);
  auto plan = plan_daemon(options);
  if (!plan) {
    print_refusal(plan.error(), options.deploy.path);
    return 2;
  }
  Variables variables = hide_secrets();
  Signals signals;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);                // A write beyond the limit of a file's size fails instead.
  auto spawner = SpawnerProcess::start();  // While there is one thread.
  if (!spawner) {
    print_refusal(spawner.error());
    return 1;
  }
  return_unused_memory();
  RealWorld world(*spawner, make_log_sink(options.log_format, options.quiet), std::move(variables));
  return run_until_signal(*make_daemon(world, options, std::move(*plan)), options, signals);
}

}  // namespace freshet
