// Small text files of people: options, templates, keys. Reads the whole of one; kNotFound or kIo with the path and the
// system's text, kRequestTooLarge if it is longer than kMostTextBytes, as /dev/zero is. A directory is none.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace freshet {

inline constexpr size_t kMostTextBytes = 64u << 20;

Result<std::string> read_text_file(const std::string& path);

}  // namespace freshet
