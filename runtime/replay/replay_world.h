// The surroundings of a replay's functions. Internal to replay.cc.
#pragma once

#include <memory>

#include "runtime/loop/sim_loop.h"
#include "runtime/replay/recorded_tables.h"
#include "runtime/replay/replay.h"
#include "streams/topics.h"
#include "tables/engine/embedded.h"

namespace freshet {

// Answers every request the same way, after a while, and records it.
class ReplayHttp final : public HttpClient {
 public:
  ReplayHttp(Scheduler& scheduler, Journal& journal, const ReplayOptions& options)
      : scheduler_(scheduler), journal_(journal), options_(options) {}
  Async<Result<HttpResponse>> send(std::string url, HttpRequest request, milliseconds timeout) override;

 private:
  Scheduler& scheduler_;
  Journal& journal_;
  const ReplayOptions& options_;
};

class ReplaySpawner final : public Spawner {
 public:
  ReplaySpawner(Scheduler& scheduler, Journal& journal, const ReplayOptions& options)
      : scheduler_(scheduler), journal_(journal), options_(options) {}
  Async<Result<ProcessResult>> run(ProcessSpec spec) override;

 private:
  Scheduler& scheduler_;
  Journal& journal_;
  const ReplayOptions& options_;
};

class RecordedPublisher final : public Publisher {
 public:
  RecordedPublisher(Publisher& publisher, Journal& journal) : publisher_(publisher), journal_(journal) {}
  Async<Result<std::string>> publish(PublishInput input) override;

 private:
  Publisher& publisher_;
  Journal& journal_;
};

// Records the items that TTL removes from a table. Takes part in every turn, after the store.
class ExpiryWatch final : public TurnParticipant {
 public:
  ExpiryWatch(Tables& tables, Journal& journal) : tables_(tables), journal_(journal) {}
  // Starts to watch; the table has a stream with both images. `status` is the attribute that holds an item's state;
  // empty for none.
  void watch(std::string table, std::string status);
  void run_due() override {}
  void commit() override;
  BootTime next_due() const override { return BootTime::max(); }

 private:
  Tables& tables_;
  Journal& journal_;
  std::string table_;
  std::string status_;
  uint64_t next_ = 1;
};

// Writes a line when an invocation begins and when it ends. Outlives the handlers.
class InvocationRecorder {
 public:
  InvocationRecorder(Services& services, Journal& journal, bool whole_events)
      : services_(services), journal_(journal), whole_events_(whole_events) {}

  // Adds the handlers of `inner`, which outlives them, so that they see our services.
  void add(NativeRegistry& out, const NativeRegistry& inner);

 private:
  Async<Result<std::string>> run(const NativeHandler& handler, Context& context);

  Services& services_;
  Journal& journal_;
  const bool whole_events_;
  int64_t count_ = 0;
};

}  // namespace freshet
