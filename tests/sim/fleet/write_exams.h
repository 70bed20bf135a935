// Writes that the engine does not answer, or carries out late, when nothing else goes wrong (docs/engines.md, "A write
// without an answer"). For the end of a run.
#pragma once

#include "tests/sim/fleet/exams.h"

namespace freshet::fleet_sim {

// - A claim and a settlement without an answer are found out: the taker gets the task, and its settlement is done.
// - A claim that the engine carries out once its task was given back changes nothing.
// - A settlement that comes after the end of its lease is not taken for done.
Async<void> fail_writes(Exam& exam);

}  // namespace freshet::fleet_sim
