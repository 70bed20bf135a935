#include "tables/log/segment_log.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/points.h"
#include "tables/log/segment.h"

namespace freshet::log_detail {
namespace {

constexpr uint64_t kMinSegmentBytes = 4096;
constexpr uint64_t kWriteAhead = 64u << 10;
constexpr uint64_t kSegmentsInBound = 8;
constexpr milliseconds kDiskLookPeriod{100};
constexpr milliseconds kTrashPeriod{1};
constexpr uint64_t kSparesPerCall = 4;  // The most spares made in one call: it takes time, and a turn must stay short.
constexpr uint64_t kSparedPerCall = 16u << 20;  // The most bytes that one call allocates, but at least one spare.
constexpr size_t kMaxUnsyncedFiles = 16;        // The most open files, with durability `none`.
constexpr uint64_t kUnbounded = std::numeric_limits<uint64_t>::max();

uint64_t choose_segment_bytes(const LogOptions& options) {
  uint64_t bytes = options.segment_bytes;
  if (options.max_bytes > 0) bytes = std::min(bytes, options.max_bytes / kSegmentsInBound);
  return std::max(bytes, kMinSegmentBytes);
}

}  // namespace

bool can_wait(const Error& error) {
  return error.code == ErrorCode::kDiskFull || error.code == ErrorCode::kUnavailable;
}

SegmentLog::SegmentLog(Files& files, LogOptions options)
    : files_(files),
      options_(std::move(options)),
      segment_bytes_(choose_segment_bytes(options_)),
      spares_(files, options_.directory, segment_bytes_),
      trash_(files, options_.directory) {}

SegmentLog::~SegmentLog() {
  if (syncing_) static_cast<void>(options_.beside->end());
  if (chore_ != Chore::kNone) static_cast<void>(options_.chores->end());
}

std::string SegmentLog::path(uint32_t id) const {
  return options_.directory + "/" + segment_name(id);
}

tl::unexpected<Error> SegmentLog::fail_for_good(Error error) {
  if (can_wait(error)) error.code = ErrorCode::kIo;  // A permanent error: only callers of can_wait() try again.
  if (!failed_) failed_ = std::move(error);
  return fail(*failed_);
}

// The file can be removed while we hold it, and another process can then lock a new one of that name. The directory
// cannot be removed without its files.
Result<void> SegmentLog::lock() {
  if (FRESHET_PLANTED("folder-not-locked")) return {};
  auto directory = files_.lock_directory(options_.directory);
  if (!directory) return fail(std::move(directory.error()));
  auto file = files_.lock(options_.directory + "/LOCK");
  if (!file) return fail(std::move(file.error()));
  directory_lock_ = std::move(*directory);
  lock_ = std::move(*file);
  return {};
}

// Checks that both are still ours. If LOCK was removed, nobody has got in, because a program that looks only at LOCK
// would have made it again: so we make it again.
Result<void> SegmentLog::check_locks() {
  const auto lost = [this](const Error& error) {
    return fail(error.code,
                "the data directory " + options_.directory + " is no longer this process's own: " + error.message);
  };
  if (FRESHET_PLANTED("folder-not-locked")) return {};
  if (auto ours = directory_lock_->check(); !ours) return lost(ours.error());
  auto ours = lock_->check();
  if (ours) return {};
  if (ours.error().code != ErrorCode::kNotFound) return lost(ours.error());
  auto again = files_.lock(options_.directory + "/LOCK");
  if (again) lock_ = std::move(*again);
  return again || can_wait(again.error()) ? Result<void>{} : lost(again.error());
}

Result<void> SegmentLog::open(const BatchVisitor& replay) {
  if (auto locked = lock(); !locked) return locked;
  const auto names = files_.list(options_.directory);
  if (!names) return fail(names.error());
  auto recovered = recover(files_, {options_.directory, options_.accept_loss}, *names, replay);
  if (!recovered) return fail(std::move(recovered.error()));
  const bool is_cut = recovered->cut_bytes > 0 || !recovered->missing.empty();
  if (is_cut && options_.on_cut) {
    const Segment last = recovered->segments.empty() ? Segment{.id = 1} : recovered->segments.back();
    options_.on_cut({path(last.id), last.bytes, recovered->cut_bytes, recovered->missing});
  }
  if (auto cleared = trash_.clear(*names); !cleared) return cleared;
  if (auto adopted = spares_.adopt(*names); !adopted) return adopted;

  log_id_ = recovered->segments.empty() ? options_.new_log_id : recovered->log_id;
  first_unretired_ = next_first_unretired_ = recovered->first_unretired;
  last_sequence_ = durable_sequence_ = file_durable_sequence_ = recovered->last_sequence;
  durable_ = recovered->durable;
  segments_.assign(recovered->segments.begin(), recovered->segments.end());
  allocated_ = spares_.bytes();
  for (const Segment& segment : segments_) {
    used_ += segment.bytes;
    allocated_ += segment.allocated;
  }
  if (auto cut = cut_closed_segments(); !cut) return cut;
  if (auto looked = look_at_disk(); !looked) return looked;
  return segments_.empty() ? start_segment(0) : go_on_in_last_segment();
}

// A crash may have prevented the cut.
Result<void> SegmentLog::cut_closed_segments() {
  for (size_t i = 0; i + 1 < segments_.size(); ++i) {
    Segment& segment = segments_[i];
    if (segment.allocated <= segment.bytes) continue;
    auto file = files_.open(path(segment.id), OpenMode::kReadWrite);
    if (!file) return fail(std::move(file.error()));
    if (auto cut = (*file)->truncate(segment.bytes); !cut) return cut;
    allocated_ -= segment.allocated - segment.bytes;
    segment.allocated = segment.bytes;
  }
  return {};
}

Result<void> SegmentLog::go_on_in_last_segment() {
  Segment& last = segments_.back();
  auto file = files_.open(path(last.id), OpenMode::kReadWrite);
  if (!file) return fail(std::move(file.error()));
  file_ = std::move(*file);
  written_end_ = last.bytes;
  // On a full disk it stays as it is; the next batch that does not fit asks for a segment. Its size may have outlived
  // its allocation, so ask even if it has it.
  const uint64_t whole = std::max(last.allocated, segment_bytes_);
  const uint64_t wanted = whole - last.allocated > room() ? last.allocated : whole;
  auto allocated = file_->preallocate(wanted);
  // The next header says how much of the file is used, perhaps without a sync: a power cut must not make it shorter.
  if (allocated && wanted > last.allocated) allocated = file_->sync();
  if (allocated) {
    allocated_ += wanted - last.allocated;
    last.allocated = wanted;
  } else if (allocated.error().code == ErrorCode::kDiskFull) {
    last.allocated = last.bytes;
  } else {
    return allocated;
  }
  return {};
}

Result<LogPosition> SegmentLog::append(BatchKind kind, std::string_view payload) {
  if (failed_) return fail(*failed_);
  FRESHET_CHECK(payload.size() <= std::numeric_limits<uint32_t>::max(), "a batch has a 32-bit length");
  const uint64_t bytes = batch_bytes(payload.size());
  if (!fits(bytes)) {
    if (auto started = start_segment(bytes); !started) return fail(std::move(started.error()));
  }
  Segment& open = segments_.back();
  const uint64_t to_write = bytes_to_write(bytes);
  if (frame_.size() < to_write) frame_.resize(to_write);
  const LogPosition durable = FRESHET_PLANTED("durable-mark-too-far") ? LogPosition{open.id, open.bytes} : durable_;
  encode({checksum(payload, log_id_), static_cast<uint32_t>(payload.size()), open.id, last_sequence_ + 1, durable,
          static_cast<uint8_t>(kind)},
         log_id_, frame_.data());
  std::memcpy(frame_.data() + kBatchHeaderBytes, payload.data(), payload.size());
  const uint64_t used = kBatchHeaderBytes + payload.size();
  std::memset(frame_.data() + used, 0, to_write - used);
  if (auto written = file_->write_at(open.bytes, std::string_view(frame_.data(), to_write)); !written) {
    return fail_for_good(std::move(written.error()));
  }
  written_end_ = std::max(written_end_, open.bytes + to_write);
  const LogPosition at{open.id, open.bytes};
  open.bytes += bytes;
  used_ += bytes;
  ++last_sequence_;
  return at;
}

// The first write to a preallocated block makes its sync a transaction of the file system, half as slow again. So small
// batches write zeros ahead of them, for many at once.
uint64_t SegmentLog::bytes_to_write(uint64_t batch) const {
  const Segment& open = segments_.back();
  const uint64_t end = open.bytes + batch;
  const bool ahead = options_.durability.mode == DurabilityMode::kSync && batch < kWriteAhead && end > written_end_;
  if (!ahead) return batch;
  return std::min((end / kWriteAhead + 1) * kWriteAhead, open.allocated) - open.bytes;
}

Result<void> SegmentLog::roll() {
  if (failed_) return fail(*failed_);
  return segments_.back().bytes == kSegmentHeaderBytes ? Result<void>{} : start_segment(0);
}

bool SegmentLog::starts_segment(size_t payload_bytes) const {
  return segments_.back().bytes == kSegmentHeaderBytes || !fits(batch_bytes(payload_bytes));
}

// Gives up spares for a file that is larger than a spare: no more than needed, and none if the file would not fit all
// the same.
Result<void> SegmentLog::make_room(uint64_t bytes) {
  if (options_.chores) do_chores();
  if (failed_) return fail(*failed_);
  if (auto looked = look_at_disk(); !looked) return looked;
  const uint64_t over_bound = bytes - std::min(bytes, bound_left());
  const uint64_t lacking = std::max(over_bound, bytes - std::min(bytes, disk_free_));
  if (lacking > spares_.bytes()) {
    if (over_bound == 0) return {};  // The disk reports that itself, and knows better.
    return fail(ErrorCode::kDiskFull, "the log in " + options_.directory + " has reached its bound of " +
                                          std::to_string(options_.max_bytes) + " bytes");
  }
  const auto freed = spares_.give_up(lacking);
  if (!freed) return fail_for_good(freed.error());
  give_back(*freed);
  return {};
}

Result<Spares::Space> SegmentLog::find_space(uint64_t bytes) {
  const bool from_spare = spares_.can_take(bytes);
  if (!from_spare) {
    if (auto made = make_room(std::max(bytes, segment_bytes_)); !made) return fail(std::move(made.error()));
  }
  auto space = spares_.take(bytes);
  const bool full = !space && can_wait(space.error());
  if (!space && !full) return fail_for_good(std::move(space.error()));
  // For a file larger than a spare, the disk's answer does not count: the reserve asks for no files of that size.
  if (!from_spare && bytes <= segment_bytes_) asked_disk(full);
  if (space && !from_spare) claim(space->bytes);
  return space;
}

// In the order that docs/formats.md gives ("Rotation").
Result<void> SegmentLog::start_segment(uint64_t batch_bytes) {
  if (auto ours = check_locks(); !ours) return fail_for_good(std::move(ours.error()));
  auto space = find_space(kSegmentHeaderBytes + batch_bytes);
  if (!space) return fail(std::move(space.error()));
  const bool first = segments_.empty();
  const bool syncs = options_.durability.mode != DurabilityMode::kNone || next_first_unretired_ > first_unretired_;
  const bool forgets = FRESHET_PLANTED("closed-segment-not-synced") && !syncing_;
  if (!first && forgets) all_is_durable();
  if (!first && syncs && !forgets) {
    if (auto synced = sync_files(); !synced) return synced;
  }
  const uint32_t id = first ? 1 : segments_.back().id + 1;
  const uint64_t allocated = space->bytes;
  if (auto made = make_segment(id, std::move(*space)); !made) return made;
  // Opens the file anew, so that errors name the segment. make_segment() has just closed a file: a descriptor is free.
  auto file = files_.open(path(id), OpenMode::kReadWrite);
  if (!file) return fail_for_good(std::move(file.error()));
  if (!first) {
    if (auto left = leave_open_segment(syncs); !left) return left;
  }
  if (FRESHET_PLANTED("left-segment-kept-open")) static_cast<void>(file_.release());
  file_ = std::move(*file);
  written_end_ = kSegmentHeaderBytes;
  segments_.push_back({id, last_sequence_ + 1, kSegmentHeaderBytes, allocated});
  used_ += kSegmentHeaderBytes;
  first_unretired_ = next_first_unretired_;
  if (all_durable()) durable_ = {id, kSegmentHeaderBytes};
  return {};
}

// Makes a file a segment, durable under its name. A full disk may have no room for the name: then the space is kept
// for the next time, and the open segment stays as it was.
Result<void> SegmentLog::make_segment(uint32_t id, Spares::Space space) {
  const uint64_t previous_bytes = segments_.empty() ? 0 : segments_.back().bytes;
  const SegmentHeader header{log_id_,        id,         next_first_unretired_, last_sequence_ + 1, durable_,
                             previous_bytes, space.bytes};
  auto done = space.file->write_at(0, encode(header));
  if (done && !FRESHET_PLANTED("segment-named-before-its-sync")) done = space.file->sync();
  if (!done) {
    // The cache may show what the disk does not have: the next start must not take the file for space that is there.
    space.file.reset();
    if (!FRESHET_PLANTED("unsynced-spare-left")) static_cast<void>(files_.remove(space.path));
    return fail_for_good(std::move(done.error()));
  }
  if (auto renamed = files_.rename(space.path, path(id)); !renamed) {
    if (renamed.error().code != ErrorCode::kDiskFull) return fail_for_good(std::move(renamed.error()));
    if (auto kept = keep_for_later(std::move(space)); !kept) return kept;
    return renamed;
  }
  space.file.reset();  // To sync the directory takes a file descriptor.
  if (FRESHET_PLANTED("directory-not-synced")) return {};
  if (auto synced = files_.sync_directory(options_.directory); !synced) return fail_for_good(std::move(synced.error()));
  return {};
}

// A file that did not become a segment: keep it as a spare, if it is like one.
Result<void> SegmentLog::keep_for_later(Spares::Space space) {
  if (space.bytes == segment_bytes_) {
    spares_.keep(std::move(space.path));
    return {};
  }
  space.file.reset();
  if (auto removed = files_.remove(space.path); !removed) return fail_for_good(std::move(removed.error()));
  give_back(space.bytes);
  return {};
}

Result<void> SegmentLog::leave_open_segment(bool synced) {
  Segment& open = segments_.back();
  const uint64_t beyond = open.allocated - open.bytes;
  if (options_.chores && !is_short()) {
    cuts_.push_back({path(open.id), open.bytes, beyond});
  } else {
    if (auto cut = file_->truncate(open.bytes); !cut) return fail_for_good(std::move(cut.error()));
    give_back(beyond);
  }
  open.allocated = open.bytes;
  if (synced) return {};
  unsynced_files_.push_back(std::move(file_));
  if (unsynced_files_.size() > kMaxUnsyncedFiles) {
    if (auto done = unsynced_files_.front()->sync(); !done) return fail_for_good(std::move(done.error()));
    unsynced_files_.pop_front();
  }
  return {};
}

Result<void> SegmentLog::sync_files() {
  if (syncing_) {
    if (auto ended = end_sync(); !ended) return ended;
  }
  while (!unsynced_files_.empty()) {
    if (auto synced = unsynced_files_.front()->sync(); !synced) return fail_for_good(std::move(synced.error()));
    unsynced_files_.pop_front();
  }
  if (!FRESHET_PLANTED("sync-left-out")) {
    if (auto synced = file_->sync(); !synced) return fail_for_good(std::move(synced.error()));
  }
  all_is_durable();
  return {};
}

void SegmentLog::all_is_durable() {
  durable_ = {segments_.back().id, segments_.back().bytes};
  durable_sequence_ = file_durable_sequence_ = last_sequence_;
  interval_end_.reset();
}

// A sync beside the loop does not cover what is written after its begin: the next sync does. With `beside_alone`,
// begins no sync that would block the caller.
Result<void> SegmentLog::begin_sync(Waiting waiting, bool beside_alone) {
  const Segment& open = segments_.back();
  const uint64_t enough = waiting == Waiting::kBusy  ? 0
                          : waiting == Waiting::kFew ? options_.beside_bytes / 4
                                                     : options_.beside_bytes;
  const bool beside = options_.beside != nullptr && unsynced_files_.empty() &&
                      (durable_.segment != open.id || open.bytes - durable_.offset >= enough);
  if (!beside) return beside_alone ? Result<void>{} : sync_files();
  syncing_ = Syncing{last_sequence_, {open.id, open.bytes}};
  options_.beside->begin(*file_);
  interval_end_.reset();
  return {};
}

Result<void> SegmentLog::end_sync() {
  const Syncing synced = *syncing_;
  syncing_.reset();
  if (auto ended = options_.beside->end(); !ended) return fail_for_good(std::move(ended.error()));
  durable_ = synced.end;
  durable_sequence_ = file_durable_sequence_ =
      FRESHET_PLANTED("sync-beside-counts-later-batches") ? last_sequence_ : synced.sequence;
  return {};
}

Result<void> SegmentLog::sync(BootTime now, Waiting waiting, uint64_t wanted) {
  if (failed_) return fail(*failed_);
  if (now >= disk_seen_ + kDiskLookPeriod) {
    disk_seen_ = now;
    if (auto looked = look_at_disk(); !looked) return looked;
  }
  space_kept_ = now;
  keep_space();
  if (failed_) return fail(*failed_);
  const bool ends = syncing_.has_value();
  if (ends) {
    if (!options_.beside->over()) {
      // Batches that came meanwhile wait no longer than their interval.
      if (options_.durability.mode == DurabilityMode::kInterval && last_sequence_ > syncing_->sequence &&
          !interval_end_)
        interval_end_ = now + options_.durability.interval;
      return {};
    }
    if (auto ended = end_sync(); !ended) return ended;
  }
  if (all_durable()) return {};
  switch (options_.durability.mode) {
    case DurabilityMode::kSync:
      return file_durable_sequence_ < wanted ? begin_sync(waiting, ends) : Result<void>{};
    case DurabilityMode::kInterval:
      if (!interval_end_) interval_end_ = now + options_.durability.interval;
      return now >= *interval_end_ ? begin_sync(waiting, false) : Result<void>{};
    case DurabilityMode::kNone:
      durable_sequence_ = last_sequence_;
      return {};
  }
  return {};
}

BootTime SegmentLog::sync_due() const {
  if (failed_) return BootTime::max();
  // A running sync causes a turn when it is over.
  BootTime due = syncing_ ? BootTime::max() : interval_end_.value_or(BootTime::max());
  // While the disk is full, or the reserve is not whole, look at the disk again and again: writes may be refused
  // because of it, and then no flush looks.
  const bool asks = spares_.bytes() < reserve_ || disk_refuses_ || disk_free_ < segment_bytes_;
  if (asks && bound_left() >= segment_bytes_) due = std::min(due, disk_seen_ + kDiskLookPeriod);
  if (chore_ != Chore::kNone) return options_.chores->over() ? space_kept_ : due;
  if (!trash_.empty() || !cuts_.empty()) due = std::min(due, space_kept_ + kTrashPeriod);
  return due;
}

uint32_t SegmentLog::removable_below() const {
  return FRESHET_PLANTED("removed-before-its-header") ? next_first_unretired_ : first_unretired_;
}

std::vector<SegmentInfo> SegmentLog::segments() const {
  std::vector<SegmentInfo> infos;
  infos.reserve(segments_.size());
  for (const Segment& segment : segments_) {
    infos.push_back({segment.id, segment.first_sequence, segment.bytes, segment.id < removable_below()});
  }
  return infos;
}

void SegmentLog::retire_through(uint32_t id) {
  FRESHET_CHECK(id < segments_.back().id, "the open segment cannot be retired");
  next_first_unretired_ = std::max(next_first_unretired_, id + 1);
}

Result<void> SegmentLog::remove_oldest() {
  if (failed_) return fail(*failed_);
  const Segment& oldest = segments_.front();
  if (oldest.id >= removable_below()) {
    return fail(ErrorCode::kConflict, path(oldest.id) + " cannot be removed: replay still begins there");
  }
  if (read_segment_ == oldest.id) {
    read_file_.reset();
    read_segment_ = 0;
  }
  const auto taken = trash_.take(path(oldest.id), oldest.allocated);
  if (!taken) return fail_for_good(taken.error());
  give_back(*taken);
  used_ -= oldest.bytes;
  segments_.pop_front();
  return {};
}

Result<LogPosition> SegmentLog::read(LogPosition from, size_t max_bytes, const BatchVisitor& visit) {
  if (from.segment < segments_.front().id) {
    return fail(ErrorCode::kTrimmedDataAccess, "log segment " + std::to_string(from.segment) + " has been removed");
  }
  if (from.segment > segments_.back().id) {
    return fail(ErrorCode::kNotFound, "log segment " + std::to_string(from.segment) + " is not written yet");
  }
  const Segment& segment = segments_[from.segment - segments_.front().id];
  const bool open = from.segment == segments_.back().id;
  if (!open) {
    if (auto ready = open_to_read(from.segment); !ready) return fail(std::move(ready.error()));
  }
  BatchReader reader(open ? *file_ : *read_file_, log_id_, segment.id, segment.bytes, read_buffer_);
  LogPosition at{from.segment, std::max<uint64_t>(from.offset, kSegmentHeaderBytes)};
  for (uint64_t given = 0; at.offset < segment.bytes && (given < max_bytes || given == 0);) {
    auto found = reader.at(at.offset);
    if (!found) return fail(std::move(found.error()));
    if (!*found) {
      return fail(ErrorCode::kCorruption, path(segment.id) + ", offset " + std::to_string(at.offset) +
                                              ": no whole batch is there, though the segment has " +
                                              std::to_string(segment.bytes) + " bytes");
    }
    const BatchReader::Batch& batch = **found;
    auto visited = visit({static_cast<BatchKind>(batch.header.kind), batch.header.sequence, at, batch.payload});
    if (!visited) return fail(std::move(visited.error()));
    given += batch.end - at.offset;
    at.offset = batch.end;
  }
  return at;
}

Result<void> SegmentLog::open_to_read(uint32_t id) {
  if (read_segment_ == id) return {};
  auto file = files_.open(path(id), OpenMode::kRead);
  if (!file) return fail(std::move(file.error()));
  read_file_ = std::move(*file);
  read_segment_ = id;
  return {};
}

Result<void> SegmentLog::will_read(uint32_t segment) {
  const bool closed = segment >= segments_.front().id && segment < segments_.back().id;
  return closed ? open_to_read(segment) : Result<void>{};
}

Result<void> SegmentLog::look_at_disk() {
  auto free = files_.free_bytes(options_.directory);
  if (!free) return fail_for_good(std::move(free.error()));
  disk_free_ = *free;
  return {};
}

uint64_t SegmentLog::bound_left() const {
  if (options_.max_bytes == 0) return kUnbounded;
  return options_.max_bytes - std::min(options_.max_bytes, allocated_);
}

uint64_t SegmentLog::room() const {
  return disk_refuses_ ? 0 : std::min(bound_left(), disk_free_);
}

// Checks the disk's free space again after a while.
void SegmentLog::asked_disk(bool full) {
  disk_refuses_ = full || (disk_refuses_ && FRESHET_PLANTED("full-disk-never-asked-again"));
  if (full) disk_free_ = 0;
}

uint64_t SegmentLog::in_whole_segments(uint64_t bytes) const {
  return bytes / segment_bytes_ * segment_bytes_;
}

uint64_t SegmentLog::bytes_left_beside(uint64_t others) const {
  if (failed_) return 0;
  const Segment& open = segments_.back();
  const uint64_t rest = open.allocated - open.bytes;
  const uint64_t by_disk = spares_.bytes() + in_whole_segments(disk_refuses_ ? 0 : disk_free_);
  if (options_.max_bytes == 0) return rest + by_disk;
  const uint64_t taken = allocated_ + others;
  const uint64_t over = taken - std::min(taken, options_.max_bytes);
  const uint64_t by_bound = spares_.bytes() - std::min(spares_.bytes(), over) +
                            in_whole_segments(options_.max_bytes - std::min(taken, options_.max_bytes));
  return rest + std::min(by_disk, by_bound);
}

void SegmentLog::set_reserve(uint64_t bytes) {
  reserve_ = bytes;
  if (failed_) return;
  if (options_.chores) return do_chores();
  make_spares();
}

void SegmentLog::claim(uint64_t bytes) {
  allocated_ += bytes;
  disk_free_ -= std::min(disk_free_, bytes);
}

void SegmentLog::give_back(uint64_t bytes) {
  allocated_ -= bytes;
  disk_free_ += bytes;
}

void SegmentLog::keep_space() {
  if (options_.chores) return do_chores();
  if (auto freed = trash_.step()) {
    give_back(*freed);
  } else if (!can_wait(freed.error())) {
    fail_for_good(std::move(freed.error()));
    return;
  }
  make_spares();
}

void SegmentLog::make_spares() {
  const uint64_t most = std::clamp<uint64_t>(kSparedPerCall / segment_bytes_, 1, kSparesPerCall);
  for (uint64_t made = 0; made < most && wants_spare(); ++made) {
    if (auto added = spares_.add(); !added) {
      if (!can_wait(added.error())) fail_for_good(std::move(added.error()));
      asked_disk(true);
      return;
    }
    asked_disk(false);
    claim(segment_bytes_);
  }
}

}  // namespace freshet::log_detail

namespace freshet {

Result<std::unique_ptr<Log>> open_log(Files& files, const LogOptions& options, const BatchVisitor& replay) {
  if (auto made = files.create_directories(options.directory); !made) return fail(std::move(made.error()));
  auto log = std::make_unique<log_detail::SegmentLog>(files, options);
  if (auto opened = log->open(replay); !opened) return fail(std::move(opened.error()));
  return log;
}

}  // namespace freshet
