#include "app/cli/whatif_print.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/cli/table.h"
#include "app/lab/whatif_grid.h"
#include "base/duration_text.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr uint64_t kFewTasks = 20;
constexpr double kWorthIt = 0.5;  // Percentage points: a smaller difference is not shown as one.

// The policies, the best first; of equals the one in force.
std::vector<size_t> best_first(const ComparedQueue& compared) {
  const auto& policies = compared.result.figures.policies;
  std::vector<size_t> order(policies.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return policies[a].all.share.value > policies[b].all.share.value; });
  return order;
}

const lab::Alternative* alternative_of(const ComparedQueue& compared, size_t index) {
  return index == 0 ? nullptr : &compared.alternatives[index - 1];
}

double share_of(lab::PlayCount count) {
  return count.tasks == 0 ? 0 : 100.0 * static_cast<double>(count.in_time) / static_cast<double>(count.tasks);
}

// Two decimals: what the counts bear.
double two_decimals(double value) {
  return std::round(value * 100) / 100;
}

OrderedJson json_of_share(const lab::WindowShare& share) {
  return {{"tasks", share.tasks},
          {"percent", two_decimals(share.share.value)},
          {"low", two_decimals(share.share.low)},
          {"high", two_decimals(share.share.high)},
          {"regret", two_decimals(share.regret.value)},
          {"regretLow", two_decimals(share.regret.low)},
          {"regretHigh", two_decimals(share.regret.high)}};
}

OrderedJson json_of_windows(const ComparedQueue& compared, const lab::PolicyShares& policy) {
  OrderedJson out = OrderedJson::array();
  for (size_t i = 0; i < policy.windows.size(); ++i) {
    OrderedJson window{{"at", epoch_ms(compared.result.played[i])}};
    window.update(json_of_share(policy.windows[i]));
    out.push_back(std::move(window));
  }
  return out;
}

OrderedJson json_of_recorded(const lab::WhatIf& result) {
  const auto all = result.figures.recorded;
  OrderedJson windows = OrderedJson::array();
  for (size_t i = 0; i < result.played.size(); ++i) {
    const auto& count = result.recorded[i];
    windows.push_back(OrderedJson{{"at", epoch_ms(result.played[i])},
                                  {"tasks", count.tasks},
                                  {"inTime", count.in_time},
                                  {"percent", two_decimals(share_of(count))}});
  }
  return {{"tasks", all.tasks},
          {"inTime", all.in_time},
          {"percent", two_decimals(share_of(all))},
          {"windows", std::move(windows)}};
}

std::string clock_text(WallTime at) {
  return fmt::format("{:%H:%M:%S}", fmt::gmtime(static_cast<time_t>(epoch_ms(at) / 1000)));
}

std::string percent_text(double value) {
  return fmt::format("{:.1f} %", value);
}
std::string bounds_text(const lab::Bounds& bounds) {
  return fmt::format("{:.1f} to {:.1f}", bounds.low, bounds.high);
}

std::string policies_table(const ComparedQueue& compared, const Screen& screen) {
  const auto& figures = compared.result.figures;
  Table table(screen, {{.header = "POLICY", .gives_way = true},
                       {.header = "TASKS", .right = true, .spare = true},
                       {.header = "IN TIME", .right = true},
                       {.header = "90 %", .right = true},
                       {.header = "REGRET", .right = true},
                       {.header = "90 %", .right = true, .spare = true}});
  const auto add = [&](const std::string& name, Colour colour, const lab::WindowShare& all) {
    table.add({{name, colour},
               {std::to_string(all.tasks)},
               {percent_text(all.share.value)},
               {bounds_text(all.share)},
               {percent_text(all.regret.value)},
               {bounds_text(all.regret)}});
  };
  table.add({{"best known", Colour::kDim},
             {std::to_string(figures.best_known.all.tasks)},
             {percent_text(figures.best_known.all.share.value)},
             {bounds_text(figures.best_known.all.share)},
             {""},
             {""}});
  for (const size_t index : best_first(compared)) {
    const auto* alternative = alternative_of(compared, index);
    add(alternative == nullptr ? "in force" : alternative->name,
        alternative == nullptr ? Colour::kBold : Colour::kPlain, figures.policies[index].all);
  }
  return table.text();
}

std::string minutes_table(const ComparedQueue& compared, const Screen& screen) {
  const auto& figures = compared.result.figures;
  const size_t best = best_first(compared).front();
  std::vector<Column> columns{{.header = "FROM (UTC)"},
                              {.header = "TASKS", .right = true},
                              {.header = "RECORDED", .right = true},
                              {.header = "IN FORCE", .right = true},
                              {.header = "REGRET", .right = true},
                              {.header = "90 %", .right = true, .spare = true},
                              {.header = "BEST KNOWN", .right = true}};
  if (best != 0) columns.push_back({.header = compared.alternatives[best - 1].name, .right = true, .spare = true});
  Table table(screen, columns);
  for (size_t i = 0; i < compared.result.played.size(); ++i) {
    const auto& window = figures.policies.front().windows[i];
    std::vector<Cell> row{{clock_text(compared.result.played[i])},
                          {std::to_string(window.tasks)},
                          {percent_text(share_of(compared.result.recorded[i]))},
                          {percent_text(window.share.value)},
                          {percent_text(window.regret.value)},
                          {bounds_text(window.regret)},
                          {percent_text(figures.best_known.windows[i].share.value)}};
    if (best != 0) row.push_back({percent_text(figures.policies[best].windows[i].share.value)});
    table.add(std::move(row));
  }
  return table.text();
}

std::string advice(const ComparedQueue& compared) {
  const auto& policies = compared.result.figures.policies;
  const auto& now = policies.front().all.share;
  for (const size_t index : best_first(compared)) {
    const auto* alternative = alternative_of(compared, index);
    if (policies[index].all.share.value < now.value + kWorthIt) break;
    if (alternative == nullptr || alternative->set.empty()) continue;
    const std::string unsure = policies[index].all.share.low < now.high
                                   ? "The 90 % intervals overlap, so it may be no better than the policy in force. "
                                   : "";
    return fmt::format("{}Apply it with: freshet policy {} {}\n", unsure, plain_text(compared.queue),
                       plain_text(alternative->name));
  }
  return "None of these settings does clearly better than the policy in force.\n";
}

}  // namespace

OrderedJson whatif_json(const ComparedQueue& compared) {
  const auto& result = compared.result;
  std::string assumes;
  for (const auto& one : compared.assumptions) assumes += (assumes.empty() ? "" : " ") + one;
  OrderedJson out{{"queue", compared.queue},
                  {"from", epoch_ms(result.from)},
                  {"to", epoch_ms(result.to)},
                  {"windowMs", result.window.count()},
                  {"seed", compared.seed},
                  {"resamples", compared.resamples},
                  {"assumes", assumes},
                  {"recorded", json_of_recorded(result)},
                  {"policies", OrderedJson::array()},
                  {"bestKnown", OrderedJson::object()},
                  {"skipped", OrderedJson::array()}};
  for (const size_t index : best_first(compared)) {
    const auto* alternative = alternative_of(compared, index);
    const auto& shares = result.figures.policies[index];
    OrderedJson policy{{"name", alternative == nullptr ? "in force" : alternative->name},
                       {"settings", alternative == nullptr ? compared.policy : alternative->set},
                       {"inForce", alternative == nullptr},
                       {"inTime", shares.all.in_time}};
    policy.update(json_of_share(shares.all));
    policy["windows"] = json_of_windows(compared, shares);
    out["policies"].push_back(std::move(policy));
  }
  out["bestKnown"] = json_of_share(result.figures.best_known.all);
  out["bestKnown"]["windows"] = json_of_windows(compared, result.figures.best_known);
  for (const auto& one : result.skipped) {
    out["skipped"].push_back(OrderedJson{{"from", epoch_ms(one.from)}, {"to", epoch_ms(one.to)}, {"why", one.why}});
  }
  return out;
}

std::string whatif_text(const ComparedQueue& compared, const Screen& screen) {
  const auto& result = compared.result;
  const auto recorded = result.figures.recorded;
  const bool one = result.played.size() == 1;
  std::string out = fmt::format(
      "{}, {} to {} UTC: {} of {} tasks were done in time, {:.1f} %. {} window{} of {} {} played.\n",
      plain_text(compared.queue), clock_text(result.from), clock_text(result.to), recorded.in_time, recorded.tasks,
      share_of(recorded), result.played.size(), one ? "" : "s", duration_text(result.window), one ? "was" : "were");
  if (recorded.tasks < kFewTasks) {
    out += "Fewer than 20 tasks say next to nothing, whatever the intervals show.\n";
  }
  out += '\n';
  out += policies_table(compared, screen) + '\n' + advice(compared) + '\n' + minutes_table(compared, screen) + '\n';
  for (const auto& span : result.skipped) {
    out += fmt::format("skipped: {} to {} UTC: {}\n", clock_text(span.from), clock_text(span.to), span.why);
  }
  out += fmt::format(
      "in time: SUCCESS by the task's deadline. Regret: how much more the best known does. Each window was played {} "
      "times, the first time as recorded, then with times and arrivals drawn again (seed {}).\n",
      compared.resamples + 1, compared.seed);
  for (const auto& assumption : compared.assumptions) out += assumption + '\n';
  return out;
}

}  // namespace freshet::cli
