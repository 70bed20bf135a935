#include "wire/lambda/code_store.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "base/text_file.h"
#include "tables/value/text.h"
#include "wire/lambda/zip.h"

namespace freshet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".part";

tl::unexpected<Error> io_error(const std::string& path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  return fail(full ? ErrorCode::kDiskFull : ErrorCode::kIo, path + ": " + std::strerror(number));
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string sha256_of(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Result<void> write_file(const std::string& path, std::string_view bytes, bool executable) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, executable ? 0755 : 0644);
  if (file < 0) return io_error(path, errno);
  while (!bytes.empty()) {
    const ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done < 0) {
      const int number = errno;
      if (number == EINTR) continue;
      close(file);
      return io_error(path, number);
    }
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  close(file);
  return {};
}

// Syncs all files below it and their names. Thousands of small files cost one wait.
Result<void> make_durable(const std::string& folder) {
  const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return io_error(folder, errno);
  const int synced = syncfs(opened);
  const int number = errno;
  close(opened);
  if (synced != 0) return io_error(folder, number);
  return {};
}

uint64_t bytes_below(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code none;
    if (at->is_regular_file(none)) bytes += at->file_size(none);
  }
  return bytes;
}

// `wanted` is called between files, as there may be many; false stops the work.
Result<void> unpack_into(const std::string& folder, std::string_view archive, uint64_t limit,
                         const std::function<bool()>& wanted) {
  return unzip(archive, limit, [&](const ZipEntry& entry, std::string bytes) -> Result<void> {
    if (!wanted()) return fail(ErrorCode::kUnavailable, "the daemon is stopping");
    const std::string path = folder + "/" + entry.name;
    std::error_code error;
    fs::create_directories(entry.folder ? fs::path(path) : fs::path(path).parent_path(), error);
    if (error) return io_error(path, error.value());
    if (entry.folder) return {};
    return write_file(path, bytes, entry.executable);
  });
}

}  // namespace

CodeStore::CodeStore(CodePlace place, Scheduler& scheduler, Mailbox& mailbox, Files& files, CodeLimits limits)
    : directory_(std::move(place.directory)),
      temporary_(place.temporary),
      scheduler_(scheduler),
      mailbox_(mailbox),
      files_(files),
      limits_(limits) {}

CodeStore::~CodeStore() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::error_code ignored;  // There is nobody who could handle an error.
  if (temporary_) fs::remove_all(directory_, ignored);
}

Result<void> CodeStore::sweep(const std::set<std::string>& used) {
  const auto names = files_.list(directory_);
  if (!names && names.error().code == ErrorCode::kNotFound) return {};
  if (!names) return fail(names.error());
  std::error_code error;
  std::vector<std::string> unused;
  for (const std::string& name : *names) {
    const std::string path = directory_ + "/" + name;
    if (used.contains(path)) {
      kept_bytes_ += bytes_below(path);
    } else {
      unused.push_back(path);
    }
  }
  for (const std::string& path : unused) {
    if (!error) fs::remove_all(path, error);
  }
  if (error) return io_error(directory_, error.value());
  return {};
}

Async<Result<StoredCode>> CodeStore::keep(std::string archive, std::string name) {
  Job job;
  job.archive = std::move(archive);
  job.name = std::move(name);
  return stored(std::move(job));
}

Async<Result<StoredCode>> CodeStore::find(std::string name) {
  Job job;
  job.name = std::move(name);
  job.only_looks = true;
  return stored(std::move(job));
}

Async<Result<StoredCode>> CodeStore::stored(Job job) {
  if (unpacking_ > limits_.waiting) co_return fail(ErrorCode::kTooManyRequests, "Too many archives are unpacked");
  ++unpacking_;
  Promise<Result<StoredCode>> done(scheduler_);
  job.done = done;
  give(std::move(job));
  auto kept = co_await done.future();
  co_return kept;
}

Async<Result<std::string>> CodeStore::pack(std::string name) {
  Promise<Result<std::string>> done(scheduler_);
  Job job;
  job.name = std::move(name);
  job.packed = done;
  give(std::move(job));
  auto packed = co_await done.future();
  co_return packed;
}

void CodeStore::left(const std::string& folder) {
  if (!folder.starts_with(directory_ + "/")) return;
  left_.insert(folder);
  look();
}

std::shared_ptr<const void> CodeStore::hold(const std::string& folder) {
  ++holds_[folder];
  return {this, [this, folder, alive = std::weak_ptr(alive_)](const void*) {
            if (alive.expired() || --holds_[folder] > 0) return;
            holds_.erase(folder);
            left(folder);
          }};
}

// An archive that is being unpacked may belong to any of these folders: then the check comes later.
void CodeStore::look() {
  if (unpacking_ > 0) return;
  for (const std::string& folder : std::exchange(left_, {})) {
    if (!holds_.contains(folder) && in_use_ && !in_use_(folder)) give({{}, {}, folder});
  }
}

void CodeStore::give(Job job) {
  {
    const MutexLock lock(mutex_);
    jobs_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  }
  changed_.notify_one();
}

// The folder is held before anybody else can look whether it is used.
void CodeStore::resolve(const Promise<Result<StoredCode>>& done, Result<StoredCode> result) {
  --unpacking_;
  if (result) result->hold = hold(result->folder);
  done.set(std::move(result));
  look();
}

void CodeStore::work() {
  for (;;) {
    std::optional<Job> job;
    {
      MutexLock lock(mutex_);
      while (!(ending_ || !jobs_.empty())) changed_.wait(lock);
      if (ending_) return;
      job.emplace(std::move(jobs_.front()));
      jobs_.pop_front();
    }
    if (job->packed) {
      answer([done = *job->packed, result = pack_now(job->name)] { done.set(result); });
    } else if (job->done) {
      auto result = job->only_looks ? look_for(job->name) : unpack(job->archive, job->name);
      answer([this, alive = std::weak_ptr(alive_), done = *job->done, result] {
        if (alive.lock()) resolve(done, result);
      });
    } else {
      remove(job->unused);
    }
  }
}

// Promises belong to the loop. A full mailbox empties; that of a loop that has ended says no until we end, too.
void CodeStore::answer(const std::function<void()>& work) {
  for (;;) {
    if (mailbox_.deliver(work)) return;
    MutexLock lock(mutex_);
    const auto again = Condition::after(milliseconds(10));
    while (!ending_ && changed_.wait_until(lock, again)) {
    }
    if (ending_) return;
  }
}

Result<StoredCode> CodeStore::look_for(const std::string& name) const {
  std::error_code error;
  StoredCode code{path_of(name), {}, 0};
  if (fs::is_directory(code.folder, error)) return code;
  return fail(ErrorCode::kNotFound, "There is no code in " + code.folder);
}

// Sorted, and without times, so that the same files make the same archive.
Result<std::string> CodeStore::pack_now(const std::string& name) const {
  const fs::path folder(path_of(name));
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fail(ErrorCode::kNotFound, "There is no code in " + folder.string());
  }
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path());
  }
  if (error) return io_error(folder.string(), error.value());
  std::sort(paths.begin(), paths.end());
  ZipWriter archive;
  uint64_t all = 0;
  for (const fs::path& path : paths) {
    ZipEntry entry;
    entry.name = path.lexically_relative(folder).generic_string();
    entry.folder = fs::is_directory(path, error);
    if (entry.folder) {
      archive.add(entry, "");
      continue;
    }
    if (!fs::is_regular_file(path, error)) continue;  // A program has made it there.
    auto bytes = read_text_file(path.string(), limits_.unpacked - std::min(limits_.unpacked, all));
    if (!bytes && bytes.error().code == ErrorCode::kNotFound) continue;  // A program has removed it.
    if (!bytes) return fail(std::move(bytes.error()));
    all += bytes->size();
    entry.executable = (fs::status(path, error).permissions() & fs::perms::owner_exec) != fs::perms::none;
    archive.add(entry, *bytes);
  }
  return archive.finish();
}

// Renames the folder first: a folder under its own name is always complete.
void CodeStore::remove(const std::string& folder) {
  const uint64_t bytes = bytes_below(folder);
  const std::string unfinished = folder + std::string(kUnfinished);
  std::error_code ignored;  // The next start removes the rest.
  fs::remove_all(unfinished, ignored);
  if (rename(folder.c_str(), unfinished.c_str()) != 0) return;
  kept_bytes_ -= std::min(kept_bytes_, bytes);
  fs::remove_all(unfinished, ignored);
}

Result<StoredCode> CodeStore::unpack(std::string_view archive, const std::string& name) {
  const std::string digest = sha256_of(archive);
  StoredCode code{path_of(name.empty() ? hex_of(digest) : name), {}, archive.size()};
  append_base64(code.sha256, digest);
  std::error_code error;
  if (fs::is_directory(code.folder, error)) return code;
  if (kept_bytes_ >= limits_.all) {
    return fail(ErrorCode::kLimitExceeded, "Code storage limit exceeded.");
  }
  const std::string unfinished = code.folder + std::string(kUnfinished);
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) return io_error(directory_, errno);
  // Somebody else could have made a folder in /tmp, or a link, to put other code there.
  struct stat about {};
  if (temporary_ && lstat(directory_.c_str(), &about) != 0) return io_error(directory_, errno);
  if (temporary_ && (!S_ISDIR(about.st_mode) || about.st_uid != geteuid())) return io_error(directory_, EEXIST);
  fs::remove_all(unfinished, error);
  fs::create_directories(unfinished, error);
  if (error) return io_error(unfinished, error.value());
  auto done = unpack_into(unfinished, archive, limits_.unpacked, [this] {
    const MutexLock lock(mutex_);
    return !ending_;
  });
  if (done) done = make_durable(unfinished);
  if (done && rename(unfinished.c_str(), code.folder.c_str()) != 0) done = io_error(code.folder, errno);
  if (done) done = make_durable(directory_);
  if (!done) {
    fs::remove_all(unfinished, error);
    // Another upload of the same code would take a folder of this name for a durable one.
    fs::remove_all(code.folder, error);
    return fail(std::move(done.error()));
  }
  kept_bytes_ += bytes_below(code.folder);
  return code;
}

}  // namespace freshet
