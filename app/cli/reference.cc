#include "app/cli/reference.h"

#include <CLI/CLI.hpp>

#include "app/cli/help.h"

namespace freshet::cli {
namespace {

constexpr const char* kFile = "FILE";
constexpr const char* kFolder = "FOLDER";

// The library says what is allowed behind the type: "TEXT:{sync,none}".
std::vector<std::string> choices_of(const std::string& type) {
  const size_t begin = type.find(":{");
  if (begin == std::string::npos || type.back() != '}') return {};
  std::vector<std::string> choices;
  std::string word;
  for (const char c : type.substr(begin + 2)) {
    if (c == ',' || c == '}') {
      choices.push_back(std::exchange(word, {}));
    } else {
      word += c;
    }
  }
  return choices;
}

OptionFacts read_option(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (facts.names.empty()) facts.positional = option.get_name(true);
  facts.what = option.get_description();
  facts.standard = option.get_default_str();
  facts.variable = option.get_envname();
  facts.required = option.get_required();
  facts.repeatable = option.get_expected_max() > 1;
  if (option.get_items_expected_max() == 0) return facts;
  const std::string type = option.get_type_name();
  facts.placeholder = value_name(type);
  facts.choices = choices_of(type);
  facts.allowed = allowed_values(option);
  const auto begins = [&](const char* name) { return type.rfind(name, 0) == 0; };
  const bool folder = begins(kFolder) || type.find(":DIR") != std::string::npos;
  facts.value = folder          ? OptionFacts::Value::kFolder
                : begins(kFile) ? OptionFacts::Value::kFile
                                : OptionFacts::Value::kText;
  return facts;
}

CommandFacts read_command(const CLI::App& app, const std::string& path) {
  CommandFacts facts;
  facts.path = path;
  facts.group = app.get_group();
  facts.aliases = app.get_aliases();
  facts.what = app.get_description();
  facts.examples = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) facts.options.push_back(read_option(*option));
  }
  // Those without a group are hidden.
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    facts.commands.push_back(read_command(*command, path + (path.empty() ? "" : " ") + command->get_name()));
  }
  return facts;
}

}  // namespace

std::string CommandFacts::name() const {
  const size_t blank = path.rfind(' ');
  return blank == std::string::npos ? path : path.substr(blank + 1);
}

CommandFacts read_reference(const CLI::App& app) {
  return read_command(app, "");
}

}  // namespace freshet::cli
