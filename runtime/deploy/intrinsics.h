// Evaluates intrinsic functions: Ref, Fn::GetAtt, Sub, Join, Select, Split, If, Equals, And, Or, Not, FindInMap,
// Base64, GetAZs, Length, ToJsonString. Internal to template.cc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/deploy/properties.h"
#include "runtime/deploy/resource_types.h"
#include "runtime/deploy/template.h"

namespace freshet {

// A resource as the template declares it, before anything is resolved.
struct Declared {
  std::string type;
  int line = 0;
  bool exists = true;  // True if its condition holds.
  Node properties;     // Includes Globals.
  Node metadata;
  std::optional<std::string> name;  // Set once it is evaluated; empty text if that failed.
};

// Resolves one template. Finds and reports every cycle (names, conditions). The budget bounds every text and all texts
// together; the depth to which names and conditions lead from one to the next is bounded, too.
class Intrinsics {
 public:
  Intrinsics(const TemplateInput& input, Diagnostics& diagnostics, TemplateBudget& budget);

  void define_parameters(const Node* section);
  void define_mappings(const Node* section);
  void define_conditions(const Node* section);
  // Takes this much from the budget. Returns false once it is used up (reported once): then create nothing more.
  bool afford(size_t nodes, size_t bytes, int line, const Where& where);
  // A copy that is charged to the budget; `broken` if the budget is used up.
  Node copy_of(const Node& node, int line, const Where& where);
  // In the order of declaration. References may run in any direction.
  std::map<std::string, Declared>& resources() { return resources_; }

  // The node without intrinsic functions. Empty for AWS::NoValue: the member is absent. A part that cannot be evaluated
  // is reported and becomes a null that is `broken`.
  std::optional<Node> resolve(const Node& node, const Where& where);
  bool condition(const std::string& name, int line, const Where& where);
  // The physical name; "" if it cannot be evaluated (reported).
  std::string name_of(const std::string& id);

 private:
  // Bounds the stack: a document's own depth, and the depth of what it refers to, in sequence.
  static constexpr int kMaxDepth = 250;
  // Counts a level of depth during its lifetime.
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --depth_; }
    bool is_too_deep() const { return depth_ > kMaxDepth; }

   private:
    int& depth_;
  };

  using Function = std::optional<Node> (Intrinsics::*)(const Node& argument, const Where& where);
  static const std::map<std::string, Function, std::less<>>& functions();

  std::optional<Node> ref(const Node& argument, const Where& where);
  std::optional<Node> get_att(const Node& argument, const Where& where);
  std::optional<Node> sub(const Node& argument, const Where& where);
  std::optional<Node> join(const Node& argument, const Where& where);
  std::optional<Node> select(const Node& argument, const Where& where);
  std::optional<Node> split(const Node& argument, const Where& where);
  std::optional<Node> if_else(const Node& argument, const Where& where);
  std::optional<Node> find_in_map(const Node& argument, const Where& where);
  std::optional<Node> base64(const Node& argument, const Where& where);
  std::optional<Node> zones(const Node& argument, const Where& where);
  std::optional<Node> length(const Node& argument, const Where& where);
  std::optional<Node> json_text(const Node& argument, const Where& where);

  std::optional<Node> reference(const std::string& name, int line, const Where& where);
  std::optional<Node> attribute(const std::string& id, const std::string& name, int line, const Where& where);
  std::optional<Node> alias_named(const std::string& name, int line, const Where& where);
  std::optional<Node> pseudo_parameter(const std::string& name, int line);
  std::optional<std::string> variable(const std::string& name, const std::map<std::string, std::string>& own, int line,
                                      const Where& where);
  bool evaluate(const Node& node, const Where& where);
  void define_parameter(const Member& member);
  std::string expand(std::string_view pattern, const std::string& name) const;

  // The argument's elements, unresolved; null if it is not a list of `min`..`max` elements (reported).
  const std::vector<Node>* arguments(const Node& argument, size_t min, size_t max, std::string_view usage,
                                     const Where& where);
  // The text as a node that is charged to the budget.
  Node text_node(std::string text, int line, const Where& where);
  std::optional<Node> resolve_here(const Node& node, const Where& where);
  std::optional<std::string> text(const Node& node, std::string_view what, const Where& where);
  Node broken(int line, const Where& where, std::string message);
  static Node broken_silently(int line);
  static std::string too_deep();  // The text of an error.

  const TemplateInput& input_;
  Diagnostics& diagnostics_;
  TemplateBudget& budget_;
  bool budget_reported_ = false;
  int depth_ = 0;  // The depth of the node being resolved, including the names and conditions that it leads to.
  std::map<std::string, Node> parameters_;
  Node mappings_;
  std::map<std::string, Node> conditions_;
  std::map<std::string, bool> known_conditions_;
  std::map<std::string, Declared> resources_;
  std::vector<std::string> in_work_;  // Names and conditions that are being evaluated, to find cycles.
};

}  // namespace freshet
