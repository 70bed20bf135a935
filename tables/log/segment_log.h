// The log on segment files. Format: docs/formats.md.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tables/log/log.h"
#include "tables/log/recovery.h"
#include "tables/log/spares.h"
#include "tables/log/trash.h"

namespace freshet::log_detail {

// True for a full disk, or no free file descriptor: the same call may work later.
bool can_wait(const Error& error);

class SegmentLog final : public Log {
 public:
  SegmentLog(Files& files, LogOptions options);
  SegmentLog(const SegmentLog&) = delete;
  SegmentLog& operator=(const SegmentLog&) = delete;
  ~SegmentLog() override;

  // Call it once, before anything else: locks the directory, replays its log and prepares for appending.
  Result<void> open(const BatchVisitor& replay);

  Result<LogPosition> append(BatchKind kind, std::string_view payload) override;
  Result<void> roll() override;
  bool starts_segment(size_t payload_bytes) const override;
  Result<void> sync(BootTime now, Waiting waiting, uint64_t wanted) override;
  bool syncing() const override { return syncing_.has_value(); }
  BootTime sync_due() const override;
  uint64_t last_sequence() const override { return last_sequence_; }
  uint64_t durable_sequence() const override { return durable_sequence_; }
  std::vector<SegmentInfo> segments() const override;
  void retire_through(uint32_t id) override;
  Result<void> remove_oldest() override;
  Result<LogPosition> read(LogPosition from, size_t max_bytes, const BatchVisitor& visit) override;
  Result<void> will_read(uint32_t segment) override;
  uint64_t bytes_left_beside(uint64_t others) const override;
  uint64_t bytes_used() const override { return used_; }
  void set_reserve(uint64_t bytes) override;

 private:
  bool fits(uint64_t bytes) const { return segments_.back().bytes + bytes <= segments_.back().allocated; }
  Result<void> lock();
  Result<void> check_locks();
  Result<void> cut_closed_segments();
  Result<void> go_on_in_last_segment();
  Result<void> start_segment(uint64_t batch_bytes);
  uint64_t bytes_to_write(uint64_t batch) const;
  Result<Spares::Space> find_space(uint64_t bytes);
  Result<void> make_room(uint64_t bytes);
  Result<void> make_segment(uint32_t id, Spares::Space space);
  Result<void> keep_for_later(Spares::Space space);
  Result<void> leave_open_segment(bool synced);
  Result<void> sync_files();
  void all_is_durable();  // Marks everything that was written as durable.
  Result<void> begin_sync(Waiting waiting, bool beside_alone);
  Result<void> end_sync();
  void keep_space();
  bool is_short() const;
  void do_chores();
  void begin_chore();
  bool end_chore();  // Returns false if there is nothing more to do now.
  void make_spares();
  // True if one more spare is needed; after a refusal also one beyond the reserve, since only asking shows if there is
  // space again.
  bool wants_spare() const {
    return (spares_.bytes() < reserve_ || disk_refuses_) && std::min(bound_left(), disk_free_) >= segment_bytes_;
  }
  void asked_disk(bool full);
  uint32_t removable_below() const;  // Segments with lower numbers: a header on the disk says that nobody needs them.
  void claim(uint64_t bytes);        // Counts `bytes` of files as used.
  void give_back(uint64_t bytes);    // Counts `bytes` of files as free again.
  // Opens a closed segment for reading, if it is not open.
  Result<void> open_to_read(uint32_t id);
  Result<void> look_at_disk();
  uint64_t in_whole_segments(uint64_t bytes) const;
  uint64_t bound_left() const;  // The bytes that max_bytes leaves for further files.
  uint64_t room() const;        // The bytes that both max_bytes and the disk leave.
  bool all_durable() const { return file_durable_sequence_ == last_sequence_; }
  // Keeps the first permanent error: every later call gets it.
  tl::unexpected<Error> fail_for_good(Error error);

  std::string path(uint32_t id) const;

  // Constant after construction.
  Files& files_;
  const LogOptions options_;
  const uint64_t segment_bytes_;

  std::unique_ptr<FileLock> directory_lock_;
  std::unique_ptr<FileLock> lock_;  // The lock of the file LOCK: earlier versions check nothing else.
  std::optional<Error> failed_;

  // The segments, oldest first; the last is open.
  std::deque<Segment> segments_;
  std::unique_ptr<File> file_;                        // The file of the open segment.
  std::deque<std::unique_ptr<File>> unsynced_files_;  // Closed segments that durability `none` has not synced.
  uint64_t log_id_ = 0;
  uint32_t first_unretired_ = 1;       // The value in the open segment's header.
  uint32_t next_first_unretired_ = 1;  // The value for the next header.
  uint64_t written_end_ = 0;           // The end of the open segment's written blocks, zeros included.
  std::string frame_;                  // Reused by append().

  // Progress.
  uint64_t last_sequence_ = 0;
  uint64_t durable_sequence_ = 0;       // The sequence reported to callers: with `none` it runs ahead of the next
                                        // member.
  uint64_t file_durable_sequence_ = 0;  // Everything up to this sequence is really durable.
  LogPosition durable_;
  std::optional<BootTime> interval_end_;  // With durability `interval`, while something waits for it.
  struct Syncing {
    uint64_t sequence = 0;  // Everything up to this sequence is durable when the sync is over.
    LogPosition end;
  };
  std::optional<Syncing> syncing_;  // The sync of the open segment that runs beside the loop.

  // The work that LogOptions::chores does, one at a time.
  enum class Chore { kNone, kCut, kDelete, kSpare };
  Chore chore_ = Chore::kNone;
  struct Cut {
    std::string path;     // The path of a closed segment.
    uint64_t bytes = 0;   // The length to which the file is cut.
    uint64_t beyond = 0;  // The space behind that length.
  };
  std::deque<Cut> cuts_;    // The first one may be running.
  std::string spare_path_;  // The spare that is being made.

  // Space.
  Spares spares_;
  Trash trash_;
  uint64_t used_ = 0;
  uint64_t allocated_ = 0;  // Segments, spares and trash.
  uint64_t reserve_ = 0;
  uint64_t disk_free_ = 0;  // As last seen.
  // True if the last file that was requested did not get its space, whatever the disk reports (quotas).
  bool disk_refuses_ = false;
  BootTime disk_seen_{};
  BootTime space_kept_{};  // The time at which sync() last looked after spares and trash.

  // Reading.
  std::unique_ptr<File> read_file_;  // The file of read_segment_.
  uint32_t read_segment_ = 0;
  std::string read_buffer_;
};

}  // namespace freshet::log_detail
