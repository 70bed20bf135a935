// The template that the daemon in the lab runs on: config/lifo.yaml, as part of the binary, which works from anywhere.
#pragma once

#include <string>

namespace freshet::lab {

const std::string& shipped_template();

}  // namespace freshet::lab
