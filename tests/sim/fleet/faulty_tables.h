// The store of a simulated engine: it throttles, fails before or after a write, does not answer, writes late, and its
// indexes lag. Freshet's own tables are spared, as its own daemon needs them. Loop thread; everything that it refers to
// outlives it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/fleet/engine_faults.h"
#include "tests/sim/fleet/lagging_indexes.h"

namespace freshet::fleet_sim {

class FaultyTables final : public Tables {
 public:
  // `store` answers at once.
  FaultyTables(Tables& store, Loop& loop, EngineFaults& faults);

  const StoreTraits& traits() const override { return store_.traits(); }
  Async<Result<TableDescription>> create_table(TableDefinition definition) override;
  Async<Result<TableDescription>> describe_table(std::string table) override { return store_.describe_table(table); }
  Async<Result<TableDescription>> delete_table(std::string table) override;
  Async<Result<TableDescription>> alter_table(TableDefinition definition) override;
  Async<Result<std::vector<std::string>>> list_tables() override { return store_.list_tables(); }
  Async<Result<WriteOutput>> put_item(PutItemInput input) override;
  Async<Result<WriteOutput>> update_item(UpdateItemInput input) override;
  Async<Result<WriteOutput>> delete_item(DeleteItemInput input) override;
  Async<std::vector<Result<WriteOutput>>> write_many(std::vector<WriteInput> inputs) override;
  Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) override {
    return store_.edit_many(std::move(inputs));  // Only of the engine's own daemon.
  }
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override;
  Async<Result<ItemRef>> get_item(GetItemInput input) override;
  Async<std::vector<Result<ReadOutput>>> read_many(std::vector<GetItemInput> inputs) override;
  Async<Result<std::vector<ReadOutput>>> transact_get(std::vector<GetItemInput> inputs) override {
    return store_.transact_get(std::move(inputs));
  }
  Async<Result<Page>> query(QueryInput input) override;
  Async<Result<Page>> scan(ScanInput input) override;
  Async<Result<StreamPage>> read_stream(ReadStreamInput input) override { return store_.read_stream(std::move(input)); }
  Async<Result<StreamBounds>> stream_bounds(std::string table) override { return store_.stream_bounds(table); }
  Async<Result<std::vector<ClosedStream>>> closed_streams() override { return store_.closed_streams(); }
  Async<Result<Books>> books(std::string table) override { return store_.books(table); }
  Backups* backups() override { return store_.backups(); }
  Async<Result<void>> durable() override { return store_.durable(); }
  Async<void> lull(BootTime latest) override { return store_.lull(latest); }

 private:
  struct Key {
    std::string table;
    Item key;
  };
  template <class Answer, class Input>
  using Call = Async<Answer> (Tables::*)(Input);

  template <class Answer, class Input>
  Answer carry_out(Input input, Call<Answer, Input> call);
  template <class Answer, class Input>
  Async<Answer> write(const std::string& table, Input input, Call<Answer, Input> call);
  template <class Answer, class Input>
  Async<Answer> faulty_write(Input input, Call<Answer, Input> call, EngineFaults::Fault fault);
  template <class Answer, class Input>
  Async<void> write_late(Input input, Call<Answer, Input> call, milliseconds after);
  template <class Answer, class Input>
  Async<Answer> read(Tables& from, Input input, Call<Answer, Input> call, bool is_spared);
  Tables& place_of(const std::string& table, const std::string& index);
  Async<Result<TableDescription>> after_change(std::string table, Async<Result<TableDescription>> done);
  Key key_of(const WriteInput& write);
  const KeySchema& keys_of(const std::string& table);

  Tables& store_;
  Loop& loop_;
  EngineFaults& faults_;
  std::optional<LaggingIndexes> indexes_;
  std::map<std::string, KeySchema> keys_;
  Scope scope_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet::fleet_sim
