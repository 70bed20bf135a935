// Stores the code that clients upload: DIRECTORY/<SHA-256 of the archive in hex>/, one folder for each archive.
//
// A folder is complete and durable before its name is returned. Functions run in it, so it stays while it may be in
// use: it is removed when its last user has left it (left()), or else by the next start (sweep()). A thread of its own
// unpacks archives and removes folders, one after the other.
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
#include "base/files.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/scheduler.h"

namespace freshet {

struct StoredCode {
  std::string folder;                     // Absolute.
  std::string sha256;                     // Base64, of the archive.
  uint64_t bytes = 0;                     // The archive's size.
  std::shared_ptr<const void> hold = {};  // The folder stays while somebody holds this. Loop thread.
};

struct CodePlace {
  std::string directory;   // Absolute; created with the first archive, readable by its owner only.
  bool temporary = false;  // True: removed with the store.
};

struct CodeLimits {
  uint64_t unpacked = uint64_t{250} << 20;  // The limit of one archive.
  uint64_t all = uint64_t{8} << 30;         // The limit of all folders together.
  size_t waiting = 16;                      // The most waiting archives.
};

// Loop thread, unless stated otherwise.
class CodeStore {
 public:
  // Scheduler, mailbox and files outlive it. `files` says what lies in the directory at a start.
  CodeStore(CodePlace place, Scheduler& scheduler, Mailbox& mailbox, Files& files, CodeLimits limits = {});
  CodeStore(const CodeStore&) = delete;
  CodeStore& operator=(const CodeStore&) = delete;
  ~CodeStore();  // Drops waiting archives; unpacking stops at the next file.

  // `in_use` says if somebody runs from a folder, or will. Call it before the first left().
  void ask(std::function<bool(const std::string& folder)> in_use) { in_use_ = std::move(in_use); }
  // A user of the folder has left it. The folder is removed if nobody uses it any more; paths of other folders are
  // ignored.
  void left(const std::string& folder);

  // Removes every folder that is not in `used`, and unfinished ones. Blocks; call it before keep().
  Result<void> sweep(const std::set<std::string>& used);
  // kValidation for a bad archive; kTooManyRequests if too many wait, kLimitExceeded if all folders together would be
  // too large; kIo, kDiskFull. `name`: that of the folder, if the archive was made of another folder of that name;
  // the hash and the size of the code are then not those of the archive.
  Async<Result<StoredCode>> keep(std::string archive, std::string name = {});
  // Holds the folder of that name, with neither hash nor size. kNotFound if it is not there.
  Async<Result<StoredCode>> find(std::string name);
  // Makes an archive of the folder of that name, always the same. kNotFound if it is not there, kRequestTooLarge if it
  // is larger than an archive may be; kIo.
  Async<Result<std::string>> pack(std::string name);
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }

 private:
  // An archive to unpack, or a folder to look for, to pack or to remove.
  struct Job {
    std::string archive;
    std::optional<Promise<Result<StoredCode>>> done;
    std::string unused;
    std::string name = {};
    bool only_looks = false;
    std::optional<Promise<Result<std::string>>> packed = {};
  };
  Async<Result<StoredCode>> stored(Job job);
  std::shared_ptr<const void> hold(const std::string& folder);
  void look();  // Looks for folders that nobody uses.
  void give(Job job);
  void resolve(const Promise<Result<StoredCode>>& done, Result<StoredCode> result);
  void work();                                                 // The body of the thread.
  Result<StoredCode> look_for(const std::string& name) const;  // On the thread, as are the next ones.
  Result<StoredCode> unpack(std::string_view archive, const std::string& name);
  Result<std::string> pack_now(const std::string& name) const;
  void answer(const std::function<void()>& work);
  void remove(const std::string& folder);

  const std::string directory_;
  const bool temporary_;
  Scheduler& scheduler_;
  Mailbox& mailbox_;
  Files& files_;
  const CodeLimits limits_;
  std::function<bool(const std::string& folder)> in_use_;
  std::set<std::string> left_;           // Folders to be checked.
  std::map<std::string, size_t> holds_;  // By folder.
  size_t unpacking_ = 0;                 // The number of archives whose folders are not known yet.
  uint64_t kept_bytes_ = 0;              // Used by the thread, once it runs.

  Mutex mutex_;
  Condition changed_;
  std::deque<Job> jobs_ FRESHET_GUARDED_BY(mutex_);
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Tells delivered work, and holds, if this object
                                                                      // still exists.
};

}  // namespace freshet
