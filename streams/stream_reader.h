// Reading a table's change stream as the stream protocol does: describe, shard iterators, records.
//
// An iterator is an opaque token that names a stream and a position in it; it is valid for kIteratorLife and needs no
// memory here. Loop thread only.
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
  std::string sequence_number;  // For the two types that need one.
};

struct StreamDescription {
  StreamSource source;
  std::string table;
  std::string label;
  KeySchema keys;
  WallTime created{};  // When the stream was made; it may be younger than its table.
  StreamBounds bounds;
  bool closed = false;  // True if no more records will come: `bounds.next` is its end.
};

struct ListStreamsInput {
  std::string table;  // Only this table's streams; empty for all.
  std::string after;  // Continue after this stream; empty for the first page.
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

  // Describes an open or closed stream. kResourceNotFound if there is no such stream (any more).
  Async<Result<StreamDescription>> describe(std::string stream_arn);
  // The table's current stream. kResourceNotFound without one.
  Async<Result<StreamDescription>> stream_of(std::string table);
  // The streams of clients' tables, open and closed. kResourceNotFound if there is and was no such table; empty for a
  // table without a stream.
  Async<Result<StreamList>> list(ListStreamsInput input);
  // kTrimmedDataAccess for a trimmed sequence number, kValidation for one that never existed.
  Async<Result<std::string>> shard_iterator(ShardIteratorInput input);
  // Durable records only; empty if there are none now. 1..1000. kExpiredIterator, kTrimmedDataAccess, kValidation.
  Async<Result<StreamRecords>> records(std::string iterator, uint32_t limit = 1000);

 private:
  Async<Result<StreamDescription>> closed_stream(std::string stream_arn, std::string table, std::string label);
  // Ordered by name and label: the streams of these tables (in order), the first `most` open ones, and all closed ones.
  Async<Result<std::vector<StreamList::Stream>>> streams_of(std::vector<std::string> tables, size_t most);
  std::string token(const std::string& arn, uint64_t from) const;

  Tables& tables_;
  const Clock& clock_;
  const Account account_;
};

}  // namespace freshet
