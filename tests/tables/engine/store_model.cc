#include "tests/tables/engine/store_model.h"

#include <algorithm>

#include "base/check.h"
#include "tables/value/json.h"

namespace freshet {
namespace {

std::string json(const Item& item) {
  std::string out;
  append_item_json(out, item);
  return out;
}

template <class T>
T taken(Async<Result<T>> result) {
  FRESHET_CHECK(result.is_ready(), "the embedded store answers at once");
  auto value = result.take();
  FRESHET_CHECK(value.has_value(), value ? "" : value.error().message.c_str());
  return std::move(*value);
}

std::string describe_books(const Books& books) {
  std::string out;
  for (const auto& [status, count] : books.stock) out += " " + status + "=" + std::to_string(count);
  for (const auto& [status, bytes] : books.bytes) out += " " + status + ":" + std::to_string(bytes) + "B";
  for (const auto& [arrow, count] : books.flow) {
    out += " " + arrow.from + ">" + arrow.to + "/" + std::to_string(static_cast<int>(arrow.cause)) + "=" +
           std::to_string(count);
  }
  return out + "\n";
}

std::string status_of(const std::optional<Item>& item, const BooksDefinition& books) {
  if (!item) return "";
  const auto status = item->string_or(books.status_attribute);
  return status.empty() ? "?" : std::string(status);
}

// All pages, three items at a time.
template <class Input, class Read>
std::vector<Item> read_all(Input input, Read&& read) {
  std::vector<Item> items;
  input.limit = 3;
  for (;;) {
    const Page page = taken(read(input));
    for (const auto& item : page.items) items.push_back(item.decode());
    if (page.last_evaluated_key.empty()) return items;
    input.exclusive_start_key = page.last_evaluated_key;
  }
}

const std::vector<std::string> kStatuses{"DONE", "PENDING", "TAKEN"};

std::string describe_stream(StreamView view, uint64_t next) {
  return "stream " + std::to_string(static_cast<int>(view)) + " next " + std::to_string(next) + "\n";
}

std::string check_record(const ChangeRecord& record, const ModelRecord& expected, StreamView view) {
  if (record.kind != expected.kind || record.by_ttl != expected.by_ttl) return "another kind";
  if (record.keys != expected.keys) return json(record.keys) + " instead of " + json(expected.keys);
  const bool images = view == StreamView::kNewAndOldImages;
  if (images && (record.before ? record.before.decode() : Item{}) != expected.before) return "old image";
  if (images && (record.after ? record.after.decode() : Item{}) != expected.after) return "new image";
  return {};
}

std::string check_stream(Tables& store, ReadStreamInput input, const StreamBounds& bounds,
                         const std::vector<ModelRecord>& records, StreamView view) {
  input.from = bounds.oldest;
  input.limit = 7;
  while (input.from < bounds.next) {
    const StreamPage page = taken(store.read_stream(input));
    if (page.records.empty()) return input.table + ": nothing at " + std::to_string(input.from);
    for (const auto& record : page.records) {
      const std::string at = input.table + " record " + std::to_string(record.sequence) + ": ";
      if (record.sequence != input.from++ || record.sequence > records.size()) return at + "out of order";
      const std::string wrong = check_record(record, records[record.sequence - 1], view);
      if (!wrong.empty()) return at + wrong;
    }
  }
  return {};
}

}  // namespace

const ModelRow* StoreModel::find(const std::string& table, const Item& key) const {
  const auto t = tables_.find(table);
  if (t == tables_.end()) return nullptr;
  const auto row = t->second.rows.find(json(key));
  return row == t->second.rows.end() ? nullptr : &row->second;
}

void StoreModel::apply(const ModelOperation& operation) {
  if (operation.created) tables_[operation.created->name].definition = *operation.created;
  if (operation.altered) {
    TableDefinition& definition = tables_.at(operation.altered->name).definition;
    if (definition.stream != operation.altered->stream) close_stream(definition.name);
    definition = *operation.altered;
  }
  if (!operation.dropped.empty()) {
    close_stream(operation.dropped);
    tables_.erase(operation.dropped);
  }
  for (const auto& write : operation.writes) apply(write);
}

void StoreModel::close_stream(const std::string& name) {
  const ModelTable& table = tables_.at(name);
  if (!table.definition.stream) return;
  const auto place = std::find_if(closed_.begin(), closed_.end(), [&](const auto& c) { return c.table > name; });
  closed_.insert(place, {name, *table.definition.stream, table.stream});
}

void StoreModel::apply(const ModelWrite& write) {
  ModelTable& table = tables_.at(write.table);
  const std::string key = json(write.key);
  const auto it = table.rows.find(key);
  const bool there = it != table.rows.end();
  if (!there && !write.after) return;
  if (there && write.after && it->second.item == *write.after) return;
  const std::optional<Item> before = there ? std::optional(it->second.item) : std::nullopt;

  if (table.definition.books) {
    const std::string from = status_of(before, *table.definition.books);
    const std::string to = status_of(write.after, *table.definition.books);
    if (from != to) ++table.books.flow[{from, to, write.cause}];
    if (!from.empty()) table.books.bytes[from] -= ItemRef::encode(*before).encoded().size();
    if (!from.empty() && --table.books.stock[from] == 0) table.books.stock.erase(from);
    if (!to.empty()) ++table.books.stock[to];
    if (!to.empty()) table.books.bytes[to] += ItemRef::encode(*write.after).encoded().size();
    std::erase_if(table.books.bytes, [&](const auto& one) { return !table.books.stock.contains(one.first); });
  }
  if (table.definition.stream) {
    using Kind = ChangeRecord::Kind;
    table.stream.push_back({!before ? Kind::kInsert : (write.after ? Kind::kModify : Kind::kRemove), write.key,
                            before.value_or(Item{}), write.after.value_or(Item{}), write.cause == Cause::kTimeToLive});
  }
  if (!write.after) {
    table.rows.erase(it);
  } else if (there) {
    it->second.item = *write.after;
  } else {
    table.rows[key] = {*write.after, next_creation_++};
  }
}

std::string StoreModel::describe() const {
  std::string out;
  for (const auto& [name, table] : tables_) {
    out += name + "\n";
    for (const auto& [key, row] : table.rows) out += "  " + json(row.item) + "\n";
    for (const auto& status : kStatuses) {
      if (table.definition.indexes.empty()) break;
      std::vector<const ModelRow*> rows;
      for (const auto& [key, row] : table.rows) {
        if (row.item.string_or("status") == status && row.item.contains("created")) rows.push_back(&row);
      }
      // With books it is a queue's table, whose ties stand in the order of arrival.
      const bool by_arrival = table.definition.books.has_value();
      const auto place = [&](const ModelRow* row) {
        return std::tuple(row->item.int_or("created", 0), by_arrival ? row->creation : 0, row->item.string_or("id"));
      };
      std::sort(rows.begin(), rows.end(), [&](const ModelRow* a, const ModelRow* b) { return place(a) < place(b); });
      out += "  " + status + ":";
      for (const auto* row : rows) out += " " + std::string(row->item.string_or("id"));
      out += "\n";
    }
    if (table.definition.books) out += describe_books(table.books);
    if (table.definition.stream) out += "  " + describe_stream(*table.definition.stream, table.stream.size() + 1);
  }
  for (const auto& closed : closed_) {
    out += closed.table + ", closed " + describe_stream(closed.view, closed.records.size() + 1);
  }
  return out;
}

std::string StoreModel::describe(Tables& store) {
  std::string out;
  for (const auto& name : taken(store.list_tables())) {
    const TableDefinition definition = taken(store.describe_table(name)).definition;
    out += name + "\n";
    ScanInput scan;
    scan.table = name;
    std::vector<std::string> lines;
    std::map<std::string, std::string> by_key;
    for (const auto& item : read_all(scan, [&](const ScanInput& input) { return store.scan(input); })) {
      Item key{{definition.keys.partition.name, *item.find(definition.keys.partition.name)}};
      if (definition.keys.sort) key.set(definition.keys.sort->name, *item.find(definition.keys.sort->name));
      by_key[json(key)] = json(item);
    }
    for (const auto& [key, line] : by_key) out += "  " + line + "\n";
    for (const auto& status : kStatuses) {
      if (definition.indexes.empty()) break;
      QueryInput query;
      query.table = name;
      query.index = definition.indexes[0].name;
      query.key_condition = "#s = :s";
      query.placeholders.names = {{"#s", "status"}};
      query.placeholders.values = Map{{":s", Value(status)}};
      out += "  " + status + ":";
      for (const auto& item : read_all(query, [&](const QueryInput& input) { return store.query(input); })) {
        out += " " + std::string(item.string_or("id"));
      }
      out += "\n";
    }
    if (definition.books) out += describe_books(taken(store.books(name)));
    if (!definition.stream) continue;
    out += "  " + describe_stream(*definition.stream, taken(store.stream_bounds(name)).next);
  }
  for (const auto& closed : taken(store.closed_streams())) {
    out += closed.table + ", closed " + describe_stream(closed.view, closed.bounds.next);
  }
  return out;
}

std::map<std::string, uint64_t> StoreModel::changes() const {
  std::map<std::string, uint64_t> out;
  for (const auto& [name, table] : tables_) {
    if (table.definition.stream) out[name] = table.stream.size();
  }
  return out;
}

std::map<std::string, uint64_t> StoreModel::changes(Tables& store) {
  std::map<std::string, uint64_t> out;
  for (const auto& name : taken(store.list_tables())) {
    if (!taken(store.describe_table(name)).definition.stream) continue;
    out[name] = taken(store.stream_bounds(name)).next - 1;
  }
  return out;
}

std::string StoreModel::check_streams(Tables& store) const {
  ReadStreamInput input;
  for (const auto& [name, table] : tables_) {
    if (!table.definition.stream) continue;
    input.table = name;
    const StreamBounds bounds = taken(store.stream_bounds(name));
    const std::string wrong = check_stream(store, input, bounds, table.stream, *table.definition.stream);
    if (!wrong.empty()) return wrong;
  }
  const auto closed = taken(store.closed_streams());
  if (closed.size() != closed_.size()) return "not all closed streams";
  for (size_t i = 0; i < closed.size(); ++i) {
    input.table = closed[i].table;
    input.label = closed[i].label;
    const std::string wrong = check_stream(store, input, closed[i].bounds, closed_[i].records, closed_[i].view);
    if (!wrong.empty()) return "closed " + wrong;
  }
  return {};
}

}  // namespace freshet
