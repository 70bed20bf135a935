// The file seam. Everything durable goes through it, so that tests can tear writes, lose unsynced bytes, fill the
// disk and crash at any call (tests/sim/sim_files.h).
//
// Paths are plain strings, '/'-separated. Errors: kDiskFull for ENOSPC/EDQUOT, kNotFound for ENOENT, kUnavailable if no
// file descriptor is free (EMFILE, ENFILE), kIo for all else, with the path and the system's text in the message. Calls
// block; the owner decides on which thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace freshet {

// An open file. Closes on destruction (without syncing). One thread at a time; sync() may run beside other calls.
class File {
 public:
  virtual ~File() = default;
  // Reads up to into.size() bytes; fewer only at the end of the file.
  virtual Result<size_t> read_at(uint64_t offset, std::span<char> into) = 0;
  // Writes all of `bytes`, or fails; a failed write may have left any part of it.
  virtual Result<void> write_at(uint64_t offset, std::string_view bytes) = 0;
  // Makes sure that the first `size` bytes have disk space; grows the file with zeros. The only call that may say
  // kDiskFull for a file whose space was allocated before.
  virtual Result<void> preallocate(uint64_t size) = 0;
  virtual Result<void> truncate(uint64_t size) = 0;
  // fdatasync: every earlier write is durable when this returns.
  virtual Result<void> sync() = 0;
  virtual Result<uint64_t> size() = 0;
};

// Syncs a file while its owner may go on writing to it: all writes before begin() become durable. Call it on the
// owner's thread only; one sync at a time.
class BackgroundSync {
 public:
  virtual ~BackgroundSync() = default;
  // The file must stay open until end().
  virtual void begin(File& file) = 0;
  // True if end() would return at once.
  virtual bool over() const = 0;
  // Waits for the sync that begin() started, and returns the result of File::sync().
  virtual Result<void> end() = 0;
};

// Holds an exclusive lock until destroyed. The lock is on the file that existed when it was taken: if somebody removes
// that file or replaces it, the holder has a lock that keeps nobody out.
class FileLock {
 public:
  virtual ~FileLock() = default;
  // Checks that the path still names the locked file. kNotFound if nothing is there, kConflict if it is another file.
  virtual Result<void> check() = 0;
};

// kRead: the whole file will be read soon. kCreate: the file must not exist.
enum class OpenMode { kRead, kReadWrite, kCreate };

class Files {
 public:
  virtual ~Files() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Result<void> create_directories(const std::string& path) = 0;
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;  // Names, sorted.
  virtual Result<void> remove(const std::string& path) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  // Makes creations, renames and removals in the directory durable.
  virtual Result<void> sync_directory(const std::string& directory) = 0;
  // Locks a file and creates it if needed. kConflict if another process holds the lock.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
  // Locks an existing directory. kConflict if another process holds the lock. Some network file systems cannot lock a
  // directory: the lock then keeps nobody out, but check() works.
  virtual Result<std::unique_ptr<FileLock>> lock_directory(const std::string& directory) = 0;
  virtual Result<uint64_t> free_bytes(const std::string& directory) = 0;
};

// The files of the operating system.
std::unique_ptr<Files> make_posix_files();

// Uses a thread of its own, which calls `on_over` after each sync.
std::unique_ptr<BackgroundSync> make_sync_thread(std::function<void()> on_over);

// Files that live in memory and end with this object (`--data :memory:`). Preallocated space takes no memory; sync and
// locks keep their promises without any work. Open files must not outlive it. One thread.
std::unique_ptr<Files> make_memory_files();

}  // namespace freshet
