#include "runtime/invoke/codec.h"

#include <string>

#include "streams/system_table.h"

namespace freshet {

namespace {

void set_text(Item& item, std::string_view name, const std::string& text) {
  if (!text.empty()) item.set(name, Value(text));
}
void set_count(Item& item, std::string_view name, int64_t count) {
  if (count != 0) item.set(name, Value::number(count));
}
void set_flag(Item& item, std::string_view name, bool flag) {
  if (flag) item.set(name, Value::boolean(true));
}
bool flag_of(const Item& item, std::string_view name) {
  const Value* value = item.find(name);
  const bool* flag = value ? value->get_if<bool>() : nullptr;
  return flag && *flag;
}
std::string text_of(const Item& item, std::string_view name) {
  return std::string(item.string_or(name));
}

}  // namespace

Item to_item(const FunctionDefinition& function) {
  Item item = system_item(kFunctionKind, function.name);
  item.set("handler", Value(function.handler));
  item.set("host", Value(function.host));
  set_text(item, "version", function.version);
  set_text(item, "runtime", function.runtime);
  set_text(item, "code", function.code);
  item.set("memoryMib", Value::number(function.memory_mib));
  item.set("timeoutMs", Value::number(function.timeout.count()));
  if (function.reserved_concurrency) item.set("reservedConcurrency", Value::number(*function.reserved_concurrency));
  Map environment;
  for (const auto& [name, value] : function.environment) environment.append_sorted(name, Value(value));
  item.set("environment", Value(std::move(environment)));
  item.set("maxEventAge", Value::number(function.async.max_event_age.count()));
  item.set("maxRetries", Value::number(function.async.max_retries));
  set_text(item, "onSuccess", function.async.on_success.target);
  set_text(item, "onFailure", function.async.on_failure.target);
  set_text(item, "deadLetter", function.dead_letter.target);
  set_text(item, "description", function.description);
  set_text(item, "role", function.role);
  set_text(item, "codeSha256", function.code_sha256);
  set_count(item, "codeBytes", static_cast<int64_t>(function.code_bytes));
  set_count(item, "modified", function.modified_ms);
  set_count(item, "asyncModified", function.async_modified_ms);
  return item;
}

FunctionDefinition function_of(const Item& item) {
  FunctionDefinition function;
  function.name = text_of(item, "id");
  function.handler = text_of(item, "handler");
  function.host = text_of(item, "host");
  function.version = text_of(item, "version");
  function.runtime = text_of(item, "runtime");
  function.code = text_of(item, "code");
  function.memory_mib = static_cast<int>(item.int_or("memoryMib", function.memory_mib));
  function.timeout = milliseconds(item.int_or("timeoutMs", function.timeout.count()));
  if (item.contains("reservedConcurrency")) {
    function.reserved_concurrency = static_cast<int>(item.int_or("reservedConcurrency", 0));
  }
  if (const Value* environment = item.find("environment"); environment && environment->is(Type::kMap)) {
    for (const auto& [name, value] : *environment->get_if<Map>()) {
      if (const auto* text = value.get_if<std::string>()) function.environment[name] = *text;
    }
  }
  function.async.max_event_age = seconds(item.int_or("maxEventAge", function.async.max_event_age.count()));
  function.async.max_retries = static_cast<int>(item.int_or("maxRetries", function.async.max_retries));
  function.async.on_success.target = text_of(item, "onSuccess");
  function.async.on_failure.target = text_of(item, "onFailure");
  function.dead_letter.target = text_of(item, "deadLetter");
  function.description = text_of(item, "description");
  function.role = text_of(item, "role");
  function.code_sha256 = text_of(item, "codeSha256");
  function.code_bytes = static_cast<uint64_t>(item.int_or("codeBytes", 0));
  function.modified_ms = item.int_or("modified", 0);
  function.async_modified_ms = item.int_or("asyncModified", 0);
  return function;
}

Item to_item(const MappingDefinition& mapping) {
  Item item = system_item(kMappingKind, mapping.id);
  item.set("table", Value(mapping.table));
  item.set("function", Value(mapping.function));
  item.set("startingPosition",
           Value(mapping.starting_position == StartingPosition::kLatest ? "LATEST" : "TRIM_HORIZON"));
  item.set("batchSize", Value::number(mapping.batch_size));
  item.set("batchingWindowMs", Value::number(mapping.batching_window.count()));
  List filters;
  for (const std::string& filter : mapping.filters) filters.elements.emplace_back(filter);
  item.set("filters", Value(std::move(filters)));
  if (mapping.max_record_age) item.set("maxRecordAge", Value::number(mapping.max_record_age->count()));
  if (mapping.max_retries) item.set("maxRetries", Value::number(*mapping.max_retries));
  if (mapping.parallelization_factor > 1) {
    item.set("parallelizationFactor", Value::number(mapping.parallelization_factor));
  }
  if (mapping.tumbling_window > seconds(0)) {
    item.set("tumblingWindow", Value::number(mapping.tumbling_window.count()));
  }
  set_flag(item, "bisectOnError", mapping.bisect_on_error);
  set_flag(item, "reportItemFailures", mapping.report_item_failures);
  set_text(item, "onFailure", mapping.on_failure.target);
  set_flag(item, "enabled", mapping.enabled);
  if (mapping.modified_ms > 0) item.set("modified", Value::number(mapping.modified_ms));
  return item;
}

MappingDefinition mapping_of(const Item& item) {
  MappingDefinition mapping;
  mapping.id = text_of(item, "id");
  mapping.table = text_of(item, "table");
  mapping.function = text_of(item, "function");
  if (item.string_or("startingPosition") == "TRIM_HORIZON") {
    mapping.starting_position = StartingPosition::kTrimHorizon;
  }
  mapping.batch_size = static_cast<uint32_t>(item.int_or("batchSize", mapping.batch_size));
  mapping.batching_window = milliseconds(item.int_or("batchingWindowMs", 0));
  if (const Value* filters = item.find("filters"); filters && filters->is(Type::kList)) {
    for (const Value& filter : filters->get_if<List>()->elements) {
      if (const auto* text = filter.get_if<std::string>()) mapping.filters.push_back(*text);
    }
  }
  if (item.contains("maxRecordAge")) mapping.max_record_age = seconds(item.int_or("maxRecordAge", 0));
  if (item.contains("maxRetries")) mapping.max_retries = static_cast<int>(item.int_or("maxRetries", 0));
  mapping.parallelization_factor = static_cast<uint32_t>(item.int_or("parallelizationFactor", 1));
  mapping.tumbling_window = seconds(item.int_or("tumblingWindow", 0));
  mapping.bisect_on_error = flag_of(item, "bisectOnError");
  mapping.report_item_failures = flag_of(item, "reportItemFailures");
  mapping.on_failure.target = text_of(item, "onFailure");
  mapping.enabled = flag_of(item, "enabled");
  mapping.modified_ms = item.int_or("modified", 0);
  return mapping;
}

Item to_item(const ScheduleDefinition& schedule) {
  Item item = system_item(kScheduleKind, schedule.name);
  item.set("expression", Value(schedule.expression));
  item.set("function", Value(schedule.function));
  set_text(item, "input", schedule.input);
  set_flag(item, "enabled", schedule.enabled);
  return item;
}

ScheduleDefinition schedule_of(const Item& item) {
  ScheduleDefinition schedule;
  schedule.name = text_of(item, "id");
  schedule.expression = text_of(item, "expression");
  schedule.function = text_of(item, "function");
  schedule.input = text_of(item, "input");
  schedule.enabled = flag_of(item, "enabled");
  return schedule;
}

}  // namespace freshet
