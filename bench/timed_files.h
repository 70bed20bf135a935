// Real files that know how long they have held up the thread that made them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"

namespace freshet {

// Seconds of a clock that never steps.
inline double now_s() {
  using Steady = std::chrono::steady_clock;
  return std::chrono::duration<double>(Steady::now().time_since_epoch()).count();
}

// In syncs; in writes, which wait for the disk, too, when it is busy; and in all else, which may wait for the file
// system's journal.
struct FileTimes {
  double sync_s = 0;
  double write_s = 0;
  double other_s = 0;
  const std::thread::id owner = std::this_thread::get_id();
};

template <class Call>
auto timed(FileTimes& times, double FileTimes::*total, const Call& call) {
  const double begin = now_s();
  auto result = call();
  if (std::this_thread::get_id() == times.owner) times.*total += now_s() - begin;
  return result;
}

class TimedFile final : public File {
 public:
  TimedFile(std::unique_ptr<File> file, FileTimes& times) : file_(std::move(file)), times_(times) {}
  Result<size_t> read_at(uint64_t offset, std::span<char> into) override {
    return timed(times_, &FileTimes::other_s, [&] { return file_->read_at(offset, into); });
  }
  Result<void> write_at(uint64_t offset, std::string_view bytes) override {
    return timed(times_, &FileTimes::write_s, [&] { return file_->write_at(offset, bytes); });
  }
  Result<void> preallocate(uint64_t size) override {
    return timed(times_, &FileTimes::other_s, [&] { return file_->preallocate(size); });
  }
  Result<void> truncate(uint64_t size) override {
    return timed(times_, &FileTimes::other_s, [&] { return file_->truncate(size); });
  }
  Result<void> sync() override {
    return timed(times_, &FileTimes::sync_s, [&] { return file_->sync(); });
  }
  Result<uint64_t> size() override { return file_->size(); }

 private:
  std::unique_ptr<File> file_;
  FileTimes& times_;
};

class TimedFiles final : public Files {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    auto file = timed(times, &FileTimes::other_s, [&] { return files_->open(path, mode); });
    if (!file) return file;
    return std::make_unique<TimedFile>(std::move(*file), times);
  }
  Result<void> create_directories(const std::string& path) override { return files_->create_directories(path); }
  Result<std::vector<std::string>> list(const std::string& directory) override { return files_->list(directory); }
  Result<void> remove(const std::string& path) override {
    return timed(times, &FileTimes::other_s, [&] { return files_->remove(path); });
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return timed(times, &FileTimes::other_s, [&] { return files_->rename(from, to); });
  }
  Result<void> sync_directory(const std::string& directory) override {
    return timed(times, &FileTimes::sync_s, [&] { return files_->sync_directory(directory); });
  }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override { return files_->lock(path); }
  Result<std::unique_ptr<FileLock>> lock_directory(const std::string& directory) override {
    return files_->lock_directory(directory);
  }
  Result<uint64_t> free_bytes(const std::string& directory) override { return files_->free_bytes(directory); }

  FileTimes times;  // The times so far.

 private:
  std::unique_ptr<Files> files_ = make_posix_files();
};

}  // namespace freshet
