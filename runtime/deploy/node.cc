#include "runtime/deploy/node.h"

#include <algorithm>

#include "tables/value/json.h"

namespace freshet {
namespace {

// RFC 8259, section 6.
bool is_json_number(std::string_view text) {
  size_t at = 0;
  auto digits = [&] {
    size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - from;
  };
  if (at < text.size() && text[at] == '-') ++at;
  size_t first = at;
  size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

void append_json(std::string& out, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      out += "null";
      return;
    case Node::Kind::kScalar:
      if (!node.quoted && (node.text == "true" || node.text == "false" || is_json_number(node.text))) {
        out += node.text;
      } else {
        append_json_string(out, node.text);
      }
      return;
    case Node::Kind::kList:
      out += '[';
      for (const Node& element : node.list) {
        if (&element != &node.list.front()) out += ',';
        append_json(out, element);
      }
      out += ']';
      return;
    case Node::Kind::kMap:
      out += '{';
      for (const Member& member : node.members) {
        if (&member != &node.members.front()) out += ',';
        append_json_string(out, member.name);
        out += ':';
        append_json(out, member.value);
      }
      out += '}';
      return;
  }
}

}  // namespace

bool TemplateBudget::take_copy(const Node& node) {
  if (!take(1, node.text.size())) return false;
  for (const Node& element : node.list) {
    if (!take_copy(element)) return false;
  }
  for (const Member& member : node.members) {
    if (!take(0, member.name.size()) || !take_copy(member.value)) return false;
  }
  return true;
}

std::string TemplateBudget::message() {
  return "the template has more than " + std::to_string(kMaxMadeNodes) + " values or " +
         std::to_string(kMaxMadeBytes >> 20) +
         " MiB of text once its aliases, Globals and functions are expanded; the rest was not checked";
}

Node Node::scalar(std::string text, int line) {
  Node node;
  node.kind = Kind::kScalar;
  node.text = std::move(text);
  node.quoted = true;
  node.line = line;
  return node;
}

Node Node::map(std::string_view name, Node value) {
  Node node;
  node.kind = Kind::kMap;
  node.line = value.line;
  node.members.push_back({std::string(name), value.line, std::move(value)});
  return node;
}

const Node* Node::find(std::string_view name) const {
  for (const Member& member : members) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

bool same_value(const Node& a, const Node& b) {
  auto same_member = [](const Member& x, const Member& y) { return x.name == y.name && same_value(x.value, y.value); };
  return a.kind == b.kind && a.text == b.text &&
         std::equal(a.list.begin(), a.list.end(), b.list.begin(), b.list.end(), same_value) &&
         std::equal(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(), same_member);
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kScalar:
      return "'" + shown(node.text, 60) + "'";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
  }
  return {};
}

std::string to_json(const Node& node) {
  std::string out;
  append_json(out, node);
  return out;
}

}  // namespace freshet
