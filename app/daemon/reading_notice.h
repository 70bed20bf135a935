// Logs how far the store's log has been read. A start that reads a long log in silence looks like a hanging one.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/log.h"

namespace freshet {

class ReadingNotice {
 public:
  // Logs STORE_READING after each `every` of reading; shorter reading is not logged. The clock outlives it. One
  // thread.
  ReadingNotice(const Clock& clock, EventLog log, milliseconds every)
      : clock_(clock), log_(log), every_(every), next_(clock.boot() + every) {}

  // The `segment`-th of `segments` is being read, from 1. May be called for every batch.
  void at(uint64_t segment, uint64_t segments);

 private:
  const Clock& clock_;
  const EventLog log_;
  const milliseconds every_;
  BootTime next_;
};

}  // namespace freshet
