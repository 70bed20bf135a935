// The results of an experiment for machines (JSON), for people (a table), and for a slide (an HTML page that stands
// alone: inline SVG, no scripts).
#pragma once

#include <string>
#include <vector>

#include "app/lab/experiment.h"

namespace freshet::lab {

// {"seeds": n, "firstSeed": s, "cells": [{scenario..., "policy": "fifo", "figures": {"goodput": {"mean": m, "ci95":
// h}}}]}
std::string json_report(const Experiment& experiment, const std::vector<Cell>& cells);
// A block for each scenario, a row for each policy, at most 100 columns wide; then the conclusion, in one sentence. It
// has the main figures; the JSON has all.
std::string table_report(const std::vector<Cell>& cells);
std::string html_report(const Experiment& experiment, const std::vector<Cell>& cells);

}  // namespace freshet::lab
