#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/files.h"
#include "base/mutex.h"

namespace freshet {
namespace {

tl::unexpected<Error> system_failure(const char* what, const std::string& path, int error) {
  ErrorCode code = ErrorCode::kIo;
  if (error == ENOSPC || error == EDQUOT) code = ErrorCode::kDiskFull;
  if (error == ENOENT) code = ErrorCode::kNotFound;
  if (error == EMFILE || error == ENFILE) code = ErrorCode::kUnavailable;
  return fail(code, std::string("cannot ") + what + " " + path + ": " + std::generic_category().message(error));
}

// Runs a system call again while a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Owner of a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<Descriptor> open_descriptor(const std::string& path, int flags) {
  const auto with = [&](int more) {
    return uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | more, 0640); });
  };
  // A read that updates the access time may wait for the file system's journal. Only the owner of a file can leave the
  // update out.
  int fd = with(O_NOATIME);
  if (fd < 0 && errno == EPERM) fd = with(0);
  if (fd < 0) return system_failure((flags & O_CREAT) ? "create" : "open", path, errno);
  return Descriptor(fd);
}

class PosixFile final : public File {
 public:
  PosixFile(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Result<size_t> read_at(uint64_t offset, std::span<char> into) override {
    size_t done = 0;
    while (done < into.size()) {
      const ssize_t n = uninterrupted(
          [&] { return pread(fd_.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done)); });
      if (n < 0) return system_failure("read", path_, errno);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }

  Result<void> write_at(uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n =
          uninterrupted([&] { return pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
      if (n < 0) return system_failure("write", path_, errno);
      bytes.remove_prefix(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return {};
  }

  Result<void> preallocate(uint64_t bytes) override {
    int error = EINTR;
    while (error == EINTR) error = posix_fallocate(fd_.get(), 0, static_cast<off_t>(bytes));
    if (error != 0) return system_failure("allocate space for", path_, error);
    return {};
  }

  Result<void> truncate(uint64_t bytes) override {
    if (uninterrupted([&] { return ftruncate(fd_.get(), static_cast<off_t>(bytes)); }) != 0)
      return system_failure("truncate", path_, errno);
    return {};
  }

  Result<void> sync() override {
    // Never again after a failure, not even for EINTR: the kernel may have dropped the pages.
    if (fdatasync(fd_.get()) != 0) return system_failure("sync", path_, errno);
    return {};
  }

  Result<uint64_t> size() override {
    struct stat status {};
    if (fstat(fd_.get(), &status) != 0) return system_failure("look at", path_, errno);
    return static_cast<uint64_t>(status.st_size);
  }

 private:
  const std::string path_;
  const Descriptor fd_;
};

class PosixFileLock final : public FileLock {
 public:
  PosixFileLock(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  // Takes an exclusive lock without waiting. kConflict if another process has it.
  Result<void> take() {
    if (uninterrupted([&] { return flock(fd_.get(), LOCK_EX | LOCK_NB); }) == 0) return {};
    if (errno == EWOULDBLOCK) return fail(ErrorCode::kConflict, path_ + " is locked by another process");
    return system_failure("lock", path_, errno);
  }

  Result<void> check() override {
    struct stat ours {};
    struct stat there {};
    if (fstat(fd_.get(), &ours) != 0) return system_failure("look at", path_, errno);
    if (uninterrupted([&] { return stat(path_.c_str(), &there); }) != 0) return system_failure("look at", path_, errno);
    if (ours.st_dev == there.st_dev && ours.st_ino == there.st_ino) return {};
    return fail(ErrorCode::kConflict, path_ + " is not what this process has locked: somebody replaced it");
  }

 private:
  const std::string path_;
  const Descriptor fd_;  // Closing it ends the lock.
};

class PosixFiles final : public Files {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    int flags = O_RDONLY;
    if (mode == OpenMode::kReadWrite) flags = O_RDWR;
    if (mode == OpenMode::kCreate) flags = O_RDWR | O_CREAT | O_EXCL;
    auto fd = open_descriptor(path, flags);
    if (!fd) return fail(std::move(fd.error()));
    // Begins to read what the kernel has dropped, and does not wait for it. Only advice: without it reads wait longer.
    if (mode == OpenMode::kRead) static_cast<void>(posix_fadvise(fd->get(), 0, 0, POSIX_FADV_WILLNEED));
    return std::make_unique<PosixFile>(path, std::move(*fd));
  }

  Result<void> create_directories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return system_failure("create directory", path, error.value());
    return {};
  }

  Result<std::vector<std::string>> list(const std::string& directory) override {
    std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(directory.c_str()), closedir);
    if (!stream) return system_failure("list", directory, errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(stream.get())) {
      std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(std::move(name));
      errno = 0;
    }
    if (errno != 0) return system_failure("list", directory, errno);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> remove(const std::string& path) override {
    if (unlink(path.c_str()) != 0) return system_failure("remove", path, errno);
    return {};
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0) return system_failure("rename", from + " to " + to, errno);
    return {};
  }

  // Works even if no file descriptor is free: renames and removals that were made cannot be taken back.
  Result<void> sync_directory(const std::string& directory) override {
    auto synced = open_and_sync(directory);
    if (synced || synced.error().code != ErrorCode::kUnavailable) return synced;
    const MutexLock held(mutex_);
    reserve_.reset();
    synced = open_and_sync(directory);
    reserve_ = make_reserve();
    return synced;
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    constexpr int kTries = 16;
    for (int tries = 1;; ++tries) {
      auto fd = open_descriptor(path, O_RDWR | O_CREAT);
      if (!fd) return fail(std::move(fd.error()));
      auto lock = std::make_unique<PosixFileLock>(path, std::move(*fd));
      if (auto taken = lock->take(); !taken) return fail(std::move(taken.error()));
      // Between the two calls somebody may have removed the file.
      auto ours = lock->check();
      if (ours) return lock;
      if (tries == kTries) return fail(std::move(ours.error()));
    }
  }

  // For a directory: the kernel or a network file system may not support the lock.
  static bool cannot_be_locked(int error) {
    return error == EBADF || error == EINVAL || error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
  }

  Result<std::unique_ptr<FileLock>> lock_directory(const std::string& directory) override {
    auto fd = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
    if (!fd) return fail(std::move(fd.error()));
    auto lock = std::make_unique<PosixFileLock>(directory, std::move(*fd));
    if (auto taken = lock->take(); !taken && !cannot_be_locked(errno)) return fail(std::move(taken.error()));
    return lock;
  }

  Result<uint64_t> free_bytes(const std::string& directory) override {
    struct statvfs status {};
    if (uninterrupted([&] { return statvfs(directory.c_str(), &status); }) != 0)
      return system_failure("look at the space of", directory, errno);
    return uint64_t{status.f_bavail} * status.f_frsize;
  }

 private:
  static Result<void> open_and_sync(const std::string& directory) {
    auto fd = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
    if (!fd) return fail(std::move(fd.error()));
    if (fsync(fd->get()) != 0) return system_failure("sync directory", directory, errno);
    return {};
  }
  static std::optional<Descriptor> make_reserve() {
    auto fd = open_descriptor("/dev/null", O_RDONLY);
    return fd ? std::optional<Descriptor>(std::move(*fd)) : std::nullopt;
  }

  Mutex mutex_;
  // A file descriptor for sync_directory().
  std::optional<Descriptor> reserve_ FRESHET_GUARDED_BY(mutex_) = make_reserve();
};

}  // namespace

std::unique_ptr<Files> make_posix_files() {
  return std::make_unique<PosixFiles>();
}

}  // namespace freshet
