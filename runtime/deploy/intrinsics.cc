#include "runtime/deploy/intrinsics.h"

#include <algorithm>
#include <charconv>

namespace freshet {
namespace {

// Bound on any text that is put together, so that names built from names cannot explode.
constexpr size_t kMaxText = 64u << 10;

std::vector<std::string> names_of(const std::map<std::string, Declared>& resources,
                                  const std::map<std::string, Node>& parameters) {
  std::vector<std::string> out;
  if (resources.size() + parameters.size() > kMaxCandidates) return out;
  for (const auto& [id, declared] : resources) out.push_back(id);
  for (const auto& [name, value] : parameters) out.push_back(name);
  return out;
}

std::string base64_of(std::string_view bytes) {
  static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    auto byte = [&](size_t i) { return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u; };
    unsigned group = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (int i = 0; i < 4; ++i) out += kAlphabet[group >> (18 - 6 * i) & 63];
  }
  size_t rest = bytes.size() % 3;
  if (rest != 0) out.replace(out.size() - (3 - rest), 3 - rest, 3 - rest, '=');
  return out;
}

}  // namespace

Intrinsics::Intrinsics(const TemplateInput& input, Diagnostics& diagnostics, TemplateBudget& budget)
    : input_(input), diagnostics_(diagnostics), budget_(budget) {}

bool Intrinsics::afford(size_t nodes, size_t bytes, int line, const Where& where) {
  if (budget_.take(nodes, bytes)) return true;
  if (!std::exchange(budget_reported_, true)) diagnostics_.error(line, where, TemplateBudget::message());
  return false;
}

Node Intrinsics::copy_of(const Node& node, int line, const Where& where) {
  if (budget_.take_copy(node)) return node;
  afford(0, 0, line, where);
  return broken_silently(line);
}

Node Intrinsics::text_node(std::string text, int line, const Where& where) {
  return afford(1, text.size(), line, where) ? Node::scalar(std::move(text), line) : broken_silently(line);
}

Node Intrinsics::broken(int line, const Where& where, std::string message) {
  diagnostics_.error(line, where, std::move(message));
  return broken_silently(line);
}

Node Intrinsics::broken_silently(int line) {
  Node node;
  node.line = line;
  node.broken = true;
  return node;
}

std::string Intrinsics::too_deep() {
  return "names and conditions lead from one to the next, more than " + std::to_string(kMaxDepth) + " levels deep";
}

const std::map<std::string, Intrinsics::Function, std::less<>>& Intrinsics::functions() {
  static const std::map<std::string, Function, std::less<>> table{
      {"Ref", &Intrinsics::ref},           {"Fn::GetAtt", &Intrinsics::get_att},
      {"Fn::Sub", &Intrinsics::sub},       {"Fn::Join", &Intrinsics::join},
      {"Fn::Select", &Intrinsics::select}, {"Fn::Split", &Intrinsics::split},
      {"Fn::If", &Intrinsics::if_else},    {"Fn::FindInMap", &Intrinsics::find_in_map},
      {"Fn::Base64", &Intrinsics::base64}, {"Fn::GetAZs", &Intrinsics::zones},
      {"Fn::Length", &Intrinsics::length}, {"Fn::ToJsonString", &Intrinsics::json_text},
  };
  return table;
}

std::optional<Node> Intrinsics::resolve(const Node& node, const Where& where) {
  const Level level(depth_);
  if (diagnostics_.full()) return broken_silently(node.line);
  if (level.is_too_deep()) return broken(node.line, where, too_deep());
  return resolve_here(node, where);
}

std::optional<Node> Intrinsics::resolve_here(const Node& node, const Where& where) {
  if (node.is(Node::Kind::kNull) || node.is_scalar()) return copy_of(node, node.line, where);
  for (const Member& member : node.members) {
    bool intrinsic = member.name == "Ref" || member.name.starts_with("Fn::");
    if (!intrinsic) continue;
    if (node.members.size() > 1) return broken(member.line, where, member.name + " must stand alone in its map");
    auto found = functions().find(member.name);
    if (found == functions().end()) return broken(member.line, where, member.name + " is not supported here");
    auto value = (this->*found->second)(member.value, where);
    if (value) value->line = node.line;
    return value;
  }
  if (!afford(1, 0, node.line, where)) return broken_silently(node.line);
  Node out;
  out.kind = node.kind;
  out.line = node.line;
  for (const Node& element : node.list) {
    if (auto value = resolve(element, where)) out.list.push_back(std::move(*value));
  }
  for (const Member& member : node.members) {
    auto value = resolve(member.value, where.below(member.name));
    if (value && afford(0, member.name.size(), member.line, where))
      out.members.push_back({member.name, member.line, std::move(*value)});
  }
  return out;
}

std::optional<std::string> Intrinsics::text(const Node& node, std::string_view what, const Where& where) {
  auto value = resolve(node, where);
  if (value && value->is_scalar()) return value->text;
  if (!value || !value->broken) {
    diagnostics_.error(node.line, where,
                       std::string(what) + " must be text, not " + (value ? describe(*value) : "AWS::NoValue"));
  }
  return std::nullopt;
}

const std::vector<Node>* Intrinsics::arguments(const Node& argument, size_t min, size_t max, std::string_view usage,
                                               const Where& where) {
  if (!argument.is(Node::Kind::kList) || argument.list.size() < min || argument.list.size() > max) {
    broken(argument.line, where, "expected " + std::string(usage));
    return nullptr;
  }
  return &argument.list;
}

std::optional<Node> Intrinsics::ref(const Node& argument, const Where& where) {
  if (!argument.is_scalar()) return broken(argument.line, where, "Ref needs a name, not " + describe(argument));
  return reference(argument.text, argument.line, where);
}

std::optional<Node> Intrinsics::reference(const std::string& name, int line, const Where& where) {
  if (auto parameter = parameters_.find(name); parameter != parameters_.end()) {
    return copy_of(parameter->second, line, where);
  }
  if (name == "AWS::NoValue") return std::nullopt;
  if (name.starts_with("AWS::"))
    return pseudo_parameter(name, line) ? pseudo_parameter(name, line) : broken(line, where, name + " is unknown");
  auto found = resources_.find(name);
  if (found == resources_.end()) {
    if (auto alias = alias_named(name, line, where)) return alias;
    return broken(line, where,
                  "Ref to '" + shown(name) + "', which is neither a parameter nor a resource" +
                      did_you_mean(name, names_of(resources_, parameters_)));
  }
  return attribute(name, "", line, where);
}

// "FUNCTION.Alias", SAM's name for the result of AutoPublishAlias: the ARN of the alias.
std::optional<Node> Intrinsics::alias_named(const std::string& name, int line, const Where& where) {
  static constexpr std::string_view kSuffix = ".Alias";
  if (!name.ends_with(kSuffix)) return std::nullopt;
  const std::string id = name.substr(0, name.size() - kSuffix.size());
  const auto function = resources_.find(id);
  if (function == resources_.end() || function->second.type != "AWS::Serverless::Function") return std::nullopt;
  const Node* given = function->second.properties.find("AutoPublishAlias");
  if (given == nullptr) return std::nullopt;
  const auto alias = resolve(*given, where);
  const auto arn = attribute(id, "Arn", line, where);
  if (!alias || !arn || alias->broken || arn->broken) return broken_silently(line);
  return text_node(arn->text + ":" + alias->text, line, where);
}

std::optional<Node> Intrinsics::pseudo_parameter(const std::string& name, int line) {
  auto text = [&](std::string value) { return Node::scalar(std::move(value), line); };
  if (name == "AWS::Region") return text(input_.region);
  if (name == "AWS::AccountId") return text(input_.account);
  if (name == "AWS::Partition") return text("aws");
  if (name == "AWS::URLSuffix") return text("amazonaws.com");
  if (name == "AWS::StackName") return text(input_.stack_name);
  if (name == "AWS::StackId") {
    return text("arn:aws:cloudformation:" + input_.region + ":" + input_.account + ":stack/" + input_.stack_name);
  }
  return std::nullopt;
}

std::string Intrinsics::expand(std::string_view pattern, const std::string& name) const {
  std::string out;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{') {
      out += pattern[at];
      continue;
    }
    size_t end = pattern.find('}', at);
    std::string_view variable = pattern.substr(at + 1, end - at - 1);
    out += variable == "name" ? name : variable == "region" ? input_.region : input_.account;
    at = end;
  }
  return out;
}

// `attribute_name` is empty for Ref.
std::optional<Node> Intrinsics::attribute(const std::string& id, const std::string& attribute_name, int line,
                                          const Where& where) {
  static constexpr std::string_view kRole = "Role";
  auto found = resources_.find(id);
  if (found == resources_.end() && id.ends_with(kRole)) {
    // SAM makes a role for each function that has none.
    found = resources_.find(id.substr(0, id.size() - kRole.size()));
    if (found != resources_.end() && found->second.type == "AWS::Serverless::Function") {
      return Node::scalar(expand(attribute_name == "Arn" ? "arn:aws:iam::{account}:role/{name}" : "{name}", id), line);
    }
    found = resources_.end();
  }
  if (found == resources_.end()) {
    return broken(line, where,
                  "GetAtt of '" + shown(id) + "', which is no resource" + did_you_mean(id, names_of(resources_, {})));
  }
  const Declared& declared = found->second;
  if (!declared.exists) return broken(line, where, "'" + shown(id) + "' is not there: its condition is false");
  const ResourceType* type = find_resource_type(declared.type);
  if (!type) return broken(line, where, "'" + id + "' is a " + declared.type + ", which is not supported here");
  std::string_view pattern = attribute_name.empty() ? type->ref : "";
  std::string known;
  for (const auto& [name, value] : type->attributes) {
    if (name == attribute_name) pattern = value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  if (pattern.empty()) {
    return broken(line, where,
                  declared.type + " has no attribute '" + attribute_name + "'" +
                      (known.empty() ? "" : " (it has " + known + ")"));
  }
  std::string name = name_of(id);
  return name.empty() ? broken_silently(line) : text_node(expand(pattern, name), line, where);
}

std::string Intrinsics::name_of(const std::string& id) {
  Declared& declared = resources_.at(id);
  if (declared.name) return *declared.name;
  Where where{id, ""};
  if (std::find(in_work_.begin(), in_work_.end(), id) != in_work_.end()) {
    std::string cycle;
    for (const std::string& step : in_work_) cycle += step + " -> ";
    broken(declared.line, where, "its name depends on itself: " + cycle + id);
    return *(declared.name = "");
  }
  const ResourceType* type = find_resource_type(declared.type);
  const Node* given = type && !type->name_property.empty() ? declared.properties.find(type->name_property) : nullptr;
  if (!given) return *(declared.name = id);
  where.property = type->name_property;
  in_work_.push_back(id);
  auto value = resolve(*given, where);
  in_work_.pop_back();
  if (declared.name) return *declared.name;  // A cycle leads through here.
  if (!value) return *(declared.name = id);
  if (!value->is_scalar() && !value->broken) broken(given->line, where, "expected text, found " + describe(*value));
  return *(declared.name = value->text);
}

std::optional<Node> Intrinsics::get_att(const Node& argument, const Where& where) {
  std::string id;
  std::string name;
  if (argument.is_scalar()) {
    size_t dot = argument.text.find('.');
    if (dot != std::string::npos) name = argument.text.substr(dot + 1);
    id = argument.text.substr(0, dot);
  } else if (argument.is(Node::Kind::kList) && argument.list.size() == 2 && argument.list[0].is_scalar()) {
    auto second = text(argument.list[1], "the attribute of Fn::GetAtt", where);
    if (!second) return broken(argument.line, where, "Fn::GetAtt needs [Resource, Attribute]");
    id = argument.list[0].text;
    name = *second;
  }
  if (id.empty() || name.empty()) return broken(argument.line, where, "Fn::GetAtt needs [Resource, Attribute]");
  return attribute(id, name, argument.line, where);
}

std::optional<std::string> Intrinsics::variable(const std::string& name, const std::map<std::string, std::string>& own,
                                                int line, const Where& where) {
  if (diagnostics_.full()) return std::nullopt;
  if (auto found = own.find(name); found != own.end()) return found->second;
  size_t dot = name.find('.');
  auto value = dot == std::string::npos ? reference(name, line, where)
                                        : attribute(name.substr(0, dot), name.substr(dot + 1), line, where);
  if (value && value->is_scalar()) return value->text;
  if (!value || !value->broken) broken(line, where, "${" + shown(name) + "} in Fn::Sub is no text");
  return std::nullopt;
}

std::optional<Node> Intrinsics::sub(const Node& argument, const Where& where) {
  static constexpr std::string_view kUsage = "Fn::Sub: text, or [text, {Name: value}]";
  const Node* pattern = &argument;
  std::map<std::string, std::string> own;
  bool ok = true;
  if (argument.is(Node::Kind::kList)) {
    auto parts = arguments(argument, 2, 2, kUsage, where);
    if (!parts) return broken(argument.line, where, "expected " + std::string(kUsage));
    pattern = &argument.list[0];
    for (const Member& member : argument.list[1].members) {
      auto value = text(member.value, "${" + shown(member.name) + "}", where);
      ok = ok && value.has_value();
      own[member.name] = value.value_or("");
    }
  }
  if (!pattern->is_scalar()) return broken(argument.line, where, "expected " + std::string(kUsage));
  std::string_view rest = pattern->text;
  std::string out;
  for (size_t open = rest.find("${"); open != rest.npos; open = rest.find("${")) {
    size_t close = rest.find('}', open);
    if (close == rest.npos) return broken(argument.line, where, "Fn::Sub: '${' without '}'");
    out += rest.substr(0, open);
    std::string name(rest.substr(open + 2, close - open - 2));
    rest.remove_prefix(close + 1);
    if (name.starts_with("!")) {
      out += "${" + name.substr(1) + "}";
      continue;
    }
    auto value = variable(name, own, argument.line, where);
    ok = ok && value.has_value();
    out += value.value_or("");
    if (out.size() > kMaxText) return broken(argument.line, where, "Fn::Sub makes more than 64 KB of text");
  }
  if (!ok) return broken_silently(argument.line);
  return text_node(out + std::string(rest), argument.line, where);
}

std::optional<Node> Intrinsics::join(const Node& argument, const Where& where) {
  static constexpr std::string_view kUsage = "Fn::Join: [delimiter, [text, ...]]";
  auto parts = arguments(argument, 2, 2, kUsage, where);
  if (!parts) return broken(argument.line, where, "expected " + std::string(kUsage));
  auto delimiter = text((*parts)[0], "the delimiter of Fn::Join", where);
  auto list = resolve((*parts)[1], where);
  if (!delimiter || (list && list->broken)) return broken_silently(argument.line);
  if (!list || !list->is(Node::Kind::kList)) return broken(argument.line, where, "expected " + std::string(kUsage));
  std::string out;
  for (const Node& element : list->list) {
    if (element.broken) return broken_silently(argument.line);
    if (!element.is_scalar()) return broken(argument.line, where, "Fn::Join of " + describe(element));
    if (&element != &list->list.front()) out += *delimiter;
    out += element.text;
    if (out.size() > kMaxText) return broken(argument.line, where, "Fn::Join makes more than 64 KB of text");
  }
  return text_node(std::move(out), argument.line, where);
}

std::optional<Node> Intrinsics::select(const Node& argument, const Where& where) {
  static constexpr std::string_view kUsage = "Fn::Select: [index, [value, ...]]";
  auto parts = arguments(argument, 2, 2, kUsage, where);
  if (!parts) return broken(argument.line, where, "expected " + std::string(kUsage));
  auto index = text((*parts)[0], "the index of Fn::Select", where);
  auto list = resolve((*parts)[1], where);
  if (!index || (list && list->broken)) return broken_silently(argument.line);
  if (!list || !list->is(Node::Kind::kList)) return broken(argument.line, where, "expected " + std::string(kUsage));
  size_t at = 0;
  auto parsed = std::from_chars(index->data(), index->data() + index->size(), at);
  if (parsed.ec != std::errc() || parsed.ptr != index->data() + index->size() || at >= list->list.size()) {
    return broken(argument.line, where,
                  "Fn::Select: index " + shown(*index) + " of a list of " + std::to_string(list->list.size()) +
                      " (the first is 0)");
  }
  return std::move(list->list[at]);
}

std::optional<Node> Intrinsics::split(const Node& argument, const Where& where) {
  static constexpr std::string_view kUsage = "Fn::Split: [delimiter, text]";
  auto parts = arguments(argument, 2, 2, kUsage, where);
  if (!parts) return broken(argument.line, where, "expected " + std::string(kUsage));
  auto delimiter = text((*parts)[0], "the delimiter of Fn::Split", where);
  auto source = text((*parts)[1], "the text of Fn::Split", where);
  if (!delimiter || !source) return broken_silently(argument.line);
  Node out;
  out.line = argument.line;
  if (delimiter->empty()) return broken(argument.line, where, "Fn::Split: the delimiter is empty");
  out.kind = Node::Kind::kList;
  std::string_view rest = *source;
  for (size_t at = 0; at != rest.npos;) {
    at = rest.find(*delimiter);
    out.list.push_back(text_node(std::string(rest.substr(0, at)), argument.line, where));
    if (out.list.back().broken) return out.list.back();
    if (at != rest.npos) rest.remove_prefix(at + delimiter->size());
  }
  return out;
}

std::optional<Node> Intrinsics::if_else(const Node& argument, const Where& where) {
  static constexpr std::string_view kUsage = "Fn::If: [condition, value if true, value if false]";
  auto parts = arguments(argument, 3, 3, kUsage, where);
  if (!parts || !(*parts)[0].is_scalar()) return broken(argument.line, where, "expected " + std::string(kUsage));
  return resolve((*parts)[condition((*parts)[0].text, argument.line, where) ? 1 : 2], where);
}

std::optional<Node> Intrinsics::find_in_map(const Node& argument, const Where& where) {
  static constexpr std::string_view kUsage = "Fn::FindInMap: [map, first key, second key, {DefaultValue: value}]";
  auto parts = arguments(argument, 3, 4, kUsage, where);
  const Node* fallback = parts && parts->size() == 4 ? parts->back().find("DefaultValue") : nullptr;
  if (!parts || (parts->size() == 4 && !fallback)) {
    return broken(argument.line, where, "expected " + std::string(kUsage));
  }
  const Node* at = &mappings_;
  std::string path;
  for (size_t i = 0; i < 3; ++i) {
    auto key = text((*parts)[i], "each key of Fn::FindInMap", where);
    if (!key) return broken_silently(argument.line);
    path += (path.empty() ? "" : ".") + shown(*key);
    at = at->find(*key);
    if (!at && fallback) return resolve(*fallback, where);
    if (!at) return broken(argument.line, where, "Fn::FindInMap: there is no '" + path + "' in Mappings");
  }
  return copy_of(*at, argument.line, where);
}

// As many as most regions have, for templates that spread something over zones.
std::optional<Node> Intrinsics::zones(const Node& argument, const Where& where) {
  auto region = text(argument, "the region of Fn::GetAZs", where);
  if (!region) return broken_silently(argument.line);
  Node out;
  out.line = argument.line;
  out.kind = Node::Kind::kList;
  for (const char zone : {'a', 'b', 'c'}) {
    out.list.push_back(text_node((region->empty() ? input_.region : *region) + zone, argument.line, where));
  }
  return out;
}

std::optional<Node> Intrinsics::length(const Node& argument, const Where& where) {
  auto list = resolve(argument, where);
  if (list && list->broken) return list;
  if (!list || !list->is(Node::Kind::kList)) {
    return broken(argument.line, where, "Fn::Length needs a list, not " + (list ? describe(*list) : "AWS::NoValue"));
  }
  Node out = text_node(std::to_string(list->list.size()), argument.line, where);
  out.quoted = false;  // A number.
  return out;
}

std::optional<Node> Intrinsics::json_text(const Node& argument, const Where& where) {
  auto value = resolve(argument, where);
  if (value && value->broken) return value;
  const bool fits = value && (value->is(Node::Kind::kList) || value->is(Node::Kind::kMap));
  if (!fits) {
    return broken(argument.line, where,
                  "Fn::ToJsonString needs a map or a list, not " + (value ? describe(*value) : "AWS::NoValue"));
  }
  std::string json = to_json(*value);  // If nested, each level may double it.
  if (json.size() > kMaxText) return broken(argument.line, where, "Fn::ToJsonString makes more than 64 KB of text");
  return text_node(std::move(json), argument.line, where);
}

std::optional<Node> Intrinsics::base64(const Node& argument, const Where& where) {
  auto value = text(argument, "the argument of Fn::Base64", where);
  if (!value) return broken_silently(argument.line);
  return text_node(base64_of(*value), argument.line, where);
}

}  // namespace freshet
