#include "runtime/deploy/deployment.h"

#include <algorithm>

#include "runtime/deploy/builder.h"
#include "runtime/deploy/plan.h"
#include "runtime/invoke/event_source_mapping.h"
#include "runtime/invoke/function_registry.h"
#include "streams/arn.h"
#include "streams/topic_service.h"

namespace freshet {
namespace {

template <class List>
bool has_name(const List& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.name == name; });
}

template <class List>
void append_names(std::vector<std::string>& out, const List& list) {
  if (list.size() > kMaxCandidates) return;
  for (const auto& one : list) out.push_back(one.name);
}

}  // namespace

Result<EnvironmentOverride> parse_override(std::string_view text) {
  size_t equals = text.find('=');
  size_t dot = text.substr(0, equals).find('.');
  if (equals == text.npos || dot == text.npos || dot == 0 || dot + 1 == equals) {
    return invalid("--set " + std::string(text) +
                   ": it must be FUNCTION.VARIABLE=VALUE, as in ProcessTasksFunction.RATE_LIMIT=19");
  }
  return EnvironmentOverride{std::string(text.substr(0, dot)), std::string(text.substr(dot + 1, equals - dot - 1)),
                             std::string(text.substr(equals + 1))};
}

std::string DeploymentBuilder::reference(Kind kind, Properties& properties, std::string_view property) {
  std::string name = properties.required_text(property);
  int line = properties.line();
  if (const Node* node = properties.take(property)) line = node->line;
  if (!name.empty()) references_.push_back({kind, name, line, properties.where().below(property)});
  return name;
}

void DeploymentBuilder::add(const Resource& resource) {
  using Read = void (DeploymentBuilder::*)(const Resource&, Properties&);
  static const std::map<std::string, Read> readers{
      {"AWS::DynamoDB::Table", &DeploymentBuilder::add_table},
      {"AWS::Serverless::SimpleTable", &DeploymentBuilder::add_simple_table},
      {"AWS::Serverless::Function", &DeploymentBuilder::add_sam_function},
      {"AWS::Lambda::Function", &DeploymentBuilder::add_lambda_function},
      {"AWS::Lambda::EventInvokeConfig", &DeploymentBuilder::add_invoke_config},
      {"AWS::Lambda::EventSourceMapping", &DeploymentBuilder::add_mapping},
      {"AWS::SNS::Topic", &DeploymentBuilder::add_topic},
      {"AWS::SNS::Subscription", &DeploymentBuilder::add_subscription},
      {"AWS::Events::Rule", &DeploymentBuilder::add_rule},
  };
  Properties properties(&resource.properties, {resource.id, "Properties"}, diagnostics_);
  if (!properties.present()) return;
  (this->*readers.at(resource.type))(resource, properties);
  bool is_table = resource.type == "AWS::DynamoDB::Table" || resource.type == "AWS::Serverless::SimpleTable";
  if (const Node* ours = resource.metadata.find("Freshet"); ours && !is_table) {
    diagnostics_.error(ours->line, {resource.id, "Metadata.Freshet"}, "is for tables only");
  }
}

bool DeploymentBuilder::has_function(const std::string& name) const {
  const auto is_it = [&](const AliasDefinition& one) { return one.function + ":" + one.name == name; };
  return has_name(out_.functions, name) || std::any_of(out_.aliases.begin(), out_.aliases.end(), is_it);
}

void DeploymentBuilder::check_reference(const Reference& reference) {
  std::vector<std::string> known;  // Only for the message.
  std::string name;
  std::string what;
  if (reference.kind == Kind::kTable) {
    auto stream = parse_stream_arn(reference.name);
    if (!stream) return;  // Reported where it was read.
    name = stream->table;
    what = "table";
    if (has_name(out_.tables, name)) return;
    append_names(known, out_.tables);
  } else {
    bool topic = reference.kind == Kind::kTopic;
    if (reference.kind == Kind::kTarget) {
      auto arn = parse_arn(reference.name);
      topic = arn && arn->service == "sns";
      if (!arn || (arn->service != "sns" && arn->service != "lambda")) {
        return diagnostics_.error(reference.line, reference.where,
                                  "'" + reference.name + "' is not the ARN of a topic or a function");
      }
    }
    name = topic ? topic_name(reference.name) : function_name(reference.name);
    what = topic ? "topic" : "function";
    if (topic ? has_name(out_.topics, name) : has_function(name)) return;
    if (topic) {
      append_names(known, out_.topics);
    } else {
      append_names(known, out_.functions);
    }
  }
  if (name.empty()) {
    return diagnostics_.error(reference.line, reference.where, "'" + reference.name + "' names no " + what);
  }
  diagnostics_.error(reference.line, reference.where,
                     "there is no " + what + " '" + name + "' in this template" + did_you_mean(name, known));
}

void DeploymentBuilder::check_names() {
  std::map<std::string_view, const Named*> first;
  for (const Named& named : names_) {
    if (named.what.ends_with(' ')) continue;  // A name that does not resolve has been reported already.
    const auto [there, is_first] = first.try_emplace(named.what, &named);
    if (is_first) continue;
    diagnostics_.error(named.line, {named.id, ""},
                       "the " + named.what + " is there already: " + there->second->id + " in line " +
                           std::to_string(there->second->line) + std::string(named.hint));
  }
}

void DeploymentBuilder::check_mappings() {
  for (size_t i = 0; i < out_.mappings.size(); ++i) {
    for (const TableDefinition& table : out_.tables) {
      if (table.name != out_.mappings[i].table || table.stream) continue;
      diagnostics_.error(mapping_places_[i].second, mapping_places_[i].first,
                         "the table " + table.name + " has no stream; give it a StreamSpecification");
    }
  }
}

void DeploymentBuilder::apply_overrides() {
  for (const EnvironmentOverride& override : input_.overrides) {
    auto by_id = function_names_.find(override.function);
    const std::string& name = by_id != function_names_.end() ? by_id->second : override.function;
    auto found = std::find_if(out_.functions.begin(), out_.functions.end(),
                              [&](const FunctionDefinition& function) { return function.name == name; });
    if (found != out_.functions.end()) {
      found->environment[override.variable] = override.value;
      overridden_.insert({found->name, override.variable});
      continue;
    }
    std::vector<std::string> known;
    for (const auto& [id, function] : function_names_) known.push_back(id);
    diagnostics_.error(0, {},
                       "--set " + override.function + "." + override.variable + ": there is no function '" +
                           override.function + "'" + nearest_or_all(override.function, known));
  }
}

// A variable that no function reads is most likely misspelt. In a template it may be meant for another program.
void DeploymentBuilder::check_variables() {
  if (!input_.known_variables) return;
  for (const FunctionDefinition& function : out_.functions) {
    if (function.host != "native") continue;
    const std::vector<std::string> known = input_.known_variables(function);
    if (known.empty()) continue;
    for (const auto& [name, value] : function.environment) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string what = "the built-in function does not read '" + name + "'";
      if (!overridden_.contains({function.name, name})) {
        const Named& named = place_of(function);
        diagnostics_.warn(named.line, {named.id, "Environment.Variables." + name}, what + did_you_mean(name, known));
        continue;
      }
      diagnostics_.error(0, {}, "--set " + function.name + "." + name + ": " + what + nearest_or_all(name, known));
    }
  }
}

const DeploymentBuilder::Named& DeploymentBuilder::place_of(const FunctionDefinition& function) const {
  return *std::find_if(names_.begin(), names_.end(),
                       [&](const Named& one) { return one.what == "function " + function.name; });
}

void DeploymentBuilder::check_functions() {
  if (!input_.check_function) return;
  for (const FunctionDefinition& function : out_.functions) {
    if (function.host != "native") continue;
    const Named& named = place_of(function);
    for (FunctionFault& fault : input_.check_function(function, out_)) {
      const Where where{named.id, std::move(fault.property)};
      if (fault.warning) {
        diagnostics_.warn(named.line, where, std::move(fault.message));
      } else {
        diagnostics_.error(named.line, where, std::move(fault.message));
      }
    }
  }
}

void DeploymentBuilder::check_definitions() {
  std::map<std::string_view, const Named*> places;
  for (const Named& named : names_) places.emplace(named.what, &named);
  const auto report = [&](const std::string& what, const Result<void>& good) {
    if (good) return;
    const auto found = places.find(what);
    const Named* named = found == places.end() ? nullptr : found->second;
    diagnostics_.error(named ? named->line : 1, {named ? named->id : "", ""}, good.error().message);
  };
  for (const TopicDefinition& one : out_.topics) report("topic " + one.name, TopicService::check(one));
  for (const FunctionDefinition& one : out_.functions) report("function " + one.name, FunctionRegistry::check(one));
  for (const SubscriptionDefinition& one : out_.subscriptions) {
    report("subscription " + subscription_name(one), TopicService::check(one));
  }
  for (const MappingDefinition& one : out_.mappings) {
    report("event source mapping " + one.id, EventSourceMapping::check(one));
  }
}

void DeploymentBuilder::finish() {
  for (const InvokeConfig& config : invoke_configs_) {
    for (FunctionDefinition& function : out_.functions) {
      if (function.name == config.function) function.async = config.async;
    }
  }
  for (const Reference& one : references_) {
    if (!diagnostics_.full()) check_reference(one);
  }
  check_names();
  for (const Named& named : names_) out_.places.try_emplace(named.what, TemplatePlace{named.line, named.id});
  check_mappings();
  apply_overrides();
  check_variables();
  check_functions();
  if (!diagnostics_.failed()) check_definitions();
}

Result<Deployment> resolve_deployment(const DeploymentInput& input) {
  Diagnostics diagnostics(input.source.file);
  Template resolved = resolve_template(input.source, diagnostics);
  if (resolved.cut) return fail(diagnostics.to_error());
  DeploymentBuilder builder(input, diagnostics);
  for (const Resource& resource : resolved.resources) builder.add(resource);
  builder.finish();
  if (diagnostics.failed()) return fail(diagnostics.to_error());
  Deployment out = builder.take();
  out.outputs = std::move(resolved.outputs);
  out.warnings = diagnostics.sorted_warnings();
  return out;
}

}  // namespace freshet
