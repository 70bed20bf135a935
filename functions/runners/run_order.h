// The request to run one task on another daemon of the fleet, and its result, as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "functions/runners/runner.h"

namespace freshet {

struct RunOrder {
  std::string owner;     // The daemon that serves the queue,
  uint64_t epoch = 0;    // and its epoch in the fleet.
  std::string function;  // The function that processes the tasks of the queue: its settings name the runner.
  std::string queue;
  std::string place;     // place_of() the runner: daemons with another one refuse.
  std::string trace_id;  // As in make_runner().
  std::string lease;
  ItemRef task;
};

std::string run_order_json(const RunOrder& order);
// kValidation: it says what is wrong.
Result<RunOrder> parse_run_order(std::string_view json);

// Without hints about a limit: only HTTP endpoints send them.
std::string run_result_json(const RunResult& result);
// kValidation: it says what is wrong.
Result<RunResult> parse_run_result(std::string_view json);

}  // namespace freshet
