// The expected content of a store, as plain maps: the oracle of the crash test.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tables/tables.h"

namespace freshet {

struct ModelWrite {
  std::string table;
  Item key;
  std::optional<Item> after;  // Empty: deleted.
  Cause cause = Cause::kClient;
};

// An operation that is applied at once: the writes of a transaction, or a table made, dropped or given another stream.
struct ModelOperation {
  std::vector<ModelWrite> writes;
  std::optional<TableDefinition> created;
  std::string dropped;
  std::optional<TableDefinition> altered;
};

struct ModelRow {
  Item item;
  uint64_t creation = 0;
};

struct ModelRecord {
  ChangeRecord::Kind kind = ChangeRecord::Kind::kInsert;
  Item keys;
  Item before;
  Item after;
  bool by_ttl = false;
};

struct ModelTable {
  TableDefinition definition;
  std::map<std::string, ModelRow> rows;  // By the key's JSON.
  Books books;
  std::vector<ModelRecord> stream;  // The first has sequence 1; those of streams before this one, too.
};

// A stream that its table has no more.
struct ModelClosedStream {
  std::string table;
  StreamView view = StreamView::kKeysOnly;
  std::vector<ModelRecord> records;
};

class StoreModel {
 public:
  void apply(const ModelOperation& operation);
  const ModelRow* find(const std::string& table, const Item& key) const;
  const std::map<std::string, ModelTable>& tables() const { return tables_; }

  // Items, indexes in their order, books, streams and their ends as text; the same of a store.
  std::string describe() const;
  static std::string describe(Tables& store);
  // Change records made so far by table, as the streams of a store tell it: a cheap first comparison.
  std::map<std::string, uint64_t> changes() const;
  static std::map<std::string, uint64_t> changes(Tables& store);
  // Empty if what the store's streams hold, closed ones too, is what they should; else what is wrong.
  std::string check_streams(Tables& store) const;

 private:
  void apply(const ModelWrite& write);
  void close_stream(const std::string& table);

  std::map<std::string, ModelTable> tables_;
  std::vector<ModelClosedStream> closed_;  // By table, then in the order in which they were closed.
  uint64_t next_creation_ = 1;
};

}  // namespace freshet
