#include "wire/dynamodb/route.h"

#include <algorithm>

#include "tables/backups.h"
#include "tables/value/json.h"
#include "tables/value/json_reader.h"
#include "wire/dynamodb/operation.h"
#include "wire/http/compression.h"
#include "wire/http/request_ids.h"

namespace freshet {

namespace dynamodb {

std::string ResponseScope::backup_arn(const BackupDescription& backup) const {
  return backup_arn(backup.table.definition.name, backup.id);
}

std::string ResponseScope::backup_arn(std::string_view table, std::string_view id) const {
  return table_arn(table) + "/backup/" + std::string(id);
}

std::string ResponseScope::table_arn(std::string_view table) const {
  return "arn:aws:dynamodb:" + region + ":" + account + ":table/" + std::string(table);
}

tl::unexpected<Error> table_not_found(std::string_view table) {
  return fail(ErrorCode::kResourceNotFound,
              "Requested resource not found: Table: " + std::string(table) + " not found");
}

tl::unexpected<Error> item_table_not_found() {
  return fail(ErrorCode::kResourceNotFound, "Requested resource not found");
}

Parser find_parser(std::string_view operation) {
  static constexpr std::pair<std::string_view, Parser> kParsers[] = {
      {"PutItem", parse_put_item},
      {"GetItem", parse_get_item},
      {"UpdateItem", parse_update_item},
      {"DeleteItem", parse_delete_item},
      {"Query", parse_query},
      {"Scan", parse_scan},
      {"BatchGetItem", parse_batch_get_item},
      {"BatchWriteItem", parse_batch_write_item},
      {"TransactWriteItems", parse_transact_write_items},
      {"TransactGetItems", parse_transact_get_items},
      {"ExecuteStatement", parse_execute_statement},
      {"BatchExecuteStatement", parse_batch_execute_statement},
      {"ExecuteTransaction", parse_execute_transaction},
      {"CreateTable", parse_create_table},
      {"DescribeTable", parse_describe_table},
      {"DeleteTable", parse_delete_table},
      {"ListTables", parse_list_tables},
      {"UpdateTimeToLive", parse_update_time_to_live},
      {"DescribeTimeToLive", parse_describe_time_to_live},
      {"UpdateTable", parse_update_table},
      {"TagResource", parse_tag_resource},
      {"UntagResource", parse_untag_resource},
      {"ListTagsOfResource", parse_list_tags_of_resource},
      {"DescribeContinuousBackups", parse_describe_continuous_backups},
      {"UpdateContinuousBackups", parse_update_continuous_backups},
      {"DescribeLimits", parse_describe_limits},
      {"CreateBackup", parse_create_backup},
      {"DescribeBackup", parse_describe_backup},
      {"ListBackups", parse_list_backups},
      {"DeleteBackup", parse_delete_backup},
      {"RestoreTableFromBackup", parse_restore_table_from_backup},
  };
  const auto* found = std::find_if(std::begin(kParsers), std::end(kParsers),
                                   [&](const auto& entry) { return entry.first == operation; });
  return found == std::end(kParsers) ? nullptr : found->second;
}

namespace {

constexpr std::string_view kTarget = "DynamoDB_20120810.";
constexpr std::string_view kStreamsTarget = "DynamoDBStreams_20120810.";

// Where the service defines an exception, and how it spells the name of the message there.
struct ErrorForm {
  std::string_view space;
  std::string_view message_member;
};

ErrorForm form_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kValidation:
      return {"com.amazon.coral.validate#", "message"};
    case ErrorCode::kSerialization:
    case ErrorCode::kUnknownOperation:
    case ErrorCode::kAccessDenied:
      return {"com.amazon.coral.service#", "Message"};
    case ErrorCode::kTransactionCanceled:
    case ErrorCode::kIdempotentParameterMismatch:
    case ErrorCode::kTransactionInProgress:
      return {"com.amazonaws.dynamodb.v20120810#", "Message"};
    default:
      return {"com.amazonaws.dynamodb.v20120810#", "message"};
  }
}

// An error without a name in the protocol becomes its internal error; the message is kept.
ErrorCode protocol_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kDiskFull:
      return ErrorCode::kThroughputExceeded;
    case ErrorCode::kRequestTooLarge:
      return ErrorCode::kValidation;
    case ErrorCode::kNotFound:
      return ErrorCode::kResourceNotFound;
    case ErrorCode::kConflict:
      return ErrorCode::kResourceInUse;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kUnknownOutcome:
    case ErrorCode::kCancelled:
    case ErrorCode::kIo:
    case ErrorCode::kCorruption:
    case ErrorCode::kUnsupportedFormat:
      return ErrorCode::kInternal;
    default:
      return code;
  }
}

void append_reasons(std::string& json, const TransactionCanceled& cancelled) {
  json += ",\"CancellationReasons\":[";
  for (const auto& reason : cancelled.reasons) {
    json += json.ends_with('[') ? "{\"Code\":" : ",{\"Code\":";
    append_json_string(json, reason.code);
    if (!reason.message.empty()) {
      json += ",\"Message\":";
      append_json_string(json, reason.message);
    }
    if (reason.item) {
      json += ",\"Item\":";
      append_item_json(json, reason.item);
    }
    json += '}';
  }
  json += ']';
}

void append_error(std::string& json, const Error& error) {
  const ErrorCode code = protocol_code(error.code);
  const ErrorForm form = form_of(code);
  json += "{\"__type\":\"";
  json += form.space;
  const bool duplicate = dynamic_cast<const DuplicateItem*>(error.detail.get()) != nullptr;
  json += duplicate ? "DuplicateItemException" : error_name(code);
  json += '"';
  if (!error.message.empty()) {
    json += ",\"";
    json += form.message_member;
    json += "\":";
    append_json_string(json, error.message);
  }
  if (const auto* failed = dynamic_cast<const ConditionFailed*>(error.detail.get()); failed && failed->item) {
    json += ",\"Item\":";
    append_item_json(json, failed->item);
  }
  if (const auto* cancelled = dynamic_cast<const TransactionCanceled*>(error.detail.get())) {
    append_reasons(json, *cancelled);
  }
  json += '}';
}

// Constant but for the ids' counter; shared by exchanges on all threads.
struct Shared {
  Tables& tables;
  StreamReader streams;  // Loop thread only.
  ResponseScope place;
  RequestIds ids;

  Shared(Tables& t, StreamReader s, ResponseScope p, uint64_t seed)
      : tables(t), streams(std::move(s)), place(std::move(p)), ids(seed) {}
};

// The form of the response that the client wants.
struct AnswerForm {
  bool json11 = false;
  Coding coding = Coding::kIdentity;
};

class ProtocolExchange final : public Exchange {
 public:
  ProtocolExchange(std::shared_ptr<Shared> shared, Parsed parsed, AnswerForm form)
      : shared_(std::move(shared)), form_(form) {
    if (parsed) {
      operation_ = std::move(*parsed);
    } else {
      outcome_ = fail(std::move(parsed.error()));
    }
  }

  Async<void> run() override {
    if (!operation_) return {};
    Async<Result<void>> work = operation_->run(shared_->tables);
    if (!work.is_ready()) return finish(std::move(work));
    outcome_ = work.take();
    return {};
  }

  HttpResponse respond() override {
    HttpResponse response;
    response.content_type = form_.json11 ? "application/x-amz-json-1.1" : "application/x-amz-json-1.0";
    if (outcome_) {
      operation_->write(response.body, shared_->place);
    } else {
      append_error(response.body, outcome_.error());
      response.status = protocol_code(outcome_.error().code) == ErrorCode::kInternal ? 500 : 400;
    }
    response.headers.reserve(3);
    compress_answer(response, form_.coding);
    seal_answer(response, shared_->ids);
    return response;
  }

 private:
  Async<void> finish(Async<Result<void>> work) {
    Result<void> outcome = co_await work;
    outcome_ = std::move(outcome);
  }

  const std::shared_ptr<Shared> shared_;
  const AnswerForm form_;
  std::unique_ptr<Operation> operation_;
  Result<void> outcome_;
};

// Answers DescribeEndpoints, which asks for this very server.
class EndpointsOperation final : public Operation {
 public:
  explicit EndpointsOperation(std::string host) : host_(std::move(host)) {}
  Async<Result<void>> run(Tables&) override { return Result<void>{}; }
  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"Endpoints\":[{\"Address\":";
    append_json_string(json, host_);
    json += ",\"CachePeriodInMinutes\":1440}]}";
  }

 private:
  const std::string host_;
};

// The message for an operation that does not exist here: one of the service's, or an unknown one.
std::string unknown_operation(std::string_view target) {
  static constexpr std::string_view kAbsent[] = {
      "CreateGlobalTable",
      "DeleteResourcePolicy",
      "DescribeContributorInsights",
      "DescribeExport",
      "DescribeGlobalTable",
      "DescribeGlobalTableSettings",
      "DescribeImport",
      "DescribeKinesisStreamingDestination",
      "DescribeTableReplicaAutoScaling",
      "DisableKinesisStreamingDestination",
      "EnableKinesisStreamingDestination",
      "ExportTableToPointInTime",
      "GetResourcePolicy",
      "ImportTable",
      "ListContributorInsights",
      "ListExports",
      "ListGlobalTables",
      "ListImports",
      "PutResourcePolicy",
      "RestoreTableToPointInTime",
      "UpdateContributorInsights",
      "UpdateGlobalTable",
      "UpdateGlobalTableSettings",
      "UpdateKinesisStreamingDestination",
      "UpdateTableReplicaAutoScaling",
  };
  const std::string_view name = target.starts_with(kTarget) ? target.substr(kTarget.size()) : std::string_view{};
  if (std::find(std::begin(kAbsent), std::end(kAbsent), name) != std::end(kAbsent)) {
    return "The operation " + std::string(name) + " is not supported by this server";
  }
  return "The operation " + std::string(target.substr(0, 100)) + " is not known";
}

Parsed parse(const HttpRequest& request, StreamReader& streams) {
  const std::string_view target = header(request.headers, "X-Amz-Target");
  Parser parser = nullptr;
  StreamParser stream_parser = nullptr;
  if (target.starts_with(kTarget)) {
    const std::string_view name = target.substr(kTarget.size());
    if (name == "DescribeEndpoints") {
      return std::make_unique<EndpointsOperation>(std::string(header(request.headers, "Host")));
    }
    parser = find_parser(name);
  } else if (target.starts_with(kStreamsTarget)) {
    stream_parser = find_stream_parser(target.substr(kStreamsTarget.size()));
  }
  if (parser == nullptr && stream_parser == nullptr) {
    return fail(ErrorCode::kUnknownOperation, unknown_operation(target));
  }
  // A kept document has its memory already. Large ones are not kept.
  constexpr size_t kSmall = 16u << 10;
  thread_local JsonDocument kept;
  JsonDocument own;
  JsonDocument& document = request.body.size() <= kSmall ? kept : own;
  Result<JsonView> body = document.parse(request.body);
  if (!body) return fail(std::move(body.error()));
  return parser ? parser(*body) : stream_parser(*body, streams);
}

class ProtocolRoute final : public Route {
 public:
  explicit ProtocolRoute(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  bool matches(const HttpRequest& request) const override {
    const bool at_root = request.target == "/" || request.target.starts_with("/?");
    return request.method == "POST" && at_root &&
           (header(request.headers, "X-Amz-Target").starts_with("DynamoDB") ||
            header(request.headers, "Content-Type").starts_with("application/x-amz-json-1."));
  }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    const AnswerForm form{header(request.headers, "Content-Type").starts_with("application/x-amz-json-1.1"),
                          preferred_coding(header(request.headers, "Accept-Encoding"))};
    return std::make_unique<ProtocolExchange>(shared_, parse(request, shared_->streams), form);
  }

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace
}  // namespace dynamodb

std::unique_ptr<Route> make_dynamodb_route(Tables& tables, const Clock& clock, DynamoDbOptions options) {
  StreamReader streams(tables, clock, Account{options.region, options.account});
  auto shared = std::make_shared<dynamodb::Shared>(
      tables, std::move(streams), dynamodb::ResponseScope{std::move(options.region), std::move(options.account)},
      options.seed);
  return std::make_unique<dynamodb::ProtocolRoute>(std::move(shared));
}

}  // namespace freshet
