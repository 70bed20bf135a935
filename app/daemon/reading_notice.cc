#include "app/daemon/reading_notice.h"

#include <fmt/format.h>

namespace freshet {

void ReadingNotice::at(uint64_t segment, uint64_t segments) {
  const BootTime now = clock_.boot();
  if (now < next_) return;
  next_ = now + every_;
  const uint64_t percent = segments == 0 ? 0 : (segment - 1) * 100 / segments;
  const std::string what = fmt::format("reads the store: segment {} of {}, {} % done", segment, segments, percent);
  log_.info("STORE_READING", {{"what", what}, {"segment", segment}, {"segments", segments}, {"percent", percent}});
}

}  // namespace freshet
