// Turns resources into definitions. Internal to deployment.cc and the read_*.cc beside it.
#pragma once

#include <string>
#include <vector>

#include "runtime/deploy/deployment.h"
#include "runtime/deploy/properties.h"

namespace freshet {

inline constexpr std::string_view kNoTags = "tags are not kept";
inline constexpr std::string_view kIdOfEvent =
    "; the id of an event is the function's and the event's name together: give one of them another name";

class DeploymentBuilder {
 public:
  DeploymentBuilder(const DeploymentInput& input, Diagnostics& diagnostics)
      : input_(input), diagnostics_(diagnostics) {}

  void add(const Resource& resource);
  // Checks references between resources and applies the overrides. Call it once, after the last add().
  void finish();
  Deployment take() { return std::move(out_); }

 private:
  enum class Kind { kTable, kTopic, kFunction, kTarget /* a function or a topic */ };
  // Names that the template has defined, with their places.
  struct Named {
    std::string what;  // "table QueueTable"
    std::string id;
    int line;
    std::string_view hint = {};  // Advice for the error about a duplicate; may be empty.
  };
  // A name that must exist once all resources are read.
  struct Reference {
    Kind kind;
    std::string name;  // A name or an ARN.
    int line;
    Where where;
  };

  // read_table.cc
  void add_table(const Resource& resource, Properties& properties);
  void add_simple_table(const Resource& resource, Properties& properties);
  void keep_table(const Resource& resource, TableDefinition table);
  void read_table_metadata(const Resource& resource, TableDefinition& table);

  // read_function.cc
  void add_sam_function(const Resource& resource, Properties& properties);
  void add_lambda_function(const Resource& resource, Properties& properties);
  void add_invoke_config(const Resource& resource, Properties& properties);
  FunctionDefinition read_function(const Resource& resource, Properties& properties);
  void read_handler(const Resource& resource, Properties& properties, FunctionDefinition& function);
  void read_program(const Resource& resource, Properties& properties, FunctionDefinition& function);
  std::string read_code(Properties& properties, const FunctionDefinition& function);
  // Reports code that is written in the template itself.
  static void name_a_folder(Properties& properties, std::string_view property, const FunctionDefinition& function);
  void read_tracing(Properties& properties);
  // The function's name, with the alias that its events go to if the template has it published.
  std::string read_alias(Properties& properties, const FunctionDefinition& function);
  // Warns that the property asks for traces, and names the option that keeps them.
  void warn_of_traces(Properties& properties, std::string_view property, bool on);
  void read_async(Properties& properties, AsyncConfig& async);
  void read_dead_letter(Properties& properties, std::string_view property, FunctionDefinition& function);
  Destination read_destination(Properties& properties, std::string_view name);

  // read_events.cc
  // `target`: the function that the event invokes, with its alias if it has one.
  void add_event(const Resource& function, const std::string& target, const Member& event, Properties& events);
  void add_mapping(const Resource& resource, Properties& properties);
  void add_rule(const Resource& resource, Properties& properties);
  void read_stream_event(Properties& properties, MappingDefinition mapping, std::string_view source_property);
  void read_schedule_event(Properties& properties, ScheduleDefinition schedule);
  void read_schedule_v2_event(Properties& properties, ScheduleDefinition schedule);
  void keep_schedule(Properties& properties, std::string_view property, ScheduleDefinition schedule);
  std::string read_input(Properties& properties);

  // read_topic.cc
  void add_topic(const Resource& resource, Properties& properties);
  void add_subscription(const Resource& resource, Properties& properties);
  void read_topic_event(Properties& properties, SubscriptionDefinition subscription);
  void read_filter(Properties& properties, SubscriptionDefinition& subscription);
  void keep_subscription(Properties& properties, SubscriptionDefinition subscription, std::string_view hint);

  // deployment.cc The text of the property, recorded as a reference that must exist. "" if absent or wrong
  // (reported).
  std::string reference(Kind kind, Properties& properties, std::string_view property);
  // True if there is a function of that name, or an alias that the template keeps for one.
  bool has_function(const std::string& name) const;
  void check_reference(const Reference& reference);
  void check_names();
  void check_mappings();
  void apply_overrides();
  void check_variables();
  void check_functions();
  // Finds faults that would otherwise be refused after half of the deployment is done.
  void check_definitions();
  const Named& place_of(const FunctionDefinition& function) const;

  const DeploymentInput& input_;
  Diagnostics& diagnostics_;
  Deployment out_;
  std::vector<Reference> references_;
  std::vector<Named> names_;
  struct InvokeConfig {
    std::string function;
    AsyncConfig async;
  };
  std::vector<InvokeConfig> invoke_configs_;
  std::vector<std::pair<Where, int>> mapping_places_;         // The place and line of each of out_.mappings.
  std::map<std::string, std::string> function_names_;         // Logical id -> name.
  std::set<std::pair<std::string, std::string>> overridden_;  // The function's name and the variable.
};

}  // namespace freshet
