// The runtime clients in this binary: programs that load a function's handler and speak the Runtime API for it. The
// build embeds python_client.py and node_client.js of this folder.
#pragma once

#include <string>

namespace freshet::clients {

const std::string& python();
const std::string& node();

}  // namespace freshet::clients
