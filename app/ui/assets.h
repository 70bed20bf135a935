// The dashboard's files, as parts of the binary. CMake makes assets.cc of the files in app/ui/web/.
#pragma once

#include <span>
#include <string_view>

namespace freshet::ui {

struct Asset {
  std::string_view path;  // Below app/ui/web/: "index.html", "vendor/preact.js".
  std::string_view body;
  std::string_view hash;  // SHA-256 of the body, in hexadecimal.
};

// Returns the assets, ordered by path. The first call unpacks them. Static storage; any thread.
std::span<const Asset> assets();
// A hash of all assets in hexadecimal. It changes when any of them does, and is a folder in their addresses.
std::string_view version();

}  // namespace freshet::ui
