// What a store should hold, as plain maps: the oracle of the crash test.
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

// What is applied at once: the writes of a transaction, or a table made or dropped.
struct ModelOperation {
  std::vector<ModelWrite> writes;
  std::optional<TableDefinition> created;
  std::string dropped;
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
  std::vector<ModelRecord> stream;  // The first has sequence 1.
};

class StoreModel {
 public:
  void apply(const ModelOperation& operation);
  const ModelRow* find(const std::string& table, const Item& key) const;
  const std::map<std::string, ModelTable>& tables() const { return tables_; }

  // Items, indexes in their order, books and stream ends as text; the same of a store.
  std::string describe() const;
  static std::string describe(Tables& store);
  // Change records made so far by table, as the streams of a store tell it: a cheap first comparison.
  std::map<std::string, uint64_t> changes() const;
  static std::map<std::string, uint64_t> changes(Tables& store);
  // Empty if what the store's streams hold is what they should; else what is wrong.
  std::string check_streams(Tables& store) const;

 private:
  void apply(const ModelWrite& write);

  std::map<std::string, ModelTable> tables_;
  uint64_t next_creation_ = 1;
};

}  // namespace freshet
