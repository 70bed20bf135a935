// SplitTables keeps Freshet's own tables (`freshet.*`: definitions, topics, pauses, logs) in one store, `own`, and
// users' tables in another, `others`. Own tables that several daemons share are in `others`, too, renamed to
// `freshet-*`, because a Freshet behind that store reserves names with the dot. A transaction must be wholly in one of
// the stores. The one exception is a transaction of own tables of which some are shared: it is written in parts, one
// for each run of actions of the same store, in their order. Parts that were written before one that fails stay. Loop
// thread. Both stores outlive it, and it outlives every Async that it returned.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tables/tables.h"
#include "tables/traits.h"

namespace freshet {

// kRefused: tables of `others` are never created, changed or deleted. They and their indexes must exist.
enum class TableChanges { kAllowed, kRefused };

class SplitTables : public Tables {
 public:
  // `shared`: own tables that are in `others`.
  SplitTables(Tables& own, Tables& others, TableChanges changes = TableChanges::kAllowed,
              std::set<std::string> shared = {});

  // The traits of `others`, but for `sole_writer`: that is the own store's, because only the runtime asks for it, about
  // its own tables.
  const StoreTraits& traits() const override { return traits_; }

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
  Async<Result<std::vector<ClosedStream>>> closed_streams() override { return own_.closed_streams(); }
  Async<Result<Books>> books(std::string table) override;
  void doubt_books(const std::string& table) override;
  // Writes to `others` are durable when they are answered.
  Async<Result<void>> durable() override { return own_.durable(); }
  Async<void> lull(BootTime latest) override { return own_.lull(latest); }

 private:
  Async<Result<TableDescription>> if_it_is(TableDefinition wanted);
  struct Part {
    Tables& store;
    TransactWriteInput actions{};
  };
  Async<Result<TransactWriteOutput>> write_in_parts(std::vector<Part> parts);
  bool is_own(const std::string& table) const { return table.starts_with(kOwnTables); }
  // Renames a shared table to its name in `others`.
  Tables& store_of(std::string& table);
  template <class Input, class Output>
  using Many = Async<std::vector<Result<Output>>> (Tables::*)(std::vector<Input>);
  template <class Input, class Output>
  Async<std::vector<Result<Output>>> split(std::vector<Input> inputs, Many<Input, Output> call);
  // Null if they are in both stores.
  template <class Input>
  Tables* store_of_all(std::vector<Input>& inputs);

  static constexpr std::string_view kOwnTables = "freshet.";
  Tables& own_;
  Tables& others_;
  const TableChanges changes_;
  const std::set<std::string> shared_;
  StoreTraits traits_;
};

}  // namespace freshet
