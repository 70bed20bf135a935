// A YAML or JSON document as a plain tree of values, each with its line. Value types.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/deploy/diagnostics.h"

namespace freshet {

// Bounds on a document, including everything that its aliases expand to.
inline constexpr size_t kMaxTemplateBytes = 1u << 20;
inline constexpr size_t kMaxTemplateDepth = 48;
inline constexpr size_t kMaxTemplateNodes = 50'000;
// Bounds on everything made from a template: see TemplateBudget.
inline constexpr size_t kMaxMadeNodes = 250'000;
inline constexpr size_t kMaxMadeBytes = 16u << 20;

struct Member;
struct Node;

// Counts everything made from one template: the values, and the bytes of their text, of the document with its aliases,
// of Globals merged into resources, and of the results of functions. Values that were freed still count.
class TemplateBudget {
 public:
  // Returns false once the budget is used up; then create nothing more.
  bool take(size_t nodes, size_t bytes) {
    nodes_ += nodes;
    bytes_ += bytes;
    return !spent();
  }
  // Charges a copy of `node` with everything in it. Ends early once the budget is used up.
  bool take_copy(const Node& node);
  bool spent() const { return nodes_ > kMaxMadeNodes || bytes_ > kMaxMadeBytes; }
  static std::string message();  // The text of the error.

 private:
  size_t nodes_ = 0;
  size_t bytes_ = 0;
};

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  int line = 0;         // Where it starts; 1 is the first line.
  std::string text;     // Set for a scalar.
  bool quoted = false;  // True if the scalar was in quotes, so that "5" and "true" are text.
  bool broken = false;  // True for a null that could not be resolved; the error has been reported.
  std::vector<Node> list;
  std::vector<Member> members;  // Set for a map: in the document's order, names unique.

  static Node scalar(std::string text, int line);      // Makes a text, as if quoted.
  static Node map(std::string_view name, Node value);  // Makes a map with one member, on the value's line.

  bool is(Kind k) const { return kind == k; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  const Node* find(std::string_view name) const;  // Null if absent or not a map.
};

struct Member {
  std::string name;
  int line = 0;
  Node value;
};

// Compares without lines and quotes, as conditions do.
bool same_value(const Node& a, const Node& b);

// For messages: "a list", "a map", "nothing", or the scalar itself in quotes, cut when long.
std::string describe(const Node& node);

// Plain JSON. Unquoted scalars that read as a JSON number, true or false become that; all others become text.
std::string to_json(const Node& node);

// Reads one YAML 1.1 or JSON document. The short forms of intrinsic functions become the long ones: `!Ref X` is
// {Ref: X}, `!GetAtt A.B` is {Fn::GetAtt: [A, B]}, `!Sub "..."` is {Fn::Sub: "..."}.
// Empty with an error in `diagnostics` when it cannot be read: syntax, duplicate names, unknown tags, merge keys, bad
// UTF-8, too big, too deep, more than one document. The budget is larger than one document without aliases needs.
std::optional<Node> parse_document(std::string_view text, Diagnostics& diagnostics, TemplateBudget& budget);

}  // namespace freshet
