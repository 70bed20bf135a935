#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/demo/report.h"
#include "app/lab/chart.h"
#include "app/lab/page_style.h"

namespace freshet::demo {

namespace {

using lab::Bar;
using lab::Line;
using lab::Look;
using lab::Plot;
using lab::Unit;

constexpr seconds kPart{5};
// The small plots stand side by side where there is room, so that the page fits a slide.
constexpr const char* kStyle =
    ".pairs{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26em,100%),1fr));gap:0 2.5em}"
    ".pairs figure{margin:1em 0}.pairs figcaption strong{font-size:1em}.pairs .bar{grid-template-columns:9.5em 1fr 4em}"
    "\n@media(max-width:640px){.pairs .bar{grid-template-columns:8.5em 1fr 4em}}\n";
constexpr std::array<const char*, 6> kStyles = {"c0 ours", "c3", "c4", "c2", "c5", "c5"};

Look look_of(const Shown& shown, size_t place) {
  return {shown.runs[place].name, kStyles[std::min(place, kStyles.size() - 1)], false};
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

// Says how much the best rival does, and at what price; empty if there is none.
std::string best_rival(const Shown& shown) {
  std::string out;
  double most = -1;
  for (size_t place = 1; place < shown.runs.size(); ++place) {
    const Figures one = figures_of(shown.story, shown.tasks, shown.runs[place]);
    if (one.share() <= most) continue;
    most = one.share();
    out = fmt::format("; {} does {}, and has {} of its calls refused", shown.runs[place].name, percent(most),
                      percent(one.refused_share()));
  }
  return out;
}

std::string in_time_plot(const Shown& shown) {
  const auto possible = possible_ends(shown.story, shown.tasks);
  const Figures ours = figures_of(shown.story, shown.tasks, shown.runs.front());
  Plot plot;
  plot.x = {"seconds", Unit::kNone, false, std::chrono::duration<double>(shown.story.length).count(), {}};
  plot.finding = fmt::format("The limit changes twice, unannounced: {} does {} of what is possible in time{}",
                             shown.runs.front().name, percent(ours.share()), best_rival(shown));
  plot.shade_from = std::chrono::duration<double>(shown.story.killed_at()).count();
  plot.shade_to = plot.shade_from + plot.x.most / 100;
  plot.shade = "killed";
  plot.y = {"Tasks done in time, a second", Unit::kNone, false, 0, {}};
  std::vector<Line> lines;
  for (size_t place = shown.runs.size(); place-- > 0;) {
    const auto ends = ends_in_time(shown.tasks, shown.runs[place], shown.story);
    lines.push_back({look_of(shown, place), rates_over_time(ends, shown.story, kPart)});
  }
  std::rotate(lines.begin(), lines.end() - 1, lines.end());  // The wide line of ours lies below the others.
  const auto fifo = fifo_ends(shown.story, shown.tasks);
  lines.push_back({{"FIFO (computed)", "c1", false}, rates_over_time(fifo, shown.story, kPart)});
  lines.push_back({{"possible", "possible", false}, rates_over_time(possible, shown.story, kPart)});
  return lab::line_chart(plot, lines) +
         "<p class=\"quiet\">“Possible” is computed: it knows the limit and the tasks, and calls as soon as the API "
         "allows. The API keeps calls that nobody made, up to a second's worth. A queue that takes a while to find a "
         "higher limit makes them later, so its curve may be above “possible” for some seconds, but never in "
         "sum.</p>\n";
}

// A bar for each run, with `value` of its figures.
template <class Value>
std::string run_bars(const Shown& shown, const std::string& finding, const std::string& title, const std::string& unit,
                     double most, Value value) {
  std::vector<Bar> bars;
  for (size_t place = 0; place < shown.runs.size(); ++place) {
    bars.push_back({look_of(shown, place), value(figures_of(shown.story, shown.tasks, shown.runs[place]))});
  }
  return lab::bar_chart(finding, title, unit, most, bars);
}

std::string refused_plot(const Shown& shown) {
  const Figures ours = figures_of(shown.story, shown.tasks, shown.runs.front());
  const auto finding =
      fmt::format("The API refuses {} of its calls: {} of {}", percent(ours.refused_share()), ours.refused, ours.calls);
  return run_bars(shown, finding, "Calls that the API refused, % of all calls", "%", 100,
                  [](const Figures& one) { return one.refused_share() * 100; });
}

std::string quiet_plot(const Shown& shown) {
  const Figures ours = figures_of(shown.story, shown.tasks, shown.runs.front());
  const auto finding =
      fmt::format("A tenant beside one that sends a thousand times as much: {} of its {} tasks in time",
                  ours.quiet_in_time, ours.quiet);
  return run_bars(shown, finding, "The quiet tenant's tasks done in time, %", "%", 100, [](const Figures& one) {
    return one.quiet == 0 ? 0 : 100 * static_cast<double>(one.quiet_in_time) / static_cast<double>(one.quiet);
  });
}

std::string age_plot(const Shown& shown) {
  const Figures ours = figures_of(shown.story, shown.tasks, shown.runs.front());
  const auto finding = fmt::format("Half of the tasks that are done in time start within {:.1f} s", ours.age_p50);
  return run_bars(shown, finding, "From arrival to the start of the call, median of tasks done in time, seconds", "s",
                  0, [](const Figures& one) { return one.age_p50; });
}

std::string books_plot(const Shown& shown) {
  const Run& run = shown.runs.front();
  if (!run.has_books) return {};
  std::vector<Bar> bars;
  uint64_t sum = run.created;
  for (const auto& [state, count] : run.states) bars.push_back({{state, "c1", false}, static_cast<double>(count)});
  for (const auto& [code, count] : run.refused) {
    bars.push_back({{"refused: " + code, "c3", false}, static_cast<double>(count)});
    sum += count;
  }
  if (const uint64_t rest = unanswered(shown); rest > 0) {
    bars.push_back({{"no answer yet", "c3", false}, static_cast<double>(rest)});
    sum += rest;
  }
  const auto finding = fmt::format("Each of {} tasks is accounted for{}", sum,
                                   run.books_balance() ? ", although the daemon was killed in the middle" : ": NO");
  return lab::bar_chart(finding, "State of the tasks at the end", "", 0, bars);
}

std::string explained_html(const Run& run) {
  if (run.explained.empty()) return {};
  std::string out = "<h2>Why a task was shed</h2>\n<ol>\n";
  for (const auto& sentence : run.explained) out += "<li>" + lab::html_text(sentence) + "</li>\n";
  return out + "</ol>\n";
}

}  // namespace

std::string html_report(const Shown& shown) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Freshet: an API with a "
      "limit</title>\n<style>{}</style></head><body><main>\n"
      "<h1>An API allows 20 calls a second, and 200 tasks come</h1>\n<p class=\"lead\">{}</p>\n",
      lab::page_style(0) + kStyle, lab::html_text(conclusion(shown)));
  std::string introduced = introduction(shown.story, shown.tasks);
  std::replace(introduced.begin(), introduced.end(), '\n', ' ');
  out += "<p class=\"quiet\">" + lab::html_text(introduced) + "</p>\n";
  out += in_time_plot(shown) + "<div class=\"pairs\">\n" + refused_plot(shown) + quiet_plot(shown) + age_plot(shown) +
         books_plot(shown) + "</div>\n";
  return out + explained_html(shown.runs.front()) + "</main></body></html>\n";
}

}  // namespace freshet::demo
