// Files in memory that fail as real ones may, by a seed. Tests use it instead of base/files_posix.cc.
//
// A crash may lose or tear each write that was not synced, byte by byte, each write on its own; so may
// creations, renames and removals until their directory is synced. One thread.
//
//   SimFiles files(seed);
//   files.crash_at(files.calls() + 17);   // The 17th call from now and all later ones fail.
//   ...
//   files.restart();                      // The files are now as a new process would find them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/background_work.h"
#include "base/files.h"
#include "base/random.h"
#include "base/scheduler.h"

namespace freshet {

class SimFile;

class SimFiles final : public Files {
 public:
  explicit SimFiles(uint64_t seed);
  SimFiles(const SimFiles&) = delete;
  SimFiles& operator=(const SimFiles&) = delete;
  ~SimFiles() override;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<void> create_directories(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<void> remove(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> sync_directory(const std::string& directory) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock_directory(const std::string& directory) override;
  Result<uint64_t> free_bytes(const std::string& directory) override;

  // Faults. Calls are counted over all files, reads included; a crash at n lets the n-th call fail, half done perhaps.
  uint64_t calls() const { return calls_; }
  void crash_at(uint64_t call) { crash_at_ = call; }
  bool crashed() const { return calls_ >= crash_at_; }
  // The n-th sync of a file from now (1: the next) fails, and what it should have synced may be lost even if a later
  // sync succeeds, as the kernel does it.
  void fail_sync(uint64_t n) { fail_sync_ = n; }
  // `call` is called within each sync that blocks its caller, not within those of SimSync. It lets the time of the sync
  // pass.
  void on_sync(std::function<void()> call) { on_sync_ = std::move(call); }
  // The n-th write_at from now fails, having written any part.
  void fail_write(uint64_t n) { fail_write_ = n; }
  // The n-th write_at of a log segment from now silently goes to another place of the same file.
  void misdirect_write(uint64_t n) { misdirect_ = n; }
  bool misdirected() const { return misdirected_; }
  // From now on, calls for which `fails` returns true fail with that error: "rename data/spare-1", "sync data/spare-1".
  // Failing calls change nothing. Null: none fail.
  void fail_calls(ErrorCode code, std::function<bool(const std::string& call)> fails) {
    call_error_ = code;
    call_fails_ = std::move(fails);
  }
  // Bytes that all files together may take (their allocated or written size).
  void set_disk_bytes(uint64_t bytes) { disk_bytes_ = bytes; }

  // `look` is called before each call is carried out and counted, with the text that fail_calls() gets. Null: none.
  void on_call(std::function<void(const std::string& call)> look) { on_call_ = std::move(look); }

  // Simulates a power loss: each change that was not synced is lost, kept or torn. Open files and locks become invalid.
  // Ends a crash.
  void restart();
  // Simulates the death of the process alone: everything that was written is kept.
  void restart_process();

  // The effect of a power cut on one change that was not synced. It may keep `bytes` bytes of a write, from `from` on.
  struct Fate {
    bool kept = true;
    uint64_t from = 0;
    uint64_t bytes = std::numeric_limits<uint64_t>::max();
  };
  // The changes that a power cut could undo now: first creations, renames and removals, then writes. Each is given as
  // the number of bytes of the write; 0 for the others, which cannot be torn.
  std::vector<uint64_t> unsynced() const;
  // Returns a new disk with the content that this one would have after a power cut. `fates` has an entry for each of
  // unsynced(); `seed`: as in the constructor. This disk stays unchanged.
  std::unique_ptr<SimFiles> after_power_cut(const std::vector<Fate>& fates, uint64_t seed) const;

  // For tests that look at or damage files. The file must exist.
  std::string content(const std::string& path) const;
  void set_content(const std::string& path, std::string bytes);  // Durable at once.
  bool exists(const std::string& path) const;
  uint64_t bytes_allocated() const;
  uint64_t held_bytes() const;               // Memory that the contents of files take.
  uint64_t syncs() const { return syncs_; }  // Successful syncs of files.
  uint64_t open_files() const { return open_files_; }

 private:
  friend class SimFile;
  friend class SimFileLock;
  friend class SimSync;
  friend class SimWork;
  struct Inode;
  using Names = std::map<std::string, std::shared_ptr<Inode>>;
  struct DirectoryChange {
    std::string directory;
    std::string removed;  // Path, if any.
    std::string added;    // Path, if any.
    std::shared_ptr<Inode> inode;
  };

  // Counts a call; an error if the machine has crashed. `what` and `path` are what fail_calls() names together.
  Result<void> call(const char* what, const std::string& path);
  static void apply(const DirectoryChange& change, Names& names);
  void change_directory(DirectoryChange change);
  Result<void> claim(Inode& inode, uint64_t bytes, const std::string& path);
  void begin_again();
  std::vector<std::shared_ptr<Inode>> changed_files() const;
  void lose_power(const std::vector<Fate>& fates);

  Random random_;
  Names names_;                           // As the process sees them.
  Names durable_names_;                   // As they certainly are on the disk.
  std::vector<DirectoryChange> changes_;  // Changes that are not yet in `durable_names_`.
  std::set<std::string> directories_;
  std::set<std::string> unsynced_directories_;  // Directories whose parent was not synced since they were created: a
                                                // power loss removes them.
  std::set<std::shared_ptr<Inode>> locks_;      // A removed file stays locked; a new file of the same name is not.
  std::set<std::string> locked_directories_;
  uint64_t incarnation_ = 0;
  uint64_t calls_ = 0;
  uint64_t crash_at_ = std::numeric_limits<uint64_t>::max();
  uint64_t syncs_ = 0;
  uint64_t open_files_ = 0;
  uint64_t fail_sync_ = 0;
  std::function<void()> on_sync_;
  std::function<void(const std::string&)> on_call_;
  uint64_t fail_write_ = 0;
  uint64_t misdirect_ = 0;
  bool misdirected_ = false;
  ErrorCode call_error_ = ErrorCode::kIo;
  std::function<bool(const std::string&)> call_fails_;
  uint64_t disk_bytes_ = std::numeric_limits<uint64_t>::max();
};

// Syncs SimFiles in the background: a sync takes up to `longest` of simulated time, causes a turn of the loop when it
// is over, and does not cover what is written meanwhile.
class SimSync final : public BackgroundSync {
 public:
  // Both outlive this.
  SimSync(SimFiles& files, Scheduler& scheduler, milliseconds longest = milliseconds(3))
      : files_(files), scheduler_(scheduler), longest_(longest) {}
  SimSync(const SimSync&) = delete;
  SimSync& operator=(const SimSync&) = delete;
  ~SimSync() override { scheduler_.cancel(timer_); }

  void begin(File& file) override;
  bool over() const override { return over_; }
  Result<void> end() override;
  uint64_t begun() const { return begun_; }

 private:
  SimFiles& files_;
  Scheduler& scheduler_;
  const milliseconds longest_;
  SimFile* file_ = nullptr;
  size_t changes_ = 0;  // The writes before begin().
  bool over_ = false;
  TimerId timer_ = 0;
  uint64_t begun_ = 0;
};

// Background work on SimFiles: it is done at once, at some moment within `longest` of simulated time or at end(), and
// then causes a turn of the loop.
class SimWork final : public BackgroundWork {
 public:
  // Both outlive this.
  SimWork(SimFiles& files, Scheduler& scheduler, milliseconds longest = milliseconds(3))
      : files_(files), scheduler_(scheduler), longest_(longest) {}
  SimWork(const SimWork&) = delete;
  SimWork& operator=(const SimWork&) = delete;
  ~SimWork() override { scheduler_.cancel(timer_); }

  void begin(Work work) override;
  bool over() const override { return outcome_.has_value(); }
  Result<void> end() override;

 private:
  SimFiles& files_;
  Scheduler& scheduler_;
  const milliseconds longest_;
  Work work_;
  std::optional<Result<void>> outcome_;
  TimerId timer_ = 0;
};

}  // namespace freshet
