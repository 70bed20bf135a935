// Removes expired items in bounded steps, and holds back while the wall clock cannot be trusted. Loop thread only.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "tables/engine/committer.h"

namespace freshet {

// Whether the wall clock goes on evenly against boot time. A jump by more than `limit` is not believed until the wall
// is back in line with what it was before, or has gone on evenly for `pause` where it jumped to.
class WallGuard {
 public:
  WallGuard(const Clock& clock, nanoseconds limit, nanoseconds pause) : clock_(clock), limit_(limit), pause_(pause) {}
  bool trusted();

 private:
  nanoseconds offset() const;
  bool near(nanoseconds a, nanoseconds b) const { return a - b <= limit_ && b - a <= limit_; }

  const Clock& clock_;
  const nanoseconds limit_;
  const nanoseconds pause_;
  std::optional<nanoseconds> believed_;  // Wall minus boot.
  std::optional<nanoseconds> jumped_to_;
  BootTime jumped_at_{};
};

class TtlSweeper {
 public:
  TtlSweeper(const Clock& clock, Catalog& catalog, Committer& committer, const EmbeddedOptions& options)
      : clock_(clock),
        catalog_(catalog),
        committer_(committer),
        options_(options),
        guard_(clock, options.wall_jump, options.wall_jump_pause) {}

  void run_due();
  BootTime next_due() const;
  bool paused() const { return paused_; }

 private:
  size_t sweep(Table& table, int64_t now, size_t limit);
  void warn(Table& table);

  const Clock& clock_;
  Catalog& catalog_;
  Committer& committer_;
  const EmbeddedOptions& options_;
  WallGuard guard_;
  BootTime not_before_{};
  bool paused_ = false;
};

}  // namespace freshet
