// freshet logs: what functions, and the daemon, have said.
#include <unistd.h>

#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/refusal.h"
#include "app/cli/remote.h"
#include "app/daemon/human_log.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct LogsOptions {
  Remote remote;
  std::string function;
  std::vector<std::string> where;  // NAME=VALUE.
  bool follow = false;
  bool all = false;
};

std::string shown_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// A member of that name and value anywhere in the document; the value also as an attribute ({"S": VALUE}).
bool has_member(const Json& document, const std::string& name, const std::string& value, int depth = 0) {
  if (depth > 32 || !document.is_structured()) return false;
  for (const auto& [key, member] : document.items()) {
    if (document.is_object() && key == name) {
      if (member.is_primitive() && shown_text(member) == value) return true;
      if (member.is_object() && member.size() == 1 && member.front().is_primitive() &&
          shown_text(member.front()) == value) {
        return true;
      }
    }
    if (has_member(member, name, value, depth + 1)) return true;
  }
  return false;
}

// As a word: not a part of a longer id.
bool has_word(const std::string& text, const std::string& word) {
  const auto joins = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !joins(text[at - 1])) && (end == text.size() || !joins(text[end]))) return true;
  }
  return false;
}

bool says(const Json& event, const std::string& name, const std::string& value) {
  if (has_member(event, name, value)) return true;
  const std::string line = event.value("line", "");
  const size_t brace = line.find('{');
  if (brace != std::string::npos) {
    const Json said = Json::parse(line.substr(brace), nullptr, false);
    if (!said.is_discarded()) return has_member(said, name, value);
  }
  return has_word(line, value);
}

// Prints tabs as blanks, as log readers expect. Escapes all other control characters.
std::string shown(const std::string& text) {
  std::string blanks;
  for (const char c : text) blanks += c == '\t' ? std::string("  ") : std::string(1, c);
  return plain_text(blanks);
}

class Printer {
 public:
  explicit Printer(const LogsOptions& options) : options_(options) {}

  // False: not wanted.
  bool print(const std::string& text) const {
    const Json event = Json::parse(text, nullptr, false);
    if (!event.is_object() || !wanted(event)) return false;
    if (options_.remote.json) {
      std::cout << text << '\n';
      return true;
    }
    if (screen_.terminal) {
      std::cout << human_line(text, screen_) << '\n';
      return true;
    }
    const std::string time = event.value("time", "");
    std::cout << shown(time.size() > 12 ? time.substr(11, 12) : time) << ' ';
    if (event.value("event", "") == "FUNCTION_LOG") {
      std::cout << shown(event.value("function", "")) << ' ' << shown(event.value("requestId", "").substr(0, 8)) << "  "
                << shown(event.value("line", "")) << (event.value("cut", false) ? " ..." : "") << '\n';
      return true;
    }
    std::cout << shown(event.value("level", "")) << ' ' << shown(event.value("event", ""));
    for (const auto& [name, value] : event.items()) {
      if (name == "time" || name == "level" || name == "event") continue;
      std::cout << ' ' << shown(name) << '=' << shown(shown_text(value));
    }
    std::cout << '\n';
    return true;
  }

 private:
  bool wanted(const Json& event) const {
    const bool of_function = event.contains("function") && event["function"].is_string();
    if (!options_.function.empty() && (!of_function || event["function"] != options_.function)) return false;
    if (options_.function.empty() && !options_.all && options_.where.empty() && !of_function) return false;
    for (const std::string& condition : options_.where) {
      const size_t equals = condition.find('=');
      if (!says(event, condition.substr(0, equals), condition.substr(equals + 1))) return false;
    }
    return true;
  }

  const LogsOptions& options_;
  const Screen screen_ = screen_of(STDOUT_FILENO);
};

// Why no line was printed.
std::string why_nothing(const LogsOptions& options) {
  if (!options.function.empty()) {
    return "the log has no line of function '" + plain_text(options.function) + "'" +
           (options.where.empty() ? "" : " that --where matches");
  }
  if (!options.where.empty()) return "no line of the log matches --where";
  return options.all ? "the log is empty" : "no function has logged anything (--all: also what the daemon logs)";
}

int logs(const LogsOptions& options) {
  auto client = connect_to(options.remote.url, options.remote.credentials, options.remote.ca);
  if (!client) {
    std::cerr << "freshet: " << plain_text(client.error().message) << '\n';
    return kUsage;
  }
  hear_interrupts();
  const Printer printer(options);
  std::string next = "1";
  bool printed = false;
  for (bool first = true; !interrupted(); first = false) {
    const auto piece = (*client)->call("GET", "/logs?from=" + next + (first ? "" : "&waitMs=500"), "");
    if (!piece) return interrupted() ? kDone : unreachable(piece.error());
    if (piece->status != 200) return report_refusal(*piece, options.remote.credentials);
    const auto lost = header(piece->headers, "X-Freshet-Lost");
    if (!first && !lost.empty() && lost != "0")
      std::cerr << "freshet: " << lost << " lines came too fast and are lost\n";
    next = header(piece->headers, "X-Freshet-Next");
    if (next.empty()) return strange_answer(options.remote.url);
    size_t at = 0;
    for (size_t end = 0; (end = piece->body.find('\n', at)) != std::string::npos; at = end + 1) {
      printed |= printer.print(piece->body.substr(at, end - at));
    }
    std::cout << std::flush;
    if (!std::cout) return kFailed;
    if (options.follow || !piece->body.empty()) continue;
    if (printed) return kDone;
    if (!options.function.empty() && print_known_functions(**client, options.function)) return kNotFound;
    std::cerr << why_nothing(options) << '\n';
    return kDone;
  }
  return kDone;
}

std::string check_condition(const std::string& text) {
  const size_t equals = text.find('=');
  const bool good = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
  return good ? std::string() : "'" + text + "' must be NAME=VALUE";
}

}  // namespace

void add_logs(Command app, int& exit_status) {
  auto options = std::make_shared<LogsOptions>();
  const Command command = app.add_subcommand("logs", "Show what functions have logged");
  command.add_option("function", options->function, "Only what this function has logged");
  command.add_flag("-f,--follow", options->follow, "Go on with new lines as they are logged, until Ctrl-C");
  command
      .add_option("--where", options->where,
                  "NAME=VALUE: only lines that hold it, like taskId=order-17; repeatable, all of them must hold")
      .one_value_each()
      .check({check_condition});
  command.add_flag("--all", options->all, "Also what the daemon itself has logged");
  options->remote.add_connection_options(command);
  command.add_flag("--json", options->remote.json, "Print the log's own JSON Lines");
  command.footer(
      "The daemon keeps the last 4 MiB of its log. --where finds NAME in the event, in a JSON object that the "
      "function\n"
      "logged, however deep; in a line that holds none the VALUE as a word.\n"
      "  freshet logs -f Greet\n"
      "  freshet logs --where taskId=from-aws");
  command.callback([options, &exit_status] { exit_status = logs(*options); });
}

}  // namespace freshet::cli
