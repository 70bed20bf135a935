// The built-in function capture_changes: writes each record of a table's change stream as one line of JSON, the
// standard stream event record, into files that are finished by size and time, and uploads the finished files to a
// bucket if one is set. No record is lost or written twice: capture_file.h, capture_upload.h.
#pragma once

#include "base/async.h"
#include "functions/capture/captures.h"
#include "runtime/invoke/function.h"

namespace freshet {

// Any StreamViewType and filter; one lane. Returns the counts of its work: {"written":9,"seenBefore":0}.
Async<Result<std::string>> capture_changes(Context& context, Captures& captures);

}  // namespace freshet
