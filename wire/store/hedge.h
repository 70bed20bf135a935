// Hedged reads: a read without an answer after `delay` is sent a second time. The first answer counts; the other
// request is abandoned, and its connection closed. Hedges have a quota, so that a store that is slow as a whole does
// not get twice the load: after the first hundred, about one read in five can be hedged.
#pragma once

#include <string>

#include "base/async.h"
#include "wire/store/caller.h"

namespace freshet::remote {

// Like Caller::call() of a read. A temporary failure of one request counts only if the other one is not in flight.
Async<Result<std::string>> hedged_read(Caller& caller, std::string operation, std::string body, nanoseconds delay);

}  // namespace freshet::remote
