// Puts the figures of an experiment into sentences. Each sentence is computed from the figures, and says the opposite
// if they show the opposite. A finding compares two policies: Freshet's default (else the first of Freshet's own) with
// FIFO (else the first that is neither Freshet's own nor the clairvoyant). Pure.
#pragma once

#include <string>
#include <vector>

#include "app/lab/experiment.h"

namespace freshet::lab {

// The policy's name on plots and in findings.
std::string shown_name(const Policy& policy);

// "3.2 ms", "350 ms", "5.3 s".
std::string time_text(double ms);

// A conclusion about the whole experiment. Empty without cells.
std::string conclusion(const std::vector<Cell>& cells);
// Explains a goodput of more than 100 %; empty if there is none.
std::string above_capacity(const std::vector<Cell>& cells);

// Each is given cells of one service, scale and deadline; empty if they do not have the figure.
std::string goodput_finding(const std::vector<Cell>& sweep);    // Compares the loads, in any order.
std::string slow_wait_finding(const std::vector<Cell>& sweep);  // The 99th percentile at the highest load.
std::string median_wait_finding(const std::vector<Cell>& at_one_load);
std::string waste_finding(const std::vector<Cell>& at_one_load);
std::string recovery_finding(const std::vector<Cell>& after_one_event);  // About a step or a stall.
std::string fairness_finding(const std::vector<Cell>& with_groups);
std::string retries_finding(const std::vector<Cell>& with_retries);

}  // namespace freshet::lab
