// The runtime clients that this binary brings: programs that load a function's handler and speak the Runtime API for
// it. Their text is python_client.py and node_client.js of this folder, put into the binary by the build.
#pragma once

#include <string>

namespace freshet::clients {

const std::string& python();
const std::string& node();

}  // namespace freshet::clients
