#include "tests/sim/sim_files.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace freshet {
namespace {

// A file's bytes: those written, then zeros up to the size.
struct Content {
  std::string written;
  uint64_t size = 0;

  void write(uint64_t offset, std::string_view bytes) {
    if (bytes.empty()) return;
    const size_t end = offset + bytes.size();
    // Segments have their size from the beginning.
    if (written.capacity() < end) written.reserve(std::max(end, std::min<size_t>(size, 4 * end)));
    if (written.size() < offset) written.resize(offset, '\0');
    written.replace(offset, bytes.size(), bytes);
    size = std::max<uint64_t>(size, written.size());
  }
  void resize(uint64_t bytes) {
    if (written.size() > bytes) written.resize(bytes);
    size = bytes;
  }
};

// A call as texts have it.
std::string named(const char* what, const std::string& path) {
  return std::string(what) + " " + path;
}

std::string parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

struct SimFiles::Inode {
  struct Change {
    enum class Kind { kWrite, kGrow, kTruncate } kind = Kind::kWrite;
    uint64_t at = 0;  // Offset of a write; size of the others.
    std::string bytes;
    bool lost_by_sync = false;  // A failed sync has taken it for done.

    void apply(Content& content) const {
      if (kind == Kind::kWrite) content.write(at, bytes);
      if (kind == Kind::kGrow) content.resize(std::max(content.size, at));
      if (kind == Kind::kTruncate) content.resize(at);
    }

    // This one is durable, and `all[index]` is older: where both wrote, the older one never comes back.
    void supersede(std::vector<Change>& all, size_t index) const {
      if (kind != Kind::kWrite || all[index].kind != Kind::kWrite) return;
      const Change old = all[index];
      const uint64_t from = std::clamp(at, old.at, old.at + old.bytes.size());
      const uint64_t to = std::clamp(at + bytes.size(), from, old.at + old.bytes.size());
      if (from == to) return;
      all[index].bytes.resize(from - old.at);
      if (to < old.at + old.bytes.size()) {
        all.insert(all.begin() + static_cast<ptrdiff_t>(index) + 1,
                   {Kind::kWrite, to, old.bytes.substr(to - old.at), old.lost_by_sync});
      }
      if (all[index].bytes.empty()) all.erase(all.begin() + static_cast<ptrdiff_t>(index));
    }
  };

  Content now;
  Content durable;
  std::vector<Change> changes;  // Since it was durable.
  uint64_t allocated = 0;

  void change(Change::Kind kind, uint64_t at, std::string_view bytes) {
    changes.push_back({kind, at, std::string(bytes), false});
    changes.back().apply(now);
    // A file that a truncation makes longer takes no space for that.
    allocated = kind == Change::Kind::kTruncate ? std::min(allocated, at) : std::max(allocated, at + bytes.size());
  }

  // The first `count` changes; a sync beside the writer knows no more.
  void sync(size_t count) {
    std::vector<Change> lost;
    for (size_t i = 0; i < changes.size(); ++i) {
      Change& each = changes[i];
      if (each.lost_by_sync || i >= count) {
        lost.push_back(std::move(each));
      } else {
        each.apply(durable);
        for (size_t before = lost.size(); before > 0; --before) each.supersede(lost, before - 1);
      }
    }
    changes = std::move(lost);
  }

  // Each change that was not synced is there, or not, or in part. Takes its fates from `fate` on.
  void lose_power(std::vector<Fate>::const_iterator& fate) {
    for (Change& each : changes) {
      const Fate& its = *fate++;
      if (!its.kept) continue;
      if (each.kind == Change::Kind::kWrite && its.from <= each.bytes.size()) {
        each.bytes = each.bytes.substr(its.from, its.bytes);
        each.at += its.from;
      }
      each.apply(durable);
    }
    changes.clear();
    now = durable;
    allocated = now.size;
  }
};

class SimFile final : public File {
 public:
  SimFile(SimFiles& files, std::string path, std::shared_ptr<SimFiles::Inode> inode, bool writable)
      : files_(files),
        path_(std::move(path)),
        inode_(std::move(inode)),
        writable_(writable),
        incarnation_(files.incarnation_) {
    ++files_.open_files_;
  }
  ~SimFile() override { --files_.open_files_; }

  Result<size_t> read_at(uint64_t offset, std::span<char> into) override {
    if (auto ok = call("read"); !ok) return fail(std::move(ok.error()));
    const Content& content = inode_->now;
    if (offset >= content.size) return size_t{0};
    const size_t size = std::min<uint64_t>(into.size(), content.size - offset);
    const size_t real = offset >= content.written.size() ? 0 : std::min(size, content.written.size() - offset);
    std::memcpy(into.data(), content.written.data() + (real == 0 ? 0 : offset), real);
    std::memset(into.data() + real, 0, size - real);
    return size;
  }

  Result<void> write_at(uint64_t offset, std::string_view bytes) override {
    if (auto ok = call("write", true); !ok) {
      if (alive() && writable_ && files_.calls_ == files_.crash_at_) write_part(offset, bytes);
      return ok;
    }
    if (files_.fail_write_ > 0 && --files_.fail_write_ == 0) {
      write_part(offset, bytes);
      return fail(ErrorCode::kIo, "cannot write " + path_ + ": simulated fault");
    }
    if (auto ok = files_.claim(*inode_, offset + bytes.size(), path_); !ok) return ok;
    inode_->change(SimFiles::Inode::Change::Kind::kWrite, misdirected(offset, bytes.size()), bytes);
    return {};
  }

  Result<void> preallocate(uint64_t bytes) override {
    if (auto ok = call("allocate space for", true); !ok) return ok;
    if (auto ok = files_.claim(*inode_, bytes, path_); !ok) return ok;
    if (bytes > inode_->now.size) inode_->change(SimFiles::Inode::Change::Kind::kGrow, bytes, {});
    inode_->allocated = std::max(inode_->allocated, bytes);  // A truncation may have made it longer before.
    return {};
  }

  Result<void> truncate(uint64_t bytes) override {
    if (auto ok = call("truncate", true); !ok) return ok;
    inode_->change(SimFiles::Inode::Change::Kind::kTruncate, bytes, {});
    return {};
  }

  Result<void> sync() override {
    if (files_.on_sync_) files_.on_sync_();
    return sync_first(changes());
  }

  size_t changes() const { return inode_->changes.size(); }
  Result<void> sync_first(size_t count) {
    if (auto ok = call("sync"); !ok) return ok;
    if (files_.fail_sync_ > 0 && --files_.fail_sync_ == 0) {
      for (auto& change : inode_->changes) change.lost_by_sync = true;
      return fail(ErrorCode::kIo, "cannot sync " + path_ + ": simulated fault");
    }
    inode_->sync(count);
    ++files_.syncs_;
    return {};
  }

  Result<uint64_t> size() override {
    if (auto ok = call("look at"); !ok) return fail(std::move(ok.error()));
    return inode_->now.size;
  }

 private:
  bool alive() const { return incarnation_ == files_.incarnation_; }

  Result<void> call(const char* what, bool writes = false) {
    if (auto ok = files_.call(what, path_); !ok) return ok;
    if (!alive()) return cannot(what, ": opened before the restart");
    if (writes && !writable_) return cannot(what, ": opened for reading");
    return {};
  }
  tl::unexpected<Error> cannot(const char* what, const char* why) const {
    return fail(ErrorCode::kIo, "cannot " + named(what, path_) + why);
  }

  // Where the disk puts them.
  uint64_t misdirected(uint64_t offset, uint64_t bytes) {
    constexpr uint64_t kSector = 512;
    if (files_.misdirect_ == 0 || path_.find("/segment-") == std::string::npos || --files_.misdirect_ > 0)
      return offset;
    const uint64_t size = inode_->now.size;
    if (size <= offset + bytes + kSector) return offset;
    files_.misdirected_ = true;
    const uint64_t place = files_.random_.below((size - bytes) / kSector) * kSector + offset % kSector;
    return place == offset ? offset + kSector : place;
  }

  void write_part(uint64_t offset, std::string_view bytes) {
    const std::string_view part = bytes.substr(0, files_.random_.below(bytes.size() + 1));
    if (!part.empty()) inode_->change(SimFiles::Inode::Change::Kind::kWrite, offset, part);
  }

  SimFiles& files_;
  const std::string path_;
  const std::shared_ptr<SimFiles::Inode> inode_;
  const bool writable_;
  const uint64_t incarnation_;
};

class SimFileLock final : public FileLock {
 public:
  // `inode` is null for a directory.
  SimFileLock(SimFiles& files, std::string path, std::shared_ptr<SimFiles::Inode> inode)
      : files_(files), path_(std::move(path)), inode_(std::move(inode)), incarnation_(files.incarnation_) {}
  ~SimFileLock() override {
    if (incarnation_ != files_.incarnation_) return;
    if (inode_) {
      files_.locks_.erase(inode_);
    } else {
      files_.locked_directories_.erase(path_);
    }
  }
  Result<void> check() override {
    if (auto ok = files_.call("look at", path_); !ok) return ok;
    const auto found = files_.names_.find(path_);
    const bool there = inode_ ? found != files_.names_.end() : files_.directories_.contains(path_);
    if (!there) return fail(ErrorCode::kNotFound, "cannot look at " + path_ + ": no such file");
    if (inode_ && found->second != inode_) {
      return fail(ErrorCode::kConflict, path_ + " is not what this process has locked: somebody replaced it");
    }
    return {};
  }

 private:
  SimFiles& files_;
  const std::string path_;
  const std::shared_ptr<SimFiles::Inode> inode_;
  const uint64_t incarnation_;
};

SimFiles::SimFiles(uint64_t seed) : random_(seed) {}
SimFiles::~SimFiles() = default;

Result<void> SimFiles::call(const char* what, const std::string& path) {
  if (on_call_) on_call_(named(what, path));
  ++calls_;
  if (crashed()) return fail(ErrorCode::kIo, "cannot " + named(what, path) + ": simulated crash");
  if (call_fails_ && call_fails_(named(what, path))) {
    return fail(call_error_, "cannot " + named(what, path) + ": simulated fault");
  }
  return {};
}

Result<void> SimFiles::claim(Inode& inode, uint64_t bytes, const std::string& path) {
  if (bytes <= inode.allocated) return {};
  if (bytes - inode.allocated > disk_bytes_ - std::min(disk_bytes_, bytes_allocated())) {
    return fail(ErrorCode::kDiskFull, "cannot allocate space for " + path + ": simulated disk is full");
  }
  return {};
}

void SimFiles::apply(const DirectoryChange& change, Names& names) {
  if (!change.removed.empty()) {
    auto found = names.find(change.removed);
    if (found != names.end() && found->second == change.inode) names.erase(found);
  }
  if (!change.added.empty()) names[change.added] = change.inode;
}

void SimFiles::change_directory(DirectoryChange change) {
  apply(change, names_);
  changes_.push_back(std::move(change));
}

Result<std::unique_ptr<File>> SimFiles::open(const std::string& path, OpenMode mode) {
  const bool create = mode == OpenMode::kCreate;
  if (auto ok = call("open", path); !ok) return fail(std::move(ok.error()));
  auto found = names_.find(path);
  if (create) {
    if (found != names_.end()) return fail(ErrorCode::kIo, "cannot create " + path + ": it exists");
    if (!directories_.contains(parent(path))) {
      return fail(ErrorCode::kNotFound, "cannot create " + path + ": no such directory");
    }
    change_directory({parent(path), "", path, std::make_shared<Inode>()});
    found = names_.find(path);
  } else if (found == names_.end()) {
    return fail(ErrorCode::kNotFound, "cannot open " + path + ": no such file");
  }
  return std::make_unique<SimFile>(*this, path, found->second, mode != OpenMode::kRead);
}

Result<void> SimFiles::create_directories(const std::string& path) {
  if (auto ok = call("create directory", path); !ok) return ok;
  if (directories_.contains(parent(path)) && !directories_.contains(path)) unsynced_directories_.insert(path);
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    directories_.insert(path.substr(0, end));
  }
  directories_.insert(path);
  return {};
}

Result<std::vector<std::string>> SimFiles::list(const std::string& directory) {
  if (auto ok = call("list", directory); !ok) return fail(std::move(ok.error()));
  if (!directories_.contains(directory)) {
    return fail(ErrorCode::kNotFound, "cannot list " + directory + ": no such directory");
  }
  std::vector<std::string> found;
  const auto add = [&](const std::string& path) {
    if (parent(path) == directory) found.push_back(path.substr(directory.size() + 1));
  };
  for (const auto& [path, inode] : names_) add(path);
  for (const std::string& path : directories_) add(path);
  std::sort(found.begin(), found.end());
  return found;
}

Result<void> SimFiles::remove(const std::string& path) {
  if (auto ok = call("remove", path); !ok) return ok;
  auto found = names_.find(path);
  if (found == names_.end()) return fail(ErrorCode::kNotFound, "cannot remove " + path + ": no such file");
  change_directory({parent(path), path, "", found->second});
  return {};
}

Result<void> SimFiles::rename(const std::string& from, const std::string& to) {
  if (auto ok = call("rename", from); !ok) return ok;
  auto found = names_.find(from);
  if (found == names_.end()) return fail(ErrorCode::kNotFound, "cannot rename " + from + ": no such file");
  change_directory({parent(to), from, to, found->second});
  return {};
}

Result<void> SimFiles::sync_directory(const std::string& directory) {
  if (auto ok = call("sync directory", directory); !ok) return ok;
  std::vector<DirectoryChange> others;
  for (DirectoryChange& change : changes_) {
    if (change.directory == directory) {
      apply(change, durable_names_);
    } else {
      others.push_back(std::move(change));
    }
  }
  changes_ = std::move(others);
  std::erase_if(unsynced_directories_, [&](const std::string& made) { return parent(made) == directory; });
  return {};
}

Result<std::unique_ptr<FileLock>> SimFiles::lock(const std::string& path) {
  if (auto ok = call("lock", path); !ok) return fail(std::move(ok.error()));
  if (!names_.contains(path)) change_directory({parent(path), "", path, std::make_shared<Inode>()});
  const auto inode = names_.at(path);
  if (!locks_.insert(inode).second) return fail(ErrorCode::kConflict, path + " is locked by another process");
  return std::make_unique<SimFileLock>(*this, path, inode);
}

Result<std::unique_ptr<FileLock>> SimFiles::lock_directory(const std::string& directory) {
  if (auto ok = call("lock", directory); !ok) return fail(std::move(ok.error()));
  if (!locked_directories_.insert(directory).second) {
    return fail(ErrorCode::kConflict, directory + " is locked by another process");
  }
  return std::make_unique<SimFileLock>(*this, directory, nullptr);
}

Result<uint64_t> SimFiles::free_bytes(const std::string& directory) {
  if (auto ok = call("look at the space of", directory); !ok) return fail(std::move(ok.error()));
  return disk_bytes_ - std::min(disk_bytes_, bytes_allocated());
}

void SimFiles::begin_again() {
  ++incarnation_;
  locks_.clear();
  locked_directories_.clear();
  crash_at_ = std::numeric_limits<uint64_t>::max();
  fail_sync_ = fail_write_ = misdirect_ = 0;
  misdirected_ = false;
  call_fails_ = nullptr;
}

// In an order that is the same in each run: never by address.
std::vector<std::shared_ptr<SimFiles::Inode>> SimFiles::changed_files() const {
  std::set<std::shared_ptr<Inode>> seen;
  std::vector<std::shared_ptr<Inode>> in_order;
  const auto collect = [&](const std::shared_ptr<Inode>& inode) {
    if (seen.insert(inode).second) in_order.push_back(inode);
  };
  for (const auto& [path, inode] : durable_names_) collect(inode);
  for (const DirectoryChange& change : changes_) collect(change.inode);
  return in_order;
}

std::vector<uint64_t> SimFiles::unsynced() const {
  std::vector<uint64_t> all(changes_.size(), 0);
  for (const auto& inode : changed_files()) {
    for (const auto& change : inode->changes) all.push_back(change.bytes.size());
  }
  return all;
}

void SimFiles::lose_power(const std::vector<Fate>& fates) {
  FRESHET_CHECK(fates.size() == unsynced().size(), "each change has a fate");
  const auto files = changed_files();
  auto fate = fates.begin();
  for (const DirectoryChange& change : changes_) {
    if ((fate++)->kept) apply(change, durable_names_);
  }
  for (const auto& inode : files) inode->lose_power(fate);
  for (const std::string& made : std::exchange(unsynced_directories_, {})) {
    directories_.erase(made);
    std::erase_if(durable_names_, [&](const auto& name) { return parent(name.first) == made; });
  }
  names_ = durable_names_;
  changes_.clear();
}

std::unique_ptr<SimFiles> SimFiles::after_power_cut(const std::vector<Fate>& fates, uint64_t seed) const {
  auto other = std::make_unique<SimFiles>(seed);
  std::map<const Inode*, std::shared_ptr<Inode>> copies;
  for (const auto& inode : changed_files()) copies[inode.get()] = std::make_shared<Inode>(*inode);
  for (const auto& [path, inode] : durable_names_) other->durable_names_[path] = copies.at(inode.get());
  for (const DirectoryChange& change : changes_) {
    other->changes_.push_back({change.directory, change.removed, change.added, copies.at(change.inode.get())});
  }
  other->directories_ = directories_;
  other->unsynced_directories_ = unsynced_directories_;
  other->disk_bytes_ = disk_bytes_;
  other->lose_power(fates);
  return other;
}

void SimFiles::restart() {
  std::vector<Fate> fates;
  for (size_t i = 0; i < changes_.size(); ++i) fates.push_back({.kept = random_.below(2) == 0});
  for (const auto& inode : changed_files()) {
    for (const auto& change : inode->changes) {
      const uint64_t drawn = random_.below(3);
      Fate fate{.kept = drawn != 0};
      if (drawn == 1 && change.kind == Inode::Change::Kind::kWrite) {
        fate.from = random_.below(2) == 0 ? 0 : random_.below(change.bytes.size() + 1);
        fate.bytes = random_.below(change.bytes.size() - fate.from + 1);
      }
      fates.push_back(fate);
    }
  }
  lose_power(fates);
  begin_again();
}

void SimFiles::restart_process() {
  begin_again();
}

std::string SimFiles::content(const std::string& path) const {
  FRESHET_CHECK(exists(path), "no such simulated file");
  const Content& content = names_.at(path)->now;
  std::string bytes = content.written;
  bytes.resize(content.size, '\0');
  return bytes;
}

void SimFiles::set_content(const std::string& path, std::string bytes) {
  auto& inode = names_[path];
  if (!inode) inode = std::make_shared<Inode>();
  inode->now = inode->durable = {bytes, bytes.size()};
  inode->changes.clear();
  inode->allocated = bytes.size();
  durable_names_[path] = inode;
  directories_.insert(parent(path));
}

bool SimFiles::exists(const std::string& path) const {
  return names_.contains(path);
}

uint64_t SimFiles::bytes_allocated() const {
  uint64_t total = 0;
  for (const auto& [path, inode] : names_) total += inode->allocated;
  return total;
}

uint64_t SimFiles::held_bytes() const {
  uint64_t total = 0;
  for (const auto& inode : changed_files()) {
    total += inode->now.written.capacity() + inode->durable.written.capacity();
    for (const auto& change : inode->changes) total += sizeof change + change.bytes.capacity();
  }
  return total;
}

void SimSync::begin(File& file) {
  FRESHET_CHECK(file_ == nullptr, "one sync at a time");
  ++begun_;
  file_ = &dynamic_cast<SimFile&>(file);
  changes_ = file_->changes();
  over_ = false;
  const auto takes = milliseconds(files_.random_.below(static_cast<uint64_t>(longest_.count()) + 1));
  timer_ = scheduler_.call_after(takes, [this] {
    timer_ = 0;
    over_ = true;
  });
}

Result<void> SimSync::end() {
  FRESHET_CHECK(file_ != nullptr, "no sync was begun");
  scheduler_.cancel(std::exchange(timer_, 0));
  return std::exchange(file_, nullptr)->sync_first(changes_);
}

void SimWork::begin(Work work) {
  FRESHET_CHECK(!work_ && !outcome_, "one piece of work at a time");
  work_ = std::move(work);
  const auto takes = milliseconds(files_.random_.below(static_cast<uint64_t>(longest_.count()) + 1));
  timer_ = scheduler_.call_after(takes, [this] {
    timer_ = 0;
    outcome_ = std::exchange(work_, nullptr)();
  });
}

Result<void> SimWork::end() {
  FRESHET_CHECK(work_ || outcome_, "no work was begun");
  scheduler_.cancel(std::exchange(timer_, 0));
  if (!outcome_) outcome_ = std::exchange(work_, nullptr)();
  return *std::exchange(outcome_, std::nullopt);
}

}  // namespace freshet
