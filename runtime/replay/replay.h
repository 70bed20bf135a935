// Feeds a fixture through the functions of a deployment, in simulation: a store in memory, the same loop on a simulated
// clock, the same mappings, topics and invoker, one seed. What the functions did comes out as JSON Lines
// (docs/formats.md, "What a replay prints"). Same fixture, deployment, options and program: same bytes.
//
// Nothing outside is touched: HTTP requests and programs are answered by the replay itself (and are in what it prints).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "runtime/deploy/deployment.h"
#include "runtime/invoke/native_registry.h"
#include "runtime/runtime.h"
#include "streams/fixture.h"

namespace freshet {

// The functions of a replay, which install() adds to its runtime.
class ReplayProgram {
 public:
  virtual ~ReplayProgram() = default;
  // Before anything is deployed: adds the native handlers. All references outlive the program's use.
  virtual void install(Services& services, NativeRegistry& natives, EventLog log) = 0;
  // Called when the deployment is done, before the first record.
  virtual Async<Result<void>> begin(const Deployment&) { return Result<void>(); }
  // Checks, before any record is applied, that the fixture suits these functions.
  virtual Result<void> check(const Fixture&, const Deployment&) { return {}; }
  // Called at the end: no handler runs any more and the topics are gone; the other services are destroyed next. Must
  // release all of them.
  virtual void end() {}
};

// Handlers that need nothing but their context.
class PlainReplayProgram final : public ReplayProgram {
 public:
  explicit PlainReplayProgram(NativeRegistry natives) : natives_(std::move(natives)) {}
  void install(Services&, NativeRegistry& natives, EventLog) override { natives = natives_; }

 private:
  NativeRegistry natives_;
};

struct ReplayOptions {
  uint64_t seed = 1;
  Account account;
  seconds run_on{120};              // Simulated time after the last record.
  std::chrono::days max_span{366};  // Longer fixtures are refused.
  milliseconds ttl_sweep{100};
  // For a queue table whose fixture includes the moves of the original processor: applies only changes from outside.
  // Skips removals by TTL and changes of the status attribute; the replay makes its own.
  bool inputs_only = false;
  // The answers of HTTP endpoints: this status after this long, with the body {}. Programs end with exit status 0.
  int http_status = 200;
  milliseconds answer_after{100};
  // Prints the event of each invocation as the function gets it, ids included; else only its subject.
  bool whole_events = false;
  // The most turns of the loop at one moment. Then functions that wake each other without end are given up.
  int most_turns = 5'000;
  LogLevel log_level = LogLevel::kInfo;
  std::function<void(size_t)> on_record;  // Called after each record, with its number from 1; may be empty.
};

// kValidation when deployment and fixture do not fit together, and for an item that the store refuses: the message
// names the line of the fixture, if it was read from a file. kLimitExceeded if functions keep each other busy while no
// time passes.
Result<std::string> replay(const Fixture& fixture, const Deployment& deployment, ReplayProgram& program,
                           const ReplayOptions& options);

// The first difference of two outputs.
struct ReplayDifference {
  int line = 0;                         // 1 is the first.
  std::optional<std::string> expected;  // Empty: no further line was expected.
  std::optional<std::string> actual;
  std::string to_string() const;
};
std::optional<ReplayDifference> first_difference(std::string_view expected, std::string_view actual);

}  // namespace freshet
