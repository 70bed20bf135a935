// FRESHET_CHECK(condition, why) aborts when one of our own invariants is broken, and prints why and where. In any mode.
// Never for what comes from outside (network, files, templates): that is a Result.
#pragma once

namespace freshet {
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* why);
}

#define FRESHET_CHECK(condition, why)                                               \
  do {                                                                              \
    if (!(condition)) ::freshet::check_failed(#condition, __FILE__, __LINE__, why); \
  } while (false)
