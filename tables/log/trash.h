// Files that are deleted bit by bit: to delete a large file at once takes the kernel 14 ms for 64 MB (it drops every
// page), too long for a turn of the loop, and others wait for the file system's journal meanwhile.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace freshet {

class Trash {
 public:
  Trash(Files& files, std::string directory) : files_(files), directory_(std::move(directory)) {}
  Trash(const Trash&) = delete;
  Trash& operator=(const Trash&) = delete;

  // Whether a file of that name is one on its way.
  static bool is_trash(const std::string& name);
  // Deletes what an earlier run left.
  Result<void> clear(const std::vector<std::string>& names);
  // The file is durably gone under its name when this returns; the steps give its space back. On a disk so full that it
  // has no room for another name, the file is deleted at once. Returns how much space has come back.
  Result<uint64_t> take(const std::string& path, uint64_t bytes);
  // Gives a little of the space back. Returns how much.
  Result<uint64_t> step();
  bool empty() const { return waiting_.empty(); }
  // Instead of steps: what deletes the oldest file wherever it is run; when that is done, taken_away() returns how much
  // space has come back.
  std::function<Result<void>()> deletion() const;
  uint64_t taken_away();

 private:
  struct Waiting {
    std::string path;
    uint64_t bytes = 0;
    std::unique_ptr<File> file;  // Opened by the first step.
  };

  // From the oldest file.
  Result<uint64_t> give_back(uint64_t most);

  Files& files_;
  const std::string directory_;
  std::deque<Waiting> waiting_;
};

}  // namespace freshet
