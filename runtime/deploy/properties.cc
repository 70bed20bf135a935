#include "runtime/deploy/properties.h"

#include <charconv>

namespace freshet {
namespace {

// Where Freshet's own options of a table stand, for one that was written elsewhere.
std::string right_place(std::string_view name) {
  if (name != "TtlInMilliseconds" && name != "Queue") return {};
  return "; write Metadata: {Freshet: {" + std::string(name) + ": true}} beside the table's Properties";
}

}  // namespace

Properties::Properties(const Node* node, Where where, Diagnostics& diagnostics)
    : node_(node), where_(std::move(where)), diagnostics_(diagnostics) {
  if (node_ && node_->is(Node::Kind::kNull)) node_ = nullptr;
  if (!node_ || node_->is(Node::Kind::kMap)) return;
  diagnostics_.error(node_->line, where_, "expected a map, found " + describe(*node_));
  node_ = nullptr;
}

Properties::~Properties() {
  if (!node_) return;
  std::vector<std::string> known(read_.begin(), read_.end());
  for (const Member& member : node_->members) {
    if (read_.contains(member.name) || diagnostics_.full()) continue;
    std::string guess = did_you_mean(member.name, known);
    if (guess.empty()) guess = right_place(member.name);
    diagnostics_.error(member.line, where_.below(member.name), "not known here" + guess);
    std::erase_if(missing_, [&](const auto& one) { return guess.find("'" + one.first + "'") != std::string::npos; });
  }
  for (auto& [name, message] : missing_) error(name, std::move(message));
}

void Properties::missing(std::string_view name, std::string message) {
  missing_.emplace_back(name, std::move(message));
}

const Node* Properties::take(std::string_view name) {
  read_.emplace(name);
  const Node* found = node_ ? node_->find(name) : nullptr;
  return found && !found->is(Node::Kind::kNull) ? found : nullptr;
}

std::optional<std::string> Properties::text(std::string_view name) {
  const Node* node = take(name);
  if (!node) return std::nullopt;
  if (node->is_scalar()) return node->text;
  error(name, "expected text, found " + describe(*node));
  return std::nullopt;
}

std::string Properties::required_text(std::string_view name) {
  const Node* raw = node_ ? node_->find(name) : nullptr;
  if (raw && raw->broken) return take(name), "";
  bool there = take(name) != nullptr;
  std::optional<std::string> found = text(name);
  if (there && found && found->empty()) error(name, std::string(name) + " is empty");
  if (!there && node_ != nullptr) missing(name, std::string(name) + " is missing");
  return found.value_or("");
}

std::optional<int64_t> Properties::integer(std::string_view name, int64_t min, int64_t max) {
  const Node* node = take(name);
  if (!node) return std::nullopt;
  int64_t value = 0;
  const char* end = node->text.data() + node->text.size();
  auto parsed = std::from_chars(node->text.data(), end, value);
  if (node->is_scalar() && parsed.ec == std::errc() && parsed.ptr == end && value >= min && value <= max) return value;
  error(name, "expected a whole number from " + std::to_string(min) + " to " + std::to_string(max) + ", found " +
                  describe(*node));
  return std::nullopt;
}

std::optional<bool> Properties::boolean(std::string_view name) {
  const Node* node = take(name);
  if (!node) return std::nullopt;
  if (node->text == "true" || node->text == "True" || node->text == "TRUE") return true;
  if (node->text == "false" || node->text == "False" || node->text == "FALSE") return false;
  error(name, "expected true or false, found " + describe(*node));
  return std::nullopt;
}

std::optional<std::string> Properties::choice(std::string_view name, const std::vector<std::string>& allowed) {
  std::optional<std::string> found = text(name);
  if (!found) return std::nullopt;
  std::string list;
  for (const std::string& one : allowed) {
    if (one == *found) return found;
    list += (list.empty() ? "" : ", ") + one;
  }
  error(name, "'" + *found + "' is not one of " + list);
  return std::nullopt;
}

std::vector<std::string> Properties::texts(std::string_view name) {
  std::vector<std::string> out;
  const Node* node = take(name);
  if (!node) return out;
  if (!node->is(Node::Kind::kList)) {
    error(name, "expected a list, found " + describe(*node));
    return out;
  }
  for (const Node& element : node->list) {
    if (element.is_scalar()) {
      out.push_back(element.text);
    } else if (!element.broken) {
      diagnostics_.error(element.line, where_.below(name), "expected text, found " + describe(element));
    }
  }
  return out;
}

std::map<std::string, std::string> Properties::text_map(std::string_view name) {
  std::map<std::string, std::string> out;
  const Node* node = take(name);
  if (!node) return out;
  if (!node->is(Node::Kind::kMap)) error(name, "expected a map of names to text, found " + describe(*node));
  for (const Member& member : node->members) {
    if (member.value.is_scalar()) {
      out[member.name] = member.value.text;
    } else if (!member.value.broken) {
      diagnostics_.error(member.line, where_.below(name).below(member.name),
                         "expected text, found " + describe(member.value));
    }
  }
  return out;
}

bool Properties::in(std::string_view name, const std::function<void(Properties&)>& read) {
  const Node* node = take(name);
  if (!node) return false;
  Properties below(node, where_.below(name), diagnostics_);
  if (below.present()) read(below);
  return true;
}

bool Properties::each(std::string_view name, const std::function<void(Properties&)>& read) {
  const Node* node = take(name);
  if (!node) return false;
  if (!node->is(Node::Kind::kList)) {
    error(name, "expected a list, found " + describe(*node));
    return true;
  }
  for (const Node& element : node->list) {
    Properties below(&element, where_.below(name), diagnostics_);
    if (below.present()) {
      read(below);
    } else if (element.is(Node::Kind::kNull) && !element.broken) {
      diagnostics_.error(element.line, where_.below(name), "an entry of the list is empty");
    }
  }
  return true;
}

void Properties::for_all(const std::function<void(const Member&)>& read) {
  if (!node_) return;
  for (const Member& member : node_->members) {
    read_.insert(member.name);
    read(member);
  }
}

void Properties::no_effect(std::initializer_list<std::string_view> names, std::string_view why) {
  for (std::string_view name : names) {
    if (take(name)) warn(name, "has no effect here: " + std::string(why));
  }
}

void Properties::ignore(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) read_.emplace(name);
}

void Properties::error(std::string_view name, std::string message) {
  if (node_) {
    for (const Member& member : node_->members) {
      if (member.name == name) return diagnostics_.error(member.line, where_.below(name), std::move(message));
    }
  }
  diagnostics_.error(line(), where_, std::move(message));
}

void Properties::warn(std::string_view name, std::string message) {
  for (const Member& member : node_->members) {
    if (member.name == name) return diagnostics_.warn(member.line, where_.below(name), std::move(message));
  }
}

}  // namespace freshet
