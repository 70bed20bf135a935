// Posts each task to a URL. 2xx is success, its body the result; 429 and 503 bounce it, honouring Retry-After, and so
// does a request that never left: no address, no connection, too many under way. Any other status, a timeout and a
// connection that breaks are failures: the handler may have acted. So is an answer with X-Amz-Function-Error, as a
// Lambda Invoke URL gives it, with the text of the error document in its body.
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

// A handler's answer as it is kept: JSON as the value that it is, other text as a string (see clean_text), nothing as
// Null.
Value kept_result(std::string_view text, size_t max_bytes);

}  // namespace freshet
