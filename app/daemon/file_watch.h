// Notices changed files below folders, for `freshet run --watch`. It looks from a thread of its own, so that neither
// many files nor a slow disk hold up the loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace freshet {

inline constexpr size_t kMostEntries = 20'000;

// Returns a number that changes when a file or folder below `path` (or `path` itself, if it is a file) is replaced, or
// when its time or size changes. Skips files of editors and package managers (names that begin with '.', node_modules,
// __pycache__), the folder `left_out` (absolute, as `path` then is), and everything after the first `most` entries.
uint64_t fingerprint_of(const std::string& path, size_t most = kMostEntries, const std::string& left_out = {});

class FileWatch {
 public:
  // `changed` is called on the watch's thread once two looks in a row find the same change: the writer has finished. If
  // it returns false, it is called again at the next look.
  // Compares with `paths` as they are now: the constructor looks at them before it returns. Changes below the folder
  // `left_out` (absolute) do not count.
  FileWatch(milliseconds interval, std::set<std::string> paths, std::function<bool(const std::string& path)> changed,
            std::string left_out = {});
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  ~FileWatch();  // Waits for a look in progress.

  // Watches these paths from now on. New ones are compared with the result of the next look, which follows at once. Any
  // thread.
  void set_paths(std::set<std::string> paths);

 private:
  struct Seen {
    uint64_t reported = 0;  // The fingerprint that `changed` was last called for.
    uint64_t last = 0;      // The fingerprint of the last look.
  };
  void work();
  void look(const std::set<std::string>& paths);

  const milliseconds interval_;
  const std::function<bool(const std::string& path)> changed_;
  const std::string left_out_;
  std::map<std::string, Seen> seen_;  // For the thread only.

  Mutex mutex_;
  Condition woken_;
  std::set<std::string> paths_ FRESHET_GUARDED_BY(mutex_);
  bool more_ FRESHET_GUARDED_BY(mutex_) = false;  // True if there are paths that have not been looked at.
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // The last member: it uses the others.
};

}  // namespace freshet
