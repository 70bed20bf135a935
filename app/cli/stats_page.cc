#include "app/cli/stats_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "app/cli/table.h"
#include "app/cli/times.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// In the order of a task's life. SHED is no state: what was shed is counted by its reason.
constexpr const char* kStates[] = {"PENDING", "DELAYED", "TAKEN", "SUCCESS", "FAILURE", "DEAD", "CANCELLED"};

int64_t count_of(const OrderedJson& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found != counts.end() && found->is_number() ? found->get<int64_t>() : 0;
}

OrderedJson member(const OrderedJson& stats, const char* name) {
  return stats.value(name, OrderedJson::object());
}

// The sentences about the daemon's clock, the ages and the runner: a line each.
std::string remarks(const OrderedJson& stats) {
  std::string out;
  for (const char* name : {"newestAgeMs", "oldestAgeMs"}) {
    if (stats.contains(name) && stats[name].is_number()) {
      out += (name[0] == 'n' ? "newest waiting  " : "oldest waiting  ") + age_text(stats[name].get<int64_t>()) + '\n';
    }
  }
  const OrderedJson limits = member(stats, "keyLimits");
  if (const int64_t held = limits.value("atLimit", int64_t{0}); held > 0) {
    const std::string by = limits.value("by", "group");
    out += held == 1 ? "1 " + by + " is at its limit: it may start no task now\n"
                     : fmt::format("{} {}s are at their limit: they may start no task now\n", held, by);
  }
  const std::string runner = stats.value("runner", "");
  if (runner == "none") {
    out +=
        "runner none: tasks wait for workers that take them (to hand them to a handler: freshet serve NAME --to URL, "
        "or "
        "freshet run ... --parameter TaskRunner=URL)\n";
  }
  if (runner == "fake") out += "runner fake: tasks end as SUCCESS and nothing is done\n";
  return out;
}

// 1140 as "1,140".
std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

// One decimal. Only all of them are 100 %, and only none of them 0 %.
std::string percent(double share) {
  if (share > 0 && share < 1) share = std::clamp(share, 0.001, 0.999);
  return fmt::format("{:.1f} %", share * 100);
}

// "in time 97.3 % of 1,140 ended in the last minute (20 late, 9 shed)". Empty if the daemon does not say so.
std::string in_time(const OrderedJson& stats) {
  const OrderedJson minute = member(stats, "lastMinute");
  if (minute.empty()) return {};
  const int64_t ended = count_of(minute, "ended");
  std::string out =
      ended == 0 ? std::string("in time: no task ended in the last minute")
                 : fmt::format("in time {} of {} ended in the last minute",
                               percent(static_cast<double>(count_of(minute, "inTime")) / static_cast<double>(ended)),
                               grouped(ended));
  std::string lost;
  for (const char* how : {"late", "shed", "failed"}) {
    const int64_t count = count_of(minute, how);
    if (count > 0) lost += (lost.empty() ? "" : ", ") + grouped(count) + " " + how;
  }
  if (!lost.empty()) out += " (" + lost + ")";
  if (const int64_t refused = count_of(minute, "refused"); refused > 0) out += "; " + grouped(refused) + " refused";
  if (const int64_t wasted = count_of(minute, "wastedCalls"); wasted > 0) {
    out += fmt::format("; {} of {} calls wasted", grouped(wasted), grouped(count_of(minute, "calls")));
  }
  return out + '\n';
}

// The rate at which tasks may start. Empty without a limit.
std::string rate_limit(const OrderedJson& stats) {
  const OrderedJson limit = member(stats, "rateLimit");
  if (!limit.is_object() || limit.empty()) return {};
  const bool learnt = limit.value("learnt", false);
  const auto at_a_time = limit.value("concurrency", uint64_t{0});
  const auto pause = limit.value("pausedMs", int64_t{0});
  std::string out =
      learnt && at_a_time > 0
          ? fmt::format("the downstream allows {} calls at a time, as learnt", at_a_time)
          : fmt::format("{} {:.3g} starts a second{}", learnt ? "the downstream allows" : "RATE_LIMIT allows",
                        limit.value("perSecond", 0.0), learnt ? ", as learnt" : "");
  if (pause > 0) out += fmt::format("; it asked not to be called for {}", age_text(pause));
  return out + '\n';
}

// Why the runner takes nothing. Empty while it does.
std::string trouble(const OrderedJson& stats) {
  const OrderedJson trouble = member(stats, "runnerTrouble");
  if (!trouble.is_object() || trouble.empty()) return {};
  return fmt::format("runner {}: {} for {}, {} tasks came back: {}\n", plain_text(trouble.value("runner", "")),
                     trouble.value("reachable", false) ? "takes no task" : "cannot be reached",
                     age_text(trouble.value("sinceMs", int64_t{0})), trouble.value("bounces", uint64_t{0}),
                     plain_text(trouble.value("message", "")));
}

// The parts of the queue that are paused, a line each.
std::string paused_parts(const OrderedJson& stats) {
  std::string out;
  for (const OrderedJson& pause : member(stats, "pauses")) {
    const std::string of = pause.value("of", "");
    const std::string what = of == "queue" ? "the queue" : of + " '" + plain_text(pause.value("name", "")) + "'";
    const int64_t age = std::max<int64_t>(0, now_ms() - pause.value("since", int64_t{0}));
    out += fmt::format("{} has been paused for {} by {}", what, age_text(age), plain_text(pause.value("by", "?")));
    if (pause.contains("reason")) out += ": " + plain_text(pause["reason"].get<std::string>());
    out += '\n';
  }
  return out;
}

// A changed policy that is watched. Empty without one.
std::string guarded(const OrderedJson& stats) {
  const OrderedJson guard = member(stats, "policyGuard");
  if (!guard.is_object() || guard.empty()) return {};
  std::string back;
  const OrderedJson settings = member(guard, "back");  // items() does not keep it.
  for (const auto& [name, value] : settings.items()) {
    back += " " + plain_text(name) + "=" + plain_text(value.get<std::string>());
  }
  return fmt::format(
      "the policy was changed: it goes back to{} if the share in time falls by more than {:.4g} points "
      "below {} within {}\n",
      back, guard.value("points", 0.0), percent(guard.value("inTimeBefore", 0.0)),
      age_text(guard.value("leftMs", int64_t{0})));
}

std::string clock_trouble(const OrderedJson& stats) {
  if (stats.value("clockTrusted", true)) return {};
  return "The wall clock was set, or is far ahead of the last write: until it has run evenly for a minute, TTL and "
         "sheds wait, and what looks expired is not started. Check the time; freshet run --trust-clock skips the wait "
         "at a "
         "start.\n";
}

void append_counts(std::string& out, const char* title, const OrderedJson& counts, const char* without = "") {
  std::string rows;
  for (const auto& [name, count] : counts.get_ref<const OrderedJson::object_t&>()) {
    if (name != without) rows += fmt::format("  {:<28}{:>12}\n", plain_text(name), count.dump());
  }
  if (!rows.empty()) out += std::string(title) + '\n' + rows;
}

// Each of the lines, which end with a line feed, on as many as it needs.
std::string wrapped_lines(const std::string& lines, const Screen& screen) {
  std::string out;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at);
    for (const auto& line : wrapped(lines.substr(at, end - at), screen.width, screen)) out += line + '\n';
    at = end + 1;
  }
  return out;
}

// A count in a row of the page, with its rate if an earlier answer is there.
class Counts {
 public:
  Counts(const Screen& screen, const char* header, const std::optional<StatsBefore>& before, const char* member)
      : before_(before), counts_before_(before ? cli::member(before->stats, member) : OrderedJson::object()) {
    std::vector<Column> columns{{.header = header}, {.header = "TASKS", .right = true}};
    if (before) columns.push_back({.header = "PER SECOND", .right = true});
    table_.emplace(screen, std::move(columns));
  }

  void add(const std::string& shown, const std::string& name, int64_t count, Colour colour) {
    std::vector<Cell> row{{shown, count == 0 ? Colour::kDim : colour}, {std::to_string(count)}};
    if (before_) {
      const int64_t change = count - count_of(counts_before_, name);
      row.push_back({change == 0 || before_->seconds <= 0
                         ? "-"
                         : fmt::format("{:+.1f}", static_cast<double>(change) / before_->seconds)});
    }
    table_->add(std::move(row));
  }
  std::string text() const { return table_->text(); }

 private:
  const std::optional<StatsBefore>& before_;
  const OrderedJson counts_before_;
  std::optional<Table> table_;
};

}  // namespace

std::string stats_lines(const OrderedJson& stats) {
  std::string out = paused_parts(stats) + clock_trouble(stats);
  append_counts(out, "depth", stats.at("depth"), "SHED");
  append_counts(out, "flow", member(stats, "flow"));
  OrderedJson shed = member(stats, "shed");
  if (stats.contains("shedTotal") && !shed.empty()) shed["total"] = stats["shedTotal"];
  append_counts(out, "shed", shed);
  return out + in_time(stats) + remarks(stats) + rate_limit(stats) + trouble(stats) + guarded(stats);
}

std::string stats_page(const OrderedJson& stats, const Screen& screen, const std::optional<StatsBefore>& before) {
  std::string out = painted(screen, Colour::kYellow, wrapped_lines(paused_parts(stats) + clock_trouble(stats), screen));
  if (const std::string line = in_time(stats); !line.empty()) out += wrapped_lines(line, screen) + '\n';
  Counts depth(screen, "STATUS", before, "depth");
  for (const char* state : kStates)
    depth.add(state, state, count_of(stats.at("depth"), state), colour_of_status(state));
  // A client may write states of its own.
  for (const auto& [state, count] : stats.at("depth").items()) {
    const bool known = state == "SHED" || std::find(std::begin(kStates), std::end(kStates), state) != std::end(kStates);
    if (!known) depth.add(state, state, count_of(stats.at("depth"), state), Colour::kPlain);
  }
  out += depth.text();
  const OrderedJson flow = member(stats, "flow");
  if (!flow.empty()) {
    Counts moves(screen, "MOVES", before, "flow");
    for (const auto& [name, count] : flow.items()) {
      const size_t arrow = name.find("->");
      const std::string from = name.substr(0, arrow);
      const std::string to = arrow == std::string::npos ? "" : name.substr(arrow + 2);
      const std::string shown = (from.empty() ? "(new)" : from) + " -> " + (to.empty() ? "(gone)" : to);
      moves.add(shown, name, count.get<int64_t>(), colour_of_status(to));
    }
    out += '\n' + moves.text();
  }
  const OrderedJson shed = member(stats, "shed");
  if (!shed.empty()) {
    Counts reasons(screen, "SHED BY", before, "shed");
    for (const auto& [name, count] : shed.items()) reasons.add(name, name, count.get<int64_t>(), Colour::kYellow);
    if (stats.contains("shedTotal")) {
      out += '\n' + reasons.text() + fmt::format("{} shed in all\n", stats["shedTotal"].get<int64_t>());
    } else {
      out += '\n' + reasons.text();
    }
  }
  const std::string sentences =
      wrapped_lines(remarks(stats) + rate_limit(stats) + trouble(stats) + guarded(stats), screen);
  return out + (sentences.empty() ? "" : "\n") + sentences;
}

}  // namespace freshet::cli
