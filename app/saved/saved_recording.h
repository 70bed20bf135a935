// A saved recording of a queue, for `freshet ui`: the answers that GET /queues/NAME/recording would give of it. Two
// forms are read: the fixture that `freshet recording save` and `freshet record` write, and the answers themselves, as
// the dashboard exports them. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace freshet::saved {

struct SavedRecording {
  std::string queue;
  bool is_fixture = false;           // It has no limits, refusals and steps of the clock.
  std::vector<std::string> answers;  // JSON Lines, in their order; at least one.
};

// kValidation with "FILE:LINE: what is wrong"; kUnsupportedFormat for a newer version. `file` is for messages.
Result<SavedRecording> read_saved_recording(std::string_view text, const std::string& file);

}  // namespace freshet::saved
