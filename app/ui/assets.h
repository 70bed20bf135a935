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

// By path. They are unpacked by the first call. Static storage; any thread.
std::span<const Asset> assets();
// Changes when any of them does: the folder of their addresses. In hexadecimal.
std::string_view version();

}  // namespace freshet::ui
