// The calls of the task API that concern a queue as a whole: pauses, jobs, the audit log. See exchanges.h.
#pragma once

#include <memory>
#include <string>

#include "wire/tasks/exchanges.h"

namespace freshet::tasks {

std::unique_ptr<Exchange> pause(Desk& desk, std::string queue, PauseInput input, Actor actor);
std::unique_ptr<Exchange> resume(Desk& desk, std::string queue, PausedPart part, Actor actor);
std::unique_ptr<Exchange> start_job(Desk& desk, std::string queue, BulkInput input, Actor actor);
std::unique_ptr<Exchange> jobs(Desk& desk, std::string queue);
// `id` as in the path.
std::unique_ptr<Exchange> job(Desk& desk, std::string queue, const std::string& id);
std::unique_ptr<Exchange> stop_job(Desk& desk, std::string queue, const std::string& id, Actor actor);
// With a queue's name only the lines of that queue, which may no longer exist.
std::unique_ptr<Exchange> audit(Desk& desk, std::string queue, uint32_t limit);

}  // namespace freshet::tasks
