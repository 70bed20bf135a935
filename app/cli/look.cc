// freshet get, explain: one task of a running daemon's queue.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iostream>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/remote.h"
#include "app/cli/times.h"
#include "base/plain_text.h"
#include "base/terminal.h"

namespace freshet::cli {
namespace {

struct GetOptions {
  Remote remote;
  std::string id;
};

int get(const GetOptions& options) {
  Session session(options.remote);
  const Json task = session.call("GET", "/tasks/" + path_segment(options.id));
  if (task.is_null()) return session.exit_status();
  std::cout << text_of(task, options.remote.json ? -1 : 2) << '\n';
  return kDone;
}

// "2026-11-24 11:05:01.250", in local time.
std::string local_time(int64_t ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  if (ms < 0 || localtime_r(&seconds, &parts) == nullptr) return "?";
  char text[40];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return std::string(text, length) + fmt::format(".{:03}", ms % 1000);
}

// "10 min": the decimal of a round number says nothing.
std::string about(int64_t milliseconds) {
  std::string text = age_text(milliseconds);
  if (const size_t point = text.find(".0 "); point != std::string::npos) text.erase(point, 2);
  return text;
}

// The text behind `lead`, in lines that fit the screen; further lines begin below the text.
void print_wrapped(const std::string& lead, const std::string& text) {
  constexpr size_t kLeast = 20;  // Columns of text, however narrow the screen is.
  const Screen screen = screen_of(STDOUT_FILENO);
  std::string begin = lead;
  for (const auto& line : wrapped(text, std::max(screen.width, lead.size() + kLeast) - lead.size(), screen)) {
    std::cout << begin << line << '\n';
    begin.assign(lead.size(), ' ');
  }
}

// The settings in lines that fit the screen.
void print_policy(const Json& policy) {
  std::string settings;
  for (const auto& [name, value] : policy.items()) {
    settings += (settings.empty() ? "" : " ") + plain_text(name) + '=' + plain_text(value.get<std::string>());
  }
  if (settings.empty()) return;
  std::cout << "its settings:\n";
  print_wrapped("  ", settings);
}

void print_head(const Json& answer) {
  const Json task = answer.value("task", Json::object());
  const Json status = task.value("taskStatus", Json());
  std::string head = plain_text(answer.value("taskId", "")) + ": " +
                     (status.is_string() ? plain_text(status.get<std::string>())
                      : task.empty()     ? "not there"
                                         : "no state");
  if (answer.contains("ageMs")) head += ", " + age_text(answer["ageMs"].get<int64_t>()) + " old";
  for (const auto& [member, title] : {std::pair("priority", "priority"), std::pair("group", "group"),
                                      std::pair("attempt", "attempt"), std::pair("maxAttempts", "of at most")}) {
    if (!task.contains(member)) continue;
    const std::string value = plain_text(text_of(task[member]));
    head += member == std::string_view("attempt") && value == "0" ? ", no attempt"
                                                                  : std::string(", ") + title + ' ' + value;
  }
  for (const auto& [member, title] : {std::pair("deadlineInMs", "deadline"), std::pair("ttlInMs", "removed by TTL")}) {
    if (!answer.contains(member)) continue;
    const auto left = answer[member].get<int64_t>();
    head += std::string(", ") + title + (left < 0 ? " " + about(-left) + " ago" : " in " + about(left));
  }
  print_wrapped("", head);
}

// Prints the task's events in order.
void print_life(const Json& life) {
  for (const auto& event : life) {
    const bool has_time = event.contains("at");
    const std::string time = has_time ? local_time(event["at"].get<int64_t>()) : "then";
    print_wrapped(fmt::format("  {:25}", time), plain_text(event.value("message", "")));
  }
}

int explain(const GetOptions& options) {
  Session session(options.remote);
  const Json answer = session.call("GET", "/tasks/" + path_segment(options.id) + "/explain");
  if (answer.is_null()) return session.exit_status();
  if (options.remote.json) {
    std::cout << answer.dump() << '\n';
    return kDone;
  }
  print_head(answer);
  print_life(answer.value("life", Json::array()));
  const Json status = answer.value("task", Json::object()).value("taskStatus", Json());
  const bool waits = status == "PENDING" || status == "DELAYED";
  std::cout << (waits ? "why it is not started now:\n" : "as it is now:\n");
  for (const auto& why : answer.value("why", Json::array())) print_wrapped("  - ", plain_text(why.get<std::string>()));
  std::cout << "the queue: " << answer.value("depth", uint64_t{0}) << " waiting\n";
  print_policy(answer.value("policy", Json::object()));
  return kDone;
}

}  // namespace

void add_get(Command app, int& exit_status) {
  auto options = std::make_shared<GetOptions>();
  const Command command = app.add_subcommand("get", "Show one task with its result, last error and history");
  options->remote.add_options(command);
  command.footer(
      "  freshet get order-17\n"
      "  freshet get order-17 --json | jq .result");
  command.add_option("id", options->id, "Task id").required().check(not_empty());
  command.callback([options, &exit_status] { exit_status = get(*options); });
}

void add_explain(Command app, int& exit_status) {
  auto options = std::make_shared<GetOptions>();
  const Command command = app.add_subcommand(
      "explain", "Show the history of a task and the reasons for its state, also if it was shed or refused");
  options->remote.add_options(command);
  command.footer(
      "  freshet explain order-17\n"
      "Programs go by the codes (docs/task-api.md):\n"
      "  freshet explain order-17 --json | jq '.reasons[].code'");
  command.add_option("id", options->id, "Task id").required().check(not_empty());
  command.callback([options, &exit_status] { exit_status = explain(*options); });
}

}  // namespace freshet::cli
