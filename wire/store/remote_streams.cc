#include "wire/store/remote_streams.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "streams/stream_event.h"
#include "tables/value/json_reader.h"
#include "wire/store/json_writer.h"
#include "wire/store/requests.h"

namespace freshet::remote {

namespace {

const std::string kService = "DynamoDBStreams_20120810.";
constexpr std::string_view kServicePrincipal = "dynamodb.amazonaws.com";

tl::unexpected<Error> no_stream_answer(const std::string& message) {
  return fail(ErrorCode::kInternal, "the store's answer is not of the protocol of streams: " + message);
}

std::string text_in(const JsonView& json, std::string_view name) {
  const auto member = json.find(name);
  return member ? std::string(member->text()) : std::string();
}

StreamView view_in(const JsonView& json, std::string_view name) {
  return parse_stream_view(text_in(json, name)).value_or(StreamView::kKeysOnly);
}

// Seconds since the epoch, perhaps with a fraction.
WallTime time_in(const JsonView& json, std::string_view name) {
  const double at = std::strtod(text_in(json, name).c_str(), nullptr);
  return std::isfinite(at) && std::abs(at) < 1e11 ? WallTime(milliseconds(std::llround(at * 1000))) : WallTime{};
}

std::optional<ChangeRecord::Kind> kind_named(std::string_view name) {
  for (const auto kind : {ChangeRecord::Kind::kInsert, ChangeRecord::Kind::kModify, ChangeRecord::Kind::kRemove}) {
    if (event_name(kind) == name) return kind;
  }
  return std::nullopt;
}

Result<Item> item_at(const JsonView& json, std::string_view name) {
  const auto member = json.find(name);
  if (!member) return Item();
  return item_of(*member);
}

// The service's own deletes name it. Functions know the members in lower case, the protocol in upper case.
bool is_by_ttl(const JsonView& json) {
  const auto identity = json.find("userIdentity");
  if (!identity) return false;
  return text_in(*identity, "PrincipalId") == kServicePrincipal ||
         text_in(*identity, "principalId") == kServicePrincipal;
}

Result<ShardRecord> record_of(const JsonView& json) {
  ShardRecord out;
  const auto kind = kind_named(text_in(json, "eventName"));
  const auto change = json.find("dynamodb");
  if (!kind || !change) return no_stream_answer("a record has no eventName or no change");
  auto keys = item_at(*change, "Keys");
  auto before = item_at(*change, "OldImage");
  auto after = item_at(*change, "NewImage");
  for (const auto* item : {&keys, &before, &after}) {
    if (!*item) return no_stream_answer(item->error().message);
  }
  out.record.kind = *kind;
  out.record.at = time_in(*change, "ApproximateCreationDateTime");
  out.record.keys = std::move(*keys);
  if (!before->empty()) out.record.before = ItemRef::encode(*before);
  if (!after->empty()) out.record.after = ItemRef::encode(*after);
  out.record.by_ttl = is_by_ttl(json);
  out.number = text_in(*change, "SequenceNumber");
  out.event_id = text_in(json, "eventID");
  if (out.number.empty() || out.record.keys.empty()) return no_stream_answer("a record has no number or no key");
  return out;
}

std::string_view start_name(ShardStart start) {
  switch (start) {
    case ShardStart::kHorizon:
      return "TRIM_HORIZON";
    case ShardStart::kLatest:
      return "LATEST";
    case ShardStart::kAfter:
      break;
  }
  return "AFTER_SEQUENCE_NUMBER";
}

ListedShard listed_shard_of(const JsonView& json) {
  ListedShard shard;
  shard.id = text_in(json, "ShardId");
  if (std::string parent = text_in(json, "ParentShardId"); !parent.empty()) shard.parents.push_back(std::move(parent));
  const auto range = json.find("SequenceNumberRange");
  shard.closed = range && !text_in(*range, "EndingSequenceNumber").empty();
  return shard;
}

}  // namespace

std::string describe_stream_request(const std::string& arn, const std::string& after) {
  std::string out;
  JsonWriter json(out);
  json.text("StreamArn", arn);
  json.text("ExclusiveStartShardId", after);
  return out;
}

std::string iterator_request(const std::string& arn, const std::string& shard, ShardStart start,
                             const std::string& after) {
  std::string out;
  JsonWriter json(out);
  json.text("StreamArn", arn);
  json.text("ShardId", shard);
  json.text("ShardIteratorType", start_name(start));
  if (start == ShardStart::kAfter) json.text("SequenceNumber", after);
  return out;
}

std::string records_request(const std::string& iterator) {
  std::string out;
  JsonWriter json(out);
  json.text("ShardIterator", iterator);
  return out;
}

Result<EngineStream> latest_stream_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return no_stream_answer(json.error().message);
  const auto table = json->find("Table");
  if (!table) return no_stream_answer("it has no description of a table");
  EngineStream stream;
  stream.arn = text_in(*table, "LatestStreamArn");
  stream.label = text_in(*table, "LatestStreamLabel");
  if (stream.arn.empty() || stream.label.empty()) {
    return fail(ErrorCode::kResourceNotFound,
                "Requested resource not found: Table: " + text_in(*table, "TableName") + " has no stream");
  }
  const auto specification = table->find("StreamSpecification");
  const auto enabled = specification ? specification->find("StreamEnabled") : JsonMember();
  stream.open = enabled && enabled->boolean();
  if (specification) stream.view = view_in(*specification, "StreamViewType");
  return stream;
}

Result<ShardPage> shard_page_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return no_stream_answer(json.error().message);
  const auto description = json->find("StreamDescription");
  if (!description) return no_stream_answer("it has no description of a stream");
  ShardPage page;
  page.stream.arn = text_in(*description, "StreamArn");
  page.stream.label = text_in(*description, "StreamLabel");
  page.stream.view = view_in(*description, "StreamViewType");
  const std::string status = text_in(*description, "StreamStatus");
  page.stream.open = status == "ENABLED" || status == "ENABLING";
  if (const auto shards = description->find("Shards")) {
    for (const JsonView each : *shards) {
      ListedShard shard = listed_shard_of(each);
      if (shard.id.empty()) return no_stream_answer("a shard has no id");
      page.shards.push_back(std::move(shard));
    }
  }
  page.last = text_in(*description, "LastEvaluatedShardId");
  return page;
}

Result<std::string> iterator_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return no_stream_answer(json.error().message);
  std::string iterator = text_in(*json, "ShardIterator");
  if (iterator.empty()) return no_stream_answer("it has no iterator");
  return iterator;
}

Result<ShardRecords> records_of(std::string_view body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return no_stream_answer(json.error().message);
  ShardRecords out;
  if (const auto records = json->find("Records")) {
    for (const JsonView each : *records) {
      auto record = record_of(each);
      if (!record) return fail(std::move(record.error()));
      out.records.push_back(std::move(*record));
    }
  }
  out.next = text_in(*json, "NextShardIterator");
  return out;
}

Async<Result<EngineStream>> RemoteStreams::stream_of(std::string table) {
  std::string request = table_request(table);
  auto answer = co_await tables_.call("DescribeTable", std::move(request), Caller::Kind::kRead);
  if (!answer) co_return fail(std::move(answer.error()));
  co_return latest_stream_of(*answer);
}

Async<Result<ShardPage>> RemoteStreams::shards(std::string arn, std::string after) {
  std::string request = describe_stream_request(arn, after);
  auto answer = co_await streams_.call(kService + "DescribeStream", std::move(request), Caller::Kind::kRead);
  if (!answer) co_return fail(std::move(answer.error()));
  co_return shard_page_of(*answer);
}

Async<Result<std::string>> RemoteStreams::iterator(std::string arn, std::string shard, ShardStart start,
                                                   std::string after) {
  std::string request = iterator_request(arn, shard, start, after);
  auto answer = co_await streams_.call(kService + "GetShardIterator", std::move(request), Caller::Kind::kRead);
  if (!answer) co_return fail(std::move(answer.error()));
  co_return iterator_of(*answer);
}

Async<Result<ShardRecords>> RemoteStreams::records(std::string iterator) {
  std::string request = records_request(iterator);
  auto answer = co_await streams_.call(kService + "GetRecords", std::move(request), Caller::Kind::kRead);
  if (!answer) co_return fail(std::move(answer.error()));
  co_return records_of(*answer);
}

CallerOptions streams_caller_options(CallerOptions options) {
  options.reads_clock = true;
  for (std::string& endpoint : options.endpoints) {
    const std::string_view host = "://dynamodb.";
    const size_t at = endpoint.find(host);
    const bool is_amazon = endpoint.ends_with(".amazonaws.com") || endpoint.ends_with(".amazonaws.com.cn");
    if (at != std::string::npos && is_amazon) endpoint.insert(at + 3, "streams.");
  }
  return options;
}

}  // namespace freshet::remote
