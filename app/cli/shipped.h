// The files that ship with the program: templates, definitions, fixtures, the demo.
#pragma once

#include <string>

namespace freshet::cli {

// Where the file is. A relative path that names nothing here, but a file among those that ship
// (../share/freshet beside the program's folder), is that file: `config/lifo.yaml` is found from anywhere. Any other
// path stays as it is.
std::string shipped_path(const std::string& path);

// The same, for an installation in that folder.
std::string shipped_path(const std::string& path, const std::string& shared);

}  // namespace freshet::cli
