// Small text files of people: options, templates, keys. Reads the whole of one; kNotFound or kIo with the path and the
// system's text. A directory is none.
#pragma once

#include <string>

#include "base/result.h"

namespace freshet {

Result<std::string> read_text_file(const std::string& path);

}  // namespace freshet
