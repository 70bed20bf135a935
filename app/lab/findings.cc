#include "app/lab/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace freshet::lab {

namespace {

using Cells = std::vector<Cell>;

constexpr double kSame =
    0.005;  // Shares that differ by less are the same to a reader, and so are times by less of each.

std::optional<double> figure(const Cell& cell, const char* name) {
  const auto it = cell.figures.find(name);
  if (it == cell.figures.end()) return std::nullopt;
  return it->second.mean;
}

// "97 %", and "0.3 %" of what is little.
std::string percent(double share) {
  return fmt::format("{:.{}f} %", share * 100, share * 100 >= 0.05 && share * 100 < 1 ? 1 : 0);
}

// For "at least": never more than it is.
std::string floor_percent(double share) {
  const double whole = std::floor(share * 100 + 1e-9);
  return whole < 1 ? percent(share) : fmt::format("{:g} %", whole);
}

std::string up_to(double ms) {
  return "up to " + time_text(ms);
}

std::string load_text(const Cell& cell) {
  return fmt::format("{:g} x capacity", cell.scenario.load);
}

struct Contest {
  std::string ours;   // Name of the policy; empty: there are no cells.
  std::string other;  // Empty: there is none to compare with.
};

Contest contest_of(const Cells& cells) {
  const auto first = [&](auto fits) {
    const auto it = std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) { return fits(cell.policy); });
    return it == cells.end() ? std::string() : it->policy.name;
  };
  const auto or_else = [](std::string name, auto next) { return name.empty() ? next() : name; };
  Contest out;
  out.ours = or_else(first([](const Policy& one) { return one.name == "freshet"; }), [&] {
    return or_else(first([](const Policy& one) { return one.product; }), [&] {
      return or_else(first([](const Policy& one) { return !one.clairvoyant; }),
                     [&] { return first([](const Policy&) { return true; }); });
    });
  });
  const auto differs = [&](const Policy& one) { return !one.clairvoyant && one.name != out.ours; };
  out.other = or_else(first([&](const Policy& one) { return one.name == "fifo" && differs(one); }), [&] {
    return or_else(first([&](const Policy& one) { return !one.product && differs(one); }),
                   [&] { return first(differs); });
  });
  return out;
}

const Cell* cell_of(const Cells& cells, const std::string& policy) {
  const auto it =
      std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.policy.name == policy; });
  return it == cells.end() ? nullptr : &*it;
}

// How a sentence compares two policies: "At 2 x capacity the median wait is" "shorter" "" "with Freshet (3 ms) than
// with FIFO (15 s)."
struct Claim {
  std::string where;   // "At 2 x capacity"
  const char* noun;    // "the median wait", for a sentence about one policy.
  const char* before;  // The text before the word that compares; it begins with a blank or a comma.
  const char* larger;  // The words, by whether the first policy has more of the figure or less.
  const char* smaller;
  const char* same;
  const char* after = "";  // The text behind the word.
  double alike = 0;        // Figures that differ by no more than this are the same.
};

// Empty if not even the first policy has the figure.
template <class Text>
std::string compared(const Cells& cells, const char* name, const Claim& claim, Text text) {
  const auto [ours, other] = contest_of(cells);
  const Cell* a = cell_of(cells, ours);
  const Cell* b = cell_of(cells, other);
  const auto mine = a ? figure(*a, name) : std::nullopt;
  const auto theirs = b ? figure(*b, name) : std::nullopt;
  if (!mine) return {};
  const auto who = shown_name(a->policy);
  if (!theirs) return fmt::format("{}, {} with {}: {}.", claim.where, claim.noun, who, text(*mine));
  const bool same = std::abs(*mine - *theirs) <= claim.alike;
  const char* word = same ? claim.same : *mine > *theirs ? claim.larger : claim.smaller;
  return fmt::format("{}{} {}{} with {} ({}) {} with {} ({}).", claim.where, claim.before, word, claim.after, who,
                     text(*mine), same ? "as" : "than", shown_name(b->policy), text(*theirs));
}

// The cell of the policy in which it has least of a figure.
const Cell* least(const Cells& cells, const std::string& policy, const char* name) {
  const Cell* out = nullptr;
  for (const auto& cell : cells) {
    if (cell.policy.name != policy || !figure(cell, name)) continue;
    if (!out || *figure(cell, name) < *figure(*out, name)) out = &cell;
  }
  return out;
}

Cells at_highest_load(const Cells& sweep) {
  double highest = 0;
  for (const auto& cell : sweep) highest = std::max(highest, cell.scenario.load);
  Cells out;
  std::copy_if(sweep.begin(), sweep.end(), std::back_inserter(out),
               [&](const Cell& cell) { return cell.scenario.load == highest; });
  return out;
}

// The leasts of two policies beside the clairvoyant.
std::string leasts(const Cell& mine, const Cell* theirs, const std::string& all) {
  const auto does = [&](const std::string& name, double share, const char* verb) {
    return fmt::format("{} {} at least {} of what the clairvoyant does in time, {}", name, verb, floor_percent(share),
                       all);
  };
  const double ours = *figure(mine, "ofClairvoyant");
  const auto who = shown_name(mine.policy);
  if (!theirs) return does(who, ours, "does") + '.';
  const double other = *figure(*theirs, "ofClairvoyant");
  const auto rival = shown_name(theirs->policy);
  if (std::abs(ours - other) <= kSame) return does(who + " and " + rival, std::min(ours, other), "both do") + '.';
  const bool better = ours > other;
  return does(better ? who : rival, std::max(ours, other), "does") +
         fmt::format("; {} falls to {}.", better ? rival : who, percent(std::min(ours, other)));
}

// In how many scenarios the second policy did more than the first.
size_t times_behind(const Cells& cells, const Contest& contest) {
  size_t out = 0;
  for (const auto& cell : cells) {
    if (cell.policy.name != contest.other) continue;
    const auto name = cell.scenario.name();
    const auto mine = std::find_if(cells.begin(), cells.end(), [&](const Cell& one) {
      return one.policy.name == contest.ours && one.scenario.name() == name;
    });
    if (mine == cells.end()) continue;
    out += *figure(cell, "goodput") > *figure(*mine, "goodput") + kSame;
  }
  return out;
}

}  // namespace

std::string shown_name(const Policy& policy) {
  if (policy.clairvoyant) return "the clairvoyant";
  return policy.name == "freshet" ? "Freshet" : policy.title;
}

std::string time_text(double ms) {
  if (ms < 10) return fmt::format("{:.1f} ms", ms);
  if (ms < 1000) return fmt::format("{:.0f} ms", ms);
  return fmt::format("{:.{}f} s", ms / 1000, ms < 10'000 ? 1 : 0);
}

std::string goodput_finding(const Cells& sweep) {
  const auto contest = contest_of(sweep);
  const Cell* mine = least(sweep, contest.ours, "ofClairvoyant");
  if (!mine || mine->policy.clairvoyant) {
    const auto highest = at_highest_load(sweep);
    if (highest.empty()) return {};
    const Claim claim{"At " + load_text(highest.front()), "goodput", "", "more", "less", "as much",
                      " of capacity is done in time",     kSame};
    return compared(highest, "goodput", claim, percent);
  }
  double from = mine->scenario.load, to = from;
  for (const auto& cell : sweep) {
    from = std::min(from, cell.scenario.load);
    to = std::max(to, cell.scenario.load);
  }
  const auto all = from < to ? fmt::format("from {:g} to {:g} x capacity", from, to) : "at " + load_text(*mine);
  return leasts(*mine, least(sweep, contest.other, "ofClairvoyant"), all);
}

std::string slow_wait_finding(const Cells& sweep) {
  const auto highest = at_highest_load(sweep);
  if (highest.empty()) return {};
  const Claim claim{"At " + load_text(highest.front()),
                    "99 of 100 started tasks waited no longer",
                    " 99 of 100 started tasks waited",
                    "longer",
                    "less",
                    "as long"};
  return compared(highest, "ageP99Ms", claim, up_to);
}

std::string median_wait_finding(const Cells& cells) {
  if (cells.empty()) return {};
  const Claim claim{"At " + load_text(cells.front()),
                    "half of the started tasks waited no longer",
                    " half of the started tasks waited",
                    "longer",
                    "less",
                    "as long"};
  return compared(cells, "ageP50Ms", claim, up_to);
}

std::string waste_finding(const Cells& cells) {
  if (cells.empty()) return {};
  const Claim claim{"At " + load_text(cells.front()),
                    "worker time spent on late tasks",
                    " the workers spend",
                    "more",
                    "less",
                    "as much",
                    " of their time on late tasks",
                    kSame};
  return compared(cells, "wastedShare", claim, percent);
}

std::string recovery_finding(const Cells& cells) {
  if (cells.empty()) return {};
  const auto& scenario = cells.front().scenario;
  const bool step = scenario.shape == Shape::kStep;
  const seconds after = scenario.duration - kCalm - (step ? seconds(kStep) : seconds(kStall));
  const auto event = step ? fmt::format("After {} s at {}", kStep.count(), load_text(cells.front()))
                          : fmt::format("After a stall of {} s", kStall.count());
  const Claim claim{
      event,    "nine of ten tasks are in time again", " nine of ten tasks are in time again", "later", "sooner",
      "as soon"};
  return compared(cells, "recoveryMs", claim, [after](double ms) {
    if (ms <= 0) return std::string("at once");
    if (ms >= static_cast<double>(milliseconds(after).count())) return fmt::format("not within {} s", after.count());
    return "after " + time_text(ms);
  });
}

std::string fairness_finding(const Cells& cells) {
  const Claim claim{"Beside a group that is a thousand times louder",
                    "tasks of the quiet group done in time",
                    ",",
                    "more",
                    "fewer",
                    "as many",
                    " of the quiet group's tasks are done in time",
                    kSame};
  return compared(cells, "quietInTimeShare", claim, percent);
}

std::string retries_finding(const Cells& cells) {
  if (cells.empty()) return {};
  const auto where =
      fmt::format("When clients try {} times at {}", cells.front().scenario.retries + 1, load_text(cells.front()));
  const Claim claim{where, "goodput", ",", "more", "less", "as much", " of capacity is done in time", kSame};
  return compared(cells, "goodput", claim, percent);
}

namespace {

// The whole experiment in a sentence.
std::string comparison(const Cells& cells) {
  const auto contest = contest_of(cells);
  const bool possible = least(cells, contest.ours, "ofClairvoyant") != nullptr;
  const char* name = possible ? "ofClairvoyant" : "goodput";
  const Cell* mine = least(cells, contest.ours, name);
  const Cell* theirs = least(cells, contest.other, name);
  if (!mine) return {};
  const auto scenarios = static_cast<size_t>(
      std::count_if(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.policy.name == contest.ours; }));
  if (!possible || scenarios == 1) {
    const auto all =
        scenarios == 1 ? std::string("In this scenario") : fmt::format("In each of {} scenarios", scenarios);
    const double ours = *figure(*mine, name);
    const auto other = theirs ? figure(*theirs, name) : std::nullopt;
    const bool several = scenarios > 1;
    const auto amount = [several](double share, bool less, const char* verb) {
      if (!several) return fmt::format("{}{:.1f} %", verb, share * 100);  // As the table has it.
      return less ? "falls to " + percent(share) : verb + ("at least " + floor_percent(share));
    };
    auto out = fmt::format("{} {} {} of {} in time", all, shown_name(mine->policy),
                           amount(ours, other && ours < *other - kSame, "does "),
                           possible ? "what the clairvoyant does" : "capacity");
    if (other) {
      out += fmt::format(", {} {}", shown_name(theirs->policy), amount(*other, *other < ours - kSame, ""));
    }
    return out + '.';
  }
  auto out = leasts(*mine, theirs, fmt::format("in each of {} scenarios", scenarios));
  const size_t behind = theirs ? times_behind(cells, contest) : 0;
  if (behind == 0) return out;
  out.pop_back();
  const bool fell = *figure(*mine, name) > *figure(*theirs, name) + kSame;
  return out + fmt::format("{} does more than {} in {} of them.", fell ? ", but" : "; " + shown_name(theirs->policy),
                           shown_name(mine->policy), behind);
}

// Says which row the name "Freshet" means, if the table has several policies of Freshet: " \"Freshet\" is the row
// \"Freshet as it comes\", one of Freshet's 7 policies."
std::string row_of_ours(const Cells& cells) {
  const Cell* mine = cell_of(cells, contest_of(cells).ours);
  std::set<std::string> own;
  for (const auto& cell : cells) {
    if (cell.policy.product) own.insert(cell.policy.name);
  }
  if (mine == nullptr || !mine->policy.product || own.size() < 2) return {};
  return fmt::format(R"( "{}" is the row "{}", one of Freshet's {} policies.)", shown_name(mine->policy),
                     mine->policy.title, own.size());
}

}  // namespace

std::string conclusion(const Cells& cells) {
  const auto sentence = comparison(cells);
  return sentence.empty() ? sentence : sentence + row_of_ours(cells);
}

std::string above_capacity(const Cells& cells) {
  constexpr double kShownAsMore = 1.0005;  // With one decimal of a percent.
  const bool any = std::any_of(cells.begin(), cells.end(), [](const Cell& cell) {
    const auto goodput = figure(cell, "goodput");
    return goodput && *goodput >= kShownAsMore;
  });
  if (!any) return {};
  return "A goodput above 100 % is chance: 100 % is what the slots do in calls of the mean length, and the calls of "
         "that run were shorter on average.";
}

}  // namespace freshet::lab
