// The message for a file that a person named and that cannot be written.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace freshet {

// "cannot write 'FILE': Permission denied". Call it right after the write failed: it reads errno.
inline std::string cannot_write(const std::string& file) {
  const int why = errno;
  return "cannot write '" + file + "'" + (why == 0 ? "" : std::string(": ") + std::strerror(why));
}

}  // namespace freshet
