// The only home of yaml-cpp: its events build our own tree, so that every bound is checked while it grows.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "runtime/deploy/node.h"
#include "runtime/deploy/yaml_trouble.h"

namespace freshet {
namespace {

// Carries a fault out of yaml-cpp's callbacks; caught in parse_document.
struct Fault {
  int line;
  std::string message;
};

std::string unquote_name(const Node& key) {
  if (!key.is_scalar()) throw Fault{key.line, "a name must be text, not " + describe(key)};
  return key.text;
}

// The long form of `!Ref x` and similar tags.
Node long_form(std::string_view tag, Node value) {
  static const std::set<std::string_view> kFunctions{
      "And",    "Base64",      "Cidr", "Contains", "Equals", "FindInMap",    "GetAtt", "GetAZs", "If",       "Join",
      "Length", "ImportValue", "Not",  "Or",       "Select", "ToJsonString", "Split",  "Sub",    "Transform"};
  if (tag == "Ref" || tag == "Condition") return Node::map(tag, std::move(value));
  if (!kFunctions.contains(tag)) throw Fault{value.line, "the tag !" + shown(tag) + " is unknown"};
  if (tag == "GetAtt" && value.is_scalar()) {
    size_t dot = value.text.find('.');
    if (dot == value.text.npos) throw Fault{value.line, "!GetAtt needs Resource.Attribute, not " + describe(value)};
    Node pair;
    pair.kind = Node::Kind::kList;
    pair.line = value.line;
    pair.list = {Node::scalar(value.text.substr(0, dot), value.line),
                 Node::scalar(value.text.substr(dot + 1), value.line)};
    value = std::move(pair);
  }
  return Node::map("Fn::" + std::string(tag), std::move(value));
}

// Applies the tag of a finished node. "?" is a plain node, "!" a quoted scalar.
Node tagged(const std::string& tag, Node node) {
  static constexpr std::string_view kCore = "tag:yaml.org,2002:";
  if (tag.empty() || tag == "?") return node;
  if (tag == "!") {
    node.quoted = true;
    return node;
  }
  if (tag.starts_with(kCore)) {
    std::string name = tag.substr(kCore.size());
    if (name == "str") node.quoted = true;
    if (name == "str" || name == "int" || name == "float" || name == "bool" || name == "map" || name == "seq") {
      return node;
    }
    throw Fault{node.line, "the tag !!" + shown(name) + " is not supported"};
  }
  return long_form(std::string_view(tag).substr(tag.front() == '!' ? 1 : 0), std::move(node));
}

class Builder final : public YAML::EventHandler {
 public:
  // `text`: what is parsed; it outlives the builder.
  Builder(TemplateBudget& budget, std::string_view text) : budget_(budget), text_(text) {}
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make(Node::Kind::kNull, mark), "", anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = make(Node::Kind::kScalar, mark);
    // The parser mistakes the end of the text for a quotation mark.
    const auto at = static_cast<size_t>(std::max(mark.pos, 0));
    if (tag == "!" && !is_closed(text_, at)) {
      throw Fault{node.line, "the quotation mark that begins in this line is not closed"};
    }
    quoted_line_ = tag == "!" ? node.line : 0;
    if (!budget_.take(0, value.size())) throw Fault{node.line, TemplateBudget::message()};
    node.text = value;
    add(std::move(node), tag, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Fault{mark.line + 1, "the alias stands inside what it names"};
    count(found->second, open_.size(), mark.line + 1);
    add(copy_of(found->second), "", 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(make(Node::Kind::kList, mark), tag, anchor);
    if (style == YAML::EmitterStyle::Flow) open_.back().bracket = '[';
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(make(Node::Kind::kMap, mark), tag, anchor);
    // A pair within [ ] is a map without a bracket of its own.
    const auto at = static_cast<size_t>(std::max(mark.pos, 0));
    const bool has_bracket = at < text_.size() && text_[at] == '{';
    if (style == YAML::EmitterStyle::Flow && has_bracket) open_.back().bracket = '{';
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  Node take() { return std::move(root_); }

  // The position at which the parser stopped, with the innermost open bracket.
  YamlStop stop_at(const YAML::Exception& error) const {
    YamlStop stop{error.msg, error.mark.line + 1, error.mark.column + 1, {}, quoted_line_};
    const auto open = std::find_if(open_.rbegin(), open_.rend(), [](const Open& one) { return one.bracket != 0; });
    if (open != open_.rend()) stop.bracket = YamlStop::Bracket{open->bracket, open->node.line};
    return stop;
  }

 private:
  struct Open {
    Node node;
    std::string tag;
    YAML::anchor_t anchor;
    std::set<std::string, std::less<>> names;
    std::optional<Member> member;  // A map's name that waits for its value.
    char bracket = 0;              // The bracket that began it; 0: none.
  };

  Node make(Node::Kind kind, const YAML::Mark& mark) {
    Node node;
    node.kind = kind;
    node.line = mark.line + 1;
    count(node, open_.size(), node.line);
    if (!budget_.take(1, 0)) throw Fault{node.line, TemplateBudget::message()};
    return node;
  }

  Node copy_of(const Node& node) {
    if (!budget_.take_copy(node)) throw Fault{node.line, TemplateBudget::message()};
    return node;
  }

  void count(const Node& node, size_t depth, int line) {
    if (depth > kMaxTemplateDepth) {
      throw Fault{line, "nested deeper than " + std::to_string(kMaxTemplateDepth)};
    }
    if (++nodes_ > kMaxTemplateNodes) {
      throw Fault{line, "more than " + std::to_string(kMaxTemplateNodes) + " values"};
    }
    for (const Node& element : node.list) count(element, depth + 1, line);
    for (const Member& member : node.members) count(member.value, depth + 1, line);
  }

  void open(Node node, const std::string& tag, YAML::anchor_t anchor) {
    open_.push_back({std::move(node), tag, anchor, {}, {}, 0});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.tag, done.anchor);
  }

  void add(Node node, const std::string& tag, YAML::anchor_t anchor) {
    node = tagged(tag, std::move(node));
    if (anchor != 0) anchors_[anchor] = copy_of(node);
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is(Node::Kind::kList)) {
      parent.node.list.push_back(std::move(node));
    } else if (!parent.member) {
      std::string name = unquote_name(node);
      if (name == "<<") throw Fault{node.line, "merge keys (<<) are not supported; write the members out"};
      if (!parent.names.insert(name).second) throw Fault{node.line, "'" + shown(name) + "' stands here twice"};
      parent.member = Member{std::move(name), node.line, {}};
    } else {
      parent.member->value = std::move(node);
      parent.node.members.push_back(std::move(*parent.member));
      parent.member.reset();
    }
  }

  TemplateBudget& budget_;
  const std::string_view text_;
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  size_t nodes_ = 0;
  int quoted_line_ = 0;  // The line of the last value, if it is in quotes.
};

int line_of(std::string_view text, size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// The offset of the first byte that is not UTF-8 or is a control character that no text has; npos if there is none.
size_t find_bad_byte(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    unsigned lead = byte(at);
    if (lead < 0x80) {
      if (lead < 0x20 && lead != '\n' && lead != '\r' && lead != '\t') return at;
      ++at;
      continue;
    }
    size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    unsigned code = lead & (0xFFu >> (size + 1));
    for (size_t i = 1; i < size; ++i) {
      if ((byte(at + i) & 0xC0) != 0x80) return at;
      code = code << 6 | (byte(at + i) & 0x3F);
    }
    static constexpr unsigned kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (lead < 0xC2 || lead > 0xF4 || code < kLowest[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return at;
    }
    at += size;
  }
  return text.npos;
}

std::optional<unsigned> hex4(std::string_view text) {
  if (text.size() < 6 || text.substr(0, 2) != "\\u") return std::nullopt;
  unsigned value = 0;
  for (char c : text.substr(2, 4)) {
    size_t digit = std::string_view("0123456789abcdef").find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value;
}

// JSON differs from YAML in three things, which are rewritten here: tabs between tokens, `\/`, and characters written
// as two surrogates. Line numbers stay.
std::string json_as_yaml(std::string_view text) {
  std::string out;
  bool inside = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"') inside = !inside;
    if (!inside) {
      out += c == '\t' ? ' ' : c;
      continue;
    }
    auto high = hex4(text.substr(at));
    auto low = high ? hex4(text.substr(at + 6)) : std::nullopt;
    if (high && low && *high >= 0xD800 && *high < 0xDC00 && *low >= 0xDC00 && *low < 0xE000) {
      char escaped[16];
      std::snprintf(escaped, sizeof escaped, "\\U%08X", 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
      out += escaped;
      at += 11;
    } else if (c == '\\' && at + 1 < text.size()) {
      if (text[at + 1] != '/') out += c;
      out += text[++at];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::optional<Node> parse_document(std::string_view text, Diagnostics& diagnostics, TemplateBudget& budget) {
  auto at = [&](int line, const std::string& message) -> std::optional<Node> {
    diagnostics.error(line, {}, message);
    return std::nullopt;
  };
  if (text.size() > kMaxTemplateBytes) {
    return at(1,
              "the file has " + std::to_string(text.size()) + " bytes, more than " + std::to_string(kMaxTemplateBytes));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (size_t bad = find_bad_byte(text); bad != text.npos) return at(line_of(text, bad), "not UTF-8 text");
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return at(1, "the file is empty");
  bool json = text[first] == '{';
  const std::string yaml = json ? json_as_yaml(text) : std::string(text);
  std::istringstream in(yaml);
  Builder builder(budget, yaml);
  try {
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) return at(1, "the file is empty");
    Builder rest(budget, yaml);
    if (parser.HandleNextDocument(rest)) return at(rest.take().line, "a second document begins; expected one");
    return builder.take();
  } catch (const Fault& fault) {
    return at(fault.line, fault.message);
  } catch (const YAML::Exception& e) {
    const YamlTrouble trouble = trouble_of(builder.stop_at(e), yaml);
    // yaml-cpp ends a plain scalar at a question mark there, although YAML does not.
    const bool flow = e.msg.find("flow") != std::string::npos && text.find('?') != text.npos;
    return at(trouble.line, trouble.message + (flow ? " (between { } or [ ], text with a ? needs quotes)" : ""));
  } catch (const std::exception& e) {
    return at(1, std::string("cannot be read: ") + e.what());
  }
}

}  // namespace freshet
