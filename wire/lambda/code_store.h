// Where the code that clients upload lies: DIRECTORY/<SHA-256 of the archive in hex>/, one folder for each archive.
//
// A folder is complete and durable before its name is told. Functions run in it, so that it stays while it may be in
// use: what no function names is removed by the next start (sweep()). Archives are unpacked by a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/async.h"
#include "base/result.h"
#include "base/scheduler.h"

namespace freshet {

struct StoredCode {
  std::string folder;  // Absolute.
  std::string sha256;  // Base64, of the archive.
  uint64_t bytes = 0;  // Of the archive.
};

struct CodePlace {
  std::string directory;   // Absolute; made when the first archive comes, for its owner alone.
  bool temporary = false;  // Goes with the store.
};

struct CodeLimits {
  uint64_t unpacked = uint64_t{250} << 20;  // Of one archive.
  uint64_t all = uint64_t{8} << 30;         // Of all folders together.
  size_t waiting = 16;                      // Archives.
};

// Loop thread, but for what says otherwise.
class CodeStore {
 public:
  // Scheduler and mailbox outlive it.
  CodeStore(CodePlace place, Scheduler& scheduler, Mailbox& mailbox, CodeLimits limits = {});
  CodeStore(const CodeStore&) = delete;
  CodeStore& operator=(const CodeStore&) = delete;
  ~CodeStore();  // What waits is dropped; what is unpacked is given up at its next file.

  // Removes every folder that is not in `used`, and what was left half-done. Blocks; before anything is kept.
  Result<void> sweep(const std::set<std::string>& used);
  // kValidation for a bad archive; kTooManyRequests when too many wait, kLimitExceeded when all of it together would be
  // too much; kIo, kDiskFull.
  Async<Result<StoredCode>> keep(std::string archive);

 private:
  struct Job {
    std::string archive;
    Promise<Result<StoredCode>> done;
  };
  void work();                                          // The thread.
  Result<StoredCode> unpack(std::string_view archive);  // On it.

  const std::string directory_;
  const bool temporary_;
  Scheduler& scheduler_;
  Mailbox& mailbox_;
  const CodeLimits limits_;
  uint64_t kept_bytes_ = 0;  // By the thread, once it runs.

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace freshet
