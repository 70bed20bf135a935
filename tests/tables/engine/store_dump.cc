#include "tests/tables/engine/store_dump.h"

#include "base/check.h"
#include "tables/value/json.h"

namespace freshet {
namespace {

template <class T>
T done(Async<Result<T>> result) {
  FRESHET_CHECK(result.is_ready(), "the embedded store answers at once");
  auto value = result.take();
  FRESHET_CHECK(value.has_value(), value ? "" : value.error().message.c_str());
  return std::move(*value);
}

void add_items(std::string& out, const char* what, const Page& page) {
  for (const auto& item : page.items) {
    out += std::string("  ") + what + " ";
    append_item_json(out, item);
    out += "\n";
  }
}

void dump_items(std::string& out, Tables& store, const TableDefinition& table, const std::string& index) {
  ScanInput input;
  input.table = table.name;
  input.index = index;
  for (;;) {
    const Page page = done(store.scan(input));
    add_items(out, index.empty() ? "item" : index.c_str(), page);
    if (page.last_evaluated_key.empty()) return;
    input.exclusive_start_key = page.last_evaluated_key;
  }
}

void dump_stream(std::string& out, Tables& store, const std::string& table) {
  const StreamBounds bounds = done(store.stream_bounds(table));
  out += "  stream " + std::to_string(bounds.oldest) + ".." + std::to_string(bounds.next) + "\n";
  ReadStreamInput input;
  input.table = table;
  input.from = bounds.oldest;
  while (input.from < bounds.next) {
    const StreamPage page = done(store.read_stream(input));
    FRESHET_CHECK(!page.records.empty(), "records within the bounds can be read");
    for (const auto& record : page.records) {
      FRESHET_CHECK(record.sequence == input.from++, "streams have no gaps");
      out += "  record " + std::to_string(record.sequence) + " " + std::to_string(static_cast<int>(record.kind)) +
             (record.by_ttl ? " ttl " : " ") + std::to_string(epoch_ms(record.at)) + " ";
      append_item_json(out, record.keys);
      for (const auto* image : {&record.before, &record.after}) {
        out += " ";
        if (*image) append_item_json(out, *image);
      }
      out += "\n";
    }
  }
}

void dump_books(std::string& out, Tables& store, const std::string& table) {
  const Books books = done(store.books(table));
  for (const auto& [status, count] : books.stock) out += "  stock " + status + ": " + std::to_string(count) + "\n";
  for (const auto& [arrow, count] : books.flow) {
    out += "  flow " + arrow.from + "->" + arrow.to + " by " + std::to_string(static_cast<int>(arrow.cause)) + ": " +
           std::to_string(count) + "\n";
  }
}

}  // namespace

std::string dump(Tables& store) {
  std::string out;
  for (const auto& name : done(store.list_tables())) {
    const TableDescription table = done(store.describe_table(name));
    out += name + " " + table.id + " " + std::to_string(epoch_ms(table.created)) + " " + table.stream_label + " " +
           std::to_string(table.items) + " items " + std::to_string(table.bytes) + " bytes\n";
    dump_items(out, store, table.definition, "");
    for (const auto& index : table.definition.indexes) dump_items(out, store, table.definition, index.name);
    if (table.definition.stream) dump_stream(out, store, name);
    if (table.definition.books) dump_books(out, store, name);
  }
  return out;
}

}  // namespace freshet
