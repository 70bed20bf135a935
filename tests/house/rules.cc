#include "tests/house/rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <regex>

namespace freshet::house {
namespace {

constexpr int kMaxFileLines = 600;
constexpr int kMaxFunctionLines = 70;
constexpr int kMaxWiringLines = 300;

std::string at(std::string_view path, int line) {
  return std::string(path) + ":" + std::to_string(line) + ": ";
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view folder_of(std::string_view path) {
  const size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// Places in the one direction; folders of the same place do not know each other.
std::optional<int> place_of(std::string_view folder) {
  static const std::map<std::string_view, int> kPlaces = {{"base", 0},    {"tables", 1},    {"streams", 2},
                                                          {"runtime", 3}, {"functions", 4}, {"wire", 4},
                                                          {"app", 5},     {"bench", 6},     {"tests", 7}};
  const auto found = kPlaces.find(folder);
  return found == kPlaces.end() ? std::nullopt : std::optional(found->second);
}

// Where the comment or literal that starts at `i` ends; `i` itself if none starts there.
size_t end_of_blank(std::string_view s, size_t i) {
  const auto behind = [&](std::string_view end, size_t from) {
    const size_t found = s.find(end, from);
    return found == std::string_view::npos ? s.size() : found + end.size();
  };
  if (s.substr(i, 2) == "//") return std::min(s.find('\n', i), s.size());
  if (s.substr(i, 2) == "/*") return behind("*/", i + 2);
  if (s.substr(i, 2) == "R\"") {
    const size_t open = std::min(s.find('(', i), s.size() - 1);
    return behind(")" + std::string(s.substr(i + 2, open - i - 2)) + "\"", open);
  }
  const bool digit_before = i > 0 && std::isalnum(static_cast<unsigned char>(s[i - 1])) != 0;
  if (s[i] != '"' && (s[i] != '\'' || digit_before)) return i;  // 1'000 is a number.
  size_t end = i + 1;
  while (end < s.size() && s[end] != s[i] && s[end] != '\n') end += s[end] == '\\' ? 2 : 1;
  return std::min(end + 1, s.size());
}

// Blanks out preprocessor lines, continued ones too.
void blank_directives(std::string& code) {
  bool inside = false;
  for (size_t start = 0; start < code.size();) {
    const size_t end = std::min(code.find('\n', start), code.size());
    const size_t first = code.find_first_not_of(" \t", start);
    inside = inside || (first < end && code[first] == '#');
    const bool goes_on = end > start && code[end - 1] == '\\';
    if (inside) std::fill(code.begin() + static_cast<long>(start), code.begin() + static_cast<long>(end), ' ');
    inside = inside && goes_on;
    start = end + 1;
  }
}

// The text behind `template <...>` at the start, if it starts so.
std::string_view without_template(std::string_view head) {
  constexpr std::string_view kTemplate = "template";
  if (!head.starts_with(kTemplate)) return head;
  int open = 0;
  for (size_t i = kTemplate.size(); i < head.size(); ++i) {
    open += head[i] == '<' ? 1 : head[i] == '>' ? -1 : 0;
    if (head[i] == '>' && open == 0) return head.substr(i + 1);
  }
  return head;
}

// The kind of block that a brace opens outside of any function. `head` is the text between the last ; { } and the
// brace.
enum class Block { kScope, kTable, kFunction };
Block classify(std::string_view head) {
  static const std::regex kScopeHead(
      R"(^\s*((inline\s+)?namespace\b|extern\s*$|(typedef\s+)?(class|struct|union|enum)\b[^()]*$))");
  const std::string_view rest = without_template(head);
  if (std::regex_search(rest.begin(), rest.end(), kScopeHead)) return Block::kScope;
  const size_t last = head.find_last_not_of(" \t\n");
  return last != std::string_view::npos && head[last] == '=' ? Block::kTable : Block::kFunction;
}

// For each line, how many lines of nothing but string literals and punctuation stand before it.
std::vector<int> data_lines_before(std::string_view source, std::string_view code) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto source_lines = lines_of(source);
  const auto code_lines = lines_of(code);
  std::vector<int> before = {0};
  for (size_t i = 0; i < source_lines.size(); ++i) {
    const bool data = source_lines[i].find('"') != std::string_view::npos && i < code_lines.size() &&
                      std::none_of(code_lines[i].begin(), code_lines[i].end(), is_word);
    before.push_back(before.back() + (data ? 1 : 0));
  }
  return before;
}

}  // namespace

std::string code_only(std::string_view source) {
  std::string code(source);
  for (size_t i = 0; i < source.size();) {
    const size_t end = end_of_blank(source, i);
    for (size_t j = i; j < end; ++j) {
      if (code[j] != '\n') code[j] = ' ';
    }
    i = std::max(end, i + 1);
  }
  return code;
}

std::vector<Function> functions(std::string_view source) {
  std::string code = code_only(source);
  blank_directives(code);
  const std::vector<int> data_before = data_lines_before(source, code);
  std::vector<Function> found;
  std::vector<Block> open;
  std::string head;
  int head_line = 0;  // Where the head's first word stands; 0 before it.
  int line = 1;
  for (const char c : code) {
    const bool in_scope = open.empty() || open.back() == Block::kScope;
    if (c == '\n') ++line;
    if (c == '{') {
      // Within a function or table only the depth matters.
      const Block block = in_scope ? classify(head) : Block::kTable;
      open.push_back(block);
      if (block == Block::kFunction) found.push_back({head_line == 0 ? line : head_line, 0, 0});
    } else if (c == '}' && !open.empty()) {
      if (open.back() == Block::kFunction) found.back().last_line = line;
      open.pop_back();
    }
    if (c == '{' || c == '}' || (c == ';' && in_scope)) {
      head.clear();
      head_line = 0;
    } else if (in_scope) {
      if (head_line == 0 && std::isspace(static_cast<unsigned char>(c)) == 0) head_line = line;
      if (head_line != 0) head.push_back(c);
    }
  }
  for (Function& each : found) {
    const int data =
        data_before[static_cast<size_t>(each.last_line)] - data_before[static_cast<size_t>(each.first_line)];
    each.lines = each.last_line - each.first_line + 1 - data;
  }
  return found;
}

Complaints check_includes(std::string_view path, std::string_view source) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  static const std::regex kHeavy(
      R"(^(boost/(asio|beast)|nlohmann/json\.hpp|simdjson|yaml-cpp|spdlog|openssl|CLI|prometheus)\b)");
  const std::string_view folder = folder_of(path);
  const auto place = place_of(folder);
  // Nobody but app/ itself includes its headers, and each simulator is a program of its own.
  const bool is_simulator = path.starts_with("tests/sim/machine/") || path.starts_with("tests/sim/fleet/");
  const bool light = path.ends_with(".h") && folder != "app" && !is_simulator;
  Complaints complaints;
  int number = 0;
  for (const std::string_view line : lines_of(source)) {
    ++number;
    if (line.find('#') == std::string_view::npos) continue;  // Regular expressions are slow.
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, kInclude)) continue;
    const std::string target = match[2];
    if (match[1] == "<") {
      if (light && std::regex_search(target, kHeavy)) {
        complaints.push_back(at(path, number) + "heavy header <" + target + "> in a header: include it in a .cc file");
      }
      continue;
    }
    const std::string_view to = folder_of(target);
    const auto to_place = place_of(to);
    if (!to_place) {
      complaints.push_back(at(path, number) + "\"" + target + "\" does not start at the repository's root");
    } else if (place && to != folder && *to_place >= *place) {
      complaints.push_back(at(path, number) + std::string(folder) + "/ must not include \"" + target + "\"");
    }
  }
  return complaints;
}

Complaints check_wiring(std::string_view path, std::string_view source) {
  static const std::regex kFeatureHeader(R"(^#include "(functions/|app/daemon/modules|app/cli/|wire/(?!http/)))");
  static const std::regex kFeature(
      R"(lifo|priority|filtered|ordered|captur|counter|lambda|\bsns\b|dynamo|xray|\bs3\b|queues?_module)",
      std::regex::icase);
  Complaints complaints;
  const auto lines = lines_of(source);
  if (lines.size() >= static_cast<size_t>(kMaxWiringLines)) {
    complaints.push_back(at(path, static_cast<int>(lines.size())) + "the wiring page has " +
                         std::to_string(lines.size()) + " lines, fewer than " + std::to_string(kMaxWiringLines) +
                         " are wanted: put it into a module");
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    if (std::regex_search(lines[i].begin(), lines[i].end(), kFeatureHeader)) {
      complaints.push_back(at(path, number) + "the wiring page includes a feature's header: a module brings that");
    } else if (std::regex_search(lines[i].begin(), lines[i].end(), kFeature)) {
      complaints.push_back(at(path, number) + "the wiring page names a feature: a module brings that");
    }
  }
  return complaints;
}

Complaints check_module(std::string_view path, std::string_view source) {
  // One room of each kind at most.
  static const std::regex kRoom(R"re(^#include "functions/(queue|priority|filtered|ordered|capture|count)/)re");
  Complaints complaints;
  std::string room;
  int number = 0;
  for (const std::string_view line : lines_of(source)) {
    ++number;
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, kRoom)) continue;
    if (room.empty()) room = match[1];
    if (room != match[1]) {
      complaints.push_back(at(path, number) + "a module of " + room + " includes " + match[1].str() +
                           ": one module, one feature");
    }
  }
  return complaints;
}

Complaints check_core_part(std::string_view path, std::string_view source) {
  static const std::regex kEffect(
      R"re(\b(co_await|co_return|Async|Promise|Scope|Services|Scheduler|Clock|EventLog|Tables)\b)re");
  static const std::regex kPart(R"re(^#include "functions/queue/core/(\w+)\.h")re");
  constexpr std::string_view kShared = "wall_times";
  constexpr std::string_view kPieceOfClaims = "lease_book";
  Complaints complaints;
  const auto find = [](std::string_view line, const std::regex& what) {
    std::match_results<std::string_view::const_iterator> match;
    return std::regex_search(line.begin(), line.end(), match, what) ? match[1].str() : std::string();
  };
  const std::string code = code_only(source);
  int number = 0;
  for (const std::string_view line : lines_of(code)) {
    ++number;
    if (const auto effect = find(line, kEffect); !effect.empty()) {
      complaints.push_back(at(path, number) + "a part of the core names " + effect +
                           ": it takes facts and returns decisions, and the shell does the rest");
    }
  }
  // QueueCore has all parts, and the other two decide with several of them.
  for (const std::string_view known : {"/queue_core.", "/explainer.", "/take_choice."}) {
    if (path.find(known) != std::string_view::npos) return complaints;
  }
  number = 0;
  for (const std::string_view line : lines_of(source)) {
    ++number;
    const auto part = find(line, kPart);
    const bool is_own = path.find("/" + part + ".") != std::string_view::npos;
    const bool is_piece = part == kPieceOfClaims && path.find("/claims.") != std::string_view::npos;
    if (part.empty() || part == kShared || is_own || is_piece) continue;
    complaints.push_back(at(path, number) + "a part of the core includes another one, " + part +
                         ": pass it what it has to know");
  }
  return complaints;
}

Complaints check_sizes(std::string_view path, std::string_view source) {
  Complaints complaints;
  const auto lines = static_cast<int>(lines_of(source).size());
  if (lines > kMaxFileLines) {
    complaints.push_back(at(path, lines) + "the file has " + std::to_string(lines) + " lines, at most " +
                         std::to_string(kMaxFileLines) + " are allowed");
  }
  for (const Function& function : functions(source)) {
    if (function.lines <= kMaxFunctionLines) continue;
    complaints.push_back(at(path, function.first_line) + "the function has " + std::to_string(function.lines) +
                         " lines, at most " + std::to_string(kMaxFunctionLines) + " are allowed");
  }
  return complaints;
}

Complaints check_words(std::string_view path, std::string_view text) {
  // Put together here, so that this file does not complain about itself.
  static const std::regex kLooseEnd(std::string(R"(\b(TO)") + "DO|FIX" + R"(ME)\b)");
  static const std::regex kMachinePath(std::string(R"((^|[\s"'`=(:,]))") + R"((/home/[a-z]|/ro)" + R"(ot/|/wo)" +
                                       R"(rk/|/Us)" + "ers/)");
  Complaints complaints;
  int number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    const bool suspect = line.find("DO") != std::string_view::npos || line.find("ME") != std::string_view::npos;
    if (suspect && std::regex_search(line.begin(), line.end(), kLooseEnd)) {
      complaints.push_back(at(path, number) + "a loose end: finish it, or open an issue");
    }
    if (line.find('/') != std::string_view::npos && std::regex_search(line.begin(), line.end(), kMachinePath)) {
      complaints.push_back(at(path, number) + "a path of somebody's machine: make it relative or an option");
    }
  }
  return complaints;
}

std::vector<std::string> classes(std::string_view source) {
  static const std::regex kNamespace(R"(namespace( [\w:]+)? \{)");
  static const std::regex kClass(
      R"((?:template <.*> )?(?:class|struct|enum class) (\w+)(?: final)?(?: :[^;]*)?\s*\{.*)");
  std::vector<std::string> spaces;
  std::vector<std::string> out;
  for (const std::string_view line : lines_of(source)) {
    std::match_results<std::string_view::const_iterator> found;
    if (std::regex_match(line.begin(), line.end(), found, kNamespace)) {
      spaces.push_back(found[1].matched ? found[1].str() : "");
    } else if (line.starts_with("}  // namespace") && !spaces.empty()) {
      spaces.pop_back();
    } else if (std::regex_match(line.begin(), line.end(), found, kClass)) {
      if (std::find(spaces.begin(), spaces.end(), "") != spaces.end()) continue;
      std::string name;
      for (const std::string& space : spaces) name += space.substr(1) + "::";
      out.push_back(name + found[1].str());
    }
  }
  return out;
}

}  // namespace freshet::house
