// Deletes files bit by bit. Deleting a 64 MB file at once takes the kernel 14 ms (it drops every page): too long for a
// turn of the loop, and other writers wait for the file system's journal meanwhile.
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

  // True if the name is that of a file that is being deleted.
  static bool is_trash(const std::string& name);
  // Deletes the files that an earlier run left.
  Result<void> clear(const std::vector<std::string>& names);
  // When this returns, the file is durably gone under its name; the steps free its space. On a disk that has no room
  // for another name, the file is deleted at once. Returns the bytes that were freed.
  Result<uint64_t> take(const std::string& path, uint64_t bytes);
  // Frees some of the space. Returns the bytes that were freed.
  Result<uint64_t> step();
  bool empty() const { return waiting_.empty(); }
  // Instead of steps: a function that deletes the oldest file on any thread; when it is done, taken_away() returns the
  // bytes that were freed.
  std::function<Result<void>()> deletion() const;
  uint64_t taken_away();

 private:
  struct Waiting {
    std::string path;
    uint64_t bytes = 0;
    std::unique_ptr<File> file;  // Opened by the first step.
  };

  // Frees space of the oldest file.
  Result<uint64_t> give_back(uint64_t most);

  Files& files_;
  const std::string directory_;
  std::deque<Waiting> waiting_;
};

}  // namespace freshet
