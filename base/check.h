// FRESHET_CHECK(condition, why) aborts in every build if one of our own invariants is broken, and prints why and where.
// Do not use it for input from outside (network, files, templates): return a Result there.
#pragma once

namespace freshet {
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* why);
}

#define FRESHET_CHECK(condition, why)                                               \
  do {                                                                              \
    if (!(condition)) ::freshet::check_failed(#condition, __FILE__, __LINE__, why); \
  } while (false)
