// Shows runs of the demo: on the terminal, as a page, as JSON. Pure: figures in, text out.
#pragma once

#include <string>
#include <vector>

#include "app/demo/figures.h"
#include "app/demo/run_story.h"
#include "app/demo/story.h"

namespace freshet::demo {

// The runs of one story; Freshet's is the first.
struct Shown {
  Story story;
  std::vector<StoryTask> tasks;
  std::vector<Run> runs;
};

// Tells people what the demo will do.
std::string introduction(const Story& story, const std::vector<StoryTask>& tasks);
std::string moment_line(const Moment& moment);
// The figures of each run, the tenants, why a task was shed, and the books.
std::string text_report(const Shown& shown);
std::string json_report(const Shown& shown);
// One HTML page without scripts: five plots at most, each with the sentence that it supports.
std::string html_report(const Shown& shown);
// Tasks that arrived, and whose creation was not answered before the end.
uint64_t unanswered(const Shown& shown);
// Says in a sentence how the first run ended.
std::string conclusion(const Shown& shown);

}  // namespace freshet::demo
