// A reader of a simulated engine's stream, over a store of its own. restart() is a restart of the daemon: what was not
// saved is forgotten.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/loop/sim_loop.h"
#include "streams/shards/sharded_streams.h"
#include "streams/system_table.h"
#include "tables/engine/embedded.h"
#include "tests/sim/log_capture.h"
#include "tests/streams/shards/fake_engine.h"

namespace freshet {

struct ShardWorld {
  explicit ShardWorld(uint64_t seed = 1, int items = 4) : random(seed), engine(sim, seed, items) {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    tables = std::move(*open_embedded(nullptr, sim.loop(), random, options));
    sim.loop().add(*tables);
    must(ensure_system_table(*tables));
    restart();
  }
  ~ShardWorld() {
    stream.reset();
    streams.reset();
  }

  void restart() {
    stream.reset();
    streams =
        std::make_unique<ShardedStreams>(ShardedParts{engine, *tables, sim, EventLog(clock, log, LogLevel::kInfo)});
    must(streams->load());
  }
  // A new reader, which is stored. The engine may refuse some requests.
  void begin(bool latest = false) {
    Result<ShardedStreamPtr> opened = ShardedStreamPtr();
    do {
      opened = wait(streams->open_new({"m", "T"}, latest));
    } while (!opened && is_passing(opened.error()));
    take(std::move(opened));
    must(write_together(*tables, streams->start_writes(*stream)));
    streams->started(stream);
  }
  // The reader goes on, as after a restart.
  void attach() {
    Result<ShardedStreamPtr> opened = ShardedStreamPtr();
    do {
      opened = wait(streams->attach({"m", "T"}, {"L", false, next}));
    } while (!opened && is_passing(opened.error()));
    take(std::move(opened));
  }
  void take(Result<ShardedStreamPtr> opened) {
    FRESHET_CHECK(opened.has_value(), opened ? "" : opened.error().message.c_str());
    stream = std::move(*opened);
    next = stream->oldest();
  }
  // The records that are there within this time, and what follows at once.
  std::vector<ChangeRecord> read(nanoseconds time = seconds(10)) {
    std::vector<ChangeRecord> all;
    const BootTime until = clock.boot() + time;
    do {
      ReadStreamInput input;
      input.from = next;
      input.wait_until = until;
      StreamPage page = must(stream->read(std::move(input)));
      std::move(page.records.begin(), page.records.end(), std::back_inserter(all));
      next = page.next;
    } while (clock.boot() < until && !stream->end());
    return all;
  }
  static std::vector<std::string> texts(const std::vector<ChangeRecord>& records) {
    std::vector<std::string> out;
    for (const ChangeRecord& record : records) {
      const Item item = record.after.decode();
      out.push_back(std::string(item.string_or("id")) + ":" + std::to_string(item.int_or("version", 0)));
    }
    return out;
  }
  void save() { must(stream->save(next, {})); }

  template <class T>
  Result<T> wait(Async<Result<T>> work) {
    FRESHET_CHECK(sim.run_until([&] { return work.is_ready(); }, std::chrono::hours(1)), "it never became ready");
    return work.take();
  }
  template <class T>
  T must(Async<Result<T>> work) {
    Result<T> result = wait(std::move(work));
    FRESHET_CHECK(result.has_value(), result ? "" : result.error().message.c_str());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

  LogCapture log;
  SimClock clock{WallTime(seconds(1'700'000'000))};
  SimLoop sim{clock};
  Random random;
  FakeEngine engine;
  std::unique_ptr<EmbeddedTables> tables;
  std::unique_ptr<ShardedStreams> streams;
  ShardedStreamPtr stream;
  uint64_t next = 1;
};

}  // namespace freshet
