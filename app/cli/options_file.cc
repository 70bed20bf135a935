#include "app/cli/options_file.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "runtime/deploy/diagnostics.h"

namespace freshet::cli {
namespace {

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

class OptionsFile {
 public:
  OptionsFile(CLI::App& command, const std::string& path) : command_(command), path_(path) {
    for (CLI::Option* option : command.get_options()) {
      if (option->count() > 0) decided_.insert(option);
    }
  }

  void apply() {
    std::ifstream in(path_, std::ios::binary);
    std::string text;
    if (in) std::getline(in, text, '\0');
    if (!in.eof() || in.bad()) {
      throw CLI::FileError("--config: cannot read '" + path_ + "': " + std::strerror(errno), CLI::ExitCodes::FileError);
    }
    size_t from = 0;
    while (from < text.size()) {
      const size_t end = std::min(text.find('\n', from), text.size());
      ++line_;
      apply_line(trimmed(std::string_view(text).substr(from, end - from)));
      from = end + 1;
    }
    // Once all are there: an option of many values takes those of all its lines.
    for (const auto& [option, line] : given_) {
      line_ = line;
      guarded([&, set = option] { set->run_callback(); });
    }
  }

 private:
  void apply_line(const std::string& line) {
    if (line.empty() || line[0] == '#') return;
    const size_t equals = line.find('=');
    if (equals == std::string::npos) {
      const bool is_template = line.starts_with("AWSTemplateFormatVersion") || line.starts_with("Resources:");
      wrong("'" + line + "' is not of the form NAME = VALUE" +
            (is_template ? "; a template is named without --config, as in freshet run " + path_ : ""));
    }
    const std::string name = trimmed(std::string_view(line).substr(0, equals));
    std::string value = trimmed(std::string_view(line).substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    CLI::Option* option = find(name);
    if (option == nullptr) {
      wrong("'" + name + "' is no option of 'freshet " + command_.get_name() + "'" + did_you_mean(name, names()));
    }
    if (decided_.count(option) > 0) return;
    const bool repeats = option->get_items_expected_max() > 1;
    if (!given_.emplace(option, line_).second && !repeats) wrong("'" + name + "' is given twice");
    option->add_result(value);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const CLI::Option* option : command_.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (find(name) != nullptr) out.push_back(name);
      }
    }
    return out;
  }

  CLI::Option* find(const std::string& name) const {
    if (name.empty() || name == "config" || name == "help" || name.find_first_of("-") == 0) return nullptr;
    CLI::Option* option = command_.get_option_no_throw("--" + name);
    return option != nullptr ? option : command_.get_option_no_throw(name);
  }

  template <class F>
  void guarded(F set) {
    try {
      set();
    } catch (const CLI::ParseError& error) {
      wrong(error.what());
    }
  }

  [[noreturn]] void wrong(const std::string& what) const {
    throw CLI::ConfigError(path_ + ":" + std::to_string(line_) + ": " + what, CLI::ExitCodes::ConfigError);
  }

  CLI::App& command_;
  const std::string path_;
  std::set<CLI::Option*> decided_;        // By the command line or the environment.
  std::map<CLI::Option*, size_t> given_;  // In the file, and on which line first.
  size_t line_ = 0;
};

}  // namespace

void split_environment_lists(Command command) {
  for (CLI::Option* option : command.app().get_options()) {
    if (option->get_items_expected_max() <= 1 || option->get_envname().empty()) continue;
    const char* variable = std::getenv(option->get_envname().c_str());
    if (variable == nullptr || option->results() != std::vector<std::string>{variable}) continue;
    option->clear();
    std::istringstream lines(variable);
    for (std::string line; std::getline(lines, line);) {
      if (const std::string value = trimmed(line); !value.empty()) option->add_result(value);
    }
    if (option->count() > 0) option->run_callback();
  }
}

void apply_options_file(Command command, const std::string& path) {
  OptionsFile(command.app(), path).apply();
}

}  // namespace freshet::cli
