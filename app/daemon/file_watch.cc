#include "app/daemon/file_watch.h"

#include <xxhash.h>

#include <filesystem>
#include <utility>

namespace freshet {
namespace {

namespace fs = std::filesystem;

bool is_left_out(const std::string& name) {
  return name.starts_with('.') || name == "node_modules" || name == "__pycache__";
}

uint64_t hash_of(const fs::directory_entry& entry) {
  std::error_code error;
  const std::string path = entry.path().string();
  uint64_t parts[] = {XXH3_64bits(path.data(), path.size()), 0, 0};
  const auto written = entry.last_write_time(error);
  if (!error) parts[1] = static_cast<uint64_t>(written.time_since_epoch().count());
  if (entry.is_regular_file(error)) parts[2] = entry.file_size(error) + 1;
  return XXH3_64bits(parts, sizeof parts);
}

}  // namespace

uint64_t fingerprint_of(const std::string& path, size_t most, const std::string& left_out) {
  std::error_code error;
  uint64_t sum = hash_of(fs::directory_entry(path, error));  // A sum, as the order of entries says nothing.
  if (!fs::is_directory(path, error)) return sum;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end && most > 0; at.increment(error)) {
    if (is_left_out(at->path().filename().string()) || at->path() == left_out) {
      at.disable_recursion_pending();
      continue;
    }
    sum += hash_of(*at);
    --most;
  }
  return sum;
}

FileWatch::FileWatch(milliseconds interval, std::set<std::string> paths,
                     std::function<bool(const std::string& path)> changed, std::string left_out)
    : interval_(interval), changed_(std::move(changed)), left_out_(std::move(left_out)), paths_(std::move(paths)) {
  look(paths_);
  thread_ = std::thread([this] { work(); });
}

FileWatch::~FileWatch() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  woken_.notify_all();
  thread_.join();
}

void FileWatch::set_paths(std::set<std::string> paths) {
  {
    const MutexLock lock(mutex_);
    if (paths == paths_) return;
    paths_ = std::move(paths);
    more_ = true;
  }
  woken_.notify_all();
}

void FileWatch::work() {
  MutexLock lock(mutex_);
  for (;;) {
    const auto next = Condition::after(interval_);
    while (!ending_ && !more_ && woken_.wait_until(lock, next)) {
    }
    if (ending_) return;
    more_ = false;
    const std::set<std::string> paths = paths_;
    lock.unlock();
    look(paths);
    lock.lock();
  }
}

void FileWatch::look(const std::set<std::string>& paths) {
  std::map<std::string, Seen> seen;
  for (const std::string& path : paths) {
    const uint64_t now = fingerprint_of(path, kMostEntries, left_out_);
    const auto known = seen_.find(path);
    Seen& entry = seen[path];
    entry = known == seen_.end() ? Seen{now, now} : known->second;
    const bool settled = entry.last == now;
    entry.last = now;
    if (!settled || entry.reported == now) continue;
    if (changed_(path)) entry.reported = now;
  }
  seen_ = std::move(seen);
}

}  // namespace freshet
