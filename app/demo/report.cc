#include "app/demo/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/plain_text.h"

namespace freshet::demo {

namespace {

// The limit is learnt again for up to 10 s after each of its changes.
constexpr seconds kShowsMoreThanTheSearch{60};

double seconds_shown(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string figures_table(const Shown& shown) {
  std::string out = fmt::format("{:<18}{:>10}{:>13}{:>9}{:>10}{:>10}{:>14}\n", "", "in time", "of possible", "calls",
                                "refused", "age p50", "quiet tenant");
  for (const Run& run : shown.runs) {
    const Figures figures = figures_of(shown.story, shown.tasks, run);
    out += fmt::format("{:<18}{:>10}{:>13}{:>9}{:>10}{:>8.2f} s{:>14}\n", run.name, figures.in_time,
                       percent_text(figures.share()), figures.calls, percent_text(figures.refused_share()),
                       figures.age_p50, fmt::format("{} of {}", figures.quiet_in_time, figures.quiet));
  }
  const auto possible = static_cast<double>(possible_ends(shown.story, shown.tasks).size());
  const auto fifo = fifo_ends(shown.story, shown.tasks).size();
  out += fmt::format("{:<18}{:>10}{:>13}   (computed: first in, first out at exactly the limit)\n", "FIFO", fifo,
                     percent_text(possible > 0 ? static_cast<double>(fifo) / possible : 0));
  return out;
}

std::string joined(const std::map<std::string, uint64_t>& counts) {
  std::string out;
  for (const auto& [name, count] : counts) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, name);
  return out.empty() ? "none" : out;
}

std::string books(const Shown& shown) {
  const Run& run = shown.runs.front();
  std::string out = fmt::format("Books: {} created = {}", run.created, joined(run.states));
  out += run.books_balance() ? "   (adds up)\n" : "   DOES NOT ADD UP\n";
  out += "Shed, by reason: " + joined(run.shed) + "\n";
  if (!run.refused.empty()) out += "Refused when they were created: " + joined(run.refused) + "\n";
  if (const uint64_t rest = unanswered(shown); rest > 0) {
    out += fmt::format("{} more were about to be created at the end, and had no answer yet\n", rest);
  }
  return out;
}

std::string explained_text(const Run& run) {
  if (run.explained.empty()) return {};
  std::string out = "\nOne of the tasks that were shed, as `freshet explain` shows it:\n";
  for (const std::string& sentence : run.explained) out += "  " + plain_text(sentence) + "\n";
  return out;
}

nlohmann::json json_of(const Shown& shown, const Run& run) {
  const Figures figures = figures_of(shown.story, shown.tasks, run);
  nlohmann::json out = {{"name", run.name},
                        {"calls", figures.calls},
                        {"refusedCalls", figures.refused},
                        {"done", figures.done},
                        {"inTime", figures.in_time},
                        {"possible", figures.possible},
                        {"repeatedCalls", figures.repeated},
                        {"ageP50S", figures.age_p50},
                        {"ageP99S", figures.age_p99},
                        {"quietTasks", figures.quiet},
                        {"quietInTime", figures.quiet_in_time},
                        {"quietAgeP99S", figures.quiet_age_p99},
                        {"impatientInTime", figures.impatient_in_time}};
  if (!run.has_books) return out;
  out["created"] = run.created;
  out["states"] = run.states;
  out["shed"] = run.shed;
  out["refusedCreations"] = run.refused;
  out["explained"] = run.explained;
  out["booksBalance"] = run.books_balance();
  return out;
}

}  // namespace

std::string introduction(const Story& story, const std::vector<StoryTask>& tasks) {
  return fmt::format(
      "An API allows 20 calls a second, from {:.0f} s on 10, from {:.0f} s on 40, and does not say so.\n"
      "{} tasks come, {:.0f} a second, from two tenants: one sends a thousand times as much as the other.\n"
      "Half of the loud tenant's tasks are worth nothing after 2 s, the others after 30 s.\n"
      "At {:.0f} s the queue is killed (SIGKILL) and started again on its data.\n",
      seconds_shown(story.length / 3), seconds_shown(story.length / 3 * 2), tasks.size(), story.arrivals,
      seconds_shown(story.killed_at()));
}

std::string moment_line(const Moment& moment) {
  return fmt::format(
      "  {:5.1f} s   the API allows {:2.0f}/s   arrived {:6}   done in time {:5}   refused {} of {} calls\n",
      seconds_shown(moment.at), moment.limit, moment.arrived, moment.in_time, moment.refused, moment.calls);
}

uint64_t unanswered(const Shown& shown) {
  const Run& run = shown.runs.front();
  uint64_t answered = run.created;
  for (const auto& [code, count] : run.refused) answered += count;
  return shown.tasks.size() > answered ? shown.tasks.size() - answered : 0;
}

std::string conclusion(const Shown& shown) {
  const Figures figures = figures_of(shown.story, shown.tasks, shown.runs.front());
  std::string out = fmt::format(
      "{} did {} tasks in time, of the {} that are possible if the limit is known ({}). The API refused {} of its "
      "calls.",
      shown.runs.front().name, figures.in_time, figures.possible, percent_text(figures.share()),
      percent_text(figures.refused_share()));
  if (shown.story.length < kShowsMoreThanTheSearch)
    out += fmt::format(
        " A run of {:.0f} s shows mostly how long it takes to learn the limit, as the limit changes every {:.0f} s; "
        "--seconds 120 shows what comes after that.",
        seconds_shown(shown.story.length), seconds_shown(shown.story.length) / 3);
  return out;
}

std::string text_report(const Shown& shown) {
  const Run& ours = shown.runs.front();
  std::string out = "\n" + figures_table(shown) + "\n" + conclusion(shown) + "\n";
  if (ours.has_books) out += books(shown) + explained_text(ours);
  return out;
}

std::string json_report(const Shown& shown) {
  nlohmann::json out = {{"seconds", seconds_shown(shown.story.length)}, {"seed", shown.story.seed}};
  for (const Run& run : shown.runs) out["runs"].push_back(json_of(shown, run));
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace freshet::demo
