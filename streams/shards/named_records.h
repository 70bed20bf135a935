// Records of a remote engine in the shape that functions know, with the names that the engine gave them. Pure.
#pragma once

#include <span>
#include <string>

#include "streams/shards/sharded_stream.h"
#include "streams/stream_event.h"

namespace freshet {

// {"Records":[...]}: stream_event() with the engine's event ids and sequence numbers. `stream` still keeps the records.
std::string named_stream_event(std::span<const ChangeRecord> records, const StreamSource& source,
                               const ShardedStream& stream);
// stream_record_value() with the engine's names.
Map named_record_value(const ChangeRecord& record, const StreamSource& source, bool with_dynamodb,
                       const ShardedStream& stream);
// The engine's sequence number; empty if the stream no longer keeps the record.
std::string number_of(const ChangeRecord& record, const ShardedStream& stream);

}  // namespace freshet
