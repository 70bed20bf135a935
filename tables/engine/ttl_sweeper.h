// Removes expired items in bounded steps, and pauses while the wall clock cannot be trusted. Loop thread only.
#pragma once

#include <string>

#include "base/wall_guard.h"
#include "tables/engine/committer.h"

namespace freshet {

class TtlSweeper {
 public:
  // All references outlive this.
  TtlSweeper(const Clock& clock, WallGuard& guard, Catalog& catalog, Committer& committer,
             const EmbeddedOptions& options)
      : clock_(clock), guard_(guard), catalog_(catalog), committer_(committer), options_(options) {}

  void run_due();
  BootTime next_due() const;

 private:
  size_t sweep(Table& table, int64_t now, size_t limit);
  void warn(Table& table);

  const Clock& clock_;
  WallGuard& guard_;
  Catalog& catalog_;
  Committer& committer_;
  const EmbeddedOptions& options_;
  BootTime not_before_{};
  std::string last_swept_;  // A table's name; that table may be gone.
};

}  // namespace freshet
