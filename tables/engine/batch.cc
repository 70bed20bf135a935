#include "tables/engine/batch.h"

#include "tables/engine/bytes.h"

namespace freshet {
namespace {

constexpr uint8_t kBatchVersion = 2;
constexpr uint8_t kOldestVersion = 1;  // Has no closed streams and no keys of several attributes.

enum Tag : uint8_t { kCounters = 1, kTable = 2, kDrop = 3, kPut = 4, kDelete = 5, kFlow = 6, kClosedStream = 7 };

// Flags of kPut and kDelete.
enum Flag : uint8_t { kHasChange = 1, kIsInsert = 2, kByTtl = 4, kHasBefore = 8 };

uint8_t flags_of(const StoredChange& change) {
  if (change.sequence == 0) return 0;
  uint8_t flags = kHasChange;
  if (change.kind == ChangeRecord::Kind::kInsert) flags |= kIsInsert;
  if (change.by_ttl) flags |= kByTtl;
  if (!change.before.empty()) flags |= kHasBefore;
  return flags;
}

void append_change(std::string& out, const StoredChange& change) {
  if (change.sequence == 0) return;
  append_varint(out, change.sequence);
  if (!change.before.empty()) append_bytes(out, change.before);
}

StoredChange read_change(ByteReader& in, uint8_t flags, ChangeRecord::Kind otherwise) {
  StoredChange change;
  if (!(flags & kHasChange)) return change;
  change.sequence = in.varint();
  change.kind = (flags & kIsInsert) ? ChangeRecord::Kind::kInsert : otherwise;
  change.by_ttl = flags & kByTtl;
  if (flags & kHasBefore) change.before = in.bytes();
  return change;
}

tl::unexpected<Error> malformed(const char* what) {
  return fail(ErrorCode::kCorruption, std::string("a batch of the log is malformed: ") + what);
}

Result<void> read_table(ByteReader& in, BatchSink& sink) {
  auto item = decode_item(in.bytes());
  if (!in.ok() || !item) return malformed("table");
  auto table = table_from_item(*item);
  if (!table) return fail(table.error());
  return sink.on_table(std::move(*table));
}

Result<void> read_closed_stream(ByteReader& in, BatchSink& sink) {
  auto item = decode_item(in.bytes());
  if (!in.ok() || !item) return malformed("closed stream");
  auto closed = closed_stream_from_item(*item);
  if (!closed) return fail(closed.error());
  return sink.on_closed_stream(std::move(*closed));
}

Result<void> read_put(ByteReader& in, BatchSink& sink) {
  StoredPut put;
  const uint8_t flags = in.byte();
  put.table = in.number();
  put.creation = in.varint();
  put.change = read_change(in, flags, ChangeRecord::Kind::kModify);
  put.item = in.bytes();
  if (!in.ok()) return malformed("put");
  return sink.on_put(put);
}

Result<void> read_delete(ByteReader& in, BatchSink& sink) {
  StoredDelete del;
  const uint8_t flags = in.byte();
  del.table = in.number();
  del.change = read_change(in, flags, ChangeRecord::Kind::kRemove);
  del.keys = in.bytes();
  if (!in.ok()) return malformed("delete");
  return sink.on_delete(del);
}

Result<void> read_flow(ByteReader& in, BatchSink& sink) {
  StoredFlow flow;
  flow.table = in.number();
  flow.arrow.from = in.bytes();
  flow.arrow.to = in.bytes();
  const uint8_t cause = in.byte();
  flow.value = in.varint();
  if (!in.ok() || cause > static_cast<uint8_t>(Cause::kTimeToLive)) return malformed("flow");
  flow.arrow.cause = static_cast<Cause>(cause);
  return sink.on_flow(flow);
}

Result<void> read_counters(ByteReader& in, BatchSink& sink) {
  StoredCounters counters;
  counters.hash_seed = in.varint();
  counters.next_creation = in.varint();
  counters.next_table = in.number();
  if (!in.ok()) return malformed("counters");
  return sink.on_counters(counters);
}

Result<void> read_drop(ByteReader& in, BatchSink& sink) {
  const uint32_t table = in.number();
  if (!in.ok()) return malformed("drop");
  return sink.on_drop(table);
}

}  // namespace

void append_batch_header(std::string& out, WallTime at) {
  out.push_back(static_cast<char>(kBatchVersion));
  append_fixed(out, static_cast<uint64_t>(epoch_ms(at)));
}

void append_record(std::string& out, const StoredCounters& counters) {
  out.push_back(kCounters);
  append_varint(out, counters.hash_seed);
  append_varint(out, counters.next_creation);
  append_varint(out, counters.next_table);
}

void append_record(std::string& out, const StoredTable& table) {
  std::string encoded;
  append_encoded(encoded, table_to_item(table));
  out.push_back(kTable);
  append_bytes(out, encoded);
}

void append_record(std::string& out, const StoredPut& put) {
  out.push_back(kPut);
  out.push_back(static_cast<char>(flags_of(put.change)));
  append_varint(out, put.table);
  append_varint(out, put.creation);
  append_change(out, put.change);
  append_bytes(out, put.item);
}

void append_record(std::string& out, const StoredDelete& del) {
  out.push_back(kDelete);
  out.push_back(static_cast<char>(flags_of(del.change)));
  append_varint(out, del.table);
  append_change(out, del.change);
  append_bytes(out, del.keys);
}

void append_record(std::string& out, const StoredFlow& flow) {
  out.push_back(kFlow);
  append_varint(out, flow.table);
  append_bytes(out, flow.arrow.from);
  append_bytes(out, flow.arrow.to);
  out.push_back(static_cast<char>(flow.arrow.cause));
  append_varint(out, flow.value);
}

void append_record(std::string& out, const StoredClosedStream& closed) {
  std::string encoded;
  append_encoded(encoded, closed_stream_to_item(closed));
  out.push_back(kClosedStream);
  append_bytes(out, encoded);
}

void append_drop_record(std::string& out, uint32_t table) {
  out.push_back(kDrop);
  append_varint(out, table);
}

Result<void> read_batch(std::string_view payload, BatchSink& sink) {
  ByteReader in(payload);
  const uint8_t version = in.byte();
  const WallTime at(milliseconds(static_cast<int64_t>(in.fixed())));
  if (!in.ok()) return malformed("header");
  if (version < kOldestVersion || version > kBatchVersion) {
    return fail(ErrorCode::kUnsupportedFormat, "a batch of the log has payload version " + std::to_string(version) +
                                                   "; this program reads versions 1 to " +
                                                   std::to_string(kBatchVersion));
  }
  if (auto ok = sink.on_begin(at); !ok) return ok;
  while (!in.at_end()) {
    Result<void> ok;
    switch (in.byte()) {
      case kCounters:
        ok = read_counters(in, sink);
        break;
      case kTable:
        ok = read_table(in, sink);
        break;
      case kDrop:
        ok = read_drop(in, sink);
        break;
      case kPut:
        ok = read_put(in, sink);
        break;
      case kDelete:
        ok = read_delete(in, sink);
        break;
      case kFlow:
        ok = read_flow(in, sink);
        break;
      case kClosedStream:
        ok = read_closed_stream(in, sink);
        break;
      default:
        return malformed("unknown record");
    }
    if (!ok) return ok;
  }
  return {};
}

}  // namespace freshet
