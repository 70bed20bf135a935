// The item store on a DynamoDB-compatible engine across a network: each call of the seam is a request of its protocol.
// docs/engines.md says what works on which engine.
//
// Every call may fail with kUnavailable, kTimeout, kThroughputExceeded or kAccessDenied after it was repeated in vain
// (caller.h); writes instead with kUnknownOutcome if one may have been carried out. What the protocol has no words for
// is kValidation: books, a ttl in milliseconds, tables of Freshet itself, and changes of tags and of point-in-time
// recovery. Answers of writes have no cost; sizes are
// of what was read. Streams are not read yet: the traits say so. A request whose answer is lost is sent again, so only
// writes with a condition, or of the same value, are safe: others may be carried out twice.
//
// Loop thread. What it refers to outlives it; it outlives every Async that it returned.
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
  bool transactions = true;  // The engine has them.
  // GetItem and Query are sent again if they are not answered for so long, and the first answer counts (hedge.h).
  // Empty: never.
  std::optional<milliseconds> hedged_after;
  // Called each minute while a change of a table waits for an index that the engine builds.
  std::function<void(const std::string& table)> on_building{};
};

class RemoteTables final : public Tables {
 public:
  RemoteTables(Caller& caller, Random& random, RemoteOptions options = {});

  const StoreTraits& traits() const override { return traits_; }

  // Each step of these waits until the table shows it, with its indexes ready. kTimeout after a minute in which nothing
  // happens, or ten in all, beside the time in which indexes are built; kUnknownOutcome if no answer came and the table
  // does not show the change within 10 s. The engine goes on. kLimitExceeded for a ttl that was changed within the last
  // hour: Amazon DynamoDB changes it once an hour. The ttl is changed last, so all else is as wanted then.
  //
  // Several daemons may change a table at the same time. alter_table makes the difference between the definition and
  // what describe_table answered last, leaves what others changed since then (merge.h), and waits for about a minute
  // while the engine refuses it because of another change. Without a describe_table before it, it makes the definition
  // as it is given.
  Async<Result<TableDescription>> create_table(TableDefinition definition) override;
  Async<Result<TableDescription>> alter_table(TableDefinition definition) override;
  // Waits until it is gone.
  Async<Result<TableDescription>> delete_table(std::string table) override;
  Async<Result<TableDescription>> describe_table(std::string table) override;
  Async<Result<std::vector<std::string>>> list_tables() override;

  Async<Result<WriteOutput>> put_item(PutItemInput input) override;
  Async<Result<WriteOutput>> update_item(UpdateItemInput input) override;
  Async<Result<WriteOutput>> delete_item(DeleteItemInput input) override;
  // Many requests, 64 under way at a time: the protocol's batches have no conditions.
  Async<std::vector<Result<WriteOutput>>> write_many(std::vector<WriteInput> inputs) override;
  Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) override;
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override;

  Async<Result<ItemRef>> get_item(GetItemInput input) override;
  // In batches. If the engine refuses one for the sake of a key, each of its keys is read by itself.
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
  Async<Result<WriteOutput>> write_one(WriteInput input);
  Async<Result<WriteOutput>> edit_one(EditItemInput input);
  Async<Result<ReadOutput>> read_one(GetItemInput input);
  // GetItem or Query.
  Async<Result<std::string>> read(std::string operation, std::string body);

  // One BatchGetItem after the other, until all keys of the batch are read.
  Async<Result<std::map<std::string, ReadOutput>>> read_batch(GetItemInput like, std::vector<Item> keys,
                                                              KeySchema schema);
  Async<void> read_group(std::vector<GetItemInput>& inputs, std::vector<size_t> group,
                         std::vector<Result<ReadOutput>>& out);
  Async<void> read_alone(std::vector<GetItemInput>& inputs, std::vector<size_t> places,
                         std::vector<Result<ReadOutput>>& out);

  Async<Result<TableDescription>> describe(std::string table);  // Not remembered as seen.
  void forget(const std::string& table);
  Async<Result<void>> make_changes(TableDefinition now, TableDefinition wanted);
  Async<Result<void>> change(const char* operation, std::string body);
  Async<Result<void>> set_ttl(std::string table, std::optional<std::string> now, std::optional<std::string> wanted);
  Async<Result<void>> set_indexes(TableDefinition now, TableDefinition wanted);
  Async<Result<void>> set_settings(TableDefinition now, TableDefinition wanted);
  Async<Result<void>> set_stream(std::string table, std::optional<StreamView> now, std::optional<StreamView> wanted);
  using Shown = std::function<bool(const TableDefinition&)>;
  Async<Result<TableDescription>> change_table(const char* operation, std::string body, std::string table, Shown shown);
  Async<Result<std::optional<TableDescription>>> when(std::string table, Shown shown, nanoseconds patience);

  Caller& caller_;
  Random& random_;
  const RemoteOptions options_;
  const StoreTraits traits_;
  KnownKeys keys_;
  std::map<std::string, TableDefinition> seen_;  // By table: what describe_table answered last.
};

}  // namespace freshet::remote
