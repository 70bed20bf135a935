// A store, over any other, that answers late and in random order: each call takes effect at a random point of simulated
// time and is answered at a later one, independently of all other calls. Code that works on it also works on a remote
// store. Seeded: the same seed and calls give the same order. Loop thread.
#pragma once

#include <optional>

#include "base/random.h"
#include "base/scheduler.h"
#include "tables/tables.h"
#include "tables/traits.h"

namespace freshet {

class LateTables final : public Tables {
 public:
  // Request and answer each take from 0 to `most`. All references outlive this.
  LateTables(Tables& tables, Scheduler& scheduler, uint64_t seed, milliseconds most = milliseconds(10))
      : tables_(tables), scheduler_(scheduler), random_(seed), most_(most), traits_(tables.traits()) {
    traits_.immediate = false;
  }

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
  // Uses expressions, as on a store that knows only these.
  Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) override;
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override;
  Async<Result<ItemRef>> get_item(GetItemInput input) override;
  Async<std::vector<Result<ReadOutput>>> read_many(std::vector<GetItemInput> inputs) override;
  Async<Result<std::vector<ReadOutput>>> transact_get(std::vector<GetItemInput> inputs) override;
  Async<Result<Page>> query(QueryInput input) override;
  Async<Result<Page>> scan(ScanInput input) override;
  Async<Result<StreamPage>> read_stream(ReadStreamInput input) override;
  Async<Result<StreamBounds>> stream_bounds(std::string table) override;
  Async<Result<std::vector<ClosedStream>>> closed_streams() override;
  Async<Result<Books>> books(std::string table) override;
  Async<Result<void>> durable() override;

  // From now on, durable() takes `more` longer.
  void delay_durable(milliseconds more) { durable_takes_ = more; }

  // From now on edits fail with `why` and change nothing, except the next `first` ones; null ends this.
  void refuse_edits(std::optional<Error> why, size_t first = 0) {
    refusal_ = std::move(why);
    still_edited_ = first;
  }

  uint64_t calls() const { return calls_; }

 private:
  nanoseconds delay();
  Async<Result<PutItemInput>> spelled_out(PutItemInput put);
  template <class Answer, class Input>
  Async<Answer> late(Async<Answer> (Tables::*call)(Input), Input input);
  template <class Answer>
  Async<Answer> late(Async<Answer> (Tables::*call)());

  Tables& tables_;
  Scheduler& scheduler_;
  Random random_;
  const milliseconds most_;
  StoreTraits traits_;
  milliseconds durable_takes_{0};
  std::optional<Error> refusal_;
  size_t still_edited_ = 0;  // The number of edits that still succeed while there is a refusal.
  uint64_t calls_ = 0;
};

}  // namespace freshet
