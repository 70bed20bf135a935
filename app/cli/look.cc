// freshet get, explain, list, stats: looking at a running daemon's queue.
#include <unistd.h>

#include <chrono>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <thread>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/remote.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

std::string age(int64_t milliseconds) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1);
  const double seconds = static_cast<double>(milliseconds) / 1000;
  if (seconds < 120) {
    out << seconds << " s";
  } else if (seconds < 7200) {
    out << seconds / 60 << " min";
  } else {
    out << seconds / 3600 << " h";
  }
  return out.str();
}

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// Cuts valid UTF-8 to at most that many bytes, at the end of a whole character.
std::string first_bytes(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  text.resize(most);
  return text;
}

void print_task_line(const Json& task) {
  const Json created = task.value("taskCreated", Json());
  std::cout << std::left << std::setw(38) << plain_text(task.value("taskId", "")) << ' ' << std::setw(9)
            << plain_text(task.value("taskStatus", "")) << ' ' << std::right << std::setw(10)
            << (created.is_number() ? age(now_ms() - created.get<int64_t>()) : "-") << "  "
            << first_bytes(text_of(task.value("payload", Json())), 80) << '\n';
}

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

void print_log_line(const Json& line) {
  const auto text = [&](const char* member, const std::string& otherwise = {}) {
    return plain_text(line.value(member, otherwise));
  };
  std::cout << "  " << age(now_ms() - line.value("at", now_ms())) << " ago: " << text("what", "shed") << " by "
            << text("policy", text("reason")) << ", " << text("reason") << " (noticed by " << text("by") << "); it was "
            << age(line.value("ageMs", int64_t{0})) << " old, " << line.value("depth", uint64_t{0})
            << " were waiting\n";
}

int explain(const GetOptions& options) {
  Session session(options.remote);
  const Json answer = session.call("GET", "/tasks/" + path_segment(options.id) + "/explain");
  if (answer.is_null()) return session.exit_status();
  if (options.remote.json) {
    std::cout << answer.dump() << '\n';
    return kDone;
  }
  const Json task = answer.value("task", Json::object());
  std::cout << plain_text(answer.value("taskId", "")) << ": " << plain_text(task.value("taskStatus", "not there"));
  if (answer.contains("ageMs")) std::cout << ", " << age(answer["ageMs"].get<int64_t>()) << " old";
  for (const auto& [member, title] : {std::pair("priority", "priority"), std::pair("group", "group"),
                                      std::pair("attempt", "attempt"), std::pair("maxAttempts", "of at most")}) {
    if (task.contains(member)) std::cout << ", " << title << ' ' << text_of(task[member]);
  }
  for (const auto& [member, title] : {std::pair("deadlineInMs", "deadline"), std::pair("ttlInMs", "ttl")}) {
    if (!answer.contains(member)) continue;
    const auto left = answer[member].get<int64_t>();
    std::cout << ", " << title << (left < 0 ? " " + age(-left) + " ago" : " in " + age(left));
  }
  std::cout << '\n';
  for (const auto& why : answer.value("why", Json::array()))
    std::cout << "  " << plain_text(why.get<std::string>()) << '\n';
  const Json log = answer.value("log", Json::array());
  if (!log.empty()) std::cout << "what the shed log has of it:\n";
  for (const auto& line : log) print_log_line(line);
  std::cout << "the queue: " << answer.value("depth", uint64_t{0}) << " waiting;";
  const Json policy = answer.value("policy", Json::object());
  for (const auto& [name, value] : policy.items()) {
    std::cout << ' ' << plain_text(name) << '=' << plain_text(value.get<std::string>());
  }
  std::cout << '\n';
  return kDone;
}

struct ListOptions {
  Remote remote;
  std::string state = "PENDING";
  uint32_t limit = 20;
  bool oldest = false;
};

int list(const ListOptions& options) {
  Session session(options.remote);
  std::string cursor;
  uint32_t left = options.limit;
  while (left > 0) {
    std::string path = "/tasks?state=" + path_segment(options.state) +
                       "&limit=" + std::to_string(std::min(left, 1000U)) +
                       "&order=" + (options.oldest ? "oldest" : "newest");
    if (!cursor.empty()) path += "&cursor=" + path_segment(cursor);
    const Json page = session.call("GET", path);
    if (page.is_null()) return session.exit_status();
    for (const auto& task : page.at("tasks")) {
      if (options.remote.json) {
        std::cout << text_of(task) << '\n';
      } else {
        print_task_line(task);
      }
    }
    if (!std::cout.flush()) return kFailed;
    left -= std::min<uint32_t>(left, static_cast<uint32_t>(page.at("tasks").size()));
    cursor = page.value("cursor", "");
    if (cursor.empty()) break;
  }
  return kDone;
}

struct StatsOptions {
  Remote remote;
  double watch = 0;
};

void print_counts(const char* title, const Json& counts) {
  if (counts.empty()) return;
  std::cout << title << '\n';
  for (const auto& [name, count] : counts.get_ref<const Json::object_t&>()) {
    std::cout << "  " << std::left << std::setw(28) << plain_text(name) << std::right << std::setw(12) << count << '\n';
  }
}

// The task runner, where there is none that does real work.
void print_runner(const Json& stats) {
  const std::string runner = stats.value("runner", "");
  if (runner == "none")
    std::cout << "runner none: tasks wait for workers that take them (to hand them to a handler: freshet run ... "
                 "--parameter TaskRunner=http://HOST:PORT/)\n";
  if (runner == "fake") std::cout << "runner fake: tasks end as SUCCESS and nothing is done\n";
}

void print_stats(const Json& stats) {
  if (!stats.value("clockTrusted", true)) {
    std::cout << "The wall clock is not trusted yet: TTL and sheds wait, and what looks expired is not started.\n";
  }
  print_counts("depth", stats.at("depth"));
  print_counts("flow", stats.value("flow", Json::object()));
  print_counts("shed", stats.value("shed", Json::object()));
  for (const char* name : {"newestAgeMs", "oldestAgeMs"}) {
    if (stats.contains(name) && stats[name].is_number()) {
      std::cout << (name[0] == 'n' ? "newest waiting  " : "oldest waiting  ") << age(stats[name].get<int64_t>())
                << '\n';
    }
  }
  print_runner(stats);
}

int stats(const StatsOptions& options) {
  Session session(options.remote);
  for (;;) {
    const Json answer = session.call("GET", "/stats");
    if (answer.is_null()) return session.exit_status();
    if (options.remote.json) {
      std::cout << answer.dump() << std::endl;
    } else {
      if (options.watch > 0 && isatty(STDOUT_FILENO) != 0) std::cout << "\033[2J\033[H";
      print_stats(answer);
      std::cout << std::flush;
    }
    if (options.watch <= 0) return kDone;
    if (!std::cout) return kFailed;
    std::this_thread::sleep_for(seconds_of(options.watch));
  }
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
  const Command command =
      app.add_subcommand("explain", "Say why a task is where it is, also one that was shed or refused");
  options->remote.add_options(command);
  command.footer(
      "  freshet explain order-17\n"
      "  freshet explain order-17 --json | jq .why");
  command.add_option("id", options->id, "Task id").required().check(not_empty());
  command.callback([options, &exit_status] { exit_status = explain(*options); });
}

void add_list(Command app, int& exit_status) {
  auto options = std::make_shared<ListOptions>();
  const Command command = app.add_subcommand("list", "List tasks of one state, newest first");
  options->remote.add_options(command);
  command.footer(
      "What waits longest; and which tasks are dead, for a script:\n"
      "  freshet list --oldest --limit 5\n"
      "  freshet list --state DEAD --limit 1000 --json | jq -r .taskId");
  command.add_option("--state", options->state, "PENDING, TAKEN, DELAYED, SUCCESS, FAILURE, DEAD, CANCELLED or SHED")
      .one_of({"PENDING", "TAKEN", "DELAYED", "SUCCESS", "FAILURE", "DEAD", "CANCELLED", "SHED"})
      .capture_default_str();
  command.add_option("--limit", options->limit, "At most so many").check(whole(1, 4'294'967'295)).capture_default_str();
  command.add_flag("--oldest", options->oldest, "Oldest first");
  command.callback([options, &exit_status] { exit_status = list(*options); });
}

void add_stats(Command app, int& exit_status) {
  auto options = std::make_shared<StatsOptions>();
  const Command command = app.add_subcommand("stats", "Show the books: depth by state, moves, sheds, ages");
  options->remote.add_options(command);
  command.footer(
      "Live; and the number of tasks that wait:\n"
      "  freshet stats --watch 1\n"
      "  freshet stats --json | jq .depth.PENDING");
  command.add_option("--watch", options->watch, "Again every so many seconds").check(above_zero());
  command.callback([options, &exit_status] { exit_status = stats(*options); });
}

}  // namespace freshet::cli
