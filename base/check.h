// FRESHET_CHECK(condition, why) aborts when an invariant of our own is broken, and says why and where. In every build.
// Never for what comes from outside (network, files, templates): that is a Result.
#pragma once

namespace freshet {
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* why);
}

#define FRESHET_CHECK(condition, why)                                               \
  do {                                                                              \
    if (!(condition)) ::freshet::check_failed(#condition, __FILE__, __LINE__, why); \
  } while (false)
