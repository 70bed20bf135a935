// Reads the packed files of tests/data, which released versions have written.
#pragma once

#include <filesystem>
#include <string>

namespace freshet {

// The unpacked content of a file that gzip has packed. Aborts the test if it cannot be read.
std::string unpacked_file(const std::filesystem::path& path);

}  // namespace freshet
