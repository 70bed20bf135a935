#include "tables/expression/checks.h"

#include <algorithm>
#include <unordered_set>

#include "tables/expression/parser.h"
#include "tables/expression/paths.h"
#include "tables/expression/text.h"
#include "tables/expression/walk.h"
#include "tables/value/text.h"

namespace freshet::expression {
namespace {

constexpr std::string_view kWrongType = "Incorrect operand type for operator or function; ";
constexpr size_t kMaxInCandidates = 100;

// The possible types of an operand, as far as the text shows: only the request knows those of values.
uint16_t static_types(const Operand& operand) {
  if (operand.kind != Operand::Kind::kFunction) return kAllTypes;
  if (operand.function == Function::kSize) return type_bit(Type::kNumber);
  if (operand.function == Function::kListAppend) return type_bit(Type::kList);
  return kAllTypes;
}

class Walk {
 public:
  explicit Walk(Compiled& compiled) : compiled_(compiled) {}

  void condition(const Condition& condition) {
    for (const auto& child : condition.children) this->condition(child);
    for (const auto& each : condition.operands) operand(each);
    const auto name = operator_name(condition.op);
    switch (condition.op) {
      case Operator::kEqual:
      case Operator::kNotEqual:
        distinct(condition.operands, name);
        break;
      case Operator::kLess:
      case Operator::kLessOrEqual:
      case Operator::kGreater:
      case Operator::kGreaterOrEqual:
        distinct(condition.operands, name);
        for (const auto& each : condition.operands) types(each, kOrderedTypes, name);
        break;
      case Operator::kBetween:
        distinct(condition.operands, name);
        for (const auto& each : condition.operands) types(each, kOrderedTypes, name);
        bounds(condition.operands[1], condition.operands[2]);
        break;
      case Operator::kIn:
        if (condition.operands.size() - 1 > kMaxInCandidates) {
          fail(concat("The IN operator is provided with too many operands; number of operands: ",
                      std::to_string(condition.operands.size() - 1)));
        }
        distinct(condition.operands, name);
        break;
      default:
        break;
    }
  }

  // Checks the placeholders of an operand: first its arguments, then the requirements of its function.
  void operand(const Operand& operand) {
    if (operand.kind == Operand::Kind::kPath) {
      path(operand.path);
    } else if (operand.kind == Operand::Kind::kValue) {
      add({Check::Kind::kValue, 0, operand.slot, 0, nullptr, nullptr, {}});
    } else {
      for (const auto& argument : operand.arguments) this->operand(argument);
      function(operand);
    }
  }

  void path(const Path& path) {
    for (const auto& element : path) {
      if (element.kind != PathElement::Kind::kPlaceholder) continue;
      add({Check::Kind::kName, 0, element.number, 0, nullptr, nullptr, {}});
    }
  }

  // Names of an update are looked for before its values.
  void names_of(const Operand& operand) {
    if (operand.kind == Operand::Kind::kPath) path(operand.path);
    for (const auto& argument : operand.arguments) names_of(argument);
  }
  void values_of(const Operand& operand) {
    if (operand.kind == Operand::Kind::kValue) this->operand(operand);
    for (const auto& argument : operand.arguments) values_of(argument);
  }
  void functions_of(const Operand& operand) {
    if (operand.kind != Operand::Kind::kFunction) return;
    for (const auto& argument : operand.arguments) functions_of(argument);
    function(operand);
  }

  void types(const Operand& operand, uint16_t allowed, std::string_view name) {
    types(operand, allowed, concat("operator or function: ", name), {});
  }
  void types(const Operand& operand, uint16_t allowed, std::string_view who, std::string_view set_name) {
    if (operand.kind == Operand::Kind::kValue) {
      // The type is between the two halves of the text.
      add({Check::Kind::kTypes, allowed, operand.slot, 0, nullptr, nullptr,
           set_name.empty() ? std::string(who) : concat(who, "|", set_name)});
    } else if ((static_types(operand) & allowed) == 0) {
      const Type type = operand.function == Function::kSize ? Type::kNumber : Type::kList;
      fail(concat(kWrongType, who, ", operand type: ", type_name(type)));
    }
  }

  void no_overlap() {
    const bool late = std::any_of(compiled_.written.begin(), compiled_.written.end(),
                                  [](const Path* path) { return has_placeholder(*path); });
    if (late) return add({Check::Kind::kNoOverlap, 0, 0, 0, nullptr, nullptr, {}});
    auto message = overlap_message(compiled_.written, Bindings{});
    if (!message.empty()) fail(std::move(message));
  }

 private:
  void add(Check check) { compiled_.checks.push_back(std::move(check)); }
  void fail(std::string text) { add({Check::Kind::kFail, 0, 0, 0, nullptr, nullptr, std::move(text)}); }

  void distinct(const std::vector<Operand>& operands, std::string_view name) {
    const Operand& first = operands[0];
    if (first.kind != Operand::Kind::kPath) return;
    for (size_t i = 1; i < operands.size(); ++i) {
      const Operand& other = operands[i];
      if (other.kind != Operand::Kind::kPath || other.path.size() != first.path.size()) continue;
      if (!has_placeholder(first.path) && !has_placeholder(other.path) && !same_path(first.path, other.path, {})) {
        continue;
      }
      add({Check::Kind::kDistinct, 0, 0, 0, &first.path, &other.path, std::string(name)});
    }
  }

  void bounds(const Operand& lower, const Operand& upper) {
    if (lower.kind != Operand::Kind::kValue || upper.kind != Operand::Kind::kValue) return;
    add({Check::Kind::kBetween, 0, lower.slot, upper.slot, nullptr, nullptr, {}});
  }

  void function(const Operand& call) {
    const auto name = function_name(call.function);
    const auto& arguments = call.arguments;
    const bool one = call.function == Function::kAttributeExists || call.function == Function::kAttributeNotExists ||
                     call.function == Function::kSize;
    if (arguments.size() != (one ? 1 : 2)) {
      return fail(concat("Incorrect number of operands for operator or function; operator or function: ", name,
                         ", number of operands: ", std::to_string(arguments.size())));
    }
    switch (call.function) {
      case Function::kAttributeExists:
      case Function::kAttributeNotExists:
      case Function::kIfNotExists:
        if (arguments[0].kind != Operand::Kind::kPath) {
          fail(concat("Operator or function requires a document path; operator or function: ", name));
        }
        if (call.function == Function::kIfNotExists) distinct(arguments, name);
        break;
      case Function::kAttributeType:
        distinct(arguments, name);
        if (arguments[1].kind == Operand::Kind::kPath) {
          fail(concat(kWrongType, "operator or function: ", name, ", operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}"));
        }
        types(arguments[1], type_bit(Type::kString), name);
        if (arguments[1].kind == Operand::Kind::kValue) {
          add({Check::Kind::kTypeName, 0, arguments[1].slot, 0, nullptr, nullptr, {}});
        }
        break;
      case Function::kBeginsWith:
        distinct(arguments, name);
        for (const auto& each : arguments) types(each, type_bit(Type::kString) | type_bit(Type::kBinary), name);
        break;
      case Function::kContains:
        distinct(arguments, name);
        break;
      case Function::kSize:
        types(arguments[0], kAllTypes & ~(type_bit(Type::kNumber) | type_bit(Type::kBool) | type_bit(Type::kNull)),
              name);
        break;
      case Function::kListAppend:
        for (const auto& each : arguments) types(each, type_bit(Type::kList), name);
        break;
    }
  }

  Compiled& compiled_;
};

class Roots {
 public:
  explicit Roots(Compiled& compiled) : compiled_(compiled) {}
  void add(const Path& path) {
    const auto& first = path[0];
    const bool placeholder = first.kind == PathElement::Kind::kPlaceholder;
    const std::string_view text = placeholder ? compiled_.names[first.number] : first.name;
    if (seen_.insert(text).second) compiled_.roots.push_back(&first);
  }

 private:
  Compiled& compiled_;
  std::unordered_set<std::string_view> seen_;
};

// Types as ADD and DELETE name them.
std::string_view long_type_name(Type type) {
  constexpr std::string_view kNames[] = {"STRING", "NUMBER", "BINARY",     "BOOLEAN",    "NULL",
                                         "MAP",    "LIST",   "STRING_SET", "NUMBER_SET", "BINARY_SET"};
  return kNames[static_cast<size_t>(type)];
}

std::string bound_text(const Value& value) {
  std::string text;
  if (const auto* s = value.get_if<std::string>()) text = *s;
  if (const auto* n = value.get_if<Decimal>()) text = n->to_string();
  if (const auto* b = value.get_if<Binary>()) append_base64(text, b->bytes);
  return concat("AttributeValue: {", type_name(value.type()), ":", text, "}");
}

std::string bounds_error(const Value& lower, const Value& upper) {
  const bool same = lower.type() == upper.type();
  if (same && !(compare(lower, upper) > 0)) return {};
  return concat(
      "The BETWEEN operator requires ",
      same ? "upper bound to be greater than or equal to lower bound" : "same data type for lower and upper bounds",
      "; lower bound operand: ", bound_text(lower), ", upper bound operand: ", bound_text(upper));
}

std::string type_error(const Check& check, Type type) {
  if (check.types & type_bit(type)) return {};
  const auto bar = check.text.find('|');
  if (bar == std::string::npos) {
    return concat(kWrongType, check.text, ", operand type: ", type_name(type));
  }
  return concat(kWrongType, check.text.substr(0, bar), ", operand type: ", long_type_name(type),
                ", typeSet: ", check.text.substr(bar + 1));
}

std::string type_name_error(const Value& value) {
  const auto& name = *value.get_if<std::string>();
  for (size_t i = 0; i <= static_cast<size_t>(Type::kBinarySet); ++i) {
    if (type_name(static_cast<Type>(i)) == name) return {};
  }
  return concat("Invalid attribute type name found; type: ", name, ", valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}");
}

// Empty when the check holds.
std::string broken(const Check& check, const Compiled& compiled, const Bindings& bindings) {
  switch (check.kind) {
    case Check::Kind::kName:
      if (bindings.names[check.first].data()) return {};
      return concat("An expression attribute name used in the document path is not defined; attribute name: ",
                    compiled.names[check.first]);
    case Check::Kind::kValue:
      if (bindings.values[check.first]) return {};
      return concat("An expression attribute value used in expression is not defined; attribute value: ",
                    compiled.values[check.first]);
    case Check::Kind::kFail:
      return check.text;
    case Check::Kind::kTypes:
      return type_error(check, bindings.values[check.first]->type());
    case Check::Kind::kTypeName:
      return type_name_error(*bindings.values[check.first]);
    case Check::Kind::kDistinct:
      if (!same_path(*check.a, *check.b, bindings)) return {};
      return concat(
          "The first operand must be distinct from the remaining operands for this operator or function; operator: ",
          check.text, ", first operand: ", path_text(*check.a, bindings));
    case Check::Kind::kBetween:
      return bounds_error(*bindings.values[check.first], *bindings.values[check.second]);
    case Check::Kind::kNoOverlap:
      return overlap_message(compiled.written, bindings);
  }
  return {};
}

}  // namespace

void add_checks(CompiledCondition& condition) {
  Walk(condition).condition(condition.root);
  Roots roots(condition);
  each_path(condition.root, [&](const Path& path) { roots.add(path); });
}

void add_checks(CompiledUpdate& update) {
  Walk walk(update);
  for (const auto& action : update.actions) update.written.push_back(&action.path);
  for (const auto& action : update.actions) {
    walk.path(action.path);
    walk.names_of(action.left);
    walk.names_of(action.right);
  }
  for (const auto& action : update.actions) {
    walk.values_of(action.left);
    walk.values_of(action.right);
  }
  walk.no_overlap();
  Roots roots(update);
  for (const auto& action : update.actions) {
    roots.add(action.path);
    for (const Operand* operand : {&action.left, &action.right}) {
      each_path(*operand, [&](const Path& path) {
        if (!path.empty()) roots.add(path);  // A SET without arithmetic has no right side.
      });
    }
  }
  for (const auto& action : update.actions) {
    if (action.kind == ActionKind::kAdd) {
      walk.types(action.left, kSetTypes | type_bit(Type::kNumber), "operator: ADD", "ALLOWED_FOR_ADD_OPERAND");
    } else if (action.kind == ActionKind::kDelete) {
      walk.types(action.left, kSetTypes, "operator: DELETE", "ALLOWED_FOR_DELETE_OPERAND");
    }
  }
  for (const auto& action : update.actions) {
    if (action.kind != ActionKind::kSet) continue;
    walk.functions_of(action.left);
    walk.functions_of(action.right);
    if (action.arithmetic == 0) continue;
    walk.types(action.left, type_bit(Type::kNumber), std::string_view(&action.arithmetic, 1));
    walk.types(action.right, type_bit(Type::kNumber), std::string_view(&action.arithmetic, 1));
  }
}

void add_checks(CompiledProjection& projection) {
  Walk walk(projection);
  Roots roots(projection);
  for (const auto& path : projection.paths) {
    projection.written.push_back(&path);
    roots.add(path);
    walk.path(path);
  }
  walk.no_overlap();
}

Result<void> run_checks(const Compiled& compiled, const Bindings& bindings) {
  for (const auto& check : compiled.checks) {
    auto message = broken(check, compiled, bindings);
    if (!message.empty()) return fail(expression_error(compiled.kind, message));
  }
  return {};
}

}  // namespace freshet::expression
