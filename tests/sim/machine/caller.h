// Sends the requests of a simulation's clients to the daemon: over HTTP, with the product's own client, in simulated
// time.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/async.h"
#include "base/random.h"
#include "runtime/ports.h"
#include "tests/sim/machine/judge_tasks.h"
#include "tests/sim/machine/trace.h"

namespace freshet::sim {

// The outcome of a request, as far as the client knows it.
struct Reply {
  enum class Kind {
    kDone,     // A success.
    kRefused,  // An error after which certainly nothing was done.
    kUnknown,  // No answer, or a 500: it may have been done, or may still be done.
  };
  Kind kind = Kind::kUnknown;
  int status = 0;
  std::string error;  // The error code of a refusal.
  std::string message;
  nlohmann::json body;
  std::string text;  // The body of an answer that is no JSON.
  Span span;
  bool repeated = false;  // True if the request was sent twice; the copy may arrive first.
};

// The time that a client waits for an answer.
inline constexpr milliseconds kPatience{5'000};

// The text of a member; empty if there is none.
std::string text_of(const nlohmann::json& from, const char* name);

// Loop thread of the clients. Everything that it refers to must outlive it.
class Caller {
 public:
  Caller(HttpClient& http, Scheduler& scheduler, Trace& trace, Verdict& verdict);

  // Returns another caller, whose answers arrive slowly (SimNetwork).
  Caller over_a_slow_line() const;

  // From now on, some of the requests that are marked kRepeatable are sent twice, as real clients and proxies do. The
  // copy may arrive early or late. `copies` must outlive this.
  static constexpr bool kRepeatable = true;
  void repeat_some(Random random, Scope& copies);

  // An operation of the item store, by its name.
  Async<Reply> store(std::string operation, nlohmann::json input, milliseconds timeout, bool repeatable = false);
  Async<Reply> stream(std::string operation, nlohmann::json input, milliseconds timeout);
  // A route of the task API; GET without a body.
  Async<Reply> queue(std::string path, nlohmann::json input, milliseconds timeout, bool repeatable = false);
  Async<Reply> get(std::string path, milliseconds timeout);
  Async<Reply> post(std::string path, nlohmann::json input, milliseconds timeout, bool repeatable = false);

  // A call of a function, as the Lambda API has it.
  static constexpr bool kAsynchronous = true;
  Async<Reply> invoke(std::string function, bool asynchronous, nlohmann::json event, milliseconds timeout);
  // A message of a topic, as the SNS API has it.
  Async<Reply> publish(std::string topic, std::string message, milliseconds timeout);

  Scheduler& scheduler() { return scheduler_; }
  Trace& trace() { return trace_; }
  uint64_t calls() const { return calls_; }

 private:
  Async<Reply> call(std::string what, HttpRequest request, milliseconds timeout, bool repeatable);
  Async<void> repeat(std::string what, HttpRequest request, milliseconds after);
  void check_refusal(const std::string& what, const Reply& reply, const HttpResponse& answer);

  HttpClient& http_;
  Scheduler& scheduler_;
  Trace& trace_;
  Verdict& verdict_;
  std::string host_;
  std::string line_;  // A prefix for the names of calls in the trace.
  uint64_t calls_ = 0;
  std::optional<Random> repeats_;
  Scope* copies_ = nullptr;
};

}  // namespace freshet::sim
