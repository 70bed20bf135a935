#include "app/daemon/store_options.h"

#include "app/daemon/store_memory.h"
#include "functions/queue/task_life.h"

namespace freshet {

namespace {

void log_clock_doubt(const EventLog& log, const WallDoubt& doubt) {
  if (doubt.over) {
    log.info("CLOCK_TRUSTED", {{"aheadMs", doubt.ahead.count()}, {"what", "TTL and sheds go on"}});
    return;
  }
  log.warn("CLOCK_NOT_TRUSTED",
           {{"aheadMs", doubt.ahead.count()},
            {"what", doubt.at_start
                         ? "the wall clock is far ahead of the last write: until it is synchronised, or has gone on "
                           "evenly for 60 s, TTL and sheds wait, and what looks expired is not started "
                           "(--trust-clock skips that)"
                         : "the wall clock was set: until it is back, or has gone on evenly for 60 s, TTL and sheds "
                           "wait, and what looks expired is not started"}});
}

void log_clock_behind(const EventLog& log, const std::string& data, milliseconds behind) {
  log.warn("CLOCK_BEHIND",
           {{"behindMs", behind.count()},
            {"what", "the wall clock is " + in_words(behind) + " behind the last write in " + data +
                         ": deadlines, delays and ttl of what is there come that much later, and new tasks are dated "
                         "like the newest one there; leases are not affected. If this clock is wrong, set it "
                         "(timedatectl set-ntp true): the daemon follows it. If it is right, the last writes were made "
                         "with a wrong one, and there is nothing to do"}});
}

}  // namespace

EmbeddedOptions store_options(const DaemonOptions& options, const Durability& durability, const EventLog& log) {
  EmbeddedOptions store;
  store.directory = options.data;
  store.durability = durability;
  store.segment_bytes = options.segment_bytes;
  store.max_data_bytes = options.max_data_bytes;
  bound_memory(store, options.max_memory_bytes);
  store.accept_loss = options.accept_loss;
  store.ttl_sweep = milliseconds(options.ttl_sweep_ms);
  store.trust_clock = options.trust_clock;
  store.on_clock = [log](const WallDoubt& doubt) { log_clock_doubt(log, doubt); };
  store.on_clock_behind = [log, data = options.data](milliseconds behind) { log_clock_behind(log, data, behind); };
  store.on_warning = [log](const std::string& table, const std::string& message) {
    log.warn("STORE_WARNING", {{"table", table}, {"what", message}});
  };
  store.on_log_cut = [log](const LogCut& cut) {
    if (!cut.missing.empty()) log.warn("LOSS_ACCEPTED", {{"what", cut.missing}});
    if (cut.bytes > 0) log.warn("LOG_CUT", {{"file", cut.file}, {"offset", cut.offset}, {"bytes", cut.bytes}});
  };
  return store;
}

}  // namespace freshet
