// freshet list: the tasks of a running daemon's queue that are in one state.
#include <unistd.h>

#include <iomanip>
#include <iostream>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/remote.h"
#include "app/cli/table.h"
#include "app/cli/times.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct ListOptions {
  Remote remote;
  std::string state = "PENDING";
  uint32_t limit = 20;
  bool oldest = false;
};

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

class Listing {
 public:
  explicit Listing(const ListOptions& options) : options_(options), session_(options.remote) {}

  int run() {
    std::string cursor;
    while (printed_ < options_.limit) {
      const Json page = session_.call("GET", path(cursor));
      if (page.is_null()) return session_.exit_status();
      const Json& tasks = page.at("tasks");
      print(tasks);
      if (!std::cout.flush()) return kFailed;
      printed_ += tasks.size();
      cursor = page.value("cursor", "");
      if (cursor.empty()) break;
    }
    tell_rest(!cursor.empty());
    return kDone;
  }

 private:
  std::string path(const std::string& cursor) const {
    const size_t most = std::min<size_t>(options_.limit - printed_, 1000);
    return "/tasks?state=" + path_segment(options_.state) + "&limit=" + std::to_string(most) +
           "&order=" + (options_.oldest ? "oldest" : "newest") +
           (cursor.empty() ? "" : "&cursor=" + path_segment(cursor));
  }

  void print(const Json& tasks) const {
    if (options_.remote.json) {
      for (const Json& task : tasks) std::cout << text_of(task) << '\n';
    } else if (!screen_.terminal) {
      for (const Json& task : tasks) print_line(task);
    } else if (!tasks.empty()) {
      print_tasks(tasks, screen_);
    }
  }

  // Standard output has the tasks alone, so that an empty list is empty for scripts.
  void tell_rest(bool more) const {
    if (options_.remote.json) return;
    if (printed_ == 0) {
      std::cerr << "no task is " << options_.state << " (--state names another state)\n";
    } else if (more && screen_.terminal) {
      std::cerr << "there are more: --limit " << options_.limit * uint64_t{10} << " shows them\n";
    }
  }

  const ListOptions& options_;
  const Screen screen_ = screen_of(STDOUT_FILENO);
  Session session_;
  size_t printed_ = 0;
};

}  // namespace

void add_list(Command app, int& exit_status) {
  auto options = std::make_shared<ListOptions>();
  const Command command = app.add_subcommand("list", "List the tasks of one state, newest first");
  options->remote.add_options(command);
  command.footer(
      "The tasks that have waited longest; and the ids of dead tasks, for a script:\n"
      "  freshet list --oldest --limit 5\n"
      "  freshet list --state DEAD --limit 1000 --json | jq -r .taskId");
  command.add_option("--state", options->state, "PENDING, TAKEN, DELAYED, SUCCESS, FAILURE, DEAD, CANCELLED or SHED")
      .one_of({"PENDING", "TAKEN", "DELAYED", "SUCCESS", "FAILURE", "DEAD", "CANCELLED", "SHED"})
      .capture_default_str();
  command.add_option("--limit", options->limit, "List at most so many")
      .check(whole(1, 4'294'967'295))
      .capture_default_str();
  command.add_flag("--oldest", options->oldest, "List the oldest first");
  command.callback([options, &exit_status] { exit_status = Listing(*options).run(); });
}

}  // namespace freshet::cli
