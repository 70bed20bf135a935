// Reads events that run functions: those of a SAM function, AWS::Lambda::EventSourceMapping, AWS::Events::Rule.
#include "runtime/deploy/builder.h"
#include "runtime/deploy/schedule_expression.h"
#include "streams/arn.h"
#include "tables/value/json.h"

namespace freshet {
namespace {

constexpr size_t kMaxScheduleName = 256;

}  // namespace

void DeploymentBuilder::add_event(const Resource& function, const std::string& target, const Member& event,
                                  Properties& events) {
  Where where = events.where().below(event.name);
  Properties outer(&event.value, where, diagnostics_);
  if (!outer.present()) return;
  std::string type = outer.required_text("Type");
  // SAM's own names for the resources that it makes from an event.
  std::string id = function.id + event.name;
  outer.ignore({"Properties"});
  const Node* node = outer.take("Properties");
  Node none;
  none.kind = Node::Kind::kMap;
  none.line = event.line;
  if (!node && type != "Schedule") node = &none;
  bool known = type == "DynamoDB" || type == "SNS" || type == "Schedule" || type == "ScheduleV2";
  if (!known) {
    if (type.empty()) return;
    return outer.error(
        "Type", "events of type " + type + " are not supported; there are DynamoDB, SNS, Schedule and ScheduleV2");
  }
  Properties properties(node ? node : &none, where.below("Properties"), diagnostics_);
  if (!properties.present()) return;
  if (type == "DynamoDB") {
    MappingDefinition mapping;
    mapping.id = id;
    mapping.function = target;
    read_stream_event(properties, std::move(mapping), "Stream");
  } else if (type == "SNS") {
    SubscriptionDefinition subscription;
    subscription.id = id;
    subscription.endpoint = target;
    read_topic_event(properties, std::move(subscription));
  } else {
    ScheduleDefinition schedule;
    schedule.name = id;
    schedule.function = target;
    if (type == "Schedule") {
      read_schedule_event(properties, std::move(schedule));
    } else {
      read_schedule_v2_event(properties, std::move(schedule));
    }
  }
}

void DeploymentBuilder::read_stream_event(Properties& properties, MappingDefinition mapping,
                                          std::string_view source_property) {
  std::string source = reference(Kind::kTable, properties, source_property);
  auto stream = parse_stream_arn(source);
  if (stream) mapping.table = stream->table;
  if (!stream && !source.empty()) {
    properties.error(source_property,
                     "'" + source + "' is not the ARN of a table's stream; use !GetAtt TABLE.StreamArn");
  }
  properties.required_text("StartingPosition");
  auto start = properties.choice("StartingPosition", {"LATEST", "TRIM_HORIZON"});
  mapping.starting_position = start == "TRIM_HORIZON" ? StartingPosition::kTrimHorizon : StartingPosition::kLatest;
  if (auto size = properties.integer("BatchSize", 1, 10'000)) mapping.batch_size = static_cast<uint32_t>(*size);
  if (auto window = properties.integer("MaximumBatchingWindowInSeconds", 0, 300)) {
    mapping.batching_window = seconds(*window);
  }
  properties.in("FilterCriteria", [&](Properties& criteria) {
    criteria.each("Filters", [&](Properties& filter) {
      const Node* pattern = filter.take("Pattern");
      if (!pattern) return filter.missing("Pattern", "Pattern is missing");
      mapping.filters.push_back(pattern->is_scalar() ? pattern->text : to_json(*pattern));
    });
  });
  // -1 means no limit.
  auto age = properties.integer("MaximumRecordAgeInSeconds", -1, 7 * 24 * 3600);
  if (age == 0) properties.error("MaximumRecordAgeInSeconds", "expected -1 (no limit) or at least 1");
  if (age && *age > 0) mapping.max_record_age = seconds(*age);
  auto retries = properties.integer("MaximumRetryAttempts", -1, 10'000);
  if (retries && *retries >= 0) mapping.max_retries = static_cast<int>(*retries);
  mapping.bisect_on_error = properties.boolean("BisectBatchOnFunctionError").value_or(false);
  for (const std::string& type : properties.texts("FunctionResponseTypes")) {
    mapping.report_item_failures = type == "ReportBatchItemFailures";
    if (!mapping.report_item_failures) {
      properties.error("FunctionResponseTypes", "'" + type + "' is unknown; there is ReportBatchItemFailures");
    }
  }
  properties.in("DestinationConfig", [&](Properties& destinations) {
    if (destinations.take("OnFailure")) mapping.on_failure = read_destination(destinations, "OnFailure");
  });
  mapping.enabled = properties.boolean("Enabled").value_or(true);
  if (auto factor = properties.integer("ParallelizationFactor", 1, 10)) {
    mapping.parallelization_factor = static_cast<uint32_t>(*factor);
  }
  properties.no_effect({"KmsKeyArn", "MetricsConfig", "LoggingConfig"}, "there is no such service");
  if (auto window = properties.integer("TumblingWindowInSeconds", 0, 900)) {
    mapping.tumbling_window = seconds(*window);
  }
  if (mapping.tumbling_window > seconds(0) && mapping.parallelization_factor > 1) {
    properties.error("TumblingWindowInSeconds", "a tumbling window needs a ParallelizationFactor of 1");
  }
  names_.push_back({"event source mapping " + mapping.id, properties.where().resource, properties.line(), kIdOfEvent});
  mapping_places_.emplace_back(properties.where(), properties.line());
  out_.mappings.push_back(std::move(mapping));
}

void DeploymentBuilder::add_mapping(const Resource& resource, Properties& properties) {
  MappingDefinition mapping;
  mapping.id = resource.name;
  mapping.function = function_name(reference(Kind::kFunction, properties, "FunctionName"));
  properties.no_effect({"Tags"}, kNoTags);
  read_stream_event(properties, std::move(mapping), "EventSourceArn");
}

std::string DeploymentBuilder::read_input(Properties& properties) {
  const Node* input = properties.take("Input");
  if (!input) return {};
  return input->is_scalar() ? input->text : to_json(*input);
}

void DeploymentBuilder::keep_schedule(Properties& properties, std::string_view property, ScheduleDefinition schedule) {
  schedule.expression = properties.required_text(property);
  if (!schedule.expression.empty()) {
    auto parsed = ScheduleExpression::parse(schedule.expression);
    if (!parsed) properties.error(property, parsed.error().message);
  }
  if (schedule.name.size() > kMaxScheduleName) properties.error("Name", "a schedule's name has 1 to 256 characters");
  if (!schedule.input.empty()) {
    const auto input = parse_plain_json(schedule.input);
    if (!input && input.error().code == ErrorCode::kSerialization) properties.error("Input", "it is not JSON");
  }
  names_.push_back({"schedule " + schedule.name, properties.where().resource, properties.line()});
  out_.schedules.push_back(std::move(schedule));
}

void DeploymentBuilder::read_schedule_event(Properties& properties, ScheduleDefinition schedule) {
  schedule.name = properties.text("Name").value_or(schedule.name);
  schedule.input = read_input(properties);
  bool enabled = properties.boolean("Enabled").value_or(true);
  auto state = properties.choice("State", {"ENABLED", "DISABLED"});
  schedule.enabled = state ? *state == "ENABLED" : enabled;
  properties.ignore({"Description"});
  properties.no_effect({"RetryPolicy", "DeadLetterConfig"}, "the function's EventInvokeConfig counts");
  properties.no_effect({"RoleArn"}, "access is not checked by role");
  keep_schedule(properties, "Schedule", std::move(schedule));
}

void DeploymentBuilder::read_schedule_v2_event(Properties& properties, ScheduleDefinition schedule) {
  schedule.name = properties.text("Name").value_or(schedule.name);
  schedule.input = read_input(properties);
  schedule.enabled = properties.choice("State", {"ENABLED", "DISABLED"}).value_or("ENABLED") == "ENABLED";
  auto zone = properties.text("ScheduleExpressionTimezone");
  if (zone && *zone != "UTC" && *zone != "Etc/UTC") {
    properties.error("ScheduleExpressionTimezone",
                     "the time zone " + *zone + " is not supported; schedules are in UTC");
  }
  properties.in("FlexibleTimeWindow", [](Properties& window) {
    auto mode = window.choice("Mode", {"OFF", "FLEXIBLE"});
    if (mode == "FLEXIBLE") window.no_effect({"Mode"}, "schedules fire on time");
    window.ignore({"MaximumWindowInMinutes"});
  });
  for (std::string_view bound : {"StartDate", "EndDate"}) {
    if (properties.take(bound)) properties.error(bound, "schedules with a start or an end are not supported");
  }
  properties.ignore({"Description", "OmitName"});
  properties.no_effect({"RetryPolicy", "DeadLetterConfig"}, "the function's EventInvokeConfig counts");
  properties.no_effect({"RoleArn", "PermissionsBoundary", "KmsKeyArn"}, "access is not checked by role");
  properties.no_effect({"GroupName"}, "there are no schedule groups");
  keep_schedule(properties, "ScheduleExpression", std::move(schedule));
}

void DeploymentBuilder::add_rule(const Resource& resource, Properties& properties) {
  properties.ignore({"Name", "Description"});
  properties.no_effect({"Tags"}, kNoTags);
  properties.no_effect({"RoleArn"}, "access is not checked by role");
  properties.no_effect({"EventBusName"}, "there is no event bus");
  if (properties.take("EventPattern")) {
    properties.error("EventPattern", "rules on events are not supported; only ScheduleExpression is");
  }
  bool enabled = properties.choice("State", {"ENABLED", "DISABLED"}).value_or("ENABLED") == "ENABLED";
  std::vector<ScheduleDefinition> schedules;
  properties.each("Targets", [&](Properties& target) {
    ScheduleDefinition schedule;
    schedule.name = resource.name + "-" + target.required_text("Id");
    schedule.function = function_name(reference(Kind::kFunction, target, "Arn"));
    schedule.input = read_input(target);
    schedule.enabled = enabled;
    for (std::string_view other : {"InputPath", "InputTransformer"}) {
      if (target.take(other)) target.error(other, "is not supported; write the event as Input");
    }
    target.no_effect({"RetryPolicy", "DeadLetterConfig"}, "the function's EventInvokeConfig counts");
    target.no_effect({"RoleArn"}, "access is not checked by role");
    schedules.push_back(std::move(schedule));
  });
  if (schedules.empty()) properties.missing("Targets", "Targets is missing or empty");
  if (schedules.size() == 1) schedules.front().name = resource.name;
  for (ScheduleDefinition& schedule : schedules) {
    keep_schedule(properties, "ScheduleExpression", std::move(schedule));
  }
}

}  // namespace freshet
