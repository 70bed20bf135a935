#include "wire/store/answers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/points.h"
#include "tables/value/json_reader.h"
#include "wire/dynamodb/table_input.h"

namespace freshet::remote {

namespace {

tl::unexpected<Error> broken(const Error& error) {
  return fail(ErrorCode::kInternal, "the store's answer is not of the protocol: " + error.message);
}

// The item in a member; null if it is absent.
Result<ItemRef> item_in(const JsonView& body, std::string_view member) {
  const auto json = body.find(member);
  if (!json) return ItemRef();
  auto item = item_of(*json);
  if (!item) return broken(item.error());
  return ItemRef::encode(*item);
}

Result<ReadOutput> read_of(const JsonView& body) {
  ReadOutput out;
  const auto json = body.find("Item");
  if (!json) return out;
  auto item = item_of(*json);
  if (!item) return broken(item.error());
  out.bytes = billed_size(*item);
  out.item = ItemRef::encode(*item);
  return out;
}

uint64_t count_in(const JsonView& body, std::string_view member) {
  const auto count = body.int_or(member, 0);
  return count && *count > 0 ? static_cast<uint64_t>(*count) : 0;
}

Result<std::vector<Item>> items_in(const JsonView& list) {
  std::vector<Item> out;
  for (const JsonView element : list) {
    auto item = item_of(element);
    if (!item) return broken(item.error());
    out.push_back(std::move(*item));
  }
  return out;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "com.amazonaws.dynamodb.v20120810#ValidationException" and "ValidationException:http://..." both have that name.
std::string_view bare_name(std::string_view type) {
  if (const size_t hash = type.find('#'); hash != std::string_view::npos) type.remove_prefix(hash + 1);
  return type.substr(0, type.find(':'));
}

// The error codes that the protocol names.
std::optional<ErrorCode> code_named(std::string_view name) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    if (error_name(static_cast<ErrorCode>(code)) == name) return static_cast<ErrorCode>(code);
  }
  return std::nullopt;
}

// The errors that the SDKs' standard retry mode counts as throttling, and temporary conflicts.
bool is_busy(std::string_view name) {
  return is_one_of(
      name, {"BandwidthLimitExceeded", "EC2ThrottledException", "PriorRequestNotComplete",
             "ProvisionedThroughputExceededException", "ReplicatedWriteConflictException", "RequestLimitExceeded",
             "RequestThrottled", "RequestThrottledException", "SlowDown", "Throttling", "ThrottlingException",
             "ThrottledException", "TooManyRequestsException", "TransactionConflictException"});
}

bool is_of_credentials(std::string_view name) {
  return is_one_of(name, {"AuthFailure", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature",
                          "IncompleteSignatureException", "InvalidClientTokenId", "InvalidSignatureException",
                          "MissingAuthenticationToken", "MissingAuthenticationTokenException", "RequestExpired",
                          "SignatureDoesNotMatch", "UnrecognizedClientException"});
}

Failure failure_of(int status, std::string_view name) {
  if (is_busy(name)) return Failure::kBusy;
  if (is_of_credentials(name)) return Failure::kCredentials;
  if (name == "TransactionInProgressException") return Failure::kUnsure;  // An earlier attempt is still running.
  if (FRESHET_PLANTED("fleet-server-error-is-refusal")) return Failure::kRefused;
  return status >= 500 ? Failure::kUnsure : Failure::kRefused;
}

ErrorCode code_of(std::string_view name, Failure failure) {
  if (const auto code = code_named(name)) return *code;
  if (failure == Failure::kCredentials) return ErrorCode::kAccessDenied;
  return failure == Failure::kBusy ? ErrorCode::kThroughputExceeded : ErrorCode::kInternal;
}

std::string message_in(const JsonView& body) {
  for (const std::string_view name : {"message", "Message"}) {
    if (const auto text = body.find(name)) return std::string(text->text());
  }
  return {};
}

// The reasons why a request was throttled, in the service's words: "IndexWriteKeyRangeThroughputExceeded".
std::string throttling_reasons(const JsonView& body) {
  std::string out;
  const auto reasons = body.find("throttlingReasons");
  if (!reasons) return out;
  for (const JsonView each : *reasons) {
    if (const auto reason = each.find("reason")) out += (out.empty() ? "" : ", ") + std::string(reason->text());
  }
  return out;
}

std::string_view throttling_of(std::string_view name, std::string_view reasons) {
  if (!is_busy(name) || is_one_of(name, {"TransactionConflictException", "ReplicatedWriteConflictException"}))
    return {};
  if (reasons.find("KeyRange") != std::string_view::npos) return "partition";
  if (reasons.find("OnDemand") != std::string_view::npos) return "on-demand";
  if (reasons.find("Account") != std::string_view::npos || name == "RequestLimitExceeded") return "account";
  return name == "ProvisionedThroughputExceededException" ? "provisioned" : "other";
}

std::shared_ptr<const ErrorDetail> detail_of(ErrorCode code, const JsonView& body) {
  if (code == ErrorCode::kConditionalCheckFailed) {
    auto item = item_in(body, "Item");
    if (!item || !*item) return nullptr;
    auto detail = std::make_shared<ConditionFailed>();
    detail->item = std::move(*item);
    return detail;
  }
  const auto reasons = body.find("CancellationReasons");
  if (code != ErrorCode::kTransactionCanceled || !reasons) return nullptr;
  auto detail = std::make_shared<TransactionCanceled>();
  for (const JsonView each : *reasons) {
    TransactionCanceled::Reason reason;
    if (const auto name = each.find("Code")) reason.code = std::string(name->text());
    if (const auto text = each.find("Message")) reason.message = std::string(text->text());
    if (auto item = item_in(each, "Item")) reason.item = std::move(*item);
    detail->reasons.push_back(std::move(reason));
  }
  return detail;
}

// True if only other transactions or throttling caused the cancellation.
bool passes(const JsonView& body) {
  const auto reasons = body.find("CancellationReasons");
  if (!reasons) return false;
  bool any = false;
  for (const JsonView each : *reasons) {
    const auto code = each.find("Code");
    const std::string_view name = code ? code->text() : std::string_view("None");
    if (name == "None") continue;
    if (!is_one_of(name, {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})) return false;
    any = true;
  }
  return any;
}

void read_index_states(const dynamodb::Input& in, DescribedTable& out) {
  for (const char* member : {"LocalSecondaryIndexes", "GlobalSecondaryIndexes"}) {
    for (const auto& index : in.list(member)) {
      IndexState state;
      state.name = index.text("IndexName");
      const std::string status = index.text("IndexStatus");
      state.building = status == "CREATING" || index.flag("Backfilling");
      out.indexes_ready = out.indexes_ready && (status.empty() || status == "ACTIVE");
      state.items = static_cast<uint64_t>(index.number("ItemCount").value_or(0));
      state.bytes = static_cast<uint64_t>(index.number("IndexSizeBytes").value_or(0));
      out.table.indexes.push_back(std::move(state));
    }
  }
}

}  // namespace

Result<WriteOutput> write_output_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return broken(json.error());
  auto item = item_in(*json, "Attributes");
  if (!item) return fail(item.error());
  return WriteOutput{std::move(*item), nullptr};
}

Result<ReadOutput> read_output_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return broken(json.error());
  return read_of(*json);
}

Result<Page> page_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return broken(json.error());
  Page page;
  page.count = count_in(*json, "Count");
  page.scanned = count_in(*json, "ScannedCount");
  if (const auto last = json->find("LastEvaluatedKey")) {
    auto key = item_of(*last);
    if (!key) return broken(key.error());
    page.last_evaluated_key = std::move(*key);
  }
  const auto list = json->find("Items");
  if (!list) return page;
  auto items = items_in(*list);
  if (!items) return fail(items.error());
  page.items.reserve(items->size());
  for (const Item& item : *items) {
    page.scanned_bytes += billed_size(item);
    page.items.push_back(ItemRef::encode(item));
  }
  return page;
}

Result<std::vector<ReadOutput>> transaction_of(std::string_view body, size_t actions) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return broken(json.error());
  std::vector<ReadOutput> out;
  const auto responses = json->find("Responses");
  if (!responses || responses->size() != actions) {
    return fail(ErrorCode::kInternal, "the store's answer does not have one response for each read");
  }
  for (const JsonView each : *responses) {
    auto read = read_of(each);
    if (!read) return fail(read.error());
    out.push_back(std::move(*read));
  }
  return out;
}

Result<BatchPart> batch_of(std::string_view body, const std::string& table) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return broken(json.error());
  BatchPart part;
  if (const auto responses = json->find("Responses")) {
    if (const auto list = responses->find(table)) {
      auto items = items_in(*list);
      if (!items) return fail(items.error());
      part.items = std::move(*items);
    }
  }
  const auto unprocessed = json->find("UnprocessedKeys");
  const auto of_table = unprocessed ? unprocessed->find(table) : JsonMember();
  const auto keys = of_table ? of_table->find("Keys") : JsonMember();
  if (!keys) return part;
  auto left = items_in(*keys);
  if (!left) return fail(left.error());
  part.left = std::move(*left);
  return part;
}

Result<DescribedTable> description_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return broken(json.error());
  auto table = json->find("Table");
  if (!table) table = json->find("TableDescription");
  if (!table) return fail(ErrorCode::kInternal, "the store's answer has no description of a table");
  dynamodb::Checks checks;
  const dynamodb::Input in(*table, checks);
  DescribedTable out;
  out.table.definition = dynamodb::read_described(in);
  out.table.id = in.text("TableId");
  out.table.created = in.time("CreationDateTime").value_or(WallTime{});
  out.table.stream_label = in.text("LatestStreamLabel");
  out.table.items = static_cast<uint64_t>(in.number("ItemCount").value_or(0));
  out.table.bytes = static_cast<uint64_t>(in.number("TableSizeBytes").value_or(0));
  out.status = in.text("TableStatus");
  read_index_states(in, out);
  if (const auto ok = checks.result(); !ok) return broken(ok.error());
  return out;
}

Result<std::optional<std::string>> ttl_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return broken(json.error());
  const auto description = json->find("TimeToLiveDescription");
  const auto status = description ? description->find("TimeToLiveStatus") : JsonMember();
  const auto name = description ? description->find("AttributeName") : JsonMember();
  const bool on = status && (status->text() == "ENABLED" || status->text() == "ENABLING");
  if (!on || !name) return std::optional<std::string>();
  return std::optional(std::string(name->text()));
}

Result<TableNames> table_names_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return broken(json.error());
  TableNames out;
  if (const auto names = json->find("TableNames")) {
    for (const JsonView name : *names) out.names.emplace_back(name.text());
  }
  if (const auto last = json->find("LastEvaluatedTableName")) out.last = std::string(last->text());
  return out;
}

ServiceError error_of(const HttpResponse& response) {
  JsonDocument document;
  const auto json = document.parse(response.body);
  const auto type = json ? json->find("__type") : JsonMember();
  if (!type) {
    const std::string status = std::to_string(response.status);
    return {Error{response.status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInternal,
                  "the endpoint answered " + status + " without an error of the DynamoDB protocol: is it such a store?",
                  nullptr},
            response.status >= 500 ? Failure::kUnsure : Failure::kRefused};
  }
  const std::string_view name = bare_name(type->text());
  const bool in_the_way = name == "TransactionCanceledException" && passes(*json);
  const Failure failure = in_the_way ? Failure::kBusy : failure_of(response.status, name);
  Error error;
  error.code = in_the_way ? ErrorCode::kTransactionConflict : code_of(name, failure);
  error.message = message_in(*json);
  if (!code_named(name)) error.message = std::string(name) + ": " + error.message;
  const std::string reasons = throttling_reasons(*json);
  if (!reasons.empty()) error.message += " (" + reasons + ")";
  error.detail = detail_of(error.code, *json);
  return {std::move(error), failure, throttling_of(name, reasons)};
}

}  // namespace freshet::remote
