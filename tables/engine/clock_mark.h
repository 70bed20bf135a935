// A small file that reports to the next start that the wall clock was not trusted when the last run ended. The log of
// such a run carries doubtful times, so it cannot tell how late it was. Loop thread only.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"

namespace freshet {

class ClockMark {
 public:
  // Reads the mark that the last run left in the store's directory, which must exist, and makes it durable. The files
  // outlive this. Errors: kIo.
  Result<void> open(Files& files, const std::string& directory);
  // The time that was believed when the doubt began; empty without a mark.
  std::optional<WallTime> believed() const { return believed_; }

  // Call it when the wall clock stops being trusted. Durable when it returns; an existing mark stays unchanged. Without
  // open() it does nothing. Errors: kIo, and kDiskFull, in which case there is no mark.
  Result<void> set(WallTime believed);
  // Call it when the wall clock is trusted again. Errors: kIo.
  Result<void> clear();

 private:
  Result<void> write(WallTime believed, OpenMode mode);

  Files* files_ = nullptr;
  std::string directory_;
  std::string path_;
  std::optional<WallTime> believed_;
};

}  // namespace freshet
