// freshet queues, pause, resume: what each queue of a running daemon is at, and stopping and starting them.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/queue_name.h"
#include "app/cli/remote.h"
#include "app/cli/serve_choices.h"
#include "app/cli/table.h"
#include "app/cli/times.h"
#include "app/cli/wrapped_lines.h"
#include "base/duration_text.h"
#include "base/plain_text.h"
#include "base/terminal.h"

namespace freshet::cli {
namespace {

// The numbers of a priority queue.
void add_priority_counts(Json& row, const Json& stats) {
  row["pending"] = stats.value("ready", uint64_t{0});
  row["taken"] = stats.value("in_flight", uint64_t{0});
  row["delayed"] = stats.value("delayed", uint64_t{0});
  row["dead"] = stats.value("dead", uint64_t{0});
  if (stats.contains("head_timestamp_ms")) {
    row["oldestAgeMs"] = std::max<int64_t>(0, now_ms() - stats["head_timestamp_ms"].get<int64_t>());
  }
}

// Those of a filtered queue: what waits in all of its queues.
void add_filtered_counts(Json& row, const Json& stats) {
  uint64_t pending = 0;
  for (const Json& queue : stats.value("queues", Json::array())) pending += queue.value("depth", uint64_t{0});
  row["pending"] = pending;
}

// Adds the queues of another kind, which have their stats one by one. What the daemon refuses is printed, and the rest
// goes on.
void add_others(Session& session, const std::string& kind, void (*add_counts)(Json& row, const Json& stats),
                Json& rows) {
  const std::string root = "/" + kind;
  const Json names = session.call_at("GET", root);
  if (names.is_null()) return;
  for (const auto& name : names.value("queues", Json::array())) {
    const Json stats = session.call_at("GET", root + "/" + path_segment(name.get<std::string>()) + "/stats");
    Json row{{"name", name}, {"kind", kind}, {"state", stats.is_null() ? "not there" : "running"}};
    if (!stats.is_null()) add_counts(row, stats);
    rows.push_back(std::move(row));
  }
}

std::string number(const Json& row, const char* name) {
  const auto found = row.find(name);
  return found == row.end() ? "-" : text_of(*found);
}

Colour colour_of_state(const std::string& state) {
  if (state == "running") return Colour::kGreen;
  return state == "paused" || state == "draining" ? Colour::kYellow : Colour::kRed;
}

void print_queues(const Json& rows, const Screen& screen) {
  Table table(screen, {{.header = "QUEUE"},
                       {.header = "KIND", .spare = true},
                       {.header = "STATE"},
                       {.header = "PENDING", .right = true},
                       {.header = "TAKEN", .right = true},
                       {.header = "DELAYED", .right = true, .spare = true},
                       {.header = "DEAD", .right = true},
                       {.header = "OLDEST", .right = true},
                       {.header = "RUNNER", .spare = true},
                       {.header = "RATE", .right = true}});
  for (const Json& row : rows) {
    const std::string state = row.value("state", "");
    const std::string rate = row.value("rateLimit", "");
    table.add({{row.value("name", "")},
               {row.value("kind", "")},
               {state, colour_of_state(state)},
               {number(row, "pending")},
               {number(row, "taken")},
               {number(row, "delayed")},
               {number(row, "dead")},
               {row.contains("oldestAgeMs") ? age_text(row["oldestAgeMs"].get<int64_t>()) : "-"},
               {row.value("runner", "-")},
               {rate.empty() || rate == "0" ? "-" : rate}});
  }
  std::cout << table.text();
}

// The parts of queues that are paused, a line each.
void print_pauses(const Json& rows) {
  const WrappedLines wraps(std::cout, screen_of(STDOUT_FILENO));
  for (const Json& row : rows) {
    for (const Json& pause : row.value("pauses", Json::array())) {
      const std::string of = pause.value("of", "");
      std::cout << plain_text(row.value("name", "")) << ": "
                << (of == "queue" ? std::string("all of it") : of + " '" + plain_text(pause.value("name", "")) + "'")
                << " is paused";
      const int64_t age = now_ms() - pause.value("since", int64_t{0});
      std::cout << " for " << age_text(age) << " now, by " << plain_text(pause.value("by", "?"));
      if (pause.contains("reason")) std::cout << ": " << plain_text(pause["reason"].get<std::string>());
      std::cout << '\n';
    }
  }
}

int queues(const Remote& remote) {
  Session session(remote);
  const Json answer = session.call_at("GET", "/queues");
  if (answer.is_null()) return session.exit_status();
  Json rows = Json::array();
  for (Json queue : answer.value("details", Json::array())) {
    queue["kind"] = "tasks";
    rows.push_back(std::move(queue));
  }
  add_others(session, "priority", add_priority_counts, rows);
  add_others(session, "filtered", add_filtered_counts, rows);
  if (remote.json) {
    std::cout << Json{{"queues", rows}}.dump() << '\n';
  } else if (rows.empty()) {
    std::cout << "this daemon has no queues\n";
  } else {
    print_queues(rows, screen_of(STDOUT_FILENO));
    print_pauses(rows);
  }
  return session.exit_status();
}

struct PauseOptions {
  Remote remote;
  std::string group;
  std::string key;
  std::string reason;
  std::string lasts;
};

// The part in a request's words.
Json part_of(const PauseOptions& options) {
  Json out = Json::object();
  if (!options.group.empty()) out["group"] = options.group;
  if (!options.key.empty()) out["key"] = options.key;
  return out;
}

std::string part_in_words(const PauseOptions& options) {
  const std::string queue = "queue '" + plain_text(options.remote.queue) + "'";
  if (!options.group.empty()) return "group '" + plain_text(options.group) + "' of " + queue;
  if (!options.key.empty()) return "key '" + plain_text(options.key) + "' of " + queue;
  return queue;
}

// "freshet resume jobs --group acme".
std::string resume_command(const PauseOptions& options) {
  std::string out = "freshet resume " + plain_text(shell_word(options.remote.queue));
  if (!options.group.empty()) out += " --group " + plain_text(shell_word(options.group));
  if (!options.key.empty()) out += " --key " + plain_text(shell_word(options.key));
  return out;
}

int pause(const PauseOptions& options) {
  Json request = part_of(options);
  if (!options.reason.empty()) request["reason"] = options.reason;
  if (!options.lasts.empty()) {
    const auto lasts = parse_duration(options.lasts, std::chrono::seconds(1), std::chrono::hours(24 * 366));
    if (lasts) request["forMs"] = lasts->count();
  }
  Session session(options.remote);
  const Json answer = session.call("POST", "/pause", request);
  if (answer.is_null()) return session.exit_status();
  if (options.remote.json) {
    std::cout << answer.dump() << '\n';
    return kDone;
  }
  const WrappedLines wraps(std::cout, screen_of(STDOUT_FILENO));
  std::cout << part_in_words(options) << " is paused"
            << (options.lasts.empty() ? ", also across restarts, until you call " + resume_command(options)
                                      : " for " + options.lasts)
            << ": none of its tasks starts. Tasks in work go on, and deadlines and ttl still pass\n";
  return kDone;
}

int resume(const PauseOptions& options) {
  Session session(options.remote);
  const Json answer = session.call("POST", "/resume", part_of(options));
  if (answer.is_null()) return session.exit_status();
  if (options.remote.json) {
    std::cout << answer.dump() << '\n';
  } else {
    const WrappedLines wraps(std::cout, screen_of(STDOUT_FILENO));
    std::cout << part_in_words(options) << " goes on\n";
  }
  return kDone;
}

void add_part(Command command, PauseOptions& options) {
  add_queue_name(command, options.remote);
  command.add_option("--group", options.group, "Only the tasks of this group").check(not_empty());
  command.add_option("--key", options.key, "Only the tasks of this key; not with --group").check(not_empty());
}

}  // namespace

void add_queues(Command app, int& exit_status) {
  auto remote = std::make_shared<Remote>();
  const Command command = app.add_subcommand("queues", "Show all queues: state, tasks, age, runner, rate limit");
  remote->add_connection_options(command);
  command.add_flag("--json", remote->json, "Print JSON");
  command.footer(
      "  freshet queues\n"
      "  freshet queues --json | jq -r '.queues[] | select(.state != \"running\") | .name'");
  command.callback([remote, &exit_status] { exit_status = queues(*remote); });
}

void add_pause(Command app, int& exit_status) {
  auto options = std::make_shared<PauseOptions>();
  const Command command = app.add_subcommand("pause", "Pause a queue, a group or a key, also across restarts");
  add_part(command, *options);
  command.add_option("--reason", options->reason, "Text that stats, explain and the audit log show");
  command.add_option("--for", options->lasts, "Resume by itself after that long")
      .check(duration(std::chrono::seconds(1), std::chrono::hours(24 * 366)));
  command.footer(
      "Tasks in work go on, creation goes on, and so do deadlines and ttl. A queue; one customer, for ten minutes:\n"
      "  freshet pause jobs --reason \"the database is being moved\"\n"
      "  freshet pause jobs --group acme --for 10m");
  command.callback([options, &exit_status] { exit_status = pause(*options); });
}

void add_resume(Command app, int& exit_status) {
  auto options = std::make_shared<PauseOptions>();
  const Command command = app.add_subcommand("resume", "Resume a paused queue, group or key");
  add_part(command, *options);
  command.footer(
      "  freshet resume jobs\n"
      "  freshet resume jobs --group acme");
  command.callback([options, &exit_status] { exit_status = resume(*options); });
}

}  // namespace freshet::cli
