// freshet list: the tasks of a running daemon's queue that are in one state, and match.
#include <unistd.h>

#include <iomanip>
#include <iostream>

#include "app/cli/bulk.h"
#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/remote.h"
#include "app/cli/table.h"
#include "app/cli/times.h"
#include "base/duration_text.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct ListOptions {
  Remote remote;
  std::string state = "PENDING";
  uint32_t limit = 20;
  bool oldest = false;
  std::vector<std::string> where;  // NAME=VALUE each.
  std::string older_than;          // A duration with its unit.
  std::string text;

  bool filters() const { return !where.empty() || !older_than.empty() || !text.empty(); }
};

constexpr std::chrono::hours kLongestListedAge{24 * 366};

// Cuts valid UTF-8 to at most that many bytes, at the end of a whole character.
std::string first_bytes(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  text.resize(most);
  return text;
}

std::string age_of(const Json& task) {
  const Json created = task.value("taskCreated", Json());
  return created.is_number() ? age_text(now_ms() - created.get<int64_t>()) : "-";
}

// For files and programs: a format of its own, which stays as it is.
void print_line(const Json& task) {
  std::cout << std::left << std::setw(38) << plain_text(task.value("taskId", "")) << ' ' << std::setw(9)
            << plain_text(task.value("taskStatus", "")) << ' ' << std::right << std::setw(10) << age_of(task) << "  "
            << first_bytes(text_of(task.value("payload", Json())), 80) << '\n';
}

void print_tasks(const Json& tasks, const Screen& screen) {
  Table table(screen, {{.header = "TASK ID"},
                       {.header = "STATUS"},
                       {.header = "AGE", .right = true},
                       {.header = "PAYLOAD", .gives_way = true}});
  for (const Json& task : tasks) {
    const std::string status = task.value("taskStatus", "");
    table.add({{task.value("taskId", "")},
               {status, colour_of_status(status)},
               {age_of(task)},
               {first_bytes(text_of(task.value("payload", Json())), screen.width)}});
  }
  std::cout << table.text();
}

// The parameters of the route for what a task must match.
std::string filter_of(const ListOptions& options, const Json& where) {
  std::string out;
  for (const auto& [name, value] : where.items()) {
    out += "&where." + path_segment(name) + "=" + path_segment(value.get<std::string>());
  }
  if (const auto age = parse_duration(options.older_than, std::chrono::milliseconds(0), kLongestListedAge)) {
    out += "&olderThanMs=" + std::to_string(age->count());
  }
  if (!options.text.empty()) out += "&text=" + path_segment(options.text);
  return out;
}

class Listing {
 public:
  Listing(const ListOptions& options, const Json& where)
      : options_(options), filter_(filter_of(options, where)), session_(options.remote) {}

  int run() {
    std::string cursor;
    while (printed_ < options_.limit) {
      const Json page = session_.call("GET", path(cursor));
      if (page.is_null()) return session_.exit_status();
      looked_ += page.value("looked", uint64_t{0});
      cursor = page.value("cursor", "");
      const Json& tasks = page.at("tasks");
      printed_ += tasks.size();
      print(tasks, cursor.empty() || printed_ >= options_.limit);
      if (!std::cout.flush()) return kFailed;
      if (cursor.empty()) break;
    }
    print_rest(!cursor.empty());
    return kDone;
  }

 private:
  std::string path(const std::string& cursor) const {
    const size_t most = std::min<size_t>(options_.limit - printed_, 1000);
    return "/tasks?state=" + path_segment(options_.state) + "&limit=" + std::to_string(most) +
           "&order=" + (options_.oldest ? "oldest" : "newest") + filter_ +
           (cursor.empty() ? "" : "&cursor=" + path_segment(cursor));
  }

  void print(const Json& tasks, bool last) {
    if (options_.remote.json) {
      for (const Json& task : tasks) std::cout << text_of(task) << '\n';
    } else if (!screen_.terminal) {
      for (const Json& task : tasks) print_line(task);
    } else {
      // With a filter a page may have few tasks, or none: a table for each would be more headers than tasks.
      for (const Json& task : tasks) table_.push_back(task);
      if (table_.empty() || (!last && table_.size() < kRowsOfATable)) return;
      print_tasks(table_, screen_);
      table_.clear();
    }
  }

  // Standard output has the tasks alone, so that an empty list is empty for scripts.
  void print_rest(bool more) const {
    if (options_.remote.json) return;
    if (printed_ == 0 && options_.filters()) {
      std::cerr << "no task that is " << options_.state << " matches, of " << looked_
                << " looked at (--state names another state; --where compares attributes of the task itself, --text "
                   "finds what is within its payload)\n";
    } else if (printed_ == 0) {
      std::cerr << "no task is " << options_.state << " (--state names another state)\n";
    } else if (more && screen_.terminal) {
      std::cerr << "there are more: --limit " << options_.limit * uint64_t{10} << " shows them\n";
    }
  }

  static constexpr size_t kRowsOfATable = 1000;

  const ListOptions& options_;
  const std::string filter_;
  const Screen screen_ = screen_of(STDOUT_FILENO);
  Session session_;
  size_t printed_ = 0;
  uint64_t looked_ = 0;
  Json table_ = Json::array();  // Rows that are not printed yet.
};

int run_list(const ListOptions& options) {
  const auto where = conditions_of(options.where);
  return where ? Listing(options, *where).run() : kUsage;
}

}  // namespace

void add_list(Command app, int& exit_status) {
  auto options = std::make_shared<ListOptions>();
  const Command command = app.add_subcommand("list", "List the tasks of one state, newest first");
  options->remote.add_options(command);
  command.footer(
      "The tasks that have waited longest; those of a group; and the ids of dead tasks, for a script:\n"
      "  freshet list --oldest --limit 5\n"
      "  freshet list --where group=acme --older-than 10m\n"
      "  freshet list --state DEAD --limit 1000 --json | jq -r .taskId");
  command.add_option("--state", options->state, "PENDING, TAKEN, DELAYED, SUCCESS, FAILURE, DEAD, CANCELLED or SHED")
      .one_of({"PENDING", "TAKEN", "DELAYED", "SUCCESS", "FAILURE", "DEAD", "CANCELLED", "SHED"})
      .capture_default_str();
  command.add_option("--limit", options->limit, "List at most so many")
      .check(whole(1, 4'294'967'295))
      .capture_default_str();
  command.add_flag("--oldest", options->oldest, "List the oldest first");
  command.add_option("--where", options->where,
                     "NAME=VALUE: only tasks with this attribute; repeatable, all of them must hold");
  command.add_option("--older-than", options->older_than, "Only tasks that were created at least that long ago")
      .check(duration(std::chrono::milliseconds(0), kLongestListedAge));
  command
      .add_option("--text", options->text,
                  "Only tasks with this text in their JSON, which includes the id; upper and lower case differ")
      .check(not_empty());
  command.callback([options, &exit_status] { exit_status = run_list(*options); });
}

}  // namespace freshet::cli
