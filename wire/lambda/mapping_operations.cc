// Operations on event source mappings: a table's stream that drives a function.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/crypto.h"
#include "streams/arn.h"
#include "tables/value/json_quoted.h"
#include "wire/lambda/aws_members.h"
#include "wire/lambda/operation.h"

namespace freshet::lambda {
namespace {

constexpr size_t kMostMappingsListed = 100;
constexpr int64_t kLongestRecordAge = 7 * 24 * 3600;
constexpr std::string_view kAnyLabel = "latest";  // The label of a table's current stream in templates.

// The members that a request has. All others stay unchanged.
struct MappingChange {
  std::optional<std::string> function;
  std::optional<bool> enabled, bisect, item_failures;
  std::optional<int64_t> batch, window, age, retries, factor, tumbling;
  std::optional<std::vector<std::string>> filters;
  std::optional<std::string> on_failure;

  void apply(MappingDefinition& mapping) const {
    if (function) mapping.function = *function;
    if (enabled) mapping.enabled = *enabled;
    if (bisect) mapping.bisect_on_error = *bisect;
    if (item_failures) mapping.report_item_failures = *item_failures;
    if (batch) mapping.batch_size = static_cast<uint32_t>(*batch);
    if (window) mapping.batching_window = seconds(*window);
    if (age) mapping.max_record_age = *age < 0 ? std::nullopt : std::optional(seconds(*age));
    if (retries) mapping.max_retries = *retries < 0 ? std::nullopt : std::optional(static_cast<int>(*retries));
    if (factor) mapping.parallelization_factor = static_cast<uint32_t>(*factor);
    if (tumbling) mapping.tumbling_window = seconds(*tumbling);
    if (filters) mapping.filters = *filters;
    if (on_failure) mapping.on_failure.target = *on_failure;
  }
};

void read_member(AwsMembers& members, std::string_view name, int64_t min, int64_t max, std::optional<int64_t>& into) {
  if (!members.find(name)) return;
  into.emplace();
  members.integer(name, min, max, *into);
}

void read_member(AwsMembers& members, std::string_view name, std::optional<bool>& into) {
  if (!members.find(name)) return;
  into.emplace();
  members.boolean(name, *into);
}

void read_filters(AwsMembers& members, std::optional<std::vector<std::string>>& into) {
  const auto given = members.find("FilterCriteria");
  if (!given) return;
  AwsMembers criteria(*given, {"Filters"});
  into.emplace();
  if (const auto filters = criteria.list("Filters")) {
    for (const JsonView filter : *filters) {
      AwsMembers one(filter, {"Pattern"});
      std::string pattern;
      one.text("Pattern", pattern);
      if (one.error()) return members.fail_with(*one.error());
      into->push_back(std::move(pattern));
    }
  }
  if (criteria.error()) members.fail_with(*criteria.error());
}

void read_on_failure(AwsMembers& members, std::optional<std::string>& into) {
  const auto given = members.find("DestinationConfig");
  if (!given) return;
  AwsMembers destinations(*given, {"OnFailure", "OnSuccess"});
  into.emplace();
  if (const auto failure = destinations.find("OnFailure")) {
    AwsMembers destination(*failure, {"Destination"});
    destination.text("Destination", *into);
    if (destination.error()) destinations.fail_with(*destination.error());
  }
  if (destinations.error()) return members.fail_with(*destinations.error());
  const auto arn = parse_arn(*into);
  if (into->empty() || (arn && (arn->service == "sns" || arn->service == "lambda"))) return;
  members.refuse(*given, "must name a topic or a function");
}

void read_response_types(AwsMembers& members, std::optional<bool>& into) {
  const auto given = members.list("FunctionResponseTypes");
  if (!given) return;
  into = false;
  for (const JsonView type : *given) {
    if (type.text() != "ReportBatchItemFailures")
      return members.refuse(type, "is not known; there is ReportBatchItemFailures");
    into = true;
  }
}

MappingChange read_change(AwsMembers& members, const Account& account) {
  MappingChange change;
  if (members.find("FunctionName")) {
    std::string name;
    members.text("FunctionName", name);
    auto function = function_in(name, {}, account);
    if (!function) members.fail_with(std::move(function.error()));
    if (function) change.function = std::move(*function);
  }
  read_member(members, "Enabled", change.enabled);
  read_member(members, "BisectBatchOnFunctionError", change.bisect);
  read_member(members, "BatchSize", 1, 10'000, change.batch);
  read_member(members, "MaximumBatchingWindowInSeconds", 0, 300, change.window);
  read_member(members, "MaximumRecordAgeInSeconds", -1, kLongestRecordAge, change.age);
  read_member(members, "MaximumRetryAttempts", -1, 10'000, change.retries);
  if (change.age == 0)
    members.refuse(*members.find("MaximumRecordAgeInSeconds"), "must be -1 (no limit) or at least 1");
  read_filters(members, change.filters);
  read_on_failure(members, change.on_failure);
  read_response_types(members, change.item_failures);
  read_member(members, "ParallelizationFactor", 1, 10, change.factor);
  read_member(members, "TumblingWindowInSeconds", 0, 900, change.tumbling);
  return change;
}

// All members of both, in the order of the service's model.
const std::initializer_list<std::string_view> kMappingCreateMembers{
    "EventSourceArn", "FunctionName", "Enabled", "BatchSize", "FilterCriteria", "MaximumBatchingWindowInSeconds",
    "ParallelizationFactor", "StartingPosition", "DestinationConfig", "MaximumRecordAgeInSeconds",
    "BisectBatchOnFunctionError", "MaximumRetryAttempts", "TumblingWindowInSeconds", "FunctionResponseTypes",
    "StartingPositionTimestamp",
    // Without effect.
    "Tags", "KMSKeyArn", "MetricsConfig"};
const std::initializer_list<std::string_view> kUpdateMembers{
    "UUID", "FunctionName", "Enabled", "BatchSize", "FilterCriteria", "MaximumBatchingWindowInSeconds",
    "ParallelizationFactor", "DestinationConfig", "MaximumRecordAgeInSeconds", "BisectBatchOnFunctionError",
    "MaximumRetryAttempts", "TumblingWindowInSeconds", "FunctionResponseTypes",
    // Without effect.
    "KMSKeyArn", "MetricsConfig"};

// The id itself if the runtime made it. A template's id is a name; its UUID is derived from that, so that it stays the
// same after every start and every deployment.
std::string mapping_uuid(const std::string& id) {
  static constexpr std::string_view kForm = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
  const auto fits = [](char c, char form) {
    return form == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  };
  const bool is_uuid = id.size() == kForm.size() && std::equal(id.begin(), id.end(), kForm.begin(), fits);
  return is_uuid ? id : uuid_of("event source mapping " + id);
}

std::string mapping_json(const MappingState& mapping, const std::string& stream, const Account& account,
                         std::string_view state) {
  const MappingDefinition& d = mapping.definition;
  std::string filters;
  for (const std::string& pattern : d.filters) {
    filters += (filters.empty() ? "" : ",") + (R"({"Pattern":)" + json_quoted(pattern) + "}");
  }
  std::string json = fmt::format(
      R"({{"UUID":{},"EventSourceArn":{},"FunctionArn":{},"StartingPosition":"{}","BatchSize":{},)"
      R"("MaximumBatchingWindowInSeconds":{},"ParallelizationFactor":{},"TumblingWindowInSeconds":{},)"
      R"("MaximumRecordAgeInSeconds":{},"MaximumRetryAttempts":{},"BisectBatchOnFunctionError":{},"State":"{}",)"
      R"("StateTransitionReason":"USER_INITIATED","LastProcessingResult":{})",
      json_quoted(mapping_uuid(d.id)), json_quoted(stream), json_quoted(function_arn(account, d.function)),
      d.starting_position == StartingPosition::kLatest ? "LATEST" : "TRIM_HORIZON", d.batch_size,
      std::chrono::duration_cast<seconds>(d.batching_window).count(), d.parallelization_factor,
      d.tumbling_window.count(), d.max_record_age ? d.max_record_age->count() : -1, d.max_retries.value_or(-1),
      d.bisect_on_error, state, json_quoted(mapping.last_result));
  if (d.modified_ms > 0) json += fmt::format(R"(,"LastModified":{}.{:03})", d.modified_ms / 1000, d.modified_ms % 1000);
  if (!filters.empty()) json += R"(,"FilterCriteria":{"Filters":[)" + filters + "]}";
  json += R"(,"FunctionResponseTypes":[)" + std::string(d.report_item_failures ? R"("ReportBatchItemFailures")" : "");
  json += R"(],"DestinationConfig":{"OnFailure":{)";
  if (!d.on_failure.target.empty()) json += R"("Destination":)" + json_quoted(d.on_failure.target);
  return json + "}}}";
}

// The ARN of the table's stream. Without a label if the table no longer has a stream.
Async<std::string> stream_of(std::string table, Runtime& runtime) {
  std::string name = table;
  auto described = co_await runtime.services().tables.describe_table(std::move(name));
  co_return stream_arn(runtime.account(), table, described ? described->stream_label : "");
}

// By its UUID or by its id: earlier releases showed a template's name as the UUID.
std::optional<MappingState> mapping_named(Runtime& runtime, const std::string& name) {
  for (MappingState& mapping : runtime.mappings()) {
    const std::string& id = mapping.definition.id;
    if (id == name || mapping_uuid(id) == name) return std::move(mapping);
  }
  return std::nullopt;
}

tl::unexpected<Error> no_mapping() {
  return fail(ErrorCode::kResourceNotFound, "The resource you requested does not exist.");
}

Async<Result<HttpResponse>> describe(std::string id, int status, std::string_view state, Runtime& runtime) {
  const auto mapping = mapping_named(runtime, id);
  if (!mapping) co_return no_mapping();
  std::string table = mapping->definition.table;
  const std::string stream = co_await stream_of(std::move(table), runtime);
  if (state.empty()) state = mapping->state;
  co_return answer_with(status, mapping_json(*mapping, stream, runtime.account(), state));
}

// The mapping that a client's call names. In a fleet, another daemon may just have made it.
Async<std::optional<MappingState>> look_for_mapping(std::string name, Runtime& runtime) {
  auto known = mapping_named(runtime, name);
  if (known) co_return known;
  auto looking = runtime.look_for(mapping_by_id(name));
  co_await looking;
  co_return mapping_named(runtime, name);
}

// The id of the mapping that a client may change or remove.
Async<Result<std::string>> changeable(std::string name, Runtime& runtime) {
  std::string asked = name;
  const auto mapping = co_await look_for_mapping(std::move(asked), runtime);
  if (!mapping) co_return no_mapping();
  std::string id = mapping->definition.id;
  auto checking = runtime.check_is_of_clients(mapping_by_id(id));
  auto checked = co_await checking;
  if (!checked) co_return fail(std::move(checked.error()));
  co_return id;
}

Result<void> fits(const MappingDefinition& mapping, Runtime& runtime) {
  if (!runtime.invoker().find(mapping.function)) {
    return fail(ErrorCode::kResourceNotFound,
                "Function does not exist: " + function_arn(runtime.account(), mapping.function));
  }
  if (mapping.tumbling_window > seconds(0) && mapping.parallelization_factor > 1) {
    return invalid("TumblingWindowInSeconds needs a ParallelizationFactor of 1");
  }
  return {};
}

// One function has one mapping of a table.
Result<void> is_new(const MappingDefinition& mapping, Runtime& runtime) {
  for (const MappingState& other : runtime.mappings()) {
    const MappingDefinition& d = other.definition;
    if (d.id == mapping.id || d.table != mapping.table || d.function != mapping.function) continue;
    return fail(ErrorCode::kConflict,
                "The event source arn and function provided mapping already exists. Please update or delete the "
                "existing mapping with UUID " +
                    mapping_uuid(d.id));
  }
  return {};
}

// A part that is missing is reported as a wrong parameter.
Result<std::string> with_client_words(Result<std::string> put) {
  if (!put && put.error().code == ErrorCode::kNotFound) put.error().code = ErrorCode::kValidation;
  return put;
}

class CreateMapping final : public Operation {
 public:
  CreateMapping(MappingDefinition mapping, StreamName stream)
      : mapping_(std::move(mapping)), stream_(std::move(stream)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    Runtime& runtime = backend.runtime;
    std::string table = stream_.table;
    auto described = co_await runtime.services().tables.describe_table(std::move(table));
    const bool there = described && !described->stream_label.empty() &&
                       (stream_.label == described->stream_label || stream_.label == kAnyLabel);
    if (!there) {
      co_return invalid("Stream not found: " + stream_arn(runtime.account(), stream_.table, stream_.label));
    }
    auto looking = runtime.look_for(function_by_name(mapping_.function));
    co_await looking;
    std::function<Result<void>()> check = [&runtime, mapping = mapping_]() -> Result<void> {
      if (auto unique = is_new(mapping, runtime); !unique) return unique;
      return fits(mapping, runtime);
    };
    auto creating = runtime.create_mapping(std::move(mapping_), std::move(check));
    auto id = with_client_words(co_await creating);
    if (!id) co_return fail(std::move(id.error()));
    auto answer = co_await describe(std::move(*id), 202, {}, runtime);
    co_return answer;
  }

 private:
  MappingDefinition mapping_;
  const StreamName stream_;
};

class UpdateMapping final : public Operation {
 public:
  UpdateMapping(std::string id, MappingChange change) : id_(std::move(id)), change_(std::move(change)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    Runtime& runtime = backend.runtime;
    std::string name = id_;
    auto known = co_await changeable(std::move(name), runtime);
    if (!known) co_return fail(std::move(known.error()));
    if (change_.function) {
      auto looking = runtime.look_for(function_by_name(*change_.function));
      co_await looking;
    }
    std::function<Result<void>(MappingDefinition&)> change =
        [&runtime, change = change_](MappingDefinition& mapping) -> Result<void> {
      change.apply(mapping);
      if (auto unique = is_new(mapping, runtime); !unique) return unique;
      return fits(mapping, runtime);
    };
    auto changing = runtime.change_mapping(std::move(*known), std::move(change));
    auto id = with_client_words(co_await changing);
    if (!id) co_return fail(std::move(id.error()));
    auto answer = co_await describe(std::move(*id), 202, {}, runtime);
    co_return answer;
  }

 private:
  const std::string id_;
  const MappingChange change_;
};

class GetMapping final : public Operation {
 public:
  explicit GetMapping(std::string id) : id_(std::move(id)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    std::string name = id_;
    const auto mapping = co_await look_for_mapping(std::move(name), backend.runtime);
    if (!mapping) co_return no_mapping();
    std::string id = mapping->definition.id;
    auto answer = co_await describe(std::move(id), 200, {}, backend.runtime);
    co_return answer;
  }

 private:
  const std::string id_;
};

class DeleteMapping final : public Operation {
 public:
  explicit DeleteMapping(std::string id) : id_(std::move(id)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    std::string name = id_;
    const auto known = co_await changeable(std::move(name), backend.runtime);
    if (!known) co_return fail(known.error());
    std::string id = *known;
    auto answer = co_await describe(std::move(id), 202, "Deleting", backend.runtime);
    if (!answer) co_return answer;
    id = *known;
    auto removed = co_await backend.runtime.remove_mapping(std::move(id));
    if (!removed) co_return fail(std::move(removed.error()));
    co_return answer;
  }

 private:
  const std::string id_;
};

class ListMappings final : public Operation {
 public:
  ListMappings(Page page, std::string function, std::string table)
      : page_(std::move(page)), function_(std::move(function)), table_(std::move(table)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    Runtime& runtime = backend.runtime;
    if (!qualifier_of(function_).empty()) {
      auto function = function_named(runtime, function_);
      if (!function) co_return fail(std::move(function.error()));
    }
    std::string json = R"({"EventSourceMappings":[)";
    std::string last;
    size_t listed = 0;
    for (const MappingState& mapping : runtime.mappings()) {  // By id.
      const MappingDefinition& d = mapping.definition;
      if (d.id <= page_.after || (!function_.empty() && d.function != function_)) continue;
      if (!table_.empty() && d.table != table_) continue;
      if (listed == page_.most) co_return answer_with(200, json + R"(],"NextMarker":)" + json_quoted(last) + "}");
      std::string table = d.table;
      const std::string stream = co_await stream_of(std::move(table), runtime);
      json += listed++ > 0 ? "," : "";
      json += mapping_json(mapping, stream, runtime.account(), mapping.state);
      last = d.id;
    }
    co_return answer_with(200, json + "]}");
  }

 private:
  const Page page_;
  const std::string function_;
  const std::string table_;
};

}  // namespace

Parsed parse_create_mapping(const Request& request) {
  AwsMembers members(*request.body, kMappingCreateMembers);
  MappingChange change = read_change(members, request.account);
  std::string source;
  std::string position;
  members.text("EventSourceArn", source);
  members.text("StartingPosition", position);
  if (members.error()) return fail(*members.error());
  if (!change.function) return invalid("FunctionName is missing");
  const auto stream = parse_stream_arn(source);
  if (!stream) return invalid("EventSourceArn '" + source.substr(0, 200) + "' must be the ARN of a table's stream");
  // The service has it only for streams of another kind.
  if (position == "AT_TIMESTAMP") return invalid("Unsupported starting position for arn type: " + source);
  if (members.find("StartingPositionTimestamp")) {
    return invalid("StartingPositionTimestamp goes with AT_TIMESTAMP, which a table's stream does not have");
  }
  if (position != "LATEST" && position != "TRIM_HORIZON") {
    return invalid("StartingPosition must be LATEST or TRIM_HORIZON");
  }
  MappingDefinition mapping;
  mapping.table = stream->table;
  mapping.starting_position = position == "LATEST" ? StartingPosition::kLatest : StartingPosition::kTrimHorizon;
  change.apply(mapping);
  return std::make_unique<CreateMapping>(std::move(mapping), *stream);
}

Parsed parse_update_mapping(const Request& request) {
  AwsMembers members(*request.body, kUpdateMembers);
  MappingChange change = read_change(members, request.account);
  if (members.error()) return fail(*members.error());
  return std::make_unique<UpdateMapping>(request.name, std::move(change));
}

Parsed parse_get_mapping(const Request& request) {
  return std::make_unique<GetMapping>(request.name);
}

Parsed parse_delete_mapping(const Request& request) {
  return std::make_unique<DeleteMapping>(request.name);
}

Parsed parse_list_mappings(const Request& request) {
  auto page = page_of(request, kMostMappingsListed);
  if (!page) return fail(std::move(page.error()));
  std::string function;
  std::string table;
  if (const auto given = request.query.find("FunctionName"); given != request.query.end()) {
    auto named = function_in(given->second, {}, request.account);
    if (!named) return fail(std::move(named.error()));
    function = std::move(*named);
  }
  if (const auto given = request.query.find("EventSourceArn"); given != request.query.end()) {
    const auto stream = parse_stream_arn(given->second);
    if (!stream) return invalid("EventSourceArn must be the ARN of a table's stream");
    table = stream->table;
  }
  return std::make_unique<ListMappings>(std::move(*page), std::move(function), std::move(table));
}

}  // namespace freshet::lambda
