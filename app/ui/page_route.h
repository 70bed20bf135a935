// The dashboard: GET /ui/ and what is below it. A browser that asks for / is sent there.
//
// The page's files have addresses with the hash of all of them, /ui/HASH/main.js, so that a browser keeps them for good
// and never mixes two releases; a browser requests only /ui/ anew each time. The headers let the page use nothing but
// these files and this daemon's routes: no code in the page, nothing from elsewhere, no frame around it.
#pragma once

#include <memory>

#include "runtime/ports.h"

namespace freshet::ui {

// The page is served by a daemon, or by `freshet ui` with a saved recording.
enum class PageOf { kDaemon, kFile };

std::unique_ptr<Route> make_page_route(PageOf of = PageOf::kDaemon);

}  // namespace freshet::ui
