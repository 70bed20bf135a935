// The change streams of a DynamoDB-compatible store: DescribeTable, DescribeStream, GetShardIterator and GetRecords.
// Source: the API reference of DynamoDB Streams, version 2012-08-10.
//
// Every call may fail with kUnavailable, kTimeout, kThroughputExceeded or kAccessDenied once its retries are used up
// (caller.h). Loop thread. The callers must outlive it.
#pragma once

#include <string>
#include <string_view>

#include "streams/shards/engine_streams.h"
#include "wire/store/caller.h"

namespace freshet::remote {

// The requests and answers, as pure functions; any thread. kInternal if an answer is not what the protocol says.
std::string describe_stream_request(const std::string& arn, const std::string& after);
std::string iterator_request(const std::string& arn, const std::string& shard, ShardStart start,
                             const std::string& after);
std::string records_request(const std::string& iterator);
// From DescribeTable. kResourceNotFound if the table never had a stream.
Result<EngineStream> latest_stream_of(std::string_view body);
Result<ShardPage> shard_page_of(std::string_view body);
Result<std::string> iterator_of(std::string_view body);
Result<ShardRecords> records_of(std::string_view body);

class RemoteStreams final : public EngineStreams {
 public:
  // `tables` calls the store itself, `streams` its API of streams: its options come from streams_caller_options().
  RemoteStreams(Caller& tables, Caller& streams) : tables_(tables), streams_(streams) {}

  Async<Result<EngineStream>> stream_of(std::string table) override;
  Async<Result<ShardPage>> shards(std::string arn, std::string after) override;
  Async<Result<std::string>> iterator(std::string arn, std::string shard, ShardStart start, std::string after) override;
  Async<Result<ShardRecords>> records(std::string iterator) override;
  std::optional<WallTime> engine_time() const override { return streams_.store_time(); }

 private:
  Caller& tables_;
  Caller& streams_;
};

// The options of a caller of the API of streams, from those of a caller of the store. The endpoints stay the same,
// except for Amazon's own, which has another host for streams.
CallerOptions streams_caller_options(CallerOptions options);

}  // namespace freshet::remote
