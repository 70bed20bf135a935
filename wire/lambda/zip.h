// ZIP archives with functions' code: reads those of clients, and makes some. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace freshet {

// The most paths of an archive, including the folders that its names imply: a short name can imply hundreds.
inline constexpr size_t kMaxZipPaths = 100'000;

struct ZipEntry {
  // Relative, with '/', without ".." or empty parts, none longer than file systems hold (255 bytes); a folder's without
  // the '/' at its end.
  std::string name;
  bool folder = false;
  bool executable = false;
};

// Calls `take` with every entry in the archive's order and its bytes, until it returns an error. kValidation for data
// that is not an archive, is damaged (CRC), encrypted, compressed in another way than deflate, has links, has a path
// outside of its root, a file twice, or a path that is both a file and a folder; also for content of more than `limit`
// bytes or kMaxZipPaths files and folders, whatever the archive claims. Everything but damaged content is detected
// before the first call.
Result<void> unzip(std::string_view archive, uint64_t limit,
                   const std::function<Result<void>(const ZipEntry&, std::string bytes)>& take);

// Makes an archive, file by file.
class ZipWriter {
 public:
  // Entries as those of unzip(). Up to 65,535 of them, and 4 GB.
  void add(const ZipEntry& entry, std::string_view bytes);
  std::string finish();  // Once, at the end.

 private:
  std::string archive_;
  std::string directory_;
  size_t count_ = 0;
};

}  // namespace freshet
