// freshet put: creates tasks from the command line or from JSON Lines.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/deadline.h"
#include "app/cli/exact_json.h"
#include "app/cli/progress.h"
#include "app/cli/remote.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct PutOptions {
  Remote remote;
  std::optional<std::string> payload;
  std::string id;
  std::string key;
  std::string group;
  std::string file;
  bool replace = false;
  int priority = 0;
  std::string deadline;
  int64_t max_attempts = 0;
  double cost = 0;
  std::string ttl;
  std::string delay;
  double rate = 0;
  size_t batch = 100;
};

// Counts what came of the tasks, prints each answer as a JSON line if asked, and progress for people.
class Tally {
 public:
  Tally(const PutOptions& options, Session& session) : options_(options), session_(session) {}

  // `lines`: where each task stands in the file.
  void add(Json results, const std::vector<size_t>& lines) {
    for (size_t i = 0; i < results.size(); ++i) {
      Json& result = results[i];
      const size_t line = i < lines.size() ? lines[i] : 0;
      if (result.contains("error")) {
        ++failed_;
        result["line"] = line;
        const auto& error = result["error"];
        session_.failed(exit_status_of(error.value("code", "")));
        if (!options_.remote.json) {
          progress_.wipe();
          std::cerr << "freshet: line " << line << ": " << plain_text(error.value("message", "")) << '\n';
        }
      } else {
        ++(result.value("created", true) ? created_ : existing_);
      }
      if (options_.remote.json) std::cout << text_of(result) << '\n';
    }
    if (created_ + existing_ + failed_ < next_report_) return;
    progress_.show(counts());
    next_report_ += 1000;
  }
  void finish() {
    progress_.end();
    (options_.remote.json ? std::cerr : std::cout) << counts() << '\n';
  }

 private:
  std::string counts() const {
    std::string out = std::to_string(created_) + " created";
    if (existing_ > 0) out += ", " + std::to_string(existing_) + " already there";
    if (failed_ > 0) out += ", " + std::to_string(failed_) + " refused";
    return out;
  }

  const PutOptions& options_;
  Session& session_;
  size_t created_ = 0, existing_ = 0, failed_ = 0, next_report_ = 1000;
  Progress progress_{"0 created"};
};

// "… 'tasks[2].prio' is not known" for the third task of a request: "line 7: … 'prio' is not known".
std::string name_line(const std::string& message, const std::vector<size_t>& lines) {
  constexpr std::string_view kTask = "tasks[";
  const size_t task = message.find(kTask);
  if (task == std::string::npos) return message;
  const char* const last = message.data() + message.size();
  size_t index = 0;
  const auto [end, error] = std::from_chars(message.data() + task + kTask.size(), last, index);
  if (error != std::errc{} || end == last || *end != ']' || index >= lines.size()) return message;
  std::string_view rest(end + 1, last);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  return "line " + std::to_string(lines[index]) + ": " + message.substr(0, task).append(rest);
}

// Tasks of one request, with the lines that they are from.
struct Batch {
  Json tasks = Json::array();
  std::vector<size_t> lines;
};

bool send(Session& session, Tally& tally, Batch& next) {
  if (next.lines.empty()) return true;
  const Batch batch = std::exchange(next, {});
  session.explain_errors([&](const std::string& message) { return name_line(message, batch.lines); });
  const Json answer = session.call("POST", "/tasks", Json{{"tasks", batch.tasks}});
  session.explain_errors({});
  if (!answer.is_null()) {
    tally.add(answer.at("results"), batch.lines);
    return true;
  }
  // A request is refused as a whole. When no answer came, nobody knows.
  if (session.exit_status() != kUnreachable) {
    std::cerr << "freshet: of lines " << batch.lines.front() << " to " << batch.lines.back()
              << " nothing was created\n";
  }
  return false;
}

// Options given on the command line fill in what a line does not say itself.
void apply_defaults(const PutOptions& options, Json& task) {
  const auto fill = [&](const char* member, const Json& value, bool given) {
    if (given && !task.contains(member)) task[member] = value;
  };
  const double ttl = seconds_in(options.ttl), delay = seconds_in(options.delay);
  fill("ttlSeconds", ttl, ttl > 0);
  fill("delayMs", seconds_of(delay) / std::chrono::milliseconds(1), delay > 0);
  fill("key", options.key, !options.key.empty());
  fill("replace", true, options.replace);
  fill("group", options.group, !options.group.empty());
  fill("cost", options.cost, options.cost > 0);
  fill("priority", options.priority, options.priority != 0);
  if (!options.deadline.empty() && !task.contains("deadline") && !task.contains("deadlineMs")) {
    const auto deadline = parse_deadline(options.deadline).value_or(Deadline());  // Checked when it was read.
    fill("deadline", deadline.at_ms, deadline.at_ms > 0);
    fill("deadlineMs", deadline.in_ms, deadline.in_ms > 0);
  }
  fill("maxAttempts", options.max_attempts, options.max_attempts > 0);
}

int put_lines(const PutOptions& options, std::istream& in) {
  Session session(options.remote);
  Tally tally(options, session);
  const auto started = std::chrono::steady_clock::now();
  const size_t batch_size =
      options.rate > 0 ? std::clamp<size_t>(static_cast<size_t>(options.rate / 20), 1, options.batch) : options.batch;
  Batch batch;
  std::string line;
  size_t number = 0, read = 0;
  while (std::getline(in, line)) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Json task = parse_exact(line);
    if (!task.is_object()) {
      std::cerr << "freshet: line " << number
                << " is no JSON object, like {\"payload\": {\"to\": \"ada\"}}: " << plain_text(line.substr(0, 60))
                << '\n';
      send(session, tally, batch);
      std::cerr << "freshet: the lines behind line " << number << " were not read\n";
      tally.finish();
      return kUsage;
    }
    apply_defaults(options, task);
    batch.tasks.push_back(std::move(task));
    batch.lines.push_back(number);
    ++read;
    if (batch.lines.size() < batch_size) continue;
    if (!send(session, tally, batch)) {
      std::cerr << "freshet: the lines behind line " << number << " were not read\n";
      break;
    }
    if (options.rate > 0) {
      std::this_thread::sleep_until(started + seconds_of(static_cast<double>(read) / options.rate));
    }
  }
  send(session, tally, batch);
  if (in.bad()) {
    std::cerr << "freshet: cannot read what follows line " << number << ": " << std::strerror(errno) << '\n';
    session.failed(kFailed);
  }
  tally.finish();
  return session.exit_status();
}

int put_one(const PutOptions& options) {
  if (options.payload->empty()) {
    std::cerr << "freshet: the payload is empty (a task that needs none: freshet put '{}')\n";
    return kUsage;
  }
  Json payload = parse_exact(*options.payload);
  if (payload.is_discarded()) {
    if (const char first = options.payload->front(); first == '{' || first == '[') {
      std::cerr
          << "freshet: the payload begins like JSON and is not: JSON has double quotes around names and texts, and "
             "the shell wants single ones around all of it, as in '{\"to\": \"ada\"}' (a text may begin with "
             "neither { nor [)\n";
      return kUsage;
    }
    payload = *options.payload;  // A plain string.
  }
  Json task{{"payload", payload}};
  if (!options.id.empty()) task["taskId"] = options.id;
  apply_defaults(options, task);
  Session session(options.remote);
  const Json answer = session.call("POST", "/tasks", task);
  if (answer.is_null()) return session.exit_status();
  std::cout << (options.remote.json ? text_of(answer) : plain_text(answer.value("taskId", ""))) << '\n';
  return kDone;
}

int put(const PutOptions& options) {
  if (options.payload && !options.file.empty()) {
    std::cerr << "freshet: a payload and --file: one of them\n";
    return kUsage;
  }
  if (options.payload && *options.payload != "-") {
    if (options.rate > 0) {
      std::cerr << "freshet: --rate is for many tasks, from --file or standard input; a single task starts when the "
                   "queue's own limit allows it (freshet serve --rate)\n";
      return kUsage;
    }
    if (options.replace && options.key.empty()) {
      std::cerr << "freshet: --replace needs --key: it replaces the waiting task of that key\n";
      return kUsage;
    }
    return put_one(options);
  }
  if (!options.id.empty()) {
    std::cerr << "freshet: --id is a single task's; tasks of a file have their own, each with \"taskId\"\n";
    return kUsage;
  }
  if (options.file.empty() || options.file == "-") {
    if (isatty(STDIN_FILENO) != 0) std::cerr << "reading tasks, one JSON object a line, until Ctrl-D\n";
    return put_lines(options, std::cin);
  }
  std::ifstream in(options.file);
  in.peek();  // A folder can be opened, but not read.
  if (in.bad() || !in.is_open()) {
    std::cerr << "freshet: cannot read '" << plain_text(options.file) << "': " << std::strerror(errno) << '\n';
    return kUsage;
  }
  in.clear();  // An empty file has no tasks.
  return put_lines(options, in);
}

}  // namespace

void add_put(Command app, int& exit_status) {
  auto options = std::make_shared<PutOptions>();
  const Command command = app.add_subcommand("put", "Create a task, or many");
  command.footer(
      "A single task, and many from a file of JSON Lines (or on standard input), 200 a second:\n"
      "  freshet put '{\"order\": 17}' --ttl 60\n"
      "  freshet put --file tasks.jsonl --rate 200\n"
      "A line of the file is a task object of docs/task-api.md, like {\"taskId\": \"a\", \"payload\": {\"order\": "
      "17}}.");
  options->remote.add_options(command);
  command.add_option("payload", options->payload,
                     "Payload of a single task: JSON, or a text that does not begin with { or [. Without it, or with "
                     "-, tasks are read from standard input");
  command.add_option("--id", options->id, "Id of the task. Creating the same id twice makes one task")
      .check(not_empty());
  command.add_option("--file", options->file, "File of tasks, a JSON object a line; - for standard input").file();
  command
      .add_option("--ttl", options->ttl,
                  "Time until the task is shed if nobody has taken it, like 60s or 10m; a number alone is seconds. A "
                  "task that has ended is removed then, too")
      .check(some_seconds());
  command
      .add_option("--delay", options->delay, "Time until the task may start, like 5s or 10m; a number alone is seconds")
      .check(some_seconds());
  command
      .add_option(
          "--key", options->key,
          "Of the tasks with this key only one waits (PENDING or DELAYED) or is in work (TAKEN) at a time: meanwhile "
          "nothing is created, and the id of that one is printed")
      .check(not_empty());
  command.add_flag("--replace", options->replace,
                   "With --key: cancel the task that waits, if there is one, and create this one. If one is in work, "
                   "this one waits for its end");
  command.add_option("--group", options->group, "Group of the task, for fair shares between groups");
  command
      .add_option("--cost", options->cost,
                  "What the task takes of a limit that counts cost (RATE_COUNTS=cost): tokens, rows")
      .check(above_zero());
  command.add_option("--priority", options->priority, "-100 to 100; the highest is done first").check(whole(-100, 100));
  command
      .add_option("--deadline", options->deadline,
                  "How long the task is worth starting, like 500ms, 5s or 5m; or until when, like 2026-12-01T10:00Z. "
                  "A number alone is milliseconds since 1970")
      .check(deadline());
  command.add_option("--max-attempts", options->max_attempts, "Attempts after which a task that fails is DEAD")
      .check(whole(1, 1'000'000));
  command.add_option("--rate", options->rate, "With --file: tasks to create per second").check(above_zero());
  command.add_option("--batch", options->batch, "With --file: tasks per request")
      .check(whole(1, 1000))
      .capture_default_str();
  command.callback([options, &exit_status] { exit_status = put(*options); });
}

}  // namespace freshet::cli
