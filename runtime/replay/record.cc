#include "runtime/replay/record.h"

#include <map>

namespace freshet {
namespace {

// Items by their keys in encoded form.
using Snapshot = std::map<std::string, ItemRef>;

std::string key_bytes(const Item& keys) {
  std::string out;
  append_encoded(out, keys);
  return out;
}

Item keys_of(const ItemRef& item, const KeySchema& schema) {
  Item keys;
  auto copy = [&](const KeyAttribute& key) {
    if (auto value = item.find(key.name)) keys.set(key.name, value->decode());
  };
  copy(schema.partition);
  if (schema.sort) copy(*schema.sort);
  return keys;
}

Error image_missing(const ChangeRecord& record) {
  return {ErrorCode::kValidation,
          "change " + std::to_string(record.sequence) +
              " was written before both images were kept for this table; begin the recording again",
          {}};
}

Async<Result<Snapshot>> scan_all(Tables& tables, Scheduler& scheduler, TableDefinition table, size_t max_items) {
  Snapshot snapshot;
  Item start;
  do {
    ScanInput scan;
    scan.table = table.name;
    scan.exclusive_start_key = std::move(start);
    scan.consistent = true;
    auto page = co_await tables.scan(std::move(scan));
    if (!page) co_return fail(std::move(page.error()));
    for (const ItemRef& item : page->items) snapshot[key_bytes(keys_of(item, table.keys))] = item;
    if (snapshot.size() > max_items) {
      co_return fail(ErrorCode::kLimitExceeded,
                     "the table has more than " + std::to_string(max_items) + " items, too many for a fixture");
    }
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return snapshot;
}

// Rolls a snapshot that was taken during the changes [from, to) forward to the table's content at `to`: each item was
// read at some moment in between, and applying all changes in order ends with the last one.
Async<Result<Snapshot>> roll_forward(Tables& tables, Scheduler& scheduler, std::string table, Snapshot snapshot,
                                     uint64_t from, uint64_t to) {
  while (from < to) {
    ReadStreamInput read;
    read.table = table;
    read.from = from;
    auto page = co_await tables.read_stream(std::move(read));
    if (!page) co_return fail(std::move(page.error()));
    if (page->next == from) co_return fail(ErrorCode::kInternal, "the stream of " + table + " ends too early");
    for (const ChangeRecord& record : page->records) {
      if (record.sequence >= to) break;
      if (record.kind == ChangeRecord::Kind::kRemove) {
        snapshot.erase(key_bytes(record.keys));
      } else if (record.after) {
        snapshot[key_bytes(record.keys)] = record.after;
      } else {
        co_return fail(image_missing(record));
      }
    }
    from = page->next;
    if (from < to) co_await sleep_for(scheduler, nanoseconds(0));
  }
  co_return snapshot;
}

}  // namespace

Async<Result<FixtureChunk>> begin_fixture(Tables& tables, Scheduler& scheduler, BeginFixtureInput input) {
  std::string name = input.table;
  auto table = co_await tables.describe_table(std::move(name));
  if (!table) co_return fail(std::move(table.error()));
  const TableDefinition definition = table->definition;
  if (!definition.stream) co_return invalid("table " + input.table + " has no stream to record");
  name = input.table;
  auto before = co_await tables.stream_bounds(std::move(name));
  if (!before) co_return fail(std::move(before.error()));
  TableDefinition copy = definition;
  auto scanned = co_await scan_all(tables, scheduler, std::move(copy), input.max_items);
  if (!scanned) co_return fail(std::move(scanned.error()));
  name = input.table;
  auto after = co_await tables.stream_bounds(std::move(name));
  if (!after) co_return fail(std::move(after.error()));
  const WallTime now = scheduler.clock().wall();
  auto safe = co_await tables.durable();
  if (!safe) co_return fail(std::move(safe.error()));
  name = input.table;
  auto snapshot =
      co_await roll_forward(tables, scheduler, std::move(name), std::move(*scanned), before->next, after->next);
  if (!snapshot) co_return fail(std::move(snapshot.error()));

  FixtureHeader header{input.table, definition.keys, *definition.stream, now, input.note, std::move(input.policy)};
  FixtureChunk chunk{header_line(header), after->next};
  for (const auto& [keys, item] : *snapshot) chunk.lines += snapshot_line(item);
  co_return chunk;
}

Async<Result<FixtureChunk>> continue_fixture(Tables& tables, ContinueFixtureInput input) {
  ReadStreamInput read;
  read.table = input.table;
  read.from = input.from;
  read.limit = input.limit;
  read.wait_until = input.wait_until;
  auto page = co_await tables.read_stream(std::move(read));
  if (!page) co_return fail(std::move(page.error()));
  FixtureChunk chunk{"", page->next};
  for (const ChangeRecord& record : page->records) {
    if (record.kind != ChangeRecord::Kind::kRemove && !record.after) co_return fail(image_missing(record));
    chunk.lines += record_line(record, input.table, input.account);
  }
  co_return chunk;
}

}  // namespace freshet
