// Answers for a client whose queue has no daemon that can be reached. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/ports.h"

namespace freshet {

HttpResponse nobody_serves(const std::string& queue);
// `error`: why the daemon at `url`, which serves the queue, gave no answer.
HttpResponse owner_gave_no_answer(const std::string& queue, const std::string& url, const Error& error);

}  // namespace freshet
