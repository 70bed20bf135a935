// Reads small text files that people write (options, templates, keys) whole. kNotFound or kIo with the path and
// the system's text; kRequestTooLarge if it is longer than `most` bytes (/dev/zero is). A directory is not a
// file.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace freshet {

inline constexpr size_t kMostTextBytes = 64u << 20;

Result<std::string> read_text_file(const std::string& path, size_t most = kMostTextBytes);

}  // namespace freshet
