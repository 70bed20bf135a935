// ListStreams, DescribeStream, GetShardIterator, GetRecords.
#include <algorithm>
#include <array>

#include "tables/value/json.h"
#include "wire/dynamodb/operation.h"
#include "wire/dynamodb/table_json.h"

namespace freshet::dynamodb {

namespace {

constexpr Range kArnLength{37, 1024};
constexpr Range kShardIdLength{28, 65};

class ListStreams final : public Operation {
 public:
  ListStreams(ListStreamsInput input, StreamReader& streams) : input_(std::move(input)), streams_(streams) {}
  Async<Result<void>> run(Tables&) override {
    auto list = co_await streams_.list(std::move(input_));
    if (!list) co_return fail(list.error());
    list_ = std::move(*list);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"Streams\":[";
    for (const StreamList::Stream& stream : list_.streams) {
      json += json.ends_with('[') ? "{" : ",{";
      append_member(json, "StreamArn", stream.arn);
      append_member(json, "TableName", stream.table);
      append_member(json, "StreamLabel", stream.label);
      json += '}';
    }
    json += ']';
    if (list_.more) append_member(json, "LastEvaluatedStreamArn", list_.streams.back().arn);
    json += '}';
  }

 private:
  ListStreamsInput input_;
  StreamReader& streams_;
  StreamList list_;
};

class DescribeStream final : public Operation {
 public:
  // With `children_of` only the shards are shown that follow this one.
  DescribeStream(std::string arn, std::string after, std::optional<std::string> children_of, StreamReader& streams)
      : arn_(std::move(arn)), after_(std::move(after)), children_of_(std::move(children_of)), streams_(streams) {}
  Async<Result<void>> run(Tables&) override {
    std::string arn = arn_;
    auto stream = co_await streams_.describe(std::move(arn));
    if (!stream) co_return fail(stream.error());
    stream_ = std::move(*stream);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"StreamDescription\":{";
    append_member(json, "StreamArn", stream_.source.arn);
    append_member(json, "StreamLabel", stream_.label);
    append_member(json, "StreamStatus", stream_.closed ? "DISABLED" : "ENABLED");
    append_member(json, "StreamViewType", stream_view_name(stream_.source.view));
    json += ",\"CreationRequestDateTime\":" + seconds_of(stream_.created);
    append_member(json, "TableName", stream_.table);
    json += ',';
    append_key_schema(json, stream_.keys);
    json += ",\"Shards\":[";
    // The one shard that there is has neither a parent nor children.
    if (!children_of_ && after_ < kShardId) {
      json += '{';
      append_member(json, "ShardId", kShardId);
      json += ",\"SequenceNumberRange\":{";
      const StreamBounds& bounds = stream_.bounds;
      append_member(json, "StartingSequenceNumber", sequence_number(bounds.oldest));
      // A stream without records: where it starts.
      if (stream_.closed) {
        append_member(json, "EndingSequenceNumber", sequence_number(std::max(bounds.oldest, bounds.next - 1)));
      }
      json += "}}";
    }
    json += "]}}";
  }

 private:
  const std::string arn_;
  const std::string after_;
  const std::optional<std::string> children_of_;
  StreamReader& streams_;
  StreamDescription stream_;
};

class GetShardIterator final : public Operation {
 public:
  GetShardIterator(ShardIteratorInput input, StreamReader& streams) : input_(std::move(input)), streams_(streams) {}
  Async<Result<void>> run(Tables&) override {
    auto iterator = co_await streams_.shard_iterator(std::move(input_));
    if (!iterator) co_return fail(iterator.error());
    iterator_ = std::move(*iterator);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope&) const override {
    json += '{';
    append_member(json, "ShardIterator", iterator_);
    json += '}';
  }

 private:
  ShardIteratorInput input_;
  StreamReader& streams_;
  std::string iterator_;
};

class GetRecords final : public Operation {
 public:
  GetRecords(std::string iterator, uint32_t limit, StreamReader& streams)
      : iterator_(std::move(iterator)), limit_(limit), streams_(streams) {}
  Async<Result<void>> run(Tables&) override {
    auto records = co_await streams_.records(std::move(iterator_), limit_);
    if (!records) co_return fail(records.error());
    records_ = std::move(*records);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"Records\":[";
    for (const ChangeRecord& record : records_.records) {
      if (!json.ends_with('[')) json += ',';
      append_stream_record(json, record, records_.source, RecordStyle::kProtocol);
    }
    json += ']';
    if (!records_.next_iterator.empty()) append_member(json, "NextShardIterator", records_.next_iterator);
    json += '}';
  }

 private:
  std::string iterator_;
  const uint32_t limit_;
  StreamReader& streams_;
  StreamRecords records_;
};

Parsed parse_list_streams(const JsonView& body, StreamReader& streams) {
  Checks checks;
  const Input in(body, checks);
  ListStreamsInput input;
  input.table = in.pattern_text("TableName", Need::kOptional, {3, 255});
  input.after = in.text("ExclusiveStartStreamArn", Need::kOptional, kArnLength);
  input.limit = static_cast<uint32_t>(in.number("Limit", {1, 100}).value_or(100));
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<ListStreams>(std::move(input), streams);
}

Parsed parse_describe_stream(const JsonView& body, StreamReader& streams) {
  Checks checks;
  const Input in(body, checks);
  std::string arn = in.text("StreamArn", Need::kRequired, kArnLength);
  in.number("Limit", {1, 100});
  std::string after = in.text("ExclusiveStartShardId", Need::kOptional, kShardIdLength);
  std::optional<std::string> children_of;
  if (const auto filter = in.structure("ShardFilter")) {
    const std::string type = filter->choice("Type", {"CHILD_SHARDS"});
    std::string shard = filter->text("ShardId", Need::kOptional, kShardIdLength);
    if (type.empty() || shard.empty()) {
      checks.add({ErrorCode::kValidation, "ShardFilter needs both a Type and a ShardId", nullptr});
    }
    children_of = std::move(shard);
  }
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<DescribeStream>(std::move(arn), std::move(after), std::move(children_of), streams);
}

Parsed parse_get_shard_iterator(const JsonView& body, StreamReader& streams) {
  Checks checks;
  const Input in(body, checks);
  ShardIteratorInput input;
  input.stream_arn = in.text("StreamArn", Need::kRequired, kArnLength);
  input.shard_id = in.text("ShardId", Need::kRequired, kShardIdLength);
  const std::string type = in.choice(
      "ShardIteratorType", {"AFTER_SEQUENCE_NUMBER", "LATEST", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON"}, Need::kRequired);
  input.sequence_number = in.text("SequenceNumber", Need::kOptional, {21, 40});
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  input.type = *parse_iterator_type(type);
  return std::make_unique<GetShardIterator>(std::move(input), streams);
}

Parsed parse_get_records(const JsonView& body, StreamReader& streams) {
  Checks checks;
  const Input in(body, checks);
  std::string iterator = in.text("ShardIterator", Need::kRequired, {1, 2048});
  const auto limit = static_cast<uint32_t>(in.number("Limit", {1, 1000}).value_or(1000));
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<GetRecords>(std::move(iterator), limit, streams);
}

}  // namespace

StreamParser find_stream_parser(std::string_view operation) {
  static constexpr std::pair<std::string_view, StreamParser> kParsers[] = {
      {"ListStreams", parse_list_streams},
      {"DescribeStream", parse_describe_stream},
      {"GetShardIterator", parse_get_shard_iterator},
      {"GetRecords", parse_get_records},
  };
  const auto* found = std::find_if(std::begin(kParsers), std::end(kParsers),
                                   [&](const auto& entry) { return entry.first == operation; });
  return found == std::end(kParsers) ? nullptr : found->second;
}

}  // namespace freshet::dynamodb
