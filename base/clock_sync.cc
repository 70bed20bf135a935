#include "base/clock_sync.h"

#include <sys/timex.h>

namespace freshet {

bool KernelClockSync::synchronised() const {
  timex state{};  // modes = 0: this only reads.
  return ::adjtimex(&state) != -1 && (state.status & STA_UNSYNC) == 0;
}

}  // namespace freshet
