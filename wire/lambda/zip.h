// Reads ZIP archives that clients send: functions' code. Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace freshet {

struct ZipEntry {
  std::string name;  // Relative, with '/', without ".." or empty parts; a folder's without the '/' at its end.
  bool folder = false;
  bool executable = false;
};

// Calls `take` with every entry in the archive's order and its bytes, until it says no. kValidation for what is no
// archive, is damaged (CRC), encrypted, compressed in another way than deflate, holds links, or names something outside
// of its root; kRequestTooLarge when its content comes to more than `limit` bytes, whatever it claims.
Result<void> unzip(std::string_view archive, uint64_t limit,
                   const std::function<Result<void>(const ZipEntry&, std::string bytes)>& take);

}  // namespace freshet
