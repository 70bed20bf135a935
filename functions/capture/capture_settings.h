// The settings of capture_changes, parsed and checked. docs/settings.md has the table of all settings.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "runtime/api/object_store.h"
#include "runtime/invoke/function.h"

namespace freshet {

// The limits at which a file is finished.
struct CaptureLimits {
  uint64_t bytes = 16u << 20;  // A file is never larger, unless it has a single line.
  milliseconds age{300'000};   // After its first line.
};

struct CaptureSettings {
  std::string folder;
  CaptureLimits limits;
  ObjectTarget target;  // Where finished files go; with an empty endpoint they stay.
  std::string prefix;   // The beginning of the objects' keys: empty, or ends with '/'.
};

Result<CaptureSettings> capture_settings(const Environment& environment);
// kValidation if the folder does not exist or is not writable. Writes a file and removes it.
Result<void> check_folder(Files& files, const std::string& folder);
// The same check without writing, as far as reading can tell.
Result<void> look_at_folder(const std::string& folder);

}  // namespace freshet
