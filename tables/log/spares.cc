#include "tables/log/spares.h"

#include <algorithm>
#include <charconv>

namespace freshet::log_detail {
namespace {

constexpr std::string_view kSparePrefix = "spare-";

uint64_t parse_number(std::string_view name) {
  uint64_t number = 0;
  if (name.substr(0, kSparePrefix.size()) != kSparePrefix) return 0;
  name.remove_prefix(kSparePrefix.size());
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() ? number : 0;
}

}  // namespace

Result<void> Spares::adopt(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const uint64_t number = parse_number(name);
    if (number == 0) continue;
    last_number_ = std::max(last_number_, number);
    const std::string path = directory_ + "/" + name;
    auto file = files_.open(path, OpenMode::kReadWrite);
    if (!file) return fail(std::move(file.error()));
    const auto size = (*file)->size();
    if (!size) return fail(size.error());
    // The size may have outlived the allocation.
    const auto allocated = *size == spare_bytes_ ? (*file)->preallocate(spare_bytes_) : Result<void>{};
    if (!allocated && allocated.error().code != ErrorCode::kDiskFull) return allocated;
    if (*size == spare_bytes_ && allocated) {
      spares_.push_back(path);
    } else if (auto removed = files_.remove(path); !removed) {
      return removed;
    }
  }
  return {};
}

Result<void> Spares::add() {
  auto made = make(files_, new_path(), spare_bytes_);
  if (!made) return fail(std::move(made.error()));
  keep(std::move(made->path));
  return {};
}

std::string Spares::new_path() {
  return directory_ + "/" + std::string(kSparePrefix) + std::to_string(++last_number_);
}

std::function<Result<void>()> Spares::making(const std::string& path) const {
  return [&files = files_, path, bytes = spare_bytes_]() -> Result<void> {
    if (auto made = make(files, path, bytes); !made) return fail(std::move(made.error()));
    return {};
  };
}

Result<Spares::Space> Spares::take(uint64_t bytes) {
  if (!can_take(bytes)) return make(files_, new_path(), std::max(bytes, spare_bytes_));
  auto file = files_.open(spares_.front(), OpenMode::kReadWrite);
  if (!file) return fail(std::move(file.error()));
  Space space{std::move(*file), std::move(spares_.front()), spare_bytes_};
  spares_.pop_front();
  return space;
}

Result<uint64_t> Spares::give_up(uint64_t bytes) {
  uint64_t freed = 0;
  for (; freed < bytes && !spares_.empty(); freed += spare_bytes_) {
    if (auto removed = files_.remove(spares_.back()); !removed) return fail(std::move(removed.error()));
    spares_.pop_back();
  }
  return freed;
}

Result<Spares::Space> Spares::make(Files& files, std::string path, uint64_t bytes) {
  auto file = files.open(path, OpenMode::kCreate);
  if (!file) return fail(std::move(file.error()));
  if (auto allocated = (*file)->preallocate(bytes); !allocated) {
    file->reset();
    // A full disk is no failure, unless the file cannot be removed either. The next start deletes a leftover file.
    auto removed = files.remove(path);
    const bool full = allocated.error().code == ErrorCode::kDiskFull;
    return fail(full && !removed ? std::move(removed.error()) : std::move(allocated.error()));
  }
  return Space{std::move(*file), std::move(path), bytes};
}

}  // namespace freshet::log_detail
