// The log's work on another thread: it cuts segments to their contents, deletes removed ones and makes spares.
#include <utility>

#include "tables/log/segment_log.h"

namespace freshet::log_detail {

// When space is short, work that frees or reserves space is not postponed, at the price of a longer turn.
bool SegmentLog::is_short() const {
  return bytes_left() < reserve_ + 2 * segment_bytes_;
}

void SegmentLog::do_chores() {
  do {
    if (chore_ != Chore::kNone) {
      if (!is_short() && !options_.chores->over()) return;
      if (!end_chore()) return;
    }
    if (!failed_) begin_chore();
  } while (chore_ != Chore::kNone && is_short());
}

// Work that frees space comes first.
void SegmentLog::begin_chore() {
  if (!cuts_.empty()) {
    chore_ = Chore::kCut;
    options_.chores->begin([&files = files_, cut = cuts_.front()]() -> Result<void> {
      auto file = files.open(cut.path, OpenMode::kReadWrite);
      if (file) return (*file)->truncate(cut.bytes);
      if (file.error().code == ErrorCode::kNotFound) return {};  // The file is in the trash already.
      return fail(std::move(file.error()));
    });
  } else if (!trash_.empty()) {
    chore_ = Chore::kDelete;
    options_.chores->begin(trash_.deletion());
  } else if (wants_spare()) {
    chore_ = Chore::kSpare;
    spare_path_ = spares_.new_path();
    claim(segment_bytes_);
    options_.chores->begin(spares_.making(spare_path_));
  }
}

bool SegmentLog::end_chore() {
  const Chore done = std::exchange(chore_, Chore::kNone);
  auto ended = options_.chores->end();
  const bool later =
      !ended && (done == Chore::kSpare ? can_wait(ended.error()) : ended.error().code == ErrorCode::kUnavailable);
  if (!ended && !later) {
    fail_for_good(std::move(ended.error()));
    return false;
  }
  if (done == Chore::kSpare) {
    if (ended) spares_.keep(std::move(spare_path_));
    if (!ended) give_back(segment_bytes_);
    asked_disk(!ended);
    return true;
  }
  if (later) return false;
  if (done == Chore::kCut) {
    give_back(cuts_.front().beyond);
    cuts_.pop_front();
  } else if (done == Chore::kDelete) {
    give_back(trash_.taken_away());
  }
  return true;
}

}  // namespace freshet::log_detail
