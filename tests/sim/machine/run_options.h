// The settings of the daemons of a run, by the parts of its plan.
#pragma once

#include <string>

#include "app/daemon/options.h"
#include "tests/sim/machine/plan.h"

namespace freshet::sim {

// TaskRunner of the template: an HTTP server, programs, or only pull workers.
std::string runner_of(const Plan& plan);
bool has_runner(const Plan& plan);
// True if clients, a topic and a schedule send events to a function.
bool has_events(const Plan& plan);
// True if there is a FIFO topic, or a function with destinations.
bool has_further_events(const Plan& plan);
// The file of the template.
std::string template_of(const Plan& plan);
// RATE_LIMIT if the plan has "rate".
int rate_of(const Plan& plan);
// The longest time of each way of a call if the plan has "late-answers".
milliseconds latest_answer_of(const Plan& plan);
DaemonOptions options_of(const Plan& plan);

}  // namespace freshet::sim
