// The item store on a DynamoDB-compatible engine across a network: each call of the seam is a request of its protocol.
// docs/engines.md says what works on which engine.
//
// Every call may fail with kUnavailable, kTimeout, kThroughputExceeded or kAccessDenied once its retries are used up
// (caller.h); a write fails with kUnknownOutcome instead if it may have been carried out. Features that the protocol
// lacks are kValidation: books, a ttl in milliseconds, tables of Freshet itself, and changes of tags and of
// point-in-time recovery. Answers to writes have no cost, and sizes are those of the data that was read. Streams are
// not supported yet: the traits say so. A request whose answer is lost is sent again. So only writes that have a
// condition, or that always set the same values, are safe: others may be carried out twice.
//
// Loop thread. Everything that it refers to must outlive it, and it must outlive every Async that it returned.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tables/tables.h"
#include "tables/traits.h"
#include "wire/store/caller.h"
#include "wire/store/known_keys.h"

namespace freshet::remote {

struct RemoteOptions {
  bool transactions = true;  // True if the engine has transactions.
  // GetItem and Query are sent a second time after this long without an answer, and the first answer counts (hedge.h).
  // Empty: never.
  std::optional<milliseconds> hedged_after;
  // Called once a minute while a change of a table waits for the engine to build an index.
  std::function<void(const std::string& table)> on_building{};
};

class RemoteTables final : public Tables {
 public:
  RemoteTables(Caller& caller, Random& random, RemoteOptions options = {});

  const StoreTraits& traits() const override { return traits_; }

  // Each step of these two calls waits until the table shows the change and its indexes are ready. kTimeout after a
  // minute without progress, or ten minutes in all, not counting the time in which indexes are built; the engine may
  // still complete the change. kUnknownOutcome if no answer came and the table does not show the change within 10 s.
  // kLimitExceeded if the ttl was changed within the last hour: Amazon DynamoDB changes it at most once an hour. The
  // ttl is changed last, so everything else has been changed by then.
  //
  // Several daemons may change a table at the same time. alter_table applies only the difference between `definition`
  // and the last result of describe_table, and keeps changes that others have made since then (merge.h). While the
  // engine refuses it because of another change, it retries for about a minute. Without an earlier describe_table it
  // applies the whole definition.
  Async<Result<TableDescription>> create_table(TableDefinition definition) override;
  Async<Result<TableDescription>> alter_table(TableDefinition definition) override;
  // Waits until the table is gone.
  Async<Result<TableDescription>> delete_table(std::string table) override;
  Async<Result<TableDescription>> describe_table(std::string table) override;
  Async<Result<std::vector<std::string>>> list_tables() override;

  Async<Result<WriteOutput>> put_item(PutItemInput input) override;
  Async<Result<WriteOutput>> update_item(UpdateItemInput input) override;
  Async<Result<WriteOutput>> delete_item(DeleteItemInput input) override;
  // Both send one request per write, at most 64 at a time, because the protocol's batches have no conditions.
  Async<std::vector<Result<WriteOutput>>> write_many(std::vector<WriteInput> inputs) override;
  Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) override;
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override;

  Async<Result<ItemRef>> get_item(GetItemInput input) override;
  // Reads in batches. If the engine refuses a batch because of one key, each key of that batch is read on its own.
  Async<std::vector<Result<ReadOutput>>> read_many(std::vector<GetItemInput> inputs) override;
  Async<Result<std::vector<ReadOutput>>> transact_get(std::vector<GetItemInput> inputs) override;
  Async<Result<Page>> query(QueryInput input) override;
  Async<Result<Page>> scan(ScanInput input) override;

  Async<Result<StreamPage>> read_stream(ReadStreamInput input) override;
  Async<Result<StreamBounds>> stream_bounds(std::string table) override;
  Async<Result<Books>> books(std::string table) override;
  Async<Result<void>> durable() override { return Result<void>(); }  // An answered write is durable.

 private:
  Async<Result<WriteOutput>> write(const char* operation, std::string body);
  Async<Result<WriteOutput>> update(UpdateItemInput input);
  Async<Result<WriteOutput>> write_one(WriteInput input);
  Async<Result<WriteOutput>> edit_one(EditItemInput input);
  Async<Result<ReadOutput>> read_one(GetItemInput input);
  // GetItem or Query.
  Async<Result<std::string>> read(std::string operation, std::string body);

  // Repeats BatchGetItem until all keys of the batch are read.
  Async<Result<std::map<std::string, ReadOutput>>> read_batch(GetItemInput like, std::vector<Item> keys,
                                                              KeySchema schema);
  Async<void> read_group(std::vector<GetItemInput>& inputs, std::vector<size_t> group,
                         std::vector<Result<ReadOutput>>& out);
  Async<void> read_alone(std::vector<GetItemInput>& inputs, std::vector<size_t> places,
                         std::vector<Result<ReadOutput>>& out);

  using Shown = std::function<bool(const TableDefinition&)>;
  Async<Result<TableDescription>> describe(std::string table);  // Does not set `seen_`.
  Async<Result<TableDescription>> with_ttl(TableDescription table);
  void forget(const std::string& table);
  Async<Result<void>> make_changes(TableDefinition now, TableDefinition wanted);
  Async<Result<void>> change(const char* operation, std::string body);
  Async<Result<void>> set_ttl(std::string table, std::optional<std::string> now, std::optional<std::string> wanted);
  Async<Result<void>> change_ttl(std::string request, std::string table, Shown shown);
  Async<Result<void>> set_indexes(TableDefinition now, TableDefinition wanted);
  Async<Result<void>> set_settings(TableDefinition now, TableDefinition wanted);
  Async<Result<void>> set_stream(std::string table, std::optional<StreamView> now, std::optional<StreamView> wanted);
  Async<Result<TableDescription>> change_table(const char* operation, std::string body, std::string table, Shown shown);
  Async<Result<std::optional<TableDescription>>> when(std::string table, Shown shown, nanoseconds patience);

  Caller& caller_;
  Random& random_;
  const RemoteOptions options_;
  const StoreTraits traits_;
  KnownKeys keys_;
  std::map<std::string, TableDefinition> seen_;  // By table: the last result of describe_table.
};

}  // namespace freshet::remote
