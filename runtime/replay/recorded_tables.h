// The store for a replay's functions: the real one, with a line in the journal for every write.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/replay/journal.h"
#include "tables/tables.h"

namespace freshet {

// Loop thread. The tables, which answer at once (the embedded store), and the journal outlive it.
class RecordedTables final : public Tables {
 public:
  RecordedTables(Tables& tables, Journal& journal) : tables_(tables), journal_(journal) {}

  const StoreTraits& traits() const override { return tables_.traits(); }
  Async<Result<TableDescription>> create_table(TableDefinition definition) override;
  Async<Result<TableDescription>> describe_table(std::string table) override;
  Async<Result<TableDescription>> delete_table(std::string table) override;
  Async<Result<TableDescription>> alter_table(TableDefinition definition) override;
  Async<Result<std::vector<std::string>>> list_tables() override;
  Async<Result<WriteOutput>> put_item(PutItemInput input) override;
  Async<Result<WriteOutput>> update_item(UpdateItemInput input) override;
  Async<Result<WriteOutput>> delete_item(DeleteItemInput input) override;
  Async<std::vector<Result<WriteOutput>>> write_many(std::vector<WriteInput> inputs) override;
  Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) override;
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override;
  Async<Result<ItemRef>> get_item(GetItemInput input) override;
  Async<std::vector<Result<ReadOutput>>> read_many(std::vector<GetItemInput> inputs) override;
  Async<Result<std::vector<ReadOutput>>> transact_get(std::vector<GetItemInput> inputs) override;
  Async<Result<Page>> query(QueryInput input) override;
  Async<Result<Page>> scan(ScanInput input) override;
  Async<Result<StreamPage>> read_stream(ReadStreamInput input) override;
  Async<Result<StreamBounds>> stream_bounds(std::string table) override;
  Async<Result<Books>> books(std::string table) override;
  Async<Result<void>> durable() override;

 private:
  // A write before it is carried out: its key, and the item as it was.
  struct Pending {
    std::string_view operation;
    std::string table;
    Item keys;
    Item before;
    bool system = false;  // True for Freshet's own tables, which are not in the journal.
  };
  Pending begin(const WriteInput& input);
  Pending begin(std::string_view operation, const std::string& table, const Item& item);
  void finish(const Pending& pending, const Error* error);
  Item look(const std::string& table, const Item& keys);
  template <class Input>
  Async<Result<WriteOutput>> write_one(Input input, Async<Result<WriteOutput>> (Tables::*operation)(Input));

  Tables& tables_;
  Journal& journal_;
  std::map<std::string, TableDefinition> definitions_;
};

}  // namespace freshet
