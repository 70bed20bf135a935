#include "runtime/deploy/template.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "runtime/deploy/intrinsics.h"

namespace freshet {
namespace {

// SAM's rule for Globals: maps are merged, lists are concatenated, anything else is replaced by the resource's own.
void merge_into(Node& own, const Node& global, TemplateBudget& budget) {
  if (global.kind != own.kind || own.is_scalar()) return;
  for (const Node& element : global.list) {
    if (!budget.take_copy(element)) return;
  }
  own.list.insert(own.list.begin(), global.list.begin(), global.list.end());
  std::map<std::string_view, size_t> mine;
  for (size_t i = 0; i < own.members.size(); ++i) mine.emplace(own.members[i].name, i);
  std::vector<Member> more;
  for (const Member& member : global.members) {
    if (const auto found = mine.find(member.name); found != mine.end()) {
      merge_into(own.members[found->second].value, member.value, budget);
    } else if (budget.take(0, member.name.size()) && budget.take_copy(member.value)) {
      more.push_back(member);
    }
  }
  std::move(more.begin(), more.end(), std::back_inserter(own.members));
}

constexpr size_t kMaxLogicalId = 255;

class Reader {
 public:
  Reader(const TemplateInput& input, Diagnostics& diagnostics, TemplateBudget& budget)
      : diagnostics_(diagnostics), budget_(budget), intrinsics_(input, diagnostics, budget) {}

  Template read(const Node& root) {
    Template out = read_sections(root);
    out.cut = !intrinsics_.afford(0, 0, root.line, {"", ""});
    return out;
  }

 private:
  Template read_sections(const Node& root) {
    Template out;
    if (root.is_scalar()) {
      diagnostics_.error(root.line, {"", ""},
                         "this is no template: one is YAML or JSON with a section Resources, as in config/lifo.yaml (a "
                         "file of options, NAME = VALUE a line, goes to --config)");
      return out;
    }
    Properties top(&root, {"", ""}, diagnostics_);
    check_header(top);
    intrinsics_.define_parameters(top.take("Parameters"));
    intrinsics_.define_mappings(top.take("Mappings"));
    intrinsics_.define_conditions(top.take("Conditions"));
    read_globals(top.take("Globals"));
    const Node* resources = top.take("Resources");
    if (!resources) {
      diagnostics_.error(root.line, {"", ""}, "there is no section Resources");
      return out;
    }
    declare(*resources);
    {
      Properties all(resources, {"Resources", ""}, diagnostics_);
      all.for_all([&](const Member& member) { add_resource(member, out); });
    }
    check_cycles();
    Properties outputs(top.take("Outputs"), {"Outputs", ""}, diagnostics_);
    outputs.for_all([&](const Member& member) { add_output(member, out); });
    return out;
  }

  void check_header(Properties& top) {
    auto version = top.text("AWSTemplateFormatVersion");
    if (version && *version != "2010-09-09") {
      top.error("AWSTemplateFormatVersion", "'" + *version + "' is unknown; the only version is 2010-09-09");
    }
    top.ignore({"Description", "Metadata"});
    top.no_effect({"Rules"}, "rules about parameters are not checked");
    const Node* transform = top.take("Transform");
    if (!transform) return;
    for_each(*transform, [&](const Node& one) {
      if (one.text == "AWS::Serverless-2016-10-31") return;
      diagnostics_.error(one.line, {"Transform", ""},
                         describe(one) + " is not supported; the only transform is AWS::Serverless-2016-10-31");
    });
  }

  // The elements of a list, or the single element in its place.
  static void for_each(const Node& node, const std::function<void(const Node&)>& use) {
    if (!node.is(Node::Kind::kList)) return use(node);
    for (const Node& one : node.list) use(one);
  }

  void read_globals(const Node* section) {
    Properties globals(section, {"Globals", ""}, diagnostics_);
    if (const Node* function = globals.take("Function")) function_globals_ = function;
    if (const Node* table = globals.take("SimpleTable")) table_globals_ = table;
    globals.no_effect({"Api", "HttpApi", "StateMachine", "LayerVersion", "CapacityProvider", "WebSocketApi"},
                      "no such resources are supported");
  }

  // Collects what references need: the resources and their types.
  void declare(const Node& section) {
    for (const Member& member : section.members) {
      Declared declared;
      declared.line = member.line;
      if (const Node* type = member.value.find("Type")) declared.type = type->text;
      const auto keep = [&](std::string_view section_name, Node& into) {
        const Node* found = member.value.find(section_name);
        if (found) into = intrinsics_.copy_of(*found, found->line, {shown(member.name), std::string(section_name)});
      };
      keep("Properties", declared.properties);
      keep("Metadata", declared.metadata);
      const Node* globals = declared.type == "AWS::Serverless::Function"      ? function_globals_
                            : declared.type == "AWS::Serverless::SimpleTable" ? table_globals_
                                                                              : nullptr;
      if (globals && declared.properties.is(Node::Kind::kNull)) declared.properties.kind = globals->kind;
      if (globals) merge_into(declared.properties, *globals, budget_);
      const Node* condition = member.value.find("Condition");
      if (condition && condition->is_scalar()) {
        declared.exists = intrinsics_.condition(condition->text, condition->line, {member.name, "Condition"});
      }
      intrinsics_.resources()[member.name] = std::move(declared);
    }
  }

  void add_resource(const Member& member, Template& out) {
    Where where{member.name, ""};
    bool plain = !member.name.empty() && std::all_of(member.name.begin(), member.name.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
    if (!plain) diagnostics_.error(member.line, where, "a logical id consists of letters and digits");
    if (member.name.size() > kMaxLogicalId) {
      diagnostics_.error(member.line, where, "a logical id has at most 255 letters and digits");
    }
    if (member.value.is(Node::Kind::kNull)) return diagnostics_.error(member.line, where, "the resource is empty");
    Properties resource(&member.value, where, diagnostics_);
    if (!resource.present()) return;
    std::string type_name = resource.required_text("Type");
    resource.ignore({"Properties", "Metadata", "Condition"});
    if (const Node* condition = resource.take("Condition"); condition && !condition->is_scalar()) {
      resource.error("Condition", "expected the name of a condition");
    }
    check_depends_on(resource);
    resource.no_effect({"DeletionPolicy", "UpdateReplacePolicy"}, "a deployment never deletes a table or its items");
    resource.no_effect({"UpdatePolicy", "CreationPolicy", "Connectors"}, "a deployment happens at once");
    if (type_name.empty()) return;
    Declared& declared = intrinsics_.resources()[member.name];
    const ResourceType* type = find_resource_type(type_name);
    if (!declared.exists) return;
    if (!type) {
      bool typo = !did_you_mean(type_name, supported_types()).empty();
      std::string text = "the type " + shown(type_name) + " is not supported";
      if (typo) return resource.error("Type", text + did_you_mean(type_name, supported_types()));
      return resource.warn("Type", text + ": the resource is left out, and references to it are errors");
    }
    if (type->support == ResourceType::Support::kNoEffect) {
      return resource.warn("Type", type_name + " has no effect here: " + std::string(type->why));
    }
    Resource made{member.name, type_name, intrinsics_.name_of(member.name), member.line, {}, {}};
    where.property = "Metadata";
    made.metadata = intrinsics_.resolve(declared.metadata, where).value_or(Node{});
    where.property = "";
    made.properties = intrinsics_.resolve(declared.properties, where).value_or(Node{});
    if (made.properties.is(Node::Kind::kNull)) {
      made.properties.kind = Node::Kind::kMap;
      made.properties.line = member.line;
    }
    out.resources.push_back(std::move(made));
  }

  void check_depends_on(Properties& resource) {
    const Node* depends = resource.take("DependsOn");
    if (!depends) return;
    for_each(*depends, [&](const Node& one) {
      if (one.is_scalar() && intrinsics_.resources().contains(one.text)) {
        depends_on_[resource.where().resource].insert(one.text);
      } else {
        resource.error("DependsOn", describe(one) + " is no resource of this template");
      }
    });
  }

  // Repeatedly removes the conditions that wait for no remaining one: those that are left are in a cycle, or wait for
  // one.
  void check_cycles() {
    std::map<std::string, std::vector<std::string>> waiting;  // The conditions that wait for each condition.
    std::map<std::string, size_t> needs_left;
    std::vector<std::string> free;
    for (const auto& [id, needs] : depends_on_) {
      needs_left[id] = needs.size();
      for (const std::string& one : needs) {
        waiting[one].push_back(id);
        if (!depends_on_.contains(one)) free.push_back(one);
      }
    }
    std::sort(free.begin(), free.end());
    free.erase(std::unique(free.begin(), free.end()), free.end());
    while (!free.empty()) {
      const std::string done = std::move(free.back());
      free.pop_back();
      depends_on_.erase(done);
      for (const std::string& id : waiting[done]) {
        if (--needs_left[id] == 0) free.push_back(id);
      }
    }
    report_cycle();
  }

  void report_cycle() {
    if (depends_on_.empty()) return;
    std::vector<std::string> path{depends_on_.begin()->first};
    for (std::set<std::string> seen; seen.insert(path.back()).second;) {
      const auto& needs = depends_on_.at(path.back());
      path.push_back(
          *std::find_if(needs.begin(), needs.end(), [&](const std::string& one) { return depends_on_.contains(one); }));
    }
    auto at = std::find(path.begin(), path.end(), path.back());  // The part of the path that leads to the cycle is not
                                                                 // in it.
    std::string circle = *at;
    const auto most = path.end() - at > 20 ? at + 20 : path.end();
    for (auto next = at + 1; next != most; ++next) circle += " -> " + *next;
    if (most != path.end()) circle += " -> ...";
    diagnostics_.error(intrinsics_.resources().at(*at).line, {*at, "DependsOn"},
                       "resources depend on each other: " + circle);
  }

  void add_output(const Member& member, Template& out) {
    Where where{"Outputs", member.name};
    Properties output(&member.value, where, diagnostics_);
    if (!output.present()) return;
    auto description = output.text("Description");
    output.no_effect({"Export"}, "there are no other stacks");
    const Node* value = output.take("Value");
    auto condition = output.text("Condition");
    if (condition && !intrinsics_.condition(*condition, output.line(), where)) return;
    if (!value) return output.missing("Value", "Value is missing");
    auto resolved = intrinsics_.resolve(*value, where);
    if (!resolved || resolved->broken) return;
    out.outputs.push_back(
        {member.name, resolved->is_scalar() ? resolved->text : to_json(*resolved), description.value_or("")});
  }

  Diagnostics& diagnostics_;
  TemplateBudget& budget_;
  Intrinsics intrinsics_;
  const Node* function_globals_ = nullptr;  // Owned by the document.
  const Node* table_globals_ = nullptr;
  std::map<std::string, std::set<std::string>> depends_on_;  // From DependsOn.
};

}  // namespace

Template resolve_template(const TemplateInput& input, Diagnostics& diagnostics) {
  TemplateBudget budget;
  auto root = parse_document(input.text, diagnostics, budget);
  return root ? Reader(input, diagnostics, budget).read(*root) : Template{};
}

}  // namespace freshet
