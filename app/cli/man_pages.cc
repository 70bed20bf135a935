// Pages in man(7)'s macros, which man-db, groff and mandoc know.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <utility>

#include "app/cli/help.h"
#include "app/cli/reference.h"
#include "base/version.h"

namespace freshet::cli {
namespace {

using OptionValue = OptionFacts::Value;

// The code point that begins at `at`, which moves behind it. Help texts are ours: they are UTF-8.
uint32_t code_point(const std::string& text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  uint32_t code = first & (first >= 0xf0 ? 0x07 : first >= 0xe0 ? 0x0f : 0x1f);
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) {
    code = (code << 6) | (static_cast<unsigned char>(text[at++]) & 0x3f);
  }
  return code;
}

// Text of a line: nothing in it is markup. A hyphen of an option can be copied into a shell.
std::string plain(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const uint32_t code = code_point(text, at);
    if (code == '\\') {
      out += "\\e";
    } else if (code == '-') {
      out += "\\-";
    } else if (code == '\n') {
      out += ' ';
    } else if (code == ',' && at < text.size() && text[at] != ' ') {
      out += ",\\:";  // A long list of words may be broken there.
    } else if (code < 0x80) {
      out += static_cast<char>(code);
    } else {
      std::array<char, 16> name;
      std::snprintf(name.data(), name.size(), "\\[u%04X]", code);
      out += name.data();
    }
  }
  return out;
}

// A line of running text, which no first character makes a request.
std::string line_of(const std::string& text) {
  const std::string line = plain(text);
  return (line.empty() || line[0] == '.' || line[0] == '\'' ? "\\&" : "") + line + "\n";
}

// With quotes around it, as the argument of a macro.
std::string argument(const std::string& text) {
  std::string out;
  for (const char c : plain(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return "\"" + out + "\"";
}

std::string heading(const std::string& page, const std::string& what) {
  std::string upper = page;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return ".\\\" Made by `freshet man`.\n.TH " + upper + " 1 \"\" \"freshet " + version() +
         "\" Freshet\n.ad l\n.nh\n.SH NAME\n" + plain(page) + " \\- " + plain(what) + "\n";
}

std::string page_name(const CommandFacts& command) {
  std::string name = "freshet";
  if (!command.path.empty()) name += " " + command.path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string synopsis(const CommandFacts& command) {
  std::string line = ".B freshet" + (command.path.empty() ? "" : " " + plain(command.path)) + "\n[\\fIOPTIONS\\fR]";
  for (const OptionFacts& option : command.options) {
    if (!option.names.empty()) continue;
    const std::string name = "\\fI" + plain(option.positional) + "\\fR" + (option.repeatable ? " ..." : "");
    line += option.required ? " " + name : " [" + name + "]";
  }
  if (!command.commands.empty()) line += " \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]";
  return line + "\n";
}

// The first lines of what an option's paragraph says: its names and what its value is.
std::string option_head(const OptionFacts& option) {
  std::string head;
  for (const std::string& name : option.names) head += (head.empty() ? "" : ", ") + ("\\fB" + plain(name) + "\\fR");
  if (option.names.empty()) return "\\fI" + plain(option.positional) + "\\fR";
  if (option.value == OptionValue::kNone) return head;
  return head + " \\fI" + plain(option.placeholder) + "\\fR";
}

std::string option_paragraph(const OptionFacts& option) {
  std::string out = ".TP\n" + option_head(option) + "\n" + line_of(option.what + ".");
  const auto add = [&](const std::string& text) { out += line_of(text); };
  if (!option.choices.empty()) {
    std::string all;
    for (const std::string& choice : option.choices) all += (all.empty() ? "" : ", ") + choice;
    add("One of: " + all + ".");
  } else if (!option.allowed.empty()) {
    add("Allowed: " + option.allowed + ".");
  }
  if (!option.standard.empty()) add("Default: " + option.standard + ".");
  if (!option.variable.empty()) add("Variable: " + option.variable + ".");
  return out;
}

std::string options_of(const CommandFacts& command) {
  std::string arguments;
  std::string options;
  for (const OptionFacts& option : command.options) {
    (option.names.empty() ? arguments : options) += option_paragraph(option);
  }
  return arguments + options;
}

// Wide enough for most commands, and fits a terminal of 80 columns behind man's margin.
constexpr size_t kExampleWidth = 70;

// Running text is filled by man; an example is a line that begins with a blank, and goes on behind a backslash if it is
// too wide.
std::string examples_of(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  bool is_running = false;
  bool is_example = false;
  const auto end_example = [&] { out += std::exchange(is_example, false) ? ".EE\n" : ""; };
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != ' ') {
      end_example();
      out += (std::exchange(is_running, true) || out.empty() ? "" : ".PP\n") + line_of(line);
      continue;
    }
    if (!is_example) out += out.empty() ? ".EX\n" : ".PP\n.EX\n";
    is_example = true;
    is_running = false;
    std::istringstream parts(wrapped_footer(line, kExampleWidth));
    for (std::string part; std::getline(parts, part);) out += line_of(part);
  }
  end_example();
  return out;
}

constexpr std::array<const char*, 8> kStatuses = {
    "Done.",
    "Failed.",
    "Wrong usage or input.",
    "Not found.",
    "Conflict: the state does not allow it.",
    "Throttled: try again later.",
    "The daemon cannot be reached.",
    "A comparison found a difference.",
};

std::string ending(const std::string& see) {
  std::string out = ".SH EXIT STATUS\n";
  for (size_t status = 0; status < kStatuses.size(); ++status) {
    out += ".TP\n.B " + std::to_string(status) + "\n" + kStatuses[status] + "\n";
  }
  return out + ".SH SEE ALSO\n" + see;
}

}  // namespace

std::string program_page(const CommandFacts& program) {
  std::string out = heading("freshet", "durable task processor, newest work first");
  out += ".SH SYNOPSIS\n" + synopsis(program) + ".SH DESCRIPTION\n" + line_of(program.what + ".");
  out +=
      ".PP\nThe daemon is\n.B freshet serve\nor\n.BR \"freshet run\" ;\nthe other commands talk to it or work without "
      "one.\n"
      "Each has a page of its own.\n";
  std::string group;
  out += ".SH COMMANDS\n";
  for (const CommandFacts& command : program.commands) {
    if (command.group != group) out += ".SS " + argument(group = command.group) + "\n";
    out += ".TP\n.BR " + argument(page_name(command)) + " (1)\n" + line_of(command.what + ".");
  }
  out += ".SH OPTIONS\n" + options_of(program);
  out += ".SH ENVIRONMENT\nThe page of each command says which variable stands for an option.\n";
  out += ".SH FILES\n.TP\n.I /etc/freshet/freshet.conf\nOptions of the daemon that the system runs.\n";
  out +=
      ".TP\n.I /var/lib/freshet\nIts data.\n.TP\n.I /usr/share/freshet\nTemplates, definitions and examples that "
      "ship.\n";
  out += ".TP\n.I /usr/share/doc/freshet\nThe documentation.\n";
  std::string see;
  for (const CommandFacts& command : program.commands) {
    const bool last = &command == &program.commands.back();
    see += ".BR " + argument(page_name(command)) + (last ? " (1)\n" : " (1),\n");
  }
  return out + ending(see);
}

std::string command_page(const CommandFacts& command) {
  std::string out = heading(page_name(command), command.what);
  out += ".SH SYNOPSIS\n" + synopsis(command);
  if (command.commands.empty()) {
    out += ".SH OPTIONS\n" + options_of(command);
  } else {
    out += ".SH OPTIONS\n" + options_of(command) + ".SH COMMANDS\n";
  }
  for (const CommandFacts& below : command.commands) {
    out += ".SS " + argument("freshet " + below.path) + "\n" + line_of(below.what + ".") + ".PP\n" + synopsis(below) +
           options_of(below);
    if (!below.examples.empty()) out += ".PP\n" + examples_of(below.examples);
  }
  if (!command.examples.empty()) out += ".SH EXAMPLES\n" + examples_of(command.examples);
  return out + ending(".BR freshet (1)\n");
}

}  // namespace freshet::cli
