// Reads parameters, mappings and conditions, which the intrinsic functions use.
#include <algorithm>
#include <set>

#include "runtime/deploy/intrinsics.h"
#include "tables/value/decimal.h"

namespace freshet {
namespace {

bool is_list_type(const std::string& type) {
  return type == "CommaDelimitedList" || type.starts_with("List<");
}

Node split_commas(const std::string& text, int line) {
  Node out;
  out.kind = Node::Kind::kList;
  out.line = line;
  size_t from = 0;
  while (!text.empty() && from <= text.size()) {
    size_t comma = std::min(text.find(',', from), text.size());
    std::string part = text.substr(from, comma - from);
    size_t first = part.find_first_not_of(' ');
    size_t last = part.find_last_not_of(' ');
    out.list.push_back(Node::scalar(first == part.npos ? "" : part.substr(first, last - first + 1), line));
    from = comma + 1;
  }
  return out;
}

std::string join_commas(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) out += (out.empty() ? "" : ", ") + one;
  return shown(out, 500);
}

// The template's rules for the value of a parameter.
struct Rules {
  std::string type;
  std::set<std::string> allowed;
  std::string allowed_text;
  std::optional<int64_t> min_length, max_length;
  std::optional<std::string> min_value, max_value;

  // The reason why `value` breaks them, or "".
  std::string check(const std::string& value) const {
    if (!allowed.empty() && !allowed.contains(value)) return "is not one of " + allowed_text;
    auto size = static_cast<int64_t>(value.size());
    if (min_length && size < *min_length) return "is shorter than " + std::to_string(*min_length);
    if (max_length && size > *max_length) return "is longer than " + std::to_string(*max_length);
    if (type != "Number" && type != "List<Number>") return "";
    auto number = Decimal::parse(value);
    if (!number) return "is not a number";
    auto bound = [&](const std::optional<std::string>& text) { return Decimal::parse(text.value_or("")); };
    if (auto min = bound(min_value); min && *number < *min) return "is less than " + *min_value;
    if (auto max = bound(max_value); max && *number > *max) return "is more than " + *max_value;
    return "";
  }
};

Rules read_rules(Properties& properties) {
  Rules rules;
  rules.type = properties.required_text("Type");
  const std::vector<std::string> allowed = properties.texts("AllowedValues");
  rules.allowed = {allowed.begin(), allowed.end()};
  rules.allowed_text = join_commas(allowed);
  rules.min_length = properties.integer("MinLength", 0, 4096);
  rules.max_length = properties.integer("MaxLength", 0, 4096);
  rules.min_value = properties.text("MinValue");
  rules.max_value = properties.text("MaxValue");
  for (std::string_view bound : {"MinValue", "MaxValue"}) {
    auto text = properties.text(bound);
    if (text && !Decimal::parse(*text)) properties.error(bound, "'" + *text + "' is not a number");
  }
  properties.no_effect({"AllowedPattern"}, "the pattern is not checked");
  properties.ignore({"Description", "ConstraintDescription", "NoEcho"});
  bool plain = rules.type == "String" || rules.type == "Number" || is_list_type(rules.type);
  if (rules.type.starts_with("AWS::SSM::")) {
    properties.error("Type", "there is no parameter store here; use String and give the value");
  } else if (rules.type.starts_with("AWS::")) {
    properties.warn("Type", rules.type + " is taken as plain text");
  } else if (!plain && !rules.type.empty()) {
    properties.error("Type", "'" + rules.type + "' is not one of String, Number, List<Number>, CommaDelimitedList");
  }
  return rules;
}

}  // namespace

void Intrinsics::define_parameter(const Member& member) {
  Where where{"Parameters", member.name};
  Properties properties(&member.value, where, diagnostics_);
  Node& value = parameters_[member.name];
  value.line = member.line;
  value.broken = true;  // Until its value is known.
  if (!properties.present()) return;
  Rules rules = read_rules(properties);
  auto text = properties.text("Default");
  auto given = input_.parameters.find(member.name);
  if (given != input_.parameters.end()) text = given->second;
  if (!text) {
    diagnostics_.error(member.line, where,
                       "has no default and no value was given; give one with --parameter " + member.name + "=VALUE");
    return;
  }
  const bool list = is_list_type(rules.type);
  const size_t values = list ? 2 + static_cast<size_t>(std::count(text->begin(), text->end(), ',')) : 1;
  if (!afford(values, text->size(), member.line, where)) return;
  Node parsed = list ? split_commas(*text, member.line) : Node::scalar(*text, member.line);
  const auto check = [&](const Node& one) {
    if (diagnostics_.full()) return;
    std::string reason = rules.check(one.text);
    if (!reason.empty()) diagnostics_.error(member.line, where, "the value '" + shown(one.text) + "' " + reason);
  };
  if (!list) check(parsed);
  for (const Node& one : parsed.list) check(one);
  if (rules.type == "Number") parsed.quoted = false;
  value = std::move(parsed);
}

void Intrinsics::define_parameters(const Node* section) {
  {
    Properties all(section, {"Parameters", ""}, diagnostics_);
    all.for_all([&](const Member& member) { define_parameter(member); });
  }
  std::vector<std::string> known;
  for (const auto& [name, value] : parameters_) known.push_back(name);
  for (const auto& [name, value] : input_.parameters) {
    if (parameters_.contains(name)) continue;
    diagnostics_.error(
        section ? section->line : 1, {"Parameters", ""},
        "a value was given for '" + shown(name) + "', which the template does not have" + nearest_or_all(name, known));
  }
}

void Intrinsics::define_mappings(const Node* section) {
  Where where{"Mappings", ""};
  Properties all(section, where, diagnostics_);
  all.for_all([&](const Member& map) {
    if (!map.value.is(Node::Kind::kMap)) {
      diagnostics_.error(map.line, where.below(map.name), "expected a map of maps");
    }
    for (const Member& first : map.value.members) {
      if (first.value.is(Node::Kind::kMap)) continue;
      diagnostics_.error(first.line, where.below(map.name).below(first.name),
                         "expected a map, found " + describe(first.value));
    }
    mappings_.members.push_back({map.name, map.line, copy_of(map.value, map.line, where)});
  });
  mappings_.kind = Node::Kind::kMap;
}

void Intrinsics::define_conditions(const Node* section) {
  Properties all(section, {"Conditions", ""}, diagnostics_);
  all.for_all([&](const Member& member) {
    conditions_[member.name] = copy_of(member.value, member.line, {"Conditions", shown(member.name)});
  });
  for (const auto& [name, node] : conditions_) condition(name, node.line, {"Conditions", name});
}

bool Intrinsics::condition(const std::string& name, int line, const Where& where) {
  if (auto known = known_conditions_.find(name); known != known_conditions_.end()) return known->second;
  if (diagnostics_.full()) return false;
  auto found = conditions_.find(name);
  if (found == conditions_.end()) {
    std::vector<std::string> names;
    if (conditions_.size() <= kMaxCandidates) {
      for (const auto& [one, node] : conditions_) names.push_back(one);
    }
    diagnostics_.error(line, where, "there is no condition '" + shown(name) + "'" + did_you_mean(name, names));
    return false;
  }
  std::string step = "condition " + name;
  if (std::find(in_work_.begin(), in_work_.end(), step) != in_work_.end()) {
    diagnostics_.error(found->second.line, {"Conditions", name}, "the condition depends on itself");
    return false;
  }
  in_work_.push_back(step);
  bool value = evaluate(found->second, {"Conditions", name});
  in_work_.pop_back();
  return known_conditions_[name] = value;
}

bool Intrinsics::evaluate(const Node& node, const Where& where) {
  const Level level(depth_);
  if (level.is_too_deep()) {
    diagnostics_.error(node.line, where, too_deep());
    return false;
  }
  static constexpr std::string_view kUsage =
      "expected a condition: Fn::Equals, Fn::And, Fn::Or, Fn::Not or {Condition: Name}";
  if (node.members.size() != 1) {
    diagnostics_.error(node.line, where, std::string(kUsage) + ", found " + describe(node));
    return false;
  }
  const auto& [name, line, argument] = node.members.front();
  if (name == "Condition" && argument.is_scalar()) return condition(argument.text, line, where);
  if (name == "Fn::Equals") {
    auto parts = arguments(argument, 2, 2, "Fn::Equals: [value, value]", where);
    if (!parts) return false;
    auto left = resolve((*parts)[0], where);
    auto right = resolve((*parts)[1], where);
    return left && right && !left->broken && !right->broken && same_value(*left, *right);
  }
  bool is_and = name == "Fn::And";
  bool is_or = name == "Fn::Or";
  if (!is_and && !is_or && name != "Fn::Not") {
    diagnostics_.error(line, where, std::string(kUsage) + ", found " + name);
    return false;
  }
  auto parts = is_and || is_or ? arguments(argument, 2, 10, name + ": a list of 2 to 10 conditions", where)
                               : arguments(argument, 1, 1, "Fn::Not: [condition]", where);
  if (!parts) return false;
  bool all = true;
  bool any = false;
  for (const Node& part : *parts) {
    bool value = evaluate(part, where);
    all = all && value;
    any = any || value;
  }
  return is_and ? all : is_or ? any : !any;
}

}  // namespace freshet
