#include "app/cli/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

namespace freshet::cli {
namespace {

// The end of the part of an example that fits, at a blank between two words of a shell. npos: it fits whole, or there
// is no such blank.
size_t break_of(const std::string& line, size_t width) {
  if (columns_of(line) <= width) return std::string::npos;
  size_t found = std::string::npos;
  char quote = 0;
  const size_t first = line.find_first_not_of(' ');
  for (size_t i = first; i < line.size(); ++i) {
    if (i + 2 > width && found != std::string::npos) break;
    if (quote != 0 ? line[i] == quote : line[i] == '\'' || line[i] == '"') quote = quote != 0 ? 0 : line[i];
    if (quote == 0 && line[i] == ' ') found = i;
  }
  return found;
}

void append_example(std::string& out, std::string line, size_t width) {
  for (size_t at = 0; (at = break_of(line, width)) != std::string::npos;) {
    out += line.substr(0, at) + " \\\n";
    const size_t next = line.find_first_not_of(' ', at);
    line = "      " + (next == std::string::npos ? "" : line.substr(next));
  }
  out += line + '\n';
}

// "{bash,zsh}" as "bash, zsh"; empty if the description names each of them.
std::string missing_words(const std::string& braces, const std::string& description) {
  std::string words;
  bool missing = false;
  for (size_t at = 1; at < braces.size();) {
    const size_t end = std::min(braces.find_first_of(",}", at), braces.size());
    const std::string word = braces.substr(at, end - at);
    missing = missing || description.find(word) == std::string::npos;
    words += (words.empty() ? "" : ", ") + word;
    at = end + 1;
  }
  return missing ? words : "";
}

class Help : public CLI::Formatter {
 public:
  explicit Help(const Screen& screen) : screen_(screen) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::string out = text(app->get_description()) + '\n' + painted(screen_, Colour::kBold, "Usage:") +
                      text(make_usage(app, std::move(name))).substr(6) + '\n' + make_positionals(app);
    out += make_subcommands(app, CLI::AppFormatMode::Normal);
    for (const std::string& group : app->get_groups()) {
      const auto options = app->get_options(
          [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
      if (!options.empty()) out += make_group(group, false, options);
    }
    if (const std::string footer = app->get_footer(); !footer.empty()) out += '\n' + wrapped_footer(footer, width());
    return out;
  }

  std::string make_positionals(const CLI::App* app) const override {
    const auto options = app->get_options([](const CLI::Option* option) { return option->get_positional(); });
    return options.empty() ? std::string() : make_group("Arguments", true, options);
  }

  std::string make_group(std::string heading, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string out = '\n' + painted(screen_, Colour::kBold, heading + ':') + '\n';
    size_t column = 0;
    for (const auto* option : options) column = std::max(column, columns_of(left(*option, is_positional)));
    for (const auto* option : options) out += row(left(*option, is_positional), right(*option), limited(column));
    return out;
  }

  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode) const override {
    std::string out, group;
    const auto commands = app->get_subcommands({});
    size_t column = 0;
    for (const CLI::App* one : commands) column = std::max(column, columns_of(one->get_display_name(true)) + 2);
    for (const CLI::App* one : commands) {
      const std::string heading = one->get_group() == "Subcommands" ? "Commands" : one->get_group();
      if (heading.empty()) continue;
      if (heading != group) out += '\n' + painted(screen_, Colour::kBold, heading + ':') + '\n';
      group = heading;
      out += row("  " + one->get_display_name(true), one->get_description(), limited(column));
    }
    return out;
  }

 private:
  size_t width() const { return std::min<size_t>(screen_.width, 100); }  // Longer lines of text are hard to read.
  size_t limited(size_t column) const { return std::min(column, width() / 3); }

  std::string text(const std::string& words, size_t indent = 0) const {
    std::string out;
    for (const auto& line : wrapped(words, width() - indent, screen_)) out += std::string(indent, ' ') + line + '\n';
    out.pop_back();
    return out;
  }

  // `name` in a column of that width, and `what` beside it, or below it if it is wider.
  std::string row(const std::string& name, const std::string& what, size_t column) const {
    if (what.empty()) return name + '\n';
    const std::string lines = text(what, column + 2);
    if (columns_of(name) > column) return name + '\n' + lines + '\n';
    return name + std::string(column - columns_of(name), ' ') + lines.substr(column) + '\n';
  }

  static std::string left(const CLI::Option& option, bool is_positional) {
    std::string name = option.get_name(is_positional, !is_positional);
    if (const size_t comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, 1, ' ');
    const bool repeats = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
    if (is_positional) return "  " + name + (repeats ? "..." : "");
    const std::string value = value_name(option.get_type_name());
    return (name.starts_with("--") ? "      " : "  ") + name + (value.empty() ? "" : " " + value);
  }

  static std::string right(const CLI::Option& option) {
    std::string facts;
    const auto add = [&](const std::string& fact) { facts += (facts.empty() ? "" : "; ") + fact; };
    if (const std::string allowed = allowed_values(option); !allowed.empty()) add(allowed);
    if (std::string standard = option.get_default_str(); !standard.empty() && option.get_type_size() != 0) {
      for (size_t at = 0; (at = standard.find(',', at)) != std::string::npos; at += 2) standard.insert(at + 1, 1, ' ');
      add("default: " + standard);
    }
    if (option.get_required() && option.nonpositional()) add("required");
    for (const CLI::Option* other : option.get_needs()) add("with " + other->get_name());
    if (!option.get_envname().empty()) add(option.get_envname());
    return option.get_description() + (facts.empty() ? "" : " [" + facts + "]");
  }

  const Screen screen_;
};

}  // namespace

std::string allowed_values(const CLI::Option& option) {
  std::string allowed;
  const std::string type = option.get_type_name();
  for (size_t at = type.find(':'); at != std::string::npos;) {
    const size_t next = type.find(':', at + 1);
    const std::string one = type.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    at = next;
    if (one.starts_with("{")) {
      allowed += missing_words(one, option.get_description());
      continue;
    }
    const bool known = one.empty() || one == "DIR" || one == "FILE" || one.starts_with("SIZE ");
    if (known || option.get_description().find(one) != std::string::npos) continue;
    allowed += (allowed.empty() ? "" : ", ") + one;
  }
  return allowed;
}

std::string value_name(const std::string& type) {
  const std::string base = type.substr(0, type.find(':'));
  if (type.find(":SIZE") != std::string::npos) return "SIZE";
  if (type.find(":{") != std::string::npos) return "WORD";
  if (type.find(":DIR") != std::string::npos) return "FOLDER";
  return base == "INT" || base == "UINT" || base == "FLOAT" ? "NUMBER" : base;
}

void use_help(CLI::App& app, const Screen& screen) {
  const auto help = std::make_shared<Help>(screen);
  help->label("SUBCOMMAND", "COMMAND");
  app.formatter(help);
  app.set_help_flag("-h,--help", "Show this help");
}

std::string wrapped_footer(const std::string& footer, size_t width) {
  std::string out, running;
  const auto flush = [&] {
    if (running.empty()) return;
    for (const auto& line : wrapped(std::exchange(running, {}), width)) out += line + '\n';
  };
  for (size_t at = 0; at < footer.size();) {
    const size_t end = std::min(footer.find('\n', at), footer.size());
    const std::string line = footer.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line[0] != ' ') {
      running += line + ' ';
      continue;
    }
    flush();
    append_example(out, line, width);
  }
  flush();
  return out;
}

}  // namespace freshet::cli
