// Completions for bash, zsh and fish. Each script walks the words up to the cursor to the command that they name, and
// offers what that one takes: its commands, its options, and the values of an option.
#include <algorithm>

#include "app/cli/reference.h"

namespace freshet::cli {
namespace {

using OptionValue = OptionFacts::Value;

// Calls `visit` with the program and each command below it, parents first.
template <class Visit>
void visit_all(const CommandFacts& command, const Visit& visit) {
  visit(command);
  for (const CommandFacts& below : command.commands) visit_all(below, visit);
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::vector<std::string> names_of(const std::vector<CommandFacts>& commands) {
  std::vector<std::string> names;
  for (const CommandFacts& command : commands) {
    names.push_back(command.name());
    names.insert(names.end(), command.aliases.begin(), command.aliases.end());
  }
  return names;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// In single quotes: of all three shells, though only fish knows an escape in them.
std::string shell_quoted(const std::string& text, bool fish = false) {
  if (fish) return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
  return "'" + replaced(text, "'", "'\\''") + "'";
}

// "priority_peek", for the name of a function.
std::string identifier(const std::string& path) {
  std::string text = path;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return text;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// The branches of _freshet_facts(): what each command takes.
std::string bash_facts(const CommandFacts& program) {
  std::string facts;
  visit_all(program, [&](const CommandFacts& command) {
    std::vector<std::string> options;
    std::string values;
    std::string arguments;
    for (const OptionFacts& option : command.options) {
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (option.value == OptionValue::kNone) continue;
      std::string how = option.value == OptionValue::kFile ? "-f" : option.value == OptionValue::kFolder ? "-d" : "";
      if (!option.choices.empty()) how = "-W " + shell_quoted(joined(option.choices));
      if (option.names.empty()) {
        if (arguments.empty()) arguments = how;
      } else {
        values += "        " + joined(option.names, "|") + ") value=(" + how + ") ;;\n";
      }
    }
    facts += "    " + shell_quoted(command.path) +
             ")\n      commands=" + shell_quoted(joined(names_of(command.commands))) +
             "\n      options=" + shell_quoted(joined(options)) + "\n      arguments=(" + arguments + ")\n";
    if (!values.empty())
      facts += "      case $1 in\n" + values + "        *) valued= ;;\n      esac\n";
    else
      facts += "      valued=\n";
    facts += "      ;;\n";
  });
  return facts;
}

// The branches of _freshet_step(): the commands by their names and aliases.
std::string bash_paths(const CommandFacts& program) {
  std::string paths;
  visit_all(program, [&](const CommandFacts& command) {
    for (const std::string& alias : command.aliases) {
      const std::string parent = command.path.substr(0, command.path.size() - command.name().size());
      paths += "    " + shell_quoted(parent + alias) + ") path=" + shell_quoted(command.path) + " ;;\n";
    }
    if (!command.path.empty())
      paths += "    " + shell_quoted(command.path) + ") path=" + shell_quoted(command.path) + " ;;\n";
  });
  return paths;
}

}  // namespace

std::string bash_completions(const CommandFacts& program) {
  return R"(# Completion of freshet's commands for bash. Made by `freshet completions bash`.
# Load it with: source <(freshet completions bash)

# Sets the words that the command `path` takes, and how the values of its option $1 are completed, if it has any.
_freshet_facts() {
  valued=1 value=()
  case $path in
)" + bash_facts(program) +
         R"(  esac
}

# The command that the words up to here name, with one word more.
_freshet_step() {
  case "${path:+$path }$1" in
)" + bash_paths(program) +
         R"(  esac
}

_freshet() {
  local path= commands options arguments value valued i
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -* ]] || _freshet_step "${COMP_WORDS[i]}"
  done
  # `--option=value` comes as three words.
  if [[ $current == '=' ]]; then
    current=
  elif [[ $before == '=' && COMP_CWORD -gt 2 ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  _freshet_facts "$before"
  if [[ $before == -* && -n $valued ]]; then
    arguments=("${value[@]}")
  elif [[ $current == -* ]]; then
    arguments=(-W "$options")
  elif [[ -n $commands ]]; then
    arguments=(-W "$commands")
  fi
  ((${#arguments[@]})) || return 0
  [[ ${arguments[0]} == -W ]] || compopt -o filenames 2>/dev/null
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "${arguments[@]}" -- "$current")
}

complete -F _freshet freshet
)";
}

namespace {

// Text inside [...] or between colons of _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : first_line(text)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionFacts& option) {
  if (!option.choices.empty()) return "(" + joined(option.choices) + ")";
  if (option.value == OptionValue::kFile) return "_files";
  if (option.value == OptionValue::kFolder) return "_files -/";
  return "";
}

std::string zsh_specs(const CommandFacts& command) {
  std::string specs;
  const auto add = [&](const std::string& spec) { specs += " \\\n    " + shell_quoted(spec); };
  for (const OptionFacts& option : command.options) {
    const std::string value = ":" + zsh_text(option.placeholder) + ":" + zsh_action(option);
    if (option.names.empty()) {
      const std::string what = zsh_text(option.positional) + ":" + zsh_action(option);
      add(option.repeatable ? "*:" + what : (option.required ? ":" : "::") + what);
      continue;
    }
    for (const std::string& name : option.names) {
      const std::string others = option.names.size() < 2 ? "" : "(" + joined(option.names) + ")";
      const char* equals = name.size() > 2 && option.value != OptionValue::kNone ? "=" : "";
      add((option.repeatable ? "*" : others) + name + equals + "[" + zsh_text(option.what) + "]" +
          (option.value == OptionValue::kNone ? "" : value));
    }
  }
  return specs;
}

// A function that offers the commands of a group with what they do.
std::string zsh_commands(const CommandFacts& command) {
  std::string lines;
  std::string cases;
  for (const CommandFacts& below : command.commands) {
    std::vector<std::string> names = below.aliases;
    names.insert(names.begin(), below.name());
    for (const std::string& name : names) {
      lines += "      " + shell_quoted(replaced(name, ":", "\\:") + ":" + first_line(below.what)) + "\n";
    }
    cases += "        " + joined(names, "|") + ") _freshet_" + identifier(below.path) + " ;;\n";
  }
  return " \\\n    '1: :->command' '*:: :->rest'\n  case $state in\n    command)\n      commands=(\n" + lines +
         "      )\n      _describe command commands\n      ;;\n    rest)\n      case $words[1] in\n" + cases +
         "      esac\n      ;;\n  esac\n";
}

}  // namespace

std::string zsh_completions(const CommandFacts& program) {
  std::string functions;
  visit_all(program, [&](const CommandFacts& command) {
    const std::string name = command.path.empty() ? "_freshet" : "_freshet_" + identifier(command.path);
    functions += name + "() {\n";
    if (command.commands.empty()) {
      functions += "  _arguments -S" + zsh_specs(command) + "\n}\n\n";
    } else {
      functions +=
          "  local curcontext=$curcontext state line\n  local -a commands\n  typeset -A opt_args\n  _arguments -C" +
          zsh_specs(command) + zsh_commands(command) + "}\n\n";
    }
  });
  return "#compdef freshet\n# Completion of freshet's commands for zsh. Made by `freshet completions zsh`.\n"
         "# Load it with: source <(freshet completions zsh)\n\n" +
         functions +
         "# As a file of fpath it is the function itself; otherwise it is registered.\n"
         "if [ \"$funcstack[1]\" = _freshet ]; then\n  _freshet \"$@\"\nelse\n  compdef _freshet freshet\nfi\n";
}

namespace {

std::string fish_option(const CommandFacts& command, const OptionFacts& option) {
  std::string line = "complete -c freshet -n " + shell_quoted("__freshet_at " + shell_quoted(command.path, true), true);
  for (const std::string& name : option.names)
    line += name.size() == 2 ? " -s " + name.substr(1) : " -l " + name.substr(2);
  if (!option.choices.empty()) {
    line += " -x -a " + shell_quoted(joined(option.choices), true);
  } else if (option.value == OptionValue::kFile) {
    line += option.names.empty() ? " -F" : " -r -F";
  } else if (option.value == OptionValue::kFolder) {
    line += " -x -a '(__fish_complete_directories)'";
  } else if (option.value == OptionValue::kText && !option.names.empty()) {
    line += " -x";
  }
  if (!option.names.empty()) line += " -d " + shell_quoted(first_line(option.what), true);
  return line + "\n";
}

}  // namespace

std::string fish_completions(const CommandFacts& program) {
  std::string paths;
  std::string lines;
  visit_all(program, [&](const CommandFacts& command) {
    if (!command.path.empty()) paths += " " + shell_quoted(command.path, true);
    const std::string at =
        "complete -c freshet -n " + shell_quoted("__freshet_at " + shell_quoted(command.path, true), true);
    for (const CommandFacts& below : command.commands) {
      lines +=
          at + " -a " + shell_quoted(below.name(), true) + " -d " + shell_quoted(first_line(below.what), true) + "\n";
    }
    bool arguments = false;
    for (const OptionFacts& option : command.options) {
      const bool has_action = option.value != OptionValue::kText || !option.choices.empty();
      if (option.names.empty() && (arguments || !has_action)) continue;
      arguments = arguments || option.names.empty();
      lines += fish_option(command, option);
    }
  });
  return R"(# Completion of freshet's commands for fish. Made by `freshet completions fish`.
# Load it with: freshet completions fish | source

# Succeeds if the words up to the cursor name just this command.
function __freshet_at
  set -l path ''
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim -- "$path $word")
    if contains -- $longer)" +
         paths + R"(
      set path $longer
    end
  end
  test "$path" = "$argv[1]"
end

complete -c freshet -f
)" + lines;
}

}  // namespace freshet::cli
