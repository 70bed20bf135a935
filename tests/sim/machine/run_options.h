// The settings of the daemons of a run: a part of the plan stands for each.
#pragma once

#include <string>

#include "app/daemon/options.h"
#include "tests/sim/machine/plan.h"

namespace freshet::sim {

// TaskRunner of the template: an HTTP server, programs, or nobody but pull workers.
std::string runner_of(const Plan& plan);
bool has_runner(const Plan& plan);
// Events of a function, by clients, a topic and a schedule.
bool has_events(const Plan& plan);
// There is a FIFO topic, or a function with destinations.
bool has_further_events(const Plan& plan);
// The file of the template.
std::string template_of(const Plan& plan);
// RATE_LIMIT, where the plan has "rate".
int rate_of(const Plan& plan);
// How long each way of a call takes at most, with "late-answers".
milliseconds latest_answer_of(const Plan& plan);
DaemonOptions options_of(const Plan& plan);

}  // namespace freshet::sim
