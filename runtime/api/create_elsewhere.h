// Creating tasks of a queue that another daemon of the fleet serves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/api/task_queue.h"

namespace freshet {

// As TaskQueue::create(). kNotFound: it is no queue of the fleet. kUnavailable: only the daemon that serves the queue
// may create these tasks; none is created.
using CreateElsewhere = std::function<Async<Result<std::vector<Result<CreatedTask>>>>(const std::string& queue,
                                                                                      std::vector<NewTask> tasks)>;

}  // namespace freshet
