// freshet filtered: a running daemon's filtered queues, a call each with JSON output.
#include <functional>
#include <iostream>
#include <optional>
#include <utility>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/remote.h"

#include "app/cli/subcommands.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct FilteredOptions {
  Remote remote;
  std::string id;
  std::string attributes;
  std::string assignment;
  std::string request;
  std::string status;
  std::string cursor;
  std::vector<std::string> match;
  int64_t limit = 100;
  bool wait = false;
  bool all = false;
  bool enqueue = false;
};

void print(const FilteredOptions& options, const Json& answer) {
  std::cout << text_of(answer, options.remote.json ? -1 : 2) << '\n';
}

// Prints the answer on standard output. Its exit status; kNotFound for an assign without a match.
int call_and_print(const FilteredOptions& options, const std::string& method, const std::string& path,
                   const Json& body = nullptr) {
  Session session(options.remote);
  const Json answer = session.call(method, path, body);
  if (answer.is_null()) return session.exit_status();
  print(options, answer);
  if (answer.value("outcome", "") == "no-match") return kNotFound;
  return answer.contains("right") && !answer.value("right", true) ? kDifferent : kDone;
}

// Every member in that status, one answer a line; what is refused is reported and the rest is done all the same.
int call_and_print_all(const FilteredOptions& options, const std::string& status, const std::string& path, Json body) {
  Session session(options.remote);
  int worst = kDone;
  bool any = false;
  std::string cursor;
  do {
    const Json page = session.call("GET", "/members?limit=1000&status=" + path_segment(status) +
                                              (cursor.empty() ? "" : "&cursor=" + path_segment(cursor)));
    if (page.is_null()) return session.exit_status();
    for (const auto& member : page["members"]) {
      any = true;
      body["id"] = member["member"];
      const Json answer = session.call("POST", path, body);
      if (answer.is_null()) {
        worst = session.exit_status();
        if (worst == kUnreachable) return worst;
      } else {
        std::cout << text_of(answer) << '\n';
      }
    }
    cursor = page.value("cursor", "");
  } while (!cursor.empty());
  if (!any) std::cerr << "no member is " << plain_text(status) << " (--status names another status)\n";
  return worst;
}

// The values of "Spanish" or "Spanish,English"; nothing if one of them is empty.
std::optional<Json> values_of(const std::string& text) {
  Json values = Json::array();
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma == at) return std::nullopt;
    values.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return values;
}

// One word of an alternative, which is the key of a queue or all of NAME=VALUE[,VALUE] ... What is wrong with it.
std::string add_word(const std::string& word, Json& alternative) {
  const auto equals = word.find('=');
  const bool key = equals == std::string::npos;
  if (word.empty() || equals == 0) return "is neither NAME=VALUE nor the key of a queue";
  if (alternative.is_string() || (key && !alternative.is_null()))
    return "needs an `else` before it: a key stands alone";
  if (key) {
    alternative = word;
    return {};
  }
  const std::string name = word.substr(0, equals);
  auto values = values_of(word.substr(equals + 1));
  if (!values) return "has an empty value: leave '" + name + "' out to take any";
  if (alternative.contains(name)) return "names '" + name + "' again: " + name + "=A,B takes either";
  alternative[name] = std::move(*values);
  return {};
}

// Alternatives, with `else` between them. Null, and said why, if the words are none.
Json match_of(const std::vector<std::string>& words) {
  Json match = Json::array();
  Json alternative;
  const auto refuse = [](const std::string& why) {
    std::cerr << "freshet: " << plain_text(why) << '\n';
    return Json();
  };
  for (const auto& word : words) {
    if (word == "else") {
      if (alternative.is_null()) return refuse("'else' stands between two alternatives");
      match.push_back(std::exchange(alternative, nullptr));
    } else if (const std::string why = add_word(word, alternative); !why.empty()) {
      return refuse("'" + word + "' " + why);
    }
  }
  if (alternative.is_null() && !words.empty()) return refuse("'else' stands between two alternatives");
  if (!alternative.is_null()) match.push_back(std::move(alternative));
  return match;
}

int assign(const FilteredOptions& options) {
  if (options.wait && options.request.empty()) {
    std::cerr << "freshet: --wait needs --request ID: you ask for the member with that id later\n";
    return kUsage;
  }
  Json body{{"match", match_of(options.match)}};
  if (body["match"].is_null()) return kUsage;
  if (!options.request.empty()) body["request"] = options.request;
  if (options.wait) body["wait"] = true;
  return call_and_print(options, "POST", "/assign", body);
}

int put(const FilteredOptions& options) {
  auto attributes = read_argument("attributes", options.attributes);
  if (!attributes) {
    std::cerr << "freshet: " << attributes.error().message << '\n';
    return kUsage;
  }
  return call_and_print(options, "POST", "/put", {{"id", options.id}, {"attributes", std::move(*attributes)}});
}

// With --all those in a status, else the one that is named.
int one_or_all(const FilteredOptions& options, const std::string& path, Json body) {
  if (options.all == options.id.empty()) {
    if (options.all) return call_and_print_all(options, options.status, path, std::move(body));
    body["id"] = options.id;
    return call_and_print(options, "POST", path, body);
  }
  std::cerr << "freshet: give the id of a member, or --all\n";
  return kUsage;
}

int release(const FilteredOptions& options) {
  Json body = Json::object();
  if (!options.assignment.empty()) body["assignment"] = options.assignment;
  if (options.enqueue) body["enqueue"] = true;
  return one_or_all(options, "/release", std::move(body));
}

std::string page_path(const FilteredOptions& options, const std::string& what) {
  return "/" + what + "?limit=" + std::to_string(options.limit) +
         (options.status.empty() ? "" : "&status=" + path_segment(options.status)) +
         (options.cursor.empty() ? "" : "&cursor=" + path_segment(options.cursor));
}

// The commands of `freshet filtered`: each adds its options and says what is asked of the daemon.
class FilteredCommands : public Subcommands<FilteredOptions> {
 public:
  using Subcommands::Subcommands;

  Command add(const char* name, const char* what, Run run) {
    return begin(name, what, std::move(run), "CallCenter", "/filtered/",
                 "Name of the filtered queue; a daemon's only one needs none");
  }
  Command add_with_id(const char* name, const char* what, const char* of, Run run) {
    Command command = add(name, what, std::move(run));
    command.add_option("id", options().id, of).required().check(not_empty());
    return command;
  }
  void add_pages(Command command) {
    command.add_option("--limit", options().limit, "List at most so many").check(whole(1, 1000));
    command.add_option("--cursor", options().cursor, "Cursor of the previous page");
  }
  // `status` is the one that --all takes.
  void add_all(Command command, const char* status, const char* what) {
    options().status = status;
    command.add_option("id", options().id, "Member id");
    command.add_flag("--all", options().all, what);
    command.add_option("--status", options().status, "With --all: those with this status")
        .check(not_empty())
        .capture_default_str();
  }
};

void add_members(FilteredCommands& commands) {
  Command command = commands.add_with_id("put", "Make a member, or replace an available one", "Member id", put);
  commands.examples(
      "freshet filtered put a1 '{\"AgentName\": \"Ellen\", \"Gender\": \"F\", \"Languages\": [\"Spanish\"]}'");
  command
      .add_option("attributes", commands.options().attributes,
                  "Attributes of the member, as JSON: {\"Gender\": \"F\", ...}")
      .required();
  commands.add_with_id("get", "Show a member", "Member id",
                       [](const auto& o) { return call_and_print(o, "GET", "/members/" + path_segment(o.id)); });
  commands.examples("freshet filtered get a1");
  command = commands.add("list", "List members",
                         [](const auto& o) { return call_and_print(o, "GET", page_path(o, "members")); });
  commands.examples("freshet filtered list --status available --limit 20");
  command.add_option("--status", commands.options().status, "Only members with this status").check(not_empty());
  commands.add_pages(command);
  commands.add_with_id("delete", "Delete an available member", "Member id", [](const auto& o) {
    return call_and_print(o, "POST", "/delete", Json{{"id", o.id}});
  });
  commands.examples("freshet filtered delete a1");
  command = commands.add("enqueue", "Let an available member wait, or give it the oldest request that it matches",
                         [](const auto& o) { return one_or_all(o, "/enqueue", Json::object()); });
  commands.examples(
      "freshet filtered enqueue a1\n"
      "freshet filtered enqueue --all");
  commands.add_all(command, "available", "All available members, in the order of their ids");
  commands.add_with_id("withdraw", "Take a member that waits out of all queues", "Member id", [](const auto& o) {
    return call_and_print(o, "POST", "/withdraw", Json{{"id", o.id}});
  });
  commands.examples("freshet filtered withdraw a1");
  command = commands.add("release", "End a member's assignment", release);
  commands.examples("freshet filtered release a1 --enqueue");
  commands.add_all(command, "attendingCall", "All assigned members");
  command.add_option("--assignment", commands.options().assignment, "Only if the member's assignment has this id")
      .check(not_empty());
  command.add_flag("--enqueue", commands.options().enqueue, "Let the member wait again at once");
}

void add_requests(FilteredCommands& commands) {
  Command command = commands.add("assign", "Take the member that waits longest and matches", assign);
  commands.examples(
      "freshet filtered assign Languages=Spanish Gender=F else Languages=English --request call-1\n"
      "freshet filtered assign Languages=French,English --request call-2 --wait");
  command.add_option("match", commands.options().match,
                     "NAME=VALUE[,VALUE] ..., with `else` between alternatives; or the key of a queue. Without it, any "
                     "member matches");
  command
      .add_option("--request", commands.options().request, "Id of the request. The same id again gives the same answer")
      .check(not_empty());
  command.add_flag("--wait", commands.options().wait, "Without a match, let the request wait; needs --request");
  commands.add_with_id("request", "Show a request", "Request id",
                       [](const auto& o) { return call_and_print(o, "GET", "/requests/" + path_segment(o.id)); });
  commands.examples("freshet filtered request call-1");
  command = commands.add("requests", "List requests",
                         [](const auto& o) { return call_and_print(o, "GET", page_path(o, "requests")); });
  commands.examples("freshet filtered requests --limit 20");
  commands.add_pages(command);
  commands.add_with_id("cancel", "Take back a request that waits", "Request id", [](const auto& o) {
    return call_and_print(o, "POST", "/cancel", Json{{"id", o.id}});
  });
  commands.examples("freshet filtered cancel call-2");
  commands.add("stats", "Show every queue: version, depth, requests",
               [](const auto& o) { return call_and_print(o, "GET", "/stats"); });
  commands.examples("freshet filtered stats");
  commands.add("recount", "Count all entries again; exit status 7 if something differs",
               [](const auto& o) { return call_and_print(o, "GET", "/recount"); });
  commands.examples("freshet filtered recount");
}

}  // namespace

void add_filtered(Command app, int& exit_status) {
  const Command parent = app.add_subcommand("filtered", "Work with filtered queues: members found by their attributes");
  parent.require_subcommand();
  parent.footer(
      "An agent of the call centre, and a caller:\n"
      "  freshet filtered put a1 '{\"AgentName\": \"Ellen\", \"Gender\": \"F\", \"Languages\": "
      "[\"Spanish\"]}'\n"
      "  freshet filtered enqueue a1\n"
      "  freshet filtered assign Languages=Spanish Gender=F else Languages=English --request call-1\n"
      "  freshet filtered release a1");
  FilteredCommands commands(parent, exit_status);
  add_members(commands);
  add_requests(commands);
}

}  // namespace freshet::cli
