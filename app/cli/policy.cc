// freshet policy: the settings of a running daemon's queue, and changing them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/queue_name.h"
#include "app/cli/remote.h"
#include "app/cli/table.h"
#include "app/cli/wrapped_lines.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "base/plain_text.h"
#include "base/terminal.h"
#include "functions/settings.h"

namespace freshet::cli {
namespace {

constexpr const char* kHolds =
    "This holds until the next deployment of the queue's template or, outside a fleet, the daemon's next start: write "
    "it into the template to keep it";

constexpr milliseconds kLeastGuard = std::chrono::seconds(10);
constexpr milliseconds kMostGuard = std::chrono::hours(24);

// Percentage points: above 0, at most 100.
Check points() {
  return {[](const std::string& text) {
    double value = 0;
    const bool good = read_number_in(text, value) && value > 0 && value <= 100;
    return good ? std::string() : "'" + plain_text(text) + "' must be percentage points: above 0, at most 100";
  }};
}

struct PolicyOptions {
  Remote remote;
  std::vector<std::string> changes;  // NAME=VALUE each.
  bool dry_run = false;
  double guard = 0;  // Percentage points; 0: none.
  std::string within = "10m";
  bool keep = false;
};

// The text of a row of the table in docs/settings.md, without its marks for code and links.
std::string plain_words(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`' || text[i] == '[') continue;
    if (text[i] == ']' && i + 1 < text.size() && text[i + 1] == '(') {
      i = std::min(text.find(')', i), text.size() - 1);
      continue;
    }
    out += text[i];
  }
  return out;
}

const SettingHelp* help_of(const std::string& name) {
  for (const SettingHelp& row : setting_table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool is_usual(const std::string& name, const Json& value) {
  const SettingHelp* help = help_of(name);
  return help != nullptr && value.is_string() && value.get<std::string>() == plain_words(help->fallback);
}

void print_policy(const Json& policy, const Screen& screen) {
  Table table(
      screen,
      {{.header = "SETTING"}, {.header = "VALUE"}, {.header = "DEFAULT"}, {.header = "MEANING", .wraps = true}});
  for (const auto& [name, value] : policy.items()) {
    const SettingHelp* help = help_of(name);
    const std::string fallback = help == nullptr ? "?" : plain_words(help->fallback);
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    table.add({{name},
               {text, text == fallback ? Colour::kPlain : Colour::kYellow},
               {fallback},
               {help == nullptr ? "" : plain_words(help->meaning)}});
  }
  std::cout << table.text();
}

std::optional<Json> changes_of(const std::vector<std::string>& texts) {
  Json out = Json::object();
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      std::cerr << "freshet: '" << plain_text(text) << "' must be NAME=VALUE, as in RATE_LIMIT=20\n";
      return std::nullopt;
    }
    const std::string name = text.substr(0, equals);
    if (out.contains(name)) {
      std::cerr << "freshet: '" << plain_text(name) << "' is there twice\n";
      return std::nullopt;
    }
    out[name] = text.substr(equals + 1);
  }
  return out;
}

int change(const PolicyOptions& options, Json changes) {
  Session session(options.remote);
  const Json before = session.call("GET", "/policy");
  if (before.is_null()) return session.exit_status();
  Json request = changes;
  if (options.dry_run) request["dryRun"] = true;
  if (options.guard > 0) {
    const auto within = parse_duration(options.within, kLeastGuard, kMostGuard);
    request["guard"] = {{"points", options.guard}, {"withinMs", within ? within->count() : 0}};
  }
  const Json after = session.call("POST", "/policy", request);
  if (after.is_null()) return session.exit_status();
  if (options.remote.json) {
    std::cout << after.dump() << '\n';
    return kDone;
  }
  for (const auto& [name, value] : after.items()) {
    const Json was = before.value(name, Json());
    if (was == value && !changes.contains(name)) continue;
    // Skips a setting that merely comes into view beside the changed one and has its default value.
    if (was.is_null() && !changes.contains(name) && is_usual(name, value)) continue;
    std::cout << plain_text(name) << ": " << plain_text(was.is_string() ? was.get<std::string>() : "not set") << " -> "
              << plain_text(value.get<std::string>()) << (was == value ? " (as before)" : "") << '\n';
  }
  const WrappedLines wraps(std::cout, screen_of(STDOUT_FILENO));
  if (changes.value("RATE_LIMIT", "") == "0") {
    std::cout << "RATE_LIMIT=0 is no limit; to start nothing: freshet pause " << plain_text(options.remote.queue)
              << '\n';
  }
  if (options.guard > 0 && !options.dry_run) {
    std::cout << fmt::format(
        "It goes back by itself if, within {}, the share of tasks done in time falls by more than {:.4g} percentage "
        "points; to end that: freshet policy {} --keep\n",
        options.within, options.guard, plain_text(options.remote.queue));
  }
  std::cout << (options.dry_run ? "--dry-run: nothing was changed" : kHolds) << '\n';
  return kDone;
}

// Ends the guard of an earlier change.
int keep(const PolicyOptions& options) {
  Session session(options.remote);
  const Json stats = session.call("GET", "/stats");
  if (stats.is_null()) return session.exit_status();
  if (!stats.contains("policyGuard")) {
    std::cout << "no change of the policy is watched: nothing was changed\n";
    return kDone;
  }
  const Json after = session.call("POST", "/policy", Json{{"guard", nullptr}});
  if (after.is_null()) return session.exit_status();
  if (options.remote.json) {
    std::cout << after.dump() << '\n';
  } else {
    const WrappedLines wraps(std::cout, screen_of(STDOUT_FILENO));
    std::cout << "the policy stays, and is not watched any more\n" << kHolds << '\n';
  }
  return kDone;
}

// The message about options that do not go together; "" if they do.
std::string contradiction(const PolicyOptions& options, bool changes) {
  if (options.keep && (changes || options.dry_run || options.guard > 0)) {
    return "--keep stands alone: it keeps the policy of before and ends its guard";
  }
  if (!changes && options.guard > 0) return "--guard needs a change, as in ORDER=lifo";
  if (!changes && options.dry_run) return "--dry-run needs a change, as in RATE_LIMIT=20";
  return {};
}

int policy(const PolicyOptions& options) {
  auto changes = changes_of(options.changes);
  if (!changes) return kUsage;
  if (options.remote.queue.find('=') != std::string::npos) {
    std::cerr << "freshet: the queue's name comes first: freshet policy NAME " << plain_text(options.remote.queue)
              << '\n';
    return kUsage;
  }
  if (const auto wrong = contradiction(options, !changes->empty()); !wrong.empty()) {
    std::cerr << "freshet: " << wrong << '\n';
    return kUsage;
  }
  if (options.keep) return keep(options);
  if (!changes->empty()) return change(options, std::move(*changes));
  Session session(options.remote);
  const Json answer = session.call("GET", "/policy");
  if (answer.is_null()) return session.exit_status();
  if (options.remote.json) {
    std::cout << answer.dump() << '\n';
  } else {
    print_policy(answer, screen_of(STDOUT_FILENO));
  }
  return kDone;
}

}  // namespace

void add_policy(Command app, int& exit_status) {
  auto options = std::make_shared<PolicyOptions>();
  const Command command =
      app.add_subcommand("policy", "Show the settings of a queue beside their defaults, or change them");
  add_queue_name(command, options->remote);
  command.add_option("changes", options->changes, "NAME=VALUE: settings to change; without one they are shown");
  command.add_flag("--dry-run", options->dry_run, "Check the change and show what it would be; change nothing");
  const Option guard = command
                           .add_option("--guard", options->guard,
                                       "Go back by itself if the share of tasks done in time falls by more than that "
                                       "many percentage points")
                           .check(points());
  command.add_option("--within", options->within, "The time for which --guard watches [default: 10m]")
      .check(duration(kLeastGuard, kMostGuard))
      .needs(guard);
  command.add_flag("--keep", options->keep, "Keep the policy and end the guard of an earlier change");
  command.footer(
      "A change holds until the template is deployed again or the daemon starts anew.\n"
      "  freshet policy jobs\n"
      "  freshet policy jobs ORDER=fifo RATE_LIMIT=19\n"
      "  freshet policy jobs CONCURRENCY=adaptive --dry-run\n"
      "  freshet policy jobs ORDER=fifo --guard 10 --within 10m");
  command.callback([options, &exit_status] { exit_status = policy(*options); });
}

}  // namespace freshet::cli
