// Sees that files below folders have changed, for `freshet run --watch`. Looks from a thread of its own, so that
// neither many files nor a slow disk hold up the loop.
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

// A number that differs when a file or folder below `path` (or it itself, of a file) is another, newer or of another
// size. What editors and package managers keep there (names that begin with '.', node_modules, __pycache__) is left
// out, and so is the folder `left_out` (absolute, as `path` then is), and what comes behind the first `most` entries.
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
  ~FileWatch();  // Waits for a look that is under way.

  // Watches these paths from now on. New ones are compared with what the next look, which follows at once, finds. Any
  // thread.
  void set_paths(std::set<std::string> paths);

 private:
  struct Seen {
    uint64_t told = 0;  // As last told of.
    uint64_t last = 0;  // At the last look.
  };
  void work();
  void look(const std::set<std::string>& paths);

  const milliseconds interval_;
  const std::function<bool(const std::string& path)> changed_;
  const std::string left_out_;
  std::map<std::string, Seen> seen_;  // The thread's.

  Mutex mutex_;
  Condition woken_;
  std::set<std::string> paths_ FRESHET_GUARDED_BY(mutex_);
  bool more_ FRESHET_GUARDED_BY(mutex_) = false;  // There are paths that have not been looked at.
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Last: it uses the rest.
};

}  // namespace freshet
