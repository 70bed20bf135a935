// Points in the product that the simulation of whole daemons uses (tests/sim/machine). Everywhere else they are
// nothing: no branch, no counter, no string. Only in .cc files, which the simulator compiles a second time for itself.
//
//   FRESHET_REACHED("name");          counts that a rare branch was taken; a run of CI must reach each.
//   if (FRESHET_PLANTED("name")) ...  true where the simulator has planted this fault. Its judges must find it.
#pragma once

#ifdef FRESHET_SIMULATION

#include <cstdint>

namespace freshet::points {

// Both return references that stay valid until the process ends. One thread.
uint64_t& counter(const char* name);
const bool& planted(const char* name);

}  // namespace freshet::points

#define FRESHET_REACHED(name)                                            \
  do {                                                                   \
    static uint64_t& freshet_reached = ::freshet::points::counter(name); \
    ++freshet_reached;                                                   \
  } while (false)
#define FRESHET_PLANTED(name)                                              \
  ([]() -> bool {                                                          \
    static const bool& freshet_planted = ::freshet::points::planted(name); \
    return freshet_planted;                                                \
  }())

#else

#define FRESHET_REACHED(name) static_cast<void>(0)
#define FRESHET_PLANTED(name) false

#endif
