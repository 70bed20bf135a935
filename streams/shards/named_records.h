// Records of a remote engine in the shape that functions know, with the names that the engine gave them. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "streams/shards/engine_streams.h"
#include "streams/stream_event.h"

namespace freshet {

class ShardedStream;

// The names of these records, in their order. One without a number: the stream no longer keeps the record.
std::vector<RecordName> names_of(std::span<const ChangeRecord> records, const ShardedStream& stream);
// append_stream_record() with the engine's event id and sequence number, as far as they are known.
void append_named_record(std::string& out, const ChangeRecord& record, const StreamSource& source,
                         const RecordName& name);
// {"Records":[...]}: stream_event() with the engine's names, one for each record.
std::string named_stream_event(std::span<const ChangeRecord> records, const StreamSource& source,
                               std::span<const RecordName> names);
// stream_record_value() with the engine's names.
Map named_record_value(const ChangeRecord& record, const StreamSource& source, bool with_dynamodb,
                       const ShardedStream& stream);
// The engine's sequence number; empty if the stream no longer keeps the record.
std::string number_of(const ChangeRecord& record, const ShardedStream& stream);

}  // namespace freshet
