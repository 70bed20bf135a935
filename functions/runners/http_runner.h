// Posts each task to a URL. 2xx is success, with the body as the result. 429 and 503 bounce the task, for the time of
// Retry-After if it is given. A request that was never sent (no address, no connection, too many in progress) also
// bounces the task. Any other status, a timeout and a broken connection are failures: the handler may have acted. A
// response with X-Amz-Function-Error, as a Lambda Invoke URL gives it, is a failure, too, with the text of the error
// document in its body.
#pragma once

#include "functions/runners/runner.h"

namespace freshet {

class HttpRunner final : public Runner {
 public:
  HttpRunner(const RunnerSettings& settings, Services& services);
  Async<RunResult> run(ItemRef task, std::string lease) override;

 private:
  const RunnerSettings settings_;
  Services& services_;
  std::string target_;
};

// At most the first `max_bytes` of `text`, cut between characters, with U+FFFD in place of what is not UTF-8.
std::string clean_text(std::string_view text, size_t max_bytes);

// The stored form of a handler's response: JSON as its value, other text as a string (see clean_text), an empty one as
// Null.
Value kept_result(std::string_view text, size_t max_bytes);

}  // namespace freshet
