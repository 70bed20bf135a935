#include "app/cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/plain_text.h"
#include "runtime/deploy/diagnostics.h"

namespace freshet::cli {
namespace {

// The deepest command that the words name.
const CLI::App& last_command(const CLI::App& app) {
  const CLI::App* one = &app;
  while (!one->get_subcommands().empty()) one = one->get_subcommands().front();
  return *one;
}

// "freshet priority peek".
std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : path_of(*parent) + " ") + command.get_name();
}

// The first of the words that the command took, if it begins like JSON.
bool begins_like_json(const CLI::App& command) {
  for (const CLI::Option* one : command.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    for (const std::string& word : one->results()) {
      if (word.starts_with('{') || word.starts_with('[')) return true;
    }
  }
  return false;
}

// A shell takes JSON without quotes apart, and some commands name their queue by an option.
std::string explain_extra_word(const CLI::App& command, const std::string& extra, const std::string& path) {
  std::string out = "'" + plain_text(extra) + "' is one argument too many; ";
  if (begins_like_json(command)) return out + "put single quotes around all of the JSON, as in '{\"to\": \"ada\"}'";
  const bool takes_words = !command.get_options([](const CLI::Option* one) { return one->get_positional(); }).empty();
  if (!takes_words && command.get_option_no_throw("--queue") != nullptr) {
    return out + "a queue is named by --queue " + plain_text(extra);
  }
  return out + path + " --help shows what it takes";
}

// Words that no command takes. CLI11 lists them from the last to the first.
std::string explain_extras(const CLI::App& app, const CLI::App& command) {
  const std::string path = path_of(command);
  const auto extras = app.remaining(true);
  const auto option = std::find_if(extras.begin(), extras.end(), [](const auto& word) { return word[0] == '-'; });
  if (option == extras.end()) return explain_extra_word(command, extras.front(), path);
  const std::string name = plain_text(option->substr(0, option->find('=')));
  std::vector<std::string> known;
  for (const CLI::Option* one : command.get_options()) {
    for (const std::string& there : one->get_lnames()) known.push_back("--" + there);
  }
  return "there is no option " + name + did_you_mean(name, known) + "; " + path + " --help lists them";
}

// The option or argument that the library's message names at its beginning, or behind `prefix`.
const CLI::Option* option_in(const CLI::App& command, const std::string& message, const std::string& prefix = {}) {
  for (const CLI::Option* one : command.get_options()) {
    const std::string begin = prefix + one->get_name();
    if (message.starts_with(begin) &&
        (message.size() == begin.size() || message.find_first_of(": ", begin.size()) == begin.size()))
      return one;
  }
  return nullptr;
}

bool takes_number(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT");
}

// In our words if the library's are unclear; else its own.
std::string reworded(const CLI::App& command, const CLI::ParseError& error) {
  const std::string message = error.what();
  const auto is = [&](const char* name) { return error.get_name() == name; };
  const CLI::Option* option = option_in(command, message);
  if (is("RequiredError") && option != nullptr) {
    return option->get_name() + " is missing" +
           (option->get_description().empty() ? "" : " (" + option->get_description() + ")");
  }
  if (is("ArgumentMismatch") && option != nullptr && message.find("At Most 1 required") != std::string::npos) {
    return option->get_name() + " is given " +
           (option->count() == 2 ? "twice" : std::to_string(option->count()) + " times") + "; it takes one value";
  }
  if (is("ArgumentMismatch") && option != nullptr && message.find(" missing") != std::string::npos) {
    return option->get_name() + " needs a value";
  }
  if (is("RequiresError") && option != nullptr) {
    return option->get_name() + " works only with" + message.substr(message.rfind(' '));
  }
  constexpr const char* kConversion = "Could not convert: ";
  if (const CLI::Option* wrong = option_in(command, message, kConversion); is("ConversionError") && wrong != nullptr) {
    if (wrong->get_items_expected_max() == 0) return wrong->get_name() + " takes no value";
    const size_t equals = message.find(" = ");
    const std::string value = equals == std::string::npos ? "" : message.substr(equals + 3);
    const bool milliseconds = takes_number(*wrong) && wrong->get_name().ends_with("-ms");
    return wrong->get_name() + ": '" + plain_text(value) + "' is not a " +
           (takes_number(*wrong) ? "number" : "value that it takes") +
           (milliseconds ? " of milliseconds (like 5000, without a unit)" : "");
  }
  return plain_text(message);
}

}  // namespace

size_t letters_between(const std::string& from, const std::string& to) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  std::vector<size_t> row(to.size() + 1);
  for (size_t i = 0; i <= to.size(); ++i) row[i] = i;
  for (size_t i = 1; i <= from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t changed = diagonal + (same(from[i - 1], to[j - 1]) ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row[to.size()];
}

std::string explain_commands(const CLI::App& app, const std::string& word) {
  std::string names;
  std::string nearest;
  size_t least = 3;
  for (const CLI::App* command : app.get_subcommands({})) {
    names += (names.empty() ? "" : ", ") + command->get_name();
    if (const size_t far = letters_between(word, command->get_name()); far < std::min(least, word.size())) {
      least = far;
      nearest = command->get_name();
    }
  }
  const std::string path = path_of(app);
  const bool several = names.find(',') != std::string::npos;
  if (word == "help" || (word == "version" && app.get_parent() == nullptr)) nearest = "--" + word;
  const std::string what = word.empty() ? "a command is missing" : "'" + plain_text(word) + "' is no command";
  return path + ": " + what + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") + "\nThere " +
         (several ? "are " : "is ") + names + "; " + path + " COMMAND --help explains each.";
}

std::string explain_usage(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = last_command(app);
  const std::string path = path_of(command);
  const auto extras = app.remaining(true);
  if (!extras.empty() && extras.front()[0] != '-' && !command.get_subcommands({}).empty()) {
    return explain_commands(command, extras.front());
  }
  // `freshet -x`: the library says that the command is missing.
  const bool missing = error.get_name() == "RequiredError" && option_in(command, error.what()) == nullptr;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || (missing && !extras.empty())) {
    return path + ": " + explain_extras(app, command);
  }
  return path + ": " + reworded(command, error) + "\n" + path + " --help explains the options.";
}

}  // namespace freshet::cli
