// Points in the product that the simulation of whole daemons uses (tests/sim/machine). Everywhere else they are
// nothing: no branch, no counter, no string. Only in .cc files, which the simulator compiles a second time for itself.
//
//   FRESHET_REACHED("name");          counts that a rare branch was taken; a run of CI must reach each.
//   if (FRESHET_PLANTED("name")) ...  true where the simulator has planted this fault. Its judges must find it.
//   if (FRESHET_OFTEN("name")) ...    makes a rare branch common: true now and then, in the runs that have it. Such a
//                                     branch must be right at any time. tests/sim/machine/often.cc lists the names.
#pragma once

#ifdef FRESHET_SIMULATION

#include <cstdint>

namespace freshet::points {

// References stay valid until the process ends. One thread.
uint64_t& counter(const char* name);
const bool& planted(const char* name);
const bool& often(const char* name);  // True if the branch is common in this run.
bool drawn(const char* name);         // True now and then; then it counts the branch as reached.

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
#define FRESHET_OFTEN(name)                                            \
  ([]() -> bool {                                                      \
    static const bool& freshet_often = ::freshet::points::often(name); \
    return freshet_often && ::freshet::points::drawn(name);            \
  }())

#else

#define FRESHET_REACHED(name) static_cast<void>(0)
#define FRESHET_PLANTED(name) false
#define FRESHET_OFTEN(name) false

#endif
