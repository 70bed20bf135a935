// Files in memory that fail as real ones may, from a seed. The twin of base/files_posix.cc.
//
// A crash may lose or tear each write that was not synced, byte by byte, each write on its own; so may
// creations, renames and removals until their directory is synced. One thread.
//
//   SimFiles files(seed);
//   files.crash_at(files.calls() + 17);   // The 17th call from now and all later ones fail.
//   ...
//   files.restart();                      // What survived, as a new process would find it.
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
  // Called within each sync that its caller waits for, not within those of SimSync: its time passes here.
  void on_sync(std::function<void()> call) { on_sync_ = std::move(call); }
  // The n-th write_at from now fails, having written any part.
  void fail_write(uint64_t n) { fail_write_ = n; }
  // The n-th write_at of a log's segment from now goes to another place of the same file, and nobody is told.
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

  // Called before each call is carried out and counted, with its words as in fail_calls(). Null: nobody looks.
  void on_call(std::function<void(const std::string& call)> look) { on_call_ = std::move(look); }

  // After a power loss: what was not synced is lost, kept or torn. Files and locks of before are dead. Ends a crash.
  void restart();
  // After the death of the process alone: everything written is there.
  void restart_process();

  // The effect of a power cut on one change that was not synced. It may keep `bytes` bytes of a write, from `from` on.
  struct Fate {
    bool kept = true;
    uint64_t from = 0;
    uint64_t bytes = std::numeric_limits<uint64_t>::max();
  };
  // The changes that a power cut may undo now: creations, renames and removals first, then those within files. Each is
  // given by the bytes of its write; 0 if it is none, and cannot be torn.
  std::vector<uint64_t> unsynced() const;
  // Another disk: what this one holds after a power cut. `fates` has one for each of unsynced(); `seed` is as that of
  // the constructor. This disk stays as it is.
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

  // Counts a call; an error if the machine has crashed.
  Result<void> call(const std::string& what);
  static void apply(const DirectoryChange& change, Names& names);
  void change_directory(DirectoryChange change);
  Result<void> claim(Inode& inode, uint64_t bytes, const std::string& path);
  void begin_again();
  std::vector<std::shared_ptr<Inode>> changed_files() const;
  void lose_power(const std::vector<Fate>& fates);

  Random random_;
  Names names_;                           // As the process sees them.
  Names durable_names_;                   // As they are on the disk for sure.
  std::vector<DirectoryChange> changes_;  // Since then.
  std::set<std::string> directories_;
  std::set<std::string> unsynced_directories_;  // Made within another one since that was synced: gone with the power.
  std::set<std::shared_ptr<Inode>> locks_;      // A file that was removed stays locked; another one of its name is not.
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

// Syncs of such files that take simulated time, up to `longest`, and bring a turn when they are over. What is written
// meanwhile they leave alone.
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

// Work on such files that is done all at once, at some moment within `longest` of simulated time or at end(), and then
// brings a turn.
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
