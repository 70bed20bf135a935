// Reading a table's change stream as the stream protocol does: describe, shard iterators, records.
//
// An iterator is an opaque token that names a stream and a place in it; it is good for kIteratorLife and for nothing
// else, and needs no memory here. Loop thread only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "streams/stream_event.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr seconds kIteratorLife{15 * 60};

enum class IteratorType { kTrimHorizon, kLatest, kAtSequenceNumber, kAfterSequenceNumber };
std::optional<IteratorType> parse_iterator_type(std::string_view name);  // "TRIM_HORIZON", ...

struct ShardIteratorInput {
  std::string stream_arn;
  std::string shard_id;
  IteratorType type = IteratorType::kTrimHorizon;
  std::string sequence_number;  // Of the two that need one.
};

struct StreamDescription {
  StreamSource source;
  std::string table;
  std::string label;
  KeySchema keys;
  WallTime created{};  // Of the stream, which may be younger than its table.
  StreamBounds bounds;
  bool closed = false;  // No record comes any more: `bounds.next` is where it ends.
};

struct ListStreamsInput {
  std::string table;  // Of this table alone; empty for all.
  std::string after;  // The stream behind which to go on; empty for the first.
  uint32_t limit = 100;
};

// By table name.
struct StreamList {
  struct Stream {
    std::string arn;
    std::string table;
    std::string label;
  };
  std::vector<Stream> streams;
  bool more = false;
};

struct StreamRecords {
  StreamSource source;
  std::vector<ChangeRecord> records;
  std::string next_iterator;  // Empty at the end of a closed stream.
};

class StreamReader {
 public:
  StreamReader(Tables& tables, const Clock& clock, Account account);

  // Of one that is open or closed. kResourceNotFound if there is no such stream (any more).
  Async<Result<StreamDescription>> describe(std::string stream_arn);
  // The stream that the table has now. kResourceNotFound without one.
  Async<Result<StreamDescription>> stream_of(std::string table);
  // Those of clients' tables, open and closed. kResourceNotFound if there is and was no such table; none for a table
  // without a stream.
  Async<Result<StreamList>> list(ListStreamsInput input);
  // kTrimmedDataAccess for a sequence number that is trimmed, kValidation for one that never was.
  Async<Result<std::string>> shard_iterator(ShardIteratorInput input);
  // Durable records only; none if there are none now. 1..1000. kExpiredIterator, kTrimmedDataAccess, kValidation.
  Async<Result<StreamRecords>> records(std::string iterator, uint32_t limit = 1000);

 private:
  Async<Result<StreamDescription>> closed_stream(std::string stream_arn, std::string table, std::string label);
  // By name and label: the streams of these tables (in order), the first `most` open ones, and all closed ones.
  Async<Result<std::vector<StreamList::Stream>>> streams_of(std::vector<std::string> tables, size_t most);
  std::string token(const std::string& arn, uint64_t from) const;

  Tables& tables_;
  const Clock& clock_;
  const Account account_;
};

}  // namespace freshet
