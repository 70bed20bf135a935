// Reads ZIP archives that clients send: functions' code. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace freshet {

// Limits the paths of an archive, with the folders that its names imply: a short name can imply hundreds.
inline constexpr size_t kMaxZipPaths = 100'000;

struct ZipEntry {
  // Relative, with '/', without ".." or empty parts, none longer than file systems hold (255 bytes); a folder's without
  // the '/' at its end.
  std::string name;
  bool folder = false;
  bool executable = false;
};

// Calls `take` with every entry in the archive's order and its bytes, until it says no. kValidation for what is no
// archive, is damaged (CRC), encrypted, compressed in another way than deflate, holds links, names something outside of
// its root, one file twice, or what is both a file and a folder, and for content of more than `limit` bytes or
// kMaxZipPaths files and folders, whatever it claims. All but damaged content is seen before the first call.
Result<void> unzip(std::string_view archive, uint64_t limit,
                   const std::function<Result<void>(const ZipEntry&, std::string bytes)>& take);

}  // namespace freshet
