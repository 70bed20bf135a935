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
  return believed_ ? Result<void>{} : files.remove(path_);
}

Result<void> ClockMark::set(WallTime believed) {
  if (!files_ || believed_) return {};
  auto file = files_->open(path_, OpenMode::kCreate);
  if (!file) return fail(std::move(file.error()));
  auto done = (*file)->write_at(0, std::to_string(believed.time_since_epoch().count()) + "\n");
  if (done) done = (*file)->sync();
  file->reset();
  if (done) done = files_->sync_directory(directory_);
  if (done) {
    believed_ = believed;
    return {};
  }
  auto removed = files_->remove(path_);
  return removed || done.error().code != ErrorCode::kDiskFull ? done : removed;
}

Result<void> ClockMark::clear() {
  if (!believed_) return {};
  believed_.reset();
  if (auto removed = files_->remove(path_); !removed) return removed;
  return files_->sync_directory(directory_);
}

}  // namespace freshet
