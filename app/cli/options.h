// The options of commands, over CLI11. Its headers hold all of its code, seven seconds of compilation for each file
// that includes them: only the files that parse include them.
//
// Command and Option are handles: copied freely, valid as long as the command line that they are part of. A wrong name
// (two options of one name) throws CLI11's own exceptions.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace freshet::cli {

// `wrong` returns the fault of a value, for a person; empty if it has none. --help shows `allowed`.
struct Check {
  std::function<std::string(const std::string& text)> wrong;
  std::string allowed = {};
};

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required();
  Option envname(const std::string& variable);
  Option capture_default_str();  // --help shows its current value as the default.
  Option description(const std::string& text);
  Option needs(Option other);
  Option one_value_each();  // May be given several times; each time it takes one word.
  Option size();            // 4096, 64KiB, 2GB.
  Option check(Check check);
  Option one_of(std::initializer_list<const char*> words);  // One of these words, in upper or lower case.
  Option existing_folder();
  Option file();          // --help and completions say that its value is a file.
  Option folder();        // The same of a folder.
  Option shipped_file();  // A file; if it does not exist, a file of that name that ships with the program (shipped.h).
  bool given() const;

 private:
  friend class Command;
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}
  Command add_subcommand(const std::string& name, const std::string& what) const;
  // `value` must outlive the parse. Of texts, numbers, optional ones, and vectors of them (repeatable).
  template <class T>
  Option add_option(const std::string& name, T& value, const std::string& what) const;
  // A list with commas between its members, none of them empty. The option may be repeated.
  template <class T>
  Option add_list(const std::string& name, std::vector<T>& values, const std::string& what) const;
  Option add_flag(const std::string& name, bool& value, const std::string& what) const;
  void accept_flag(const std::string& name, const std::string& what) const;  // A flag without effect.
  void remove_option(const std::string& name) const;
  Option get_option(const std::string& name) const;
  void callback(std::function<void()> run) const;
  void footer(const std::string& text) const;
  void options_group(const std::string& heading) const;   // The heading of the options that are added from now on.
  void group(const std::string& heading) const;           // The heading that the parent's --help shows it under.
  Command get_subcommand(const std::string& name) const;  // Throws CLI::OptionNotFound.
  void alias(const std::string& name) const;
  void require_subcommand() const;
  bool has_parsed_subcommand() const;
  CLI::App& app() const { return *app_; }  // For code that parses.

 private:
  CLI::App* app_;
};

}  // namespace freshet::cli
