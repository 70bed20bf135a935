#include "tables/engine/clock_mark.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>

namespace freshet {
namespace {

constexpr const char* kName = "CLOCK";

// Empty if a crash left the file incomplete: then nothing was written in doubt.
std::optional<WallTime> parse(std::string_view text) {
  int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc() || end + 1 != text.data() + text.size() || *end != '\n') return std::nullopt;
  return WallTime(milliseconds(ms));
}

}  // namespace

Result<void> ClockMark::open(Files& files, const std::string& directory) {
  files_ = &files;
  directory_ = directory;
  path_ = directory + "/" + kName;
  const auto names = files.list(directory);
  if (!names) return fail(names.error());
  if (std::find(names->begin(), names->end(), kName) == names->end()) return {};
  auto file = files.open(path_, OpenMode::kRead);
  if (!file) return fail(std::move(file.error()));
  char text[32];
  const auto size = (*file)->read_at(0, std::span<char>(text));
  if (!size) return fail(size.error());
  believed_ = parse({text, *size});
  file->reset();
  if (!believed_) return files.remove(path_);
  // An earlier process may have ended before it was durable. On a full disk it stays as it is.
  auto kept = write(*believed_, OpenMode::kReadWrite);
  return kept || kept.error().code == ErrorCode::kDiskFull ? Result<void>{} : kept;
}

Result<void> ClockMark::write(WallTime believed, OpenMode mode) {
  auto file = files_->open(path_, mode);
  if (!file) return fail(std::move(file.error()));
  auto done = (*file)->write_at(0, std::to_string(believed.time_since_epoch().count()) + "\n");
  if (done) done = (*file)->sync();
  file->reset();
  return done ? files_->sync_directory(directory_) : done;
}

Result<void> ClockMark::set(WallTime believed) {
  if (!files_ || believed_) return {};
  auto done = write(believed, OpenMode::kCreate);
  if (done) {
    believed_ = believed;
    return {};
  }
  const auto removed = files_->remove(path_);
  const bool gone = removed || removed.error().code == ErrorCode::kNotFound;
  return gone || done.error().code != ErrorCode::kDiskFull ? done : removed;
}

Result<void> ClockMark::clear() {
  if (!believed_) return {};
  believed_.reset();
  if (auto removed = files_->remove(path_); !removed) return removed;
  return files_->sync_directory(directory_);
}

}  // namespace freshet
