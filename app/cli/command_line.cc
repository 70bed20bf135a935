#include "app/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_table.h"
#include "app/cli/commands.h"
#include "base/plain_text.h"
#include "runtime/deploy/diagnostics.h"

namespace freshet::cli {
namespace {

// How many letters have to be changed, put in or left out to make one word of the other.
size_t distance(const std::string& from, const std::string& to) {
  std::vector<size_t> row(to.size() + 1);
  for (size_t i = 0; i <= to.size(); ++i) row[i] = i;
  for (size_t i = 1; i <= from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t changed = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row[to.size()];
}

// The deepest command that the words name, for its options.
const CLI::App* last_command(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

// What to say to words that no command takes: CLI11 lists them from the last to the first.
std::string explain_extras(const CLI::App& app) {
  const CLI::App& command = *last_command(&app);
  std::string of;
  for (const CLI::App* one = &command; one != nullptr; one = one->get_parent()) of = one->get_name() + " " + of;
  of.pop_back();
  const auto extras = app.remaining(true);
  const auto option = std::find_if(extras.begin(), extras.end(), [](const auto& word) { return word[0] == '-'; });
  if (option == extras.end()) {
    return of + ": '" + plain_text(extras.front()) + "' is one argument too many; " + of +
           " --help shows what it takes";
  }
  const std::string name = plain_text(option->substr(0, option->find('=')));
  std::vector<std::string> known;
  for (const CLI::Option* one : command.get_options()) {
    for (const std::string& there : one->get_lnames()) known.push_back("--" + there);
  }
  return of + ": there is no option " + name + did_you_mean(name, known) + "; " + of + " --help lists them";
}

// All of them, or those of one name or alias.
std::vector<const CLI::App*> commands_of(const CLI::App& app, const std::string& name = {}) {
  return app.get_subcommands([&](const CLI::App* one) { return name.empty() || one->check_name(name); });
}

// What to say to a first word that is no command, or to none at all.
std::string explain_commands(const CLI::App& app, const std::string& word) {
  std::string names;
  std::string nearest;
  size_t least = 3;
  for (const CLI::App* command : commands_of(app)) {
    names += (names.empty() ? "" : ", ") + command->get_name();
    if (const size_t far = distance(word, command->get_name()); far < std::min(least, word.size())) {
      least = far;
      nearest = command->get_name();
    }
  }
  const std::string of = app.get_parent() == nullptr ? "freshet" : "freshet " + app.get_name();
  const std::string what = word.empty() ? "a command is missing" : "'" + plain_text(word) + "' is no command";
  return of + ": " + what + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") + "\nThere are " + names +
         "; " + of + " COMMAND --help explains each.";
}

// The library's own message; user input in it is escaped.
std::string explain_failure(const CLI::App* app, const CLI::Error& error) {
  const std::string text = CLI::FailureMessage::simple(app, error);
  const size_t what = std::min(std::string(error.what()).size(), text.size());
  return plain_text(text.substr(0, what)) + text.substr(what);
}

int parse_and_run(int argc, char** argv) {
  CLI::App app(
      "Freshet: a durable task processor for when work arrives faster than it can be done and the newest matters most");
  app.name("freshet");
  app.require_subcommand(1);
  app.set_version_flag("--version", FRESHET_VERSION);
  app.failure_message(explain_failure);
  app.footer("freshet COMMAND --help explains each. The first minute: README.md.");
  int exit_status = kDone;
  add_commands(Command(app), exit_status);
  const auto word_at = [&](int at) { return std::string(argc > at ? argv[at] : ""); };
  const auto first = commands_of(app, word_at(1));
  const bool nested = argc > 1 && !first.empty() && first[0]->get_require_subcommand_min() > 0;
  const CLI::App& parent = nested ? *first[0] : app;
  const std::string word = word_at(nested ? 2 : 1);
  if (word.empty() || (word[0] != '-' && commands_of(parent, word).empty())) {
    std::cerr << explain_commands(parent, word) << '\n';
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    std::cerr << explain_extras(app) << '\n';
    return kUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  } catch (const nlohmann::json::exception&) {
    // What was asked answers in JSON, but with other members or types: some other server.
    std::cerr << "freshet: what answers there does so, but not as Freshet does: is that the daemon's address?\n";
    return kFailed;
  }
  return exit_status;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  const int status = parse_and_run(argc, argv);
  // The disk is full or the descriptor is closed: the reader did not get all of the output.
  errno = 0;
  if (std::cout.flush()) return status;
  const std::string why = errno == 0 ? "" : ": " + std::string(std::strerror(errno));
  std::cerr << "freshet: cannot write to standard output" << why << '\n';
  return status == kDone ? kFailed : status;
}

}  // namespace freshet::cli
