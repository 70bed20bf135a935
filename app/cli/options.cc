#include "app/cli/options.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "app/cli/shipped.h"
#include "app/cli/usage.h"
#include "runtime/deploy/diagnostics.h"

namespace freshet::cli {

namespace {

// "2,10" as "2" and "10".
std::vector<std::string> members_of(const std::string& option, const std::string& text) {
  std::vector<std::string> members;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma == at) throw CLI::ValidationError(option, "'" + text + "' has an empty member: write it like A,B");
    members.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return members;
}

template <class T>
T value_of(const std::string& option, const std::string& text) {
  T value{};
  if (!CLI::detail::lexical_cast(text, value)) throw CLI::ValidationError(option, "'" + text + "' is not a number");
  return value;
}

// True for a unit that the library takes behind a number: none, B, K, KB, Ki, KiB, and so on to E, in any case.
bool is_unit(std::string_view text) {
  const auto take = [&](std::string_view letters) {
    if (text.empty()) return false;
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    const bool found = letters.find(lower) != std::string_view::npos;
    if (found) text.remove_prefix(1);
    return found;
  };
  while (take(" ")) continue;
  if (take("kmgtpe")) take("i");
  take("b");
  while (take(" ")) continue;
  return text.empty();
}

}  // namespace

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::envname(const std::string& variable) {
  option_->envname(variable);
  return *this;
}

Option Option::capture_default_str() {
  option_->capture_default_str();
  return *this;
}

Option Option::description(const std::string& text) {
  option_->description(text);
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::size() {
  option_->transform(CLI::AsSizeValue(false));
  // Comes before it: the library takes -1 and what is beyond 64 bits for the largest number that there is.
  option_->transform(CLI::Validator(
      [](std::string& text) {
        uint64_t number = 0;
        const char* last = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), last, number);
        const bool whole = error == std::errc{} && is_unit(std::string_view(end, last));
        return whole ? std::string() : "'" + text + "' is not a size, like 4096, 64KiB or 2GB";
      },
      ""));
  return *this;
}

Option Option::check(Check check) {
  option_->check(
      CLI::Validator([wrong = std::move(check.wrong)](std::string& text) { return wrong(text); }, check.allowed));
  return *this;
}

Option Option::one_of(std::initializer_list<const char*> words) {
  const std::vector<std::string> known(words.begin(), words.end());
  std::string names;
  std::string placeholder;
  for (const auto& word : known) {
    names += (names.empty() ? "" : ", ") + word;
    placeholder += (placeholder.empty() ? "{" : ",") + word;
  }
  option_->transform(CLI::Validator(
      [known, names](std::string& text) {
        for (const auto& word : known) {
          if (letters_between(text, word) == 0) {
            text = word;
            return std::string();
          }
        }
        return "'" + text + "' is none of " + names + did_you_mean(text, known);
      },
      placeholder + "}"));
  return *this;
}

Option Option::existing_folder() {
  option_->check(CLI::Validator(
      [](std::string& text) {
        std::error_code error;
        return std::filesystem::is_directory(text, error) ? std::string() : "there is no folder '" + text + "'";
      },
      "DIR"));
  return *this;
}

Option Option::file() {
  option_->type_name("FILE");
  return *this;
}

Option Option::folder() {
  option_->type_name("FOLDER");
  return *this;
}

Option Option::shipped_file() {
  option_->transform(CLI::Validator(
      [](std::string& text) {
        text = shipped_path(text);
        return std::string();
      },
      ""));
  return file();
}

bool Option::given() const {
  return !option_->empty();
}

Command Command::add_subcommand(const std::string& name, const std::string& what) const {
  CLI::App* added = app_->add_subcommand(name, what);
  added->footer("");  // The library gives it that of its parent.
  return Command(*added);
}

template <class T>
Option Command::add_option(const std::string& name, T& value, const std::string& what) const {
  return Option(app_->add_option(name, value, what));
}

template <class T>
Option Command::add_list(const std::string& name, std::vector<T>& values, const std::string& what) const {
  CLI::Option* option = app_->add_option_function<std::vector<std::string>>(
      name,
      [name, &values](const std::vector<std::string>& words) {
        values.clear();
        for (const std::string& word : words) {
          for (const std::string& member : members_of(name, word)) values.push_back(value_of<T>(name, member));
        }
      },
      what);
  option->type_name(CLI::detail::type_name<T>());
  option->default_function([&values] { return values.empty() ? "" : CLI::detail::join(values, ","); });
  return Option(option);
}

Option Command::add_flag(const std::string& name, bool& value, const std::string& what) const {
  return Option(app_->add_flag(name, value, what));
}

void Command::accept_flag(const std::string& name, const std::string& what) const {
  app_->add_flag_callback(
      name, [] {}, what);
}

void Command::remove_option(const std::string& name) const {
  app_->remove_option(app_->get_option(name));
}

Option Command::get_option(const std::string& name) const {
  return Option(app_->get_option(name));
}

void Command::callback(std::function<void()> run) const {
  app_->callback(std::move(run));
}

void Command::footer(const std::string& text) const {
  app_->footer(text);
}

void Command::options_group(const std::string& heading) const {
  app_->option_defaults()->group(heading);
}

void Command::group(const std::string& heading) const {
  app_->group(heading);
}

Command Command::get_subcommand(const std::string& name) const {
  return Command(*app_->get_subcommand(name));
}

void Command::alias(const std::string& name) const {
  app_->alias(name);
}

void Command::require_subcommand() const {
  app_->require_subcommand(1);
}

bool Command::has_parsed_subcommand() const {
  return !app_->get_subcommands().empty();
}

template Option Command::add_list(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Command::add_list(const std::string&, std::vector<int>&, const std::string&) const;
template Option Command::add_list(const std::string&, std::vector<double>&, const std::string&) const;

// The types that there are options of.
template Option Command::add_option(const std::string&, std::string&, const std::string&) const;
template Option Command::add_option(const std::string&, int&, const std::string&) const;
template Option Command::add_option(const std::string&, int64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, uint32_t&, const std::string&) const;
template Option Command::add_option(const std::string&, uint64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, double&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<std::string>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<int64_t>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<int>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<double>&, const std::string&) const;

}  // namespace freshet::cli
