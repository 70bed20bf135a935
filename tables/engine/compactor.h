// Keeps the log short without a pause: appends the live items of the oldest segment again in small steps, then retires
// the segment (replay skips it), and deletes it when no stream needs it any more. Trims streams by age and size. Loop
// thread only.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/wall_guard.h"
#include "tables/engine/committer.h"

namespace freshet {

class Compactor {
 public:
  // All references outlive this.
  Compactor(const Clock& clock, WallGuard& guard, Catalog& catalog, Committer& committer,
            const EmbeddedOptions& options)
      : clock_(clock), guard_(guard), catalog_(catalog), committer_(committer), options_(options) {}
  Compactor(const Compactor&) = delete;
  Compactor& operator=(const Compactor&) = delete;

  void run_due();
  BootTime next_due() const;

 private:
  class Finder;

  bool space_is_low() const;
  // The size of the log beyond which it is cleaned.
  uint64_t bound() const;
  // The next segment to clean: the oldest that is not retired, if cleaning is due.
  std::optional<uint32_t> choose() const;
  // The size of the segments that replay would read; the others are kept for streams only.
  uint64_t unretired_bytes() const;
  void begin_segment();
  // Does one bounded step; returns false if it stopped for lack of space.
  bool step();
  bool find_live();
  void check_dead();
  bool move_some();
  void finish_segment();
  void tidy();
  void note_new(const std::vector<SegmentInfo>& segments);
  bool is_old(uint32_t segment);
  void trim(const std::vector<SegmentInfo>& segments);
  bool is_needed_before(uint32_t segment) const;  // True if a stream needs a segment before that one.
  void remove_files();
  std::optional<WallTime> start_of(uint32_t segment);

  const Clock& clock_;
  WallGuard& guard_;
  Catalog& catalog_;
  Committer& committer_;
  const EmbeddedOptions& options_;

  std::optional<LogPosition> cursor_;                 // The position in the segment that is being cleaned.
  std::deque<std::pair<uint32_t, ItemRef>> waiting_;  // Items that were live there when found and are not moved yet:
                                                      // table number, item.
  uint32_t retired_through_ = 0;                      // Segments up to this one are retired, perhaps not yet by a
                                                      // durable header.
  uint64_t appended_before_ = 0;                      // The bytes written in total when the last step ran.
  BootTime blocked_until_{};

  BootTime tidied_{};
  uint32_t tidied_segment_ = 0;  // The open segment when the compactor last tidied up.
  std::optional<std::pair<uint32_t, WallTime>> known_start_;
  uint32_t newest_seen_ = 0;  // The newest segment seen.
  const BootTime opened_ = clock_.boot();
  std::map<uint32_t, BootTime> began_;  // The start of each segment of this run, so that its age does not depend on the
                                        // wall clock.
};

}  // namespace freshet
