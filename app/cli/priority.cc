// freshet priority: a running daemon's priority queues, a call each with JSON output, and the console.
#include <algorithm>
#include <functional>
#include <iostream>
#include <utility>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/priority_console.h"
#include "app/cli/priority_sample.h"
#include "app/cli/priority_steps.h"
#include "app/cli/progress.h"
#include "app/cli/remote.h"

#include "app/cli/subcommands.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct PriorityOptions {
  Remote remote;
  std::string id;
  std::string receipt;
  std::string status;
  std::string data;
  std::string attributes;
  std::string filter;
  std::string names;
  std::string values;
  std::string cursor;
  std::vector<std::string> ids;
  std::optional<int64_t> version;
  std::optional<int64_t> delay_ms;
  std::optional<int64_t> visibility_ms;
  std::optional<int64_t> priority;
  std::optional<double> rate;
  std::optional<int64_t> most;
  int64_t max = 1;
  int64_t limit = 100;
  bool released = false;
  bool sample = false;
};

// Prints the answer on standard output, and what went wrong for people on standard error.
int call_and_print(const PriorityOptions& options, const std::string& method, const std::string& path,
                   const Json& body = nullptr) {
  Session session(options.remote);
  const Json answer = session.call(method, path, body);
  return answer.is_null() ? session.exit_status() : print_priority_answer(options.remote, answer);
}

Json record_call(const PriorityOptions& options) {
  Json body{{"id", options.id}};
  if (!options.receipt.empty()) body["receipt"] = options.receipt;
  if (options.version) body["version"] = *options.version;
  return body;
}

template <class T>
void set_if(Json& body, const char* name, const std::optional<T>& value) {
  if (value) body[name] = *value;
}

// The commands of `freshet priority`: each adds its options and says what is asked of the daemon.
class PriorityCommands : public Subcommands<PriorityOptions> {
 public:
  using Subcommands::Subcommands;

  Command add(const char* name, const char* what, Run run) {
    return begin(name, what, std::move(run), "Shipment", "/priority/",
                 "Name of the priority queue; a daemon's only one needs none");
  }
  // With an id, and with what every call on one record may name.
  Command add_record(const char* name, const char* what, Run run) {
    Command command = add(name, what, std::move(run));
    command.add_option("id", options().id, "Record id").required();
    command.add_option("--receipt", options().receipt, "Receipt of the peek that this answers").check(not_empty());
    command.add_option("--version", options().version, "Version that the record must have");
    return command;
  }
  Command add_plain(const char* name, const char* what, const char* path) {
    return add_record(name, what,
                      [path](const PriorityOptions& o) { return call_and_print(o, "POST", path, record_call(o)); });
  }
};

int wrong_options(const Error& error) {
  std::cerr << "freshet: " << error.message << '\n';
  return kUsage;
}

void add_puts(PriorityCommands& commands) {
  for (const char* name : {"put", "upsert"}) {
    Command command = commands.add(
        name, name == std::string("put") ? "Replace a record, at version 1" : "Replace a record, at its next version",
        [name](const PriorityOptions& o) {
          Json body{{"id", o.id}};
          if (!o.status.empty()) body["status"] = o.status;
          if (!o.data.empty()) {
            auto data = read_argument("the data", o.data);
            if (!data) return wrong_options(data.error());
            body["data"] = std::move(*data);
          }
          if (!o.attributes.empty()) {
            auto attributes = read_argument("--attributes", o.attributes);
            if (!attributes) return wrong_options(attributes.error());
            body["attributes"] = std::move(*attributes);
          }
          return call_and_print(o, "POST", std::string("/") + name, body);
        });
    commands.examples("freshet priority " + std::string(name) + " A-101 '{\"weight\": 2}' --status READY_TO_SHIP");
    command.add_option("id", commands.options().id, "Record id").required();
    command.add_option("data", commands.options().data, "The attribute `data`, as JSON");
    command.add_option("--attributes", commands.options().attributes, "Further attributes, as JSON: {\"weight\": 2}");
    command.add_option("--status", commands.options().status, "Status of the record [default: the first state]")
        .check(not_empty());
  }
}

void add_moves(PriorityCommands& commands) {
  Command command = commands.add_record("enqueue", "Put a record at the end of the queue", [](const auto& o) {
    Json body = record_call(o);
    set_if(body, "delayMs", o.delay_ms);
    set_if(body, "priority", o.priority);
    return call_and_print(o, "POST", "/enqueue", body);
  });
  commands.examples("freshet priority enqueue A-101");
  command.add_option("--delay-ms", commands.options().delay_ms, "Milliseconds until it can be peeked");
  command.add_option("--priority", commands.options().priority, "Rank of the record; the highest comes first");
  command = commands.add("peek", "Take the next records for the visibility timeout", [](const auto& o) {
    Json body{{"max", o.max}};
    set_if(body, "visibilityMs", o.visibility_ms);
    return call_and_print(o, "POST", "/peek", body);
  });
  commands.examples(
      "receipt=$(freshet priority peek --json | jq -r '.records[0].receipt')\n"
      "freshet priority peek --max 10 --visibility-ms 60000");
  command.add_option("--max", commands.options().max, "Most records").check(whole(1, 100));
  command.add_option("--visibility-ms", commands.options().visibility_ms,
                     "Visibility timeout in milliseconds [default: the queue's]");
  commands.add("dequeue", "Take the next record and remove it from the queue",
               [](const auto& o) { return call_and_print(o, "POST", "/dequeue"); });
  commands.examples("freshet priority dequeue");
  commands.add_plain("remove", "Take a record out of the queue", "/remove");
  commands.examples("freshet priority remove A-101 --receipt \"$receipt\"");
  command = commands.add_record("restore", "Give a record back, or out of the dead-letter queue", [](const auto& o) {
    Json body = record_call(o);
    set_if(body, "delayMs", o.delay_ms);
    if (o.released) body["failed"] = false;
    return call_and_print(o, "POST", "/restore", body);
  });
  commands.examples("freshet priority restore A-101 --receipt \"$receipt\" --delay-ms 5000");
  command.add_option("--delay-ms", commands.options().delay_ms,
                     "Milliseconds until it can be peeked [default: the queue's backoff]");
  command.add_flag("--released", commands.options().released, "Do not count it as a failure");
  commands.add_plain("touch", "Send a record to the end of the queue", "/touch");
  commands.examples("freshet priority touch A-101");
  commands.add_plain("send-to-dlq", "Put a record into the dead-letter queue", "/dlq");
  commands.examples("freshet priority send-to-dlq A-101");
  commands.add_plain("cancel", "Take a record that waits out of the queue", "/cancel");
  commands.examples("freshet priority cancel A-101");
  command = commands.add_record("extend", "Begin the visibility timeout anew", [](const auto& o) {
    Json body = record_call(o);
    set_if(body, "visibilityMs", o.visibility_ms);
    return call_and_print(o, "POST", "/extend", body);
  });
  commands.examples("freshet priority extend A-101 --receipt \"$receipt\" --visibility-ms 60000");
  command.add_option("--visibility-ms", commands.options().visibility_ms,
                     "Visibility timeout in milliseconds [default: the queue's]");
}

// Sends requests small enough that each answer names every refused record. The exit status is that of the first
// request that was refused.
int redrive_ids(const PriorityOptions& options) {
  constexpr size_t kMost = 100;
  Session session(options.remote);
  Json all{{"moved", 0}, {"going_on", false}, {"refused", Json::array()}};
  int status = kDone;
  size_t from = 0;
  const std::string of = " of " + std::to_string(options.ids.size()) + " asked for";
  Progress progress("0" + of);
  for (; from < options.ids.size(); from += kMost) {
    const auto first = options.ids.begin() + static_cast<ptrdiff_t>(from);
    const auto last = first + static_cast<ptrdiff_t>(std::min(kMost, options.ids.size() - from));
    const std::vector<std::string> ids(first, last);
    const Json answer = session.call("POST", "/redrive", Json{{"ids", ids}});
    progress.wipe();
    if (answer.is_null()) {
      status = session.exit_status();
      break;
    }
    all["moved"] = all["moved"].get<uint64_t>() + answer.at("moved").get<uint64_t>();
    for (const auto& result : answer.at("refused")) {
      if (status == kDone) status = priority_status(result);
      std::cerr << "freshet: " << plain_text(result.value("detail", result.value("errorMessage", ""))) << '\n';
      all["refused"].push_back(result);
    }
    progress.show(std::to_string(from + ids.size()) + of);
  }
  progress.end();
  if (from < options.ids.size()) {
    std::cerr << "freshet: left are the ids from '" << plain_text(options.ids[from]) << "' on ("
              << options.ids.size() - from << " of " << options.ids.size() << ")\n";
    if (from == 0) return status;
  }
  std::cout << text_of(all, options.remote.json ? -1 : 2) << '\n';
  return status;
}

void add_changes(PriorityCommands& commands) {
  Command command = commands.add_record("set-status", "Set a record's status", [](const auto& o) {
    Json body = record_call(o);
    body["status"] = o.status;
    return call_and_print(o, "POST", "/status", body);
  });
  commands.examples("freshet priority set-status A-101 READY_TO_SHIP");
  command.add_option("status", commands.options().status, "The status, like READY_TO_SHIP").required();
  command = commands.add_record("set-priority", "Change a record's rank", [](const auto& o) {
    Json body = record_call(o);
    set_if(body, "priority", o.priority);
    return call_and_print(o, "POST", "/priority", body);
  });
  commands.examples("freshet priority set-priority A-101 7 --queue Express");
  command.add_option("priority", commands.options().priority, "The rank; the highest comes first").required();
  command = commands.add("delete", "Delete a record", [](const auto& o) {
    return call_and_print(o, "POST", "/delete", Json{{"id", o.id}});
  });
  commands.examples("freshet priority delete A-101");
  command.add_option("id", commands.options().id, "Record id").required();
  command = commands.add("redrive", "Move records out of the dead-letter queue", [](const auto& o) {
    Json body = Json::object();
    if (!o.ids.empty() && (o.filter + o.values + o.names).empty() && !o.rate && !o.most) return redrive_ids(o);
    if (!o.ids.empty()) body["ids"] = o.ids;
    if (!o.filter.empty()) body["filter"] = o.filter;
    if (!o.values.empty()) {
      auto values = read_argument("--values", o.values);
      if (!values) return wrong_options(values.error());
      body["values"] = std::move(*values);
    }
    if (!o.names.empty()) {
      auto names = read_argument("--names", o.names);
      if (!names) return wrong_options(names.error());
      body["names"] = std::move(*names);
    }
    set_if(body, "rate", o.rate);
    set_if(body, "limit", o.most);
    return call_and_print(o, "POST", "/redrive", body);
  });
  commands.examples(
      "freshet priority redrive A-101 A-202\n"
      "freshet priority redrive --filter '#d.weight > :w' --names '{\"#d\": \"data\"}' --values '{\":w\": 1}' --rate "
      "10");
  command.add_option("ids", commands.options().ids, "Ids of the records; without one, all of them").check(not_empty());
  command.add_option("--filter", commands.options().filter, "Filter expression over the items").check(not_empty());
  command.add_option("--names", commands.options().names, "Names in the filter, as JSON: {\"#d\": \"data\"}");
  command.add_option("--values", commands.options().values, "Values in the filter, as JSON: {\":v\": 1}");
  command.add_option("--limit", commands.options().most, "Most records").check(whole(1, 1'000'000'000));
  command.add_option("--rate", commands.options().rate,
                     "Records to move per second; the work goes on after the answer");
}

std::string page_path(const PriorityOptions& options) {
  return "/records?limit=" + std::to_string(options.limit) +
         (options.cursor.empty() ? "" : "&cursor=" + path_segment(options.cursor));
}

void add_looks(PriorityCommands& commands) {
  Command command = commands.add(
      "get", "Show a record", [](const auto& o) { return call_and_print(o, "GET", "/records/" + path_segment(o.id)); });
  commands.examples("freshet priority get A-101");
  command.add_option("id", commands.options().id, "Record id").required().check(not_empty());
  command = commands.add("list", "List records and their status",
                         [](const auto& o) { return call_and_print(o, "GET", page_path(o)); });
  commands.examples("freshet priority list --limit 20");
  command.add_option("--limit", commands.options().limit, "Most records").check(whole(1, 1000));
  command.add_option("--cursor", commands.options().cursor, "Cursor of the previous answer");
  commands.add("stats", "Show the queue", [](const auto& o) { return call_and_print(o, "GET", "/stats"); });
  commands.examples("freshet priority stats --queue Express");
  commands.add("dlq", "Show the dead-letter queue", [](const auto& o) { return call_and_print(o, "GET", "/dlq"); });
  commands.examples("freshet priority dlq");
  command = commands.add("console", "An interactive console, with the commands of the sample's",
                         [](const auto& o) { return run_priority_console(o.remote, o.sample); });
  commands.examples("freshet priority console");
  command.add_flag("--sample", commands.options().sample, "Greets and answers in the sample's words");
}

}  // namespace

void add_priority(Command app, int& exit_status) {
  const Command parent = app.add_subcommand("priority", "Work with priority queues over tables");
  parent.require_subcommand();
  parent.footer(
      "A record through the queue, and the console:\n"
      "  freshet priority put A-101 '{\"id\": \"A-101\"}' --status READY_TO_SHIP\n"
      "  freshet priority enqueue A-101\n"
      "  freshet priority peek --json | jq -r '.records[0].receipt'\n"
      "  freshet priority console");
  PriorityCommands commands(parent, exit_status);
  add_puts(commands);
  add_moves(commands);
  add_changes(commands);
  add_looks(commands);
  add_sample_commands(parent, exit_status);
}

}  // namespace freshet::cli
