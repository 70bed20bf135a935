#include "tables/log/trash.h"

#include "base/points.h"

#include <algorithm>

namespace freshet {
namespace {

constexpr std::string_view kPrefix = "trash-";
constexpr uint64_t kStepBytes = 2u << 20;

}  // namespace

bool Trash::is_trash(const std::string& name) {
  return name.starts_with(kPrefix);
}

Result<void> Trash::clear(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!is_trash(name)) continue;
    if (auto removed = files_.remove(directory_ + "/" + name); !removed) return removed;
  }
  return {};
}

Result<uint64_t> Trash::take(const std::string& path, uint64_t bytes) {
  std::string away = directory_ + "/" + std::string(kPrefix) + path.substr(path.rfind('/') + 1);
  auto gone = files_.rename(path, away);
  const bool at_once = !gone && gone.error().code == ErrorCode::kDiskFull;
  if (at_once) gone = files_.remove(path);
  if (!gone) return fail(std::move(gone.error()));
  // A power loss must not bring the name back with half of the file.
  const auto synced =
      FRESHET_PLANTED("trash-cut-before-its-rename") ? Result<void>{} : files_.sync_directory(directory_);
  if (!synced) return fail(std::move(synced.error()));
  if (at_once) return bytes;
  waiting_.push_back({std::move(away), bytes, nullptr});
  return uint64_t{0};
}

Result<uint64_t> Trash::step() {
  uint64_t given = 0;
  while (!waiting_.empty() && given < kStepBytes) {
    auto more = give_back(kStepBytes - given);
    if (!more && given > 0) break;  // The freed space counts; the next step meets the error again.
    if (!more) return more;
    given += *more;
  }
  return given;
}

Result<uint64_t> Trash::give_back(uint64_t most) {
  Waiting& next = waiting_.front();
  const uint64_t given = std::min(next.bytes, most);
  if (given == next.bytes) {
    next.file.reset();
    if (auto removed = files_.remove(next.path); !removed) return fail(std::move(removed.error()));
    waiting_.pop_front();
    return given;
  }
  if (!next.file) {
    auto file = files_.open(next.path, OpenMode::kReadWrite);
    if (!file) return fail(std::move(file.error()));
    next.file = std::move(*file);
  }
  if (auto cut = next.file->truncate(next.bytes - given); !cut) return fail(std::move(cut.error()));
  next.bytes -= given;
  return given;
}

std::function<Result<void>()> Trash::deletion() const {
  const Waiting& oldest = waiting_.front();
  return [&files = files_, path = oldest.path, bytes = oldest.bytes]() -> Result<void> {
    {
      auto file = files.open(path, OpenMode::kReadWrite);
      if (!file) return fail(std::move(file.error()));
      for (uint64_t left = bytes; left > kStepBytes;) {
        left -= kStepBytes;
        if (auto cut = (*file)->truncate(left); !cut) return cut;
      }
    }
    return files.remove(path);
  };
}

uint64_t Trash::taken_away() {
  const uint64_t bytes = waiting_.front().bytes;
  waiting_.pop_front();
  return bytes;
}

}  // namespace freshet
