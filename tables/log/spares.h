// Space held in reserve: preallocated files that become segments by being renamed.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace freshet::log_detail {

class Spares {
 public:
  Spares(Files& files, std::string directory, uint64_t spare_bytes)
      : files_(files), directory_(std::move(directory)), spare_bytes_(spare_bytes) {}
  Spares(const Spares&) = delete;
  Spares& operator=(const Spares&) = delete;

  // Takes over the spares that an earlier run left in the directory; deletes those of another size.
  Result<void> adopt(const std::vector<std::string>& names);
  // Creates one more. kDiskFull if there is no space; nothing is left behind then.
  Result<void> add();
  // Instead of add(): a function that creates the file of that path on any thread, with its errors; call keep() when it
  // is done.
  std::string new_path();
  std::function<Result<void>()> making(const std::string& path) const;
  void keep(std::string path) { spares_.push_back(std::move(path)); }

  struct Space {
    std::unique_ptr<File> file;
    std::string path;
    uint64_t bytes = 0;
  };
  // Returns a file of at least `bytes` bytes: a spare, if one is large enough, or a new file (then kDiskFull is
  // possible, as in add()).
  Result<Space> take(uint64_t bytes);
  // Deletes spares until that many bytes are free, or none is left. Returns the bytes that were freed.
  Result<uint64_t> give_up(uint64_t bytes);
  bool can_take(uint64_t bytes) const { return !spares_.empty() && bytes <= spare_bytes_; }

  uint64_t bytes() const { return spares_.size() * spare_bytes_; }

 private:
  static Result<Space> make(Files& files, std::string path, uint64_t bytes);

  Files& files_;
  const std::string directory_;
  const uint64_t spare_bytes_;
  std::deque<std::string> spares_;  // Paths, oldest first.
  uint64_t last_number_ = 0;
};

}  // namespace freshet::log_detail
