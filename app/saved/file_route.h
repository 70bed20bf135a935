// Answers the dashboard's requests for `freshet ui FILE`: GET /queues/NAME/recording of the saved recording, and GET
// /session, which says that the page shows a file. Any thread.
#pragma once

#include <memory>
#include <string>

#include "app/saved/saved_recording.h"
#include "runtime/ports.h"

namespace freshet::saved {

// `file`: its name, as the page shows it. It matches each request, so it is the last route.
std::unique_ptr<Route> make_recording_file_route(std::shared_ptr<const SavedRecording> recording, std::string file);

}  // namespace freshet::saved
