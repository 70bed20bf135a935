// The settings of capture_changes, parsed and checked. The table of them all is in docs/settings.md.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "runtime/invoke/function.h"
#include "runtime/object_store.h"

namespace freshet {

// When a file is finished and the next one begun.
struct CaptureLimits {
  uint64_t bytes = 16u << 20;  // A file is never larger, but for one with a single line.
  milliseconds age{300'000};   // After its first line.
};

struct CaptureSettings {
  std::string folder;
  CaptureLimits limits;
  ObjectTarget target;  // Where finished files go; with an empty endpoint they stay.
  std::string prefix;   // Begins the objects' keys: empty, or with a '/' at its end.
};

Result<CaptureSettings> capture_settings(const Environment& environment);
// kValidation if the folder is not there or cannot be written to. Writes a file and removes it.
Result<void> check_folder(Files& files, const std::string& folder);
// The same check of a local folder, as far as reading can tell: it changes nothing.
Result<void> look_at_folder(const std::string& folder);

}  // namespace freshet
