// Parses requests of the API of ordered writes: a body becomes a call on a table, or an error that names the member.
// I/O threads.
#pragma once

#include <functional>
#include <optional>

#include "runtime/api/ordered_writes.h"
#include "tables/value/json_reader.h"
#include "wire/api/calls.h"
#include "wire/ordered/answers.h"

namespace freshet::ordered {

// A request for one route. The call runs on the loop and fills the response, which is written on an I/O thread.
struct Asked {
  std::optional<Error> error;
  std::function<Async<void>(OrderedWrites& table, Answer& answer)> call;
};

// `call` is one of the POST calls below /ordered.
Asked read_request(ApiCall call, const JsonView& body);

}  // namespace freshet::ordered
