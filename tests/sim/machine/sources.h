// The folder of the sources, which has the templates, under a name that is the same in every checkout. Definitions of
// functions hold the path of their code: its length decides what a torn write leaves of the log.
#pragma once

#include <string>

namespace freshet::sim {

// The sources are here from now on; without a call, they are where the program was built. False if there is no such
// folder. Call it before a run.
bool set_sources(const std::string& folder);
const std::string& sources();

}  // namespace freshet::sim
