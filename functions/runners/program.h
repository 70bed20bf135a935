// Tells in advance if a program can be started, as far as that can be known.
#pragma once

#include <optional>
#include <string>

namespace freshet {

// Why it cannot: "program 'x' was not found in the daemon's PATH", for example. Empty if it can. A name without a slash
// is searched as the spawner does it, in the PATH of this process. Reads the file system.
std::optional<std::string> cannot_start(const std::string& program);

}  // namespace freshet
