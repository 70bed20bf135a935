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

  // Takes over what an earlier run left in the directory; deletes spares of another size.
  Result<void> adopt(const std::vector<std::string>& names);
  // Makes one more. kDiskFull if there is no space; nothing is left behind then.
  Result<void> add();
  // Instead of add(): what makes the file of that path wherever it is run, with its errors; keep() it when that is
  // done.
  std::string new_path();
  std::function<Result<void>()> making(const std::string& path) const;
  void keep(std::string path) { spares_.push_back(std::move(path)); }

  struct Space {
    std::unique_ptr<File> file;
    std::string path;
    uint64_t bytes = 0;
  };
  // A file of at least `bytes` bytes: a spare, if one is there and large enough, or a new one (then kDiskFull is
  // possible, as in add()).
  Result<Space> take(uint64_t bytes);
  // Deletes spares until that many bytes are free, or none is left. Returns how many are.
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
