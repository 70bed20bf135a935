// The files that ship with the program: templates, definitions, fixtures, the demo.
#pragma once

#include <string>

namespace freshet::cli {

// The path of the file. If a relative path does not exist here, but names a file that ships with the program
// (../share/freshet beside the program's folder), the result is that file: `config/lifo.yaml` is found from anywhere.
// Any other path stays unchanged.
std::string shipped_path(const std::string& path);

// The same, for an installation in that folder.
std::string shipped_path(const std::string& path, const std::string& shared);

}  // namespace freshet::cli
