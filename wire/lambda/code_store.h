// Where the code that clients upload lies: DIRECTORY/<SHA-256 of the archive in hex>/, one folder for each archive.
//
// A folder is complete and durable before its name is told. Functions run in it, so that it stays while it may be in
// use: it is removed when the last who has used it has left it (left()), or else by the next start (sweep()). Archives
// are unpacked, and folders removed, by a thread of its own, one after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/async.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/scheduler.h"

namespace freshet {

struct StoredCode {
  std::string folder;                     // Absolute.
  std::string sha256;                     // Base64, of the archive.
  uint64_t bytes = 0;                     // The archive's size.
  std::shared_ptr<const void> hold = {};  // The folder stays as long as somebody has that. Loop thread.
};

struct CodePlace {
  std::string directory;   // Absolute; made when the first archive comes, for its owner alone.
  bool temporary = false;  // Goes with the store.
};

struct CodeLimits {
  uint64_t unpacked = uint64_t{250} << 20;  // The limit of one archive.
  uint64_t all = uint64_t{8} << 30;         // The limit of all folders together.
  size_t waiting = 16;                      // Archives.
};

// Loop thread, but for what says otherwise.
class CodeStore {
 public:
  // Scheduler and mailbox outlive it.
  CodeStore(CodePlace place, Scheduler& scheduler, Mailbox& mailbox, CodeLimits limits = {});
  CodeStore(const CodeStore&) = delete;
  CodeStore& operator=(const CodeStore&) = delete;
  ~CodeStore();  // Drops archives that wait; the one that is being unpacked ends at its next file.

  // `in_use` says whether somebody runs from a folder, or will. Before the first left().
  void ask(std::function<bool(const std::string& folder)> in_use) { in_use_ = std::move(in_use); }
  // Somebody does not any more. It is removed if nobody does, unless it is none of these folders.
  void left(const std::string& folder);

  // Removes every folder that is not in `used`, and what was left half-done. Blocks; before anything is kept.
  Result<void> sweep(const std::set<std::string>& used);
  // kValidation for a bad archive; kTooManyRequests when too many wait, kLimitExceeded when all of it together would be
  // too much; kIo, kDiskFull.
  Async<Result<StoredCode>> keep(std::string archive);

 private:
  // An archive to unpack, or a folder to remove.
  struct Job {
    std::string archive;
    std::optional<Promise<Result<StoredCode>>> done;
    std::string unused;
  };
  std::shared_ptr<const void> hold(const std::string& folder);
  void look();  // For folders that nobody uses.
  void give(Job job);
  void tell(const Promise<Result<StoredCode>>& done, Result<StoredCode> result);
  void work();                                          // The thread.
  Result<StoredCode> unpack(std::string_view archive);  // On it. So is the next.
  void remove(const std::string& folder);

  const std::string directory_;
  const bool temporary_;
  Scheduler& scheduler_;
  Mailbox& mailbox_;
  const CodeLimits limits_;
  std::function<bool(const std::string& folder)> in_use_;
  std::set<std::string> left_;           // To be looked at.
  std::map<std::string, size_t> holds_;  // By folder.
  size_t unpacking_ = 0;                 // Archives: whose folders they will be is not known yet.
  uint64_t kept_bytes_ = 0;              // By the thread, once it runs.

  Mutex mutex_;
  Condition changed_;
  std::deque<Job> jobs_ FRESHET_GUARDED_BY(mutex_);
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // For work that is delivered, and holds.
};

}  // namespace freshet
