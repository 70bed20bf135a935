// The parser's output for an expression, and the checks that wait for a request's placeholders.
// Immutable once compiled; shared by all requests that use the same text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tables/expression/expression.h"

namespace freshet::expression {

enum class Function : uint8_t {
  kAttributeExists,
  kAttributeNotExists,
  kAttributeType,
  kBeginsWith,
  kContains,
  kSize,
  kIfNotExists,
  kListAppend
};
std::string_view function_name(Function function);

struct PathElement {
  enum class Kind : uint8_t { kName, kPlaceholder, kIndex };
  Kind kind = Kind::kName;
  uint32_t number = 0;  // Index into a list, or slot of the name placeholder.
  std::string name;     // Set for kName.
};
using Path = std::vector<PathElement>;  // Not empty; starts with a name or placeholder.

struct Operand {
  enum class Kind : uint8_t { kPath, kValue, kFunction };
  Kind kind = Kind::kPath;
  Function function = Function::kSize;
  uint32_t slot = 0;  // Set for kValue.
  Path path;
  std::vector<Operand> arguments;  // Set for kFunction.
};

enum class Operator : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kBetween,
  kIn,
  kFunction,
  kAnd,
  kOr,
  kNot
};
std::string_view operator_name(Operator op);
Operator mirrored(Operator op);  // The operator with its operands exchanged: `<` for `>`.

struct Condition {
  Operator op = Operator::kEqual;
  std::vector<Operand> operands;    // kFunction: one, the call. kIn: the value, then the candidates.
  std::vector<Condition> children;  // kAnd, kOr: two or more; kNot: one.
};

enum class ActionKind : uint8_t { kSet, kRemove, kAdd, kDelete };

struct Action {
  ActionKind kind = ActionKind::kSet;
  char arithmetic = 0;  // kSet: '+', '-', or 0 for `left` alone.
  Path path;
  Operand left;  // kAdd and kDelete: the value.
  Operand right;
};

// A step of binding, in the order in which the service reports errors.
struct Check {
  enum class Kind : uint8_t {
    kName,       // Slot `first` must be defined.
    kValue,      // Slot `first` must be defined.
    kFail,       // `text` is the error.
    kTypes,      // The value in slot `first` must be of one of `types`; `text` names the operator.
    kTypeName,   // The value in slot `first` must be the name of a type.
    kDistinct,   // Paths `a` and `b` must differ; `text` names the operator.
    kBetween,    // The values in slots `first` and `second` must be bounds in order.
    kNoOverlap,  // The paths of the update or projection must not overlap or conflict.
  };
  Kind kind = Kind::kFail;
  uint16_t types = 0;  // Bit mask by Type.
  uint32_t first = 0;
  uint32_t second = 0;
  const Path* a = nullptr;  // Into the same compiled expression.
  const Path* b = nullptr;
  std::string text;
};

// The members that all compiled expressions share.
struct Compiled {
  ExpressionKind kind = ExpressionKind::kCondition;
  std::vector<std::string> names;   // Slot -> "#n".
  std::vector<std::string> values;  // Slot -> ":v".
  std::vector<Check> checks;
  std::vector<const Path*> written;  // The paths that kNoOverlap compares: those that an update writes or a projection
                                     // reads.
  std::vector<const PathElement*> roots;  // First elements of all paths that are read or written, each once.

  Compiled() = default;
  Compiled(const Compiled&) = delete;  // The checks point into the trees.
  Compiled& operator=(const Compiled&) = delete;
};

inline constexpr uint16_t type_bit(Type type) {
  return static_cast<uint16_t>(1u << static_cast<unsigned>(type));
}
inline constexpr uint16_t kOrderedTypes = type_bit(Type::kString) | type_bit(Type::kNumber) | type_bit(Type::kBinary);
inline constexpr uint16_t kSetTypes =
    type_bit(Type::kStringSet) | type_bit(Type::kNumberSet) | type_bit(Type::kBinarySet);
inline constexpr uint16_t kAllTypes = (1u << 10) - 1;

}  // namespace freshet::expression

namespace freshet {

class CompiledCondition : public expression::Compiled {
 public:
  expression::Condition root;
};

class CompiledUpdate : public expression::Compiled {
 public:
  std::vector<expression::Action> actions;
};

class CompiledProjection : public expression::Compiled {
 public:
  std::vector<expression::Path> paths;
};

}  // namespace freshet
