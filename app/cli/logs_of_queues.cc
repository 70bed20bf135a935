// freshet sheds, audit: the durable logs of a running daemon's queues.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/queue_name.h"
#include "app/cli/remote.h"
#include "app/cli/table.h"
#include "app/cli/times.h"
#include "base/log.h"
#include "base/plain_text.h"
#include "base/terminal.h"

namespace freshet::cli {
namespace {

struct LogOptions {
  Remote remote;
  std::string queue;  // Only the audit log of this queue; empty: all.
  uint32_t limit = 50;
};

// UTC, to the second.
std::string time_of(const Json& line) {
  const Json at = line.value("at", Json());
  if (!at.is_number()) return "?";
  return iso8601(WallTime(std::chrono::milliseconds(at.get<int64_t>()))).substr(0, 19) + "Z";
}

std::string text(const Json& line, const char* name) {
  const Json value = line.value(name, Json());
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : text_of(value);
}

// A line for each of `lines` in JSON, or a table.
template <class AddRow>
void print_lines(const Json& lines, bool json, Table table, AddRow add_row) {
  if (!json) {
    for (const Json& line : lines) add_row(table, line);
    if (!lines.empty()) std::cout << table.text();
    return;
  }
  for (const Json& line : lines) std::cout << line.dump() << '\n';
}

int sheds(const LogOptions& options) {
  Session session(options.remote);
  const Json answer = session.call("GET", "/sheds?limit=" + std::to_string(options.limit));
  if (answer.is_null()) return session.exit_status();
  const Json lines = answer.value("sheds", Json::array());
  print_lines(lines, options.remote.json,
              Table(screen_of(STDOUT_FILENO), {{.header = "TIME"},
                                               {.header = "WHAT"},
                                               {.header = "TASK", .gives_way = true},
                                               {.header = "AGE", .right = true},
                                               {.header = "COUNT", .right = true},
                                               {.header = "POLICY", .spare = true},
                                               {.header = "REASON", .wraps = true}}),
              [](Table& table, const Json& line) {
                const Json age = line.value("ageMs", Json());
                table.add({{time_of(line)},
                           {text(line, "what")},
                           {text(line, "taskId")},
                           {age.is_number() ? age_text(age.get<int64_t>()) : ""},
                           {text(line, "count")},
                           {text(line, "policy")},
                           {text(line, "reason")}});
              });
  if (!options.remote.json && lines.empty()) std::cout << "nothing was shed\n";
  return kDone;
}

int audit(const LogOptions& options) {
  Session session(options.remote);
  std::string target = "/audit?limit=" + std::to_string(options.limit);
  if (!options.queue.empty()) target += "&queue=" + path_segment(options.queue);
  const Json answer = session.call_at("GET", target);
  if (answer.is_null()) return session.exit_status();
  const Json lines = answer.value("lines", Json::array());
  print_lines(lines, options.remote.json,
              Table(screen_of(STDOUT_FILENO), {{.header = "TIME"},
                                               {.header = "WHO"},
                                               {.header = "FROM", .spare = true},
                                               {.header = "WHAT"},
                                               {.header = "QUEUE", .gives_way = true},
                                               {.header = "COUNT", .right = true},
                                               {.header = "DETAIL", .wraps = true}}),
              [](Table& table, const Json& line) {
                table.add({{time_of(line)},
                           {text(line, "who")},
                           {text(line, "from")},
                           {text(line, "what")},
                           {text(line, "queue")},
                           {text(line, "count")},
                           {text(line, "detail")}});
              });
  if (!options.remote.json && lines.empty()) {
    std::cout << (options.queue.empty() ? "nothing was changed"
                                        : "no change of a queue '" + plain_text(options.queue) + "' is known")
              << '\n';
  }
  return kDone;
}

void add_limit(Command command, LogOptions& options) {
  command.add_option("--limit", options.limit, "Number of lines to show").check(whole(1, 10'000)).capture_default_str();
}

}  // namespace

void add_sheds(Command app, int& exit_status) {
  auto options = std::make_shared<LogOptions>();
  const Command command =
      app.add_subcommand("sheds", "Show which tasks of a queue were shed, bounced or refused, and why");
  add_queue_name(command, options->remote);
  add_limit(command, *options);
  command.footer(
      "The newest first, also of before the last restart.\n"
      "  freshet sheds jobs\n"
      "  freshet sheds jobs --limit 1000 --json | jq -r .reason | sort | uniq -c");
  command.callback([options, &exit_status] { exit_status = sheds(*options); });
}

void add_audit(Command app, int& exit_status) {
  auto options = std::make_shared<LogOptions>();
  const Command command =
      app.add_subcommand("audit", "Show who paused, purged, deployed or changed something, when and from where");
  options->remote.add_connection_options(command);
  command.add_flag("--json", options->remote.json, "Print JSON");
  command.add_option("--queue", options->queue, "Only the lines of this queue").check(not_empty());
  add_limit(command, *options);
  command.footer(
      "The newest first, also of before the last restart.\n"
      "  freshet audit\n"
      "  freshet audit --queue jobs --json | jq -r .detail");
  command.callback([options, &exit_status] { exit_status = audit(*options); });
}

}  // namespace freshet::cli
