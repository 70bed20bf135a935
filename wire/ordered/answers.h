// Responses of the API of ordered writes as JSON. Filled on the loop, written on I/O threads.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runtime/api/ordered_writes.h"
#include "runtime/ports.h"

namespace freshet::ordered {

struct Answer {
  bool typed = false;  // True: items in the item store's JSON instead of plain JSON.
  std::variant<std::monostate, Error, OrderedResult, ItemRef, std::vector<Result<ItemRef>>, Page> what;
};

HttpResponse write_answer(const Answer& answer);

}  // namespace freshet::ordered
