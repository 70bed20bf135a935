// BatchGetItem and BatchWriteItem.
#include <algorithm>

#include "base/limits.h"
#include "tables/engine/keys.h"
#include "tables/engine/read.h"
#include "tables/engine/request_checks.h"
#include "tables/expression/expression.h"
#include "tables/value/json.h"
#include "wire/dynamodb/capacity.h"
#include "wire/dynamodb/legacy.h"
#include "wire/dynamodb/operation.h"

namespace freshet::dynamodb {

namespace {

struct TableGets {
  std::string name;  // The table's name or its ARN, as in the request.
  std::string table;
  std::vector<Item> keys;
  std::string projection;
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<std::string> attributes_to_get;  // The names from which the projection was made, if it was.
  bool consistent = false;
  std::vector<ItemRef> found;
  size_t done = 0;  // The number of answered keys; the rest is unprocessed.
};

class BatchGet final : public Operation {
 public:
  BatchGet(std::vector<TableGets> gets, CapacityReport report) : gets_(std::move(gets)), capacities_(report) {}

  Async<Result<void>> run(Tables& tables) override {
    for (const TableGets& gets : gets_) {
      if (is_system_table(gets.table)) co_return item_table_not_found();
    }
    std::vector<Result<ReadOutput>> answers;
    for (size_t first = 0; first < gets_.size();) {
      const size_t last = behind_group(first);
      Async<std::vector<Result<ReadOutput>>> reading = read(tables, first, last);
      std::vector<Result<ReadOutput>> some = co_await reading;
      for (auto& answer : some) {
        if (!answer) co_return fail(answer.error());
        answers.push_back(std::move(answer));
      }
      first = last;
    }
    auto next = answers.begin();
    uint64_t bytes = 0;
    bool full = false;
    for (TableGets& gets : gets_) {
      for (size_t i = 0; i < gets.keys.size(); ++i, ++next) {
        ReadOutput& answer = **next;
        const uint64_t size = answer.item ? answer.item.encoded().size() : 0;
        // One response holds 16 MB: items that do not fit, and all behind them, must be requested again. A single item
        // always fits.
        full = full || bytes + size > limits::kMaxRequestBytes;
        if (full) continue;
        ++gets.done;
        bytes += size;
        capacities_.add(gets.table, read_units(answer.bytes, gets.consistent));
        if (answer.item) gets.found.push_back(std::move(answer.item));
      }
    }
    co_return Result<void>{};
  }

  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"Responses\":{";
    for (const TableGets& gets : gets_) {
      if (!json.ends_with('{')) json += ',';
      append_json_string(json, gets.name);
      json += ':';
      append_items_json(json, gets.found);
    }
    json += "},\"UnprocessedKeys\":{";
    for (const TableGets& gets : gets_) append_unprocessed(json, gets);
    json += '}';
    capacities_.append(json);
    json += '}';
  }

 private:
  static GetItemInput get_of(const TableGets& gets, const Item& key, bool projected) {
    GetItemInput input;
    input.table = gets.table;
    input.key = key;
    input.consistent = gets.consistent;
    if (!projected) return input;
    input.projection = gets.projection;
    input.placeholders.names = gets.names;
    return input;
  }

  // The cost of a copy of the projection for each key.
  static size_t copied_bytes(const TableGets& gets) {
    size_t bytes = gets.projection.size();
    for (const auto& [placeholder, name] : gets.names) bytes += placeholder.size() + name.size();
    return bytes * gets.keys.size();
  }
  static bool is_large(const TableGets& gets) {
    constexpr size_t kMostCopied = 1u << 20;
    return copied_bytes(gets) > kMostCopied && gets.keys.size() > 1;
  }

  // Returns the end of the tables that are read together: all up to the next one with a large projection, or that one
  // alone.
  size_t behind_group(size_t first) const {
    if (is_large(gets_[first])) return first + 1;
    while (first < gets_.size() && !is_large(gets_[first])) ++first;
    return first;
  }

  Async<std::vector<Result<ReadOutput>>> read(Tables& tables, size_t first, size_t last) const {
    if (is_large(gets_[first])) return read_large(tables, gets_[first]);
    std::vector<GetItemInput> inputs;
    for (size_t i = first; i < last; ++i) {
      for (const Item& key : gets_[i].keys) inputs.push_back(get_of(gets_[i], key, true));
    }
    return tables.read_many(std::move(inputs));
  }

  // The store checks a projection of megabytes once, with the first key, instead of checking a hundred copies.
  static Async<std::vector<Result<ReadOutput>>> read_large(Tables& tables, const TableGets& gets) {
    std::vector<GetItemInput> inputs;
    inputs.push_back(get_of(gets, gets.keys[0], true));
    ExpressionCache cache(1);
    const GetItemInput wanted = inputs[0];
    std::vector<Result<ReadOutput>> answers = co_await tables.read_many(std::move(inputs));
    if (!answers[0]) co_return answers;
    const Result<BoundProjection> projection = bind_projection(cache, wanted);
    if (!projection) {
      answers[0] = fail(projection.error());
      co_return answers;
    }
    inputs = {};
    for (size_t i = 1; i < gets.keys.size(); ++i) inputs.push_back(get_of(gets, gets.keys[i], false));
    std::vector<Result<ReadOutput>> rest = co_await tables.read_many(std::move(inputs));
    for (auto& answer : rest) {
      if (answer && answer->item) answer->item = ItemRef::encode(project(*projection, answer->item));
      answers.push_back(std::move(answer));
    }
    co_return answers;
  }

  static void append_unprocessed(std::string& json, const TableGets& gets) {
    if (gets.done == gets.keys.size()) return;
    if (!json.ends_with('{')) json += ',';
    append_json_string(json, gets.name);
    json += ":{\"Keys\":[";
    for (size_t i = gets.done; i < gets.keys.size(); ++i) {
      if (!json.ends_with('[')) json += ',';
      append_item_json(json, gets.keys[i]);
    }
    json += ']';
    if (!gets.attributes_to_get.empty()) {
      json += ",\"AttributesToGet\":[";
      for (const auto& name : gets.attributes_to_get) {
        if (!json.ends_with('[')) json += ',';
        append_json_string(json, name);
      }
      json += ']';
    } else if (!gets.projection.empty()) {
      json += ",\"ProjectionExpression\":";
      append_json_string(json, gets.projection);
    }
    if (!gets.names.empty() && gets.attributes_to_get.empty()) {
      json += ",\"ExpressionAttributeNames\":{";
      for (const auto& [placeholder, name] : gets.names) {
        if (!json.ends_with('{')) json += ',';
        append_json_string(json, placeholder);
        json += ':';
        append_json_string(json, name);
      }
      json += '}';
    }
    json += gets.consistent ? ",\"ConsistentRead\":true}" : "}";
  }

  std::vector<TableGets> gets_;
  CapacitySums capacities_;
};

struct Write {
  std::string name;  // As above.
  std::string table;
  bool is_put = false;
  Item item;  // The whole item of a put, the key of a delete.
  bool processed = false;
};

// The part of a put or delete that identifies its item, or the fault in it.
Result<Item> key_of(const TableDefinition& table, Write& write) {
  Item key;
  for (const KeyAttribute* part : {&table.keys.partition, table.keys.sort ? &*table.keys.sort : nullptr}) {
    const Value* value = part ? write.item.find(part->name) : nullptr;
    if (value) key.set(part->name, *value);
  }
  if (auto ok = check_key(write.is_put ? key : write.item, table.keys); !ok) return fail(ok.error());
  if (!write.is_put) return key;
  if (auto ok = check_index_keys(write.item, table); !ok) return fail(ok.error());
  if (auto ok = check_put_item(write.item); !ok) return fail(ok.error());
  return key;
}

class BatchWrite final : public Operation {
 public:
  BatchWrite(std::vector<Write> writes, CapacityReport report, bool metrics)
      : writes_(std::move(writes)), capacities_(report), collections_(metrics) {}

  Async<Result<void>> run(Tables& tables) override {
    // Checks everything before anything is written, so that a bad request writes nothing.
    std::vector<std::pair<std::string, Item>> seen;
    std::optional<TableDescription> table;
    for (Write& write : writes_) {
      if (is_system_table(write.table)) co_return item_table_not_found();
      if (!table || table->definition.name != write.table) {
        std::string name = write.table;
        Result<TableDescription> found = co_await tables.describe_table(std::move(name));
        if (!found && found.error().code == ErrorCode::kResourceNotFound) co_return item_table_not_found();
        if (!found) co_return fail(found.error());
        table = std::move(*found);
      }
      Result<Item> key = key_of(table->definition, write);
      if (!key) co_return fail(key.error());
      std::pair<std::string, Item> named(write.table, std::move(*key));
      if (std::find(seen.begin(), seen.end(), named) != seen.end()) {
        co_return invalid("Provided list of item keys contains duplicates");
      }
      seen.push_back(std::move(named));
    }
    std::vector<Result<WriteOutput>> answers = co_await tables.write_many(inputs());
    bool any = false;
    for (size_t i = 0; i < answers.size(); ++i) {
      if (answers[i]) {
        any = writes_[i].processed = true;
        if (!answers[i]->cost) continue;
        capacities_.add(writes_[i].table, write_units(*answers[i]->cost));
        collections_.add(writes_[i].table, *answers[i]->cost);
      } else if (answers[i].error().code != ErrorCode::kThroughputExceeded) {
        co_return fail(answers[i].error());
      }
    }
    // Clients send unprocessed items again at once, but wait after an error: without the error they would spin.
    if (!any && !answers.empty()) co_return fail(answers.front().error());
    co_return Result<void>{};
  }

  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"UnprocessedItems\":{";
    std::string_view open;
    for (const Write& write : writes_) {
      if (write.processed) continue;
      if (write.name != open) {
        if (!open.empty()) json += "],";
        append_json_string(json, write.name);
        json += ":[";
        open = write.name;
      } else {
        json += ',';
      }
      json += write.is_put ? "{\"PutRequest\":{\"Item\":" : "{\"DeleteRequest\":{\"Key\":";
      append_item_json(json, write.item);
      json += "}}";
    }
    json += open.empty() ? "}" : "]}";
    capacities_.append(json);
    collections_.append(json);
    json += '}';
  }

 private:
  std::vector<WriteInput> inputs() const {
    const bool measure = capacities_.wanted() || collections_.wanted();
    std::vector<WriteInput> out;
    out.reserve(writes_.size());
    for (const Write& write : writes_) {
      if (write.is_put) {
        PutItemInput put;
        put.table = write.table;
        put.item = write.item;
        put.measure = measure;
        out.emplace_back(std::move(put));
      } else {
        DeleteItemInput gone;
        gone.table = write.table;
        gone.key = write.item;
        gone.measure = measure;
        out.emplace_back(std::move(gone));
      }
    }
    return out;
  }

  std::vector<Write> writes_;  // The writes of one table are adjacent.
  CapacitySums capacities_;
  CollectionList collections_;
};

// True if a key of the last table occurs twice, even if the table goes by its name in one place and by its ARN in
// the other.
bool repeats_key(const std::vector<TableGets>& all) {
  const TableGets& last = all.back();
  for (size_t i = 0; i < last.keys.size(); ++i) {
    const auto same = [&](const Item& key) { return key == last.keys[i]; };
    if (std::any_of(last.keys.begin(), last.keys.begin() + static_cast<ptrdiff_t>(i), same)) return true;
    for (size_t other = 0; other + 1 < all.size(); ++other) {
      const auto& keys = all[other].keys;
      if (all[other].table == last.table && std::any_of(keys.begin(), keys.end(), same)) return true;
    }
  }
  return false;
}

void check_not_empty(const Input& in, std::string_view operation) {
  if (!in.is_empty("RequestItems")) return;
  in.checks().add(
      {ErrorCode::kValidation, "The requestItems parameter is required for " + std::string(operation), nullptr});
}

}  // namespace

Parsed parse_batch_get_item(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  std::vector<TableGets> all;
  size_t keys = 0;
  check_not_empty(in, "BatchGetItem");
  in.check_table_names("RequestItems");
  for (const auto& [name, request] : in.map("RequestItems", Need::kRequired, {0, limits::kMaxBatchGets})) {
    TableGets gets;
    gets.name = name;
    gets.table = table_name_of(name).value_or(name);
    gets.keys = request.items("Keys", {1, limits::kMaxBatchGets});
    if (has_legacy(request, {"AttributesToGet"}, {"ProjectionExpression"})) {
      Placeholders placeholders;
      gets.projection = legacy_projection(request, placeholders, &gets.attributes_to_get);
      gets.names = std::move(placeholders.names);
    } else {
      gets.projection = request.expression("ProjectionExpression", ExpressionKind::kProjection);
      gets.names = request.names();
    }
    gets.consistent = request.flag("ConsistentRead");
    keys += gets.keys.size();
    all.push_back(std::move(gets));
    if (keys <= limits::kMaxBatchGets && repeats_key(all)) {  // Otherwise it is refused anyway.
      checks.add({ErrorCode::kValidation, "Provided list of item keys contains duplicates", nullptr});
    }
  }
  const auto is_legacy = [](const TableGets& gets) { return !gets.attributes_to_get.empty(); };
  const auto is_modern = [](const TableGets& gets) {
    return gets.attributes_to_get.empty() && !gets.projection.empty();
  };
  if (std::any_of(all.begin(), all.end(), is_legacy) && std::any_of(all.begin(), all.end(), is_modern)) {
    checks.add({ErrorCode::kValidation,
                "Can not use both expression and non-expression parameters in the same request: Non-expression "
                "parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}",
                nullptr});
  }
  if (keys > limits::kMaxBatchGets) {
    checks.add({ErrorCode::kValidation, "Too many items requested for the BatchGetItem call", nullptr});
  }
  const CapacityReport report = capacity_report_of(in);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<BatchGet>(std::move(all), report);
}

Parsed parse_batch_write_item(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  const CapacityReport report = capacity_report_of(in);
  const bool metrics = wants_collection_metrics(in);
  std::vector<Write> writes;
  check_not_empty(in, "BatchWriteItem");
  in.check_table_names("RequestItems");
  for (const auto& [name, requests] : in.lists("RequestItems", {0, limits::kMaxBatchWrites})) {
    for (const Input& request : requests) {
      const auto put = request.structure("PutRequest");
      const auto gone = request.structure("DeleteRequest");
      if (put.has_value() == gone.has_value()) {
        // The service's words for neither and for both.
        checks.add(
            {ErrorCode::kValidation,
             "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
             "datatypes",
             nullptr});
        continue;
      }
      writes.push_back({name, table_name_of(name).value_or(name), put.has_value(),
                        put ? put->item("Item", Need::kRequired) : gone->item("Key", Need::kRequired), false});
    }
  }
  if (writes.size() > limits::kMaxBatchWrites) {
    checks.add({ErrorCode::kValidation, "Too many items requested for the BatchWriteItem call", nullptr});
  }
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<BatchWrite>(std::move(writes), report, metrics);
}

}  // namespace freshet::dynamodb
