// Hedged reads: a read that is not answered after a while is sent again, and the first answer counts. The other sending
// is abandoned, and its connection closed. A hedge costs as much of the retry quota as a repeated call, so that a store
// that is slow as a whole is not asked twice as often: about one read in five can have one.
#pragma once

#include <string>

#include "base/async.h"
#include "wire/store/caller.h"

namespace freshet::remote {

// As Caller::call() of a read. A failure that may pass counts only if nothing else is under way.
Async<Result<std::string>> hedged_read(Caller& caller, std::string operation, std::string body, nanoseconds delay);

}  // namespace freshet::remote
