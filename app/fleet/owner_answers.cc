#include "app/fleet/owner_answers.h"

#include "base/points.h"
#include "wire/tasks/answers.h"

namespace freshet {

HttpResponse nobody_serves(const std::string& queue) {
  return tasks::error_answer({ErrorCode::kUnavailable,
                              "no member of the fleet serves queue '" + queue + "' at the moment: try again", nullptr});
}

HttpResponse owner_gave_no_answer(const std::string& queue, const std::string& url, const Error& error) {
  const std::string where = "the member that serves queue '" + queue + "' (" + url + ") ";
  if (was_never_sent(error)) {
    FRESHET_REACHED("the owner of a queue cannot be reached");
    return tasks::error_answer({ErrorCode::kUnavailable, where + "cannot be reached: " + error.message, nullptr});
  }
  FRESHET_REACHED("the owner of a queue does not answer");
  return tasks::error_answer({ErrorCode::kUnknownOutcome, where + "did not answer: " + error.message, nullptr});
}

}  // namespace freshet
