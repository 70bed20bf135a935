// A file of the store that outlives a run which ends while the wall clock is not trusted. What such a run writes into
// the log carries the doubtful time, so the next start cannot tell by the log how late it was. Loop thread only.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"

namespace freshet {

class ClockMark {
 public:
  // Reads what the last run left in the store's directory, which exists. The files outlive this. Errors: kIo.
  Result<void> open(Files& files, const std::string& directory);
  // The time that was believed when the doubt began; empty without a mark.
  std::optional<WallTime> believed() const { return believed_; }

  // The wall clock is not trusted from now on. Durable when it returns; a mark that is there already stays as it is.
  // Without open() it does nothing. Errors: kIo, and kDiskFull, with which there is no mark.
  Result<void> set(WallTime believed);
  // It is trusted. Errors: kIo.
  Result<void> clear();

 private:
  Files* files_ = nullptr;
  std::string directory_;
  std::string path_;
  std::optional<WallTime> believed_;
};

}  // namespace freshet
