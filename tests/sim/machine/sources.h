// The folder of the sources, which has the templates, under a name that is the same in every checkout. A definition of
// a function contains the path of its code, and the length of that path influences what a torn write leaves of the log.
#pragma once

#include <string>

namespace freshet::sim {

// Sets the folder of the sources; without a call, it is the folder from which the program was built. Returns false if
// there is no such folder. Call it before a run.
bool set_sources(const std::string& folder);
const std::string& sources();

}  // namespace freshet::sim
