#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "base/files.h"

namespace freshet {
namespace {

constexpr uint64_t kChunkBytes = 64u << 10;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 40;

struct Content {
  std::map<uint64_t, std::unique_ptr<std::array<char, kChunkBytes>>> chunks;  // By offset / kChunkBytes; absent: zeros.
  uint64_t size = 0;
};

// Calls step(chunk number, offset in the chunk, bytes, bytes done before) for each piece of a range.
template <class Step>
void for_each_piece(uint64_t offset, uint64_t bytes, Step step) {
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t at = offset + done;
    const uint64_t piece = std::min(bytes - done, kChunkBytes - at % kChunkBytes);
    step(at / kChunkBytes, at % kChunkBytes, piece, done);
    done += piece;
  }
}

class MemoryFile final : public File {
 public:
  MemoryFile(std::string path, std::shared_ptr<Content> content, bool writable)
      : path_(std::move(path)), content_(std::move(content)), writable_(writable) {}

  Result<size_t> read_at(uint64_t offset, std::span<char> into) override {
    if (offset >= content_->size) return size_t{0};
    const uint64_t bytes = std::min<uint64_t>(into.size(), content_->size - offset);
    for_each_piece(offset, bytes, [&](uint64_t number, uint64_t at, uint64_t piece, uint64_t done) {
      const auto chunk = content_->chunks.find(number);
      if (chunk == content_->chunks.end()) {
        std::memset(into.data() + done, 0, piece);
      } else {
        std::memcpy(into.data() + done, chunk->second->data() + at, piece);
      }
    });
    return bytes;
  }

  Result<void> write_at(uint64_t offset, std::string_view bytes) override {
    if (auto ok = check("write", offset + bytes.size()); !ok) return ok;
    for_each_piece(offset, bytes.size(), [&](uint64_t number, uint64_t at, uint64_t piece, uint64_t done) {
      auto& chunk = content_->chunks[number];
      if (!chunk) chunk = std::make_unique<std::array<char, kChunkBytes>>();
      std::memcpy(chunk->data() + at, bytes.data() + done, piece);
    });
    content_->size = std::max<uint64_t>(content_->size, offset + bytes.size());
    return {};
  }

  Result<void> preallocate(uint64_t bytes) override {
    if (auto ok = check("allocate space for", bytes); !ok) return ok;
    content_->size = std::max(content_->size, bytes);
    return {};
  }

  Result<void> truncate(uint64_t bytes) override {
    if (auto ok = check("truncate", bytes); !ok) return ok;
    auto& chunks = content_->chunks;
    chunks.erase(chunks.lower_bound((bytes + kChunkBytes - 1) / kChunkBytes), chunks.end());
    if (const auto last = chunks.find(bytes / kChunkBytes); last != chunks.end()) {
      std::fill(last->second->begin() + static_cast<ptrdiff_t>(bytes % kChunkBytes), last->second->end(), '\0');
    }
    content_->size = bytes;
    return {};
  }

  Result<void> sync() override { return {}; }
  Result<uint64_t> size() override { return content_->size; }

 private:
  Result<void> check(const char* what, uint64_t end) const {
    if (!writable_) return fail(ErrorCode::kIo, std::string("cannot ") + what + " " + path_ + ": opened for reading");
    if (end > kMaxFileBytes) return fail(ErrorCode::kIo, std::string("cannot ") + what + " " + path_ + ": too large");
    return {};
  }

  const std::string path_;
  const std::shared_ptr<Content> content_;
  const bool writable_;
};

class MemoryFiles final : public Files {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    auto found = contents_.find(path);
    if (mode == OpenMode::kCreate) {
      if (found != contents_.end()) return fail(ErrorCode::kIo, "cannot create " + path + ": it exists");
      if (!directories_.contains(parent(path))) return missing("create", path);
      found = contents_.emplace(path, std::make_shared<Content>()).first;
    }
    if (found == contents_.end()) return missing("open", path);
    return std::make_unique<MemoryFile>(path, found->second, mode != OpenMode::kRead);
  }

  Result<void> create_directories(const std::string& path) override {
    for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
      directories_.insert(path.substr(0, end));
    }
    directories_.insert(path);
    return {};
  }

  Result<std::vector<std::string>> list(const std::string& directory) override {
    if (!directories_.contains(directory)) return missing("list", directory);
    std::vector<std::string> names;
    const auto add = [&](const std::string& path) {
      if (parent(path) == directory) names.push_back(path.substr(directory.size() + 1));
    };
    for (const auto& [path, content] : contents_) add(path);
    for (const std::string& path : directories_) add(path);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> remove(const std::string& path) override {
    if (contents_.erase(path) == 0) return missing("remove", path);
    return {};
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    auto moved = contents_.extract(from);
    if (!moved) return missing("rename", from);
    contents_[to] = std::move(moved.mapped());
    return {};
  }

  Result<void> sync_directory(const std::string&) override { return {}; }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    if (!locks_.insert(path).second) return fail(ErrorCode::kConflict, path + " is locked by another process");
    return std::make_unique<Lock>(locks_, path);
  }

  Result<std::unique_ptr<FileLock>> lock_directory(const std::string& directory) override { return lock(directory); }

  Result<uint64_t> free_bytes(const std::string&) override { return std::numeric_limits<int64_t>::max(); }

 private:
  struct Lock final : FileLock {
    Lock(std::set<std::string>& all, std::string own) : locks(all), path(std::move(own)) {}
    ~Lock() override { locks.erase(path); }
    Result<void> check() override { return {}; }
    std::set<std::string>& locks;
    const std::string path;
  };

  static std::string parent(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
  }
  static tl::unexpected<Error> missing(const char* what, const std::string& path) {
    return fail(ErrorCode::kNotFound, std::string("cannot ") + what + " " + path + ": it does not exist");
  }

  std::map<std::string, std::shared_ptr<Content>> contents_;
  std::set<std::string> directories_;
  std::set<std::string> locks_;
};

}  // namespace

std::unique_ptr<Files> make_memory_files() {
  return std::make_unique<MemoryFiles>();
}

}  // namespace freshet
