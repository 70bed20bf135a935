// The writes of a queue, with an answer each. A timeout is neither success nor failure: on a store whose answers may be
// lost, whatever became of a write is found out by reading the task (own_write.h). On a store that answers at once this
// adds nothing.
//
// Loop thread. The store and the scheduler outlive it, and it outlives every Async that it returned.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <string>
#include <vector>

#include "base/scheduler.h"
#include "tables/tables.h"

namespace freshet {

class SureWrites {
 public:
  SureWrites(Tables& tables, Scheduler& scheduler);
  SureWrites(const SureWrites&) = delete;
  SureWrites& operator=(const SureWrites&) = delete;

  // As Tables::edit_many(). kUnknownOutcome only after some seconds in which the store told nothing: the write may be
  // carried out until then, and later only if nothing else happens to the task first.
  Async<std::vector<Result<WriteOutput>>> edit(std::vector<EditItemInput> writes);
  Async<std::vector<Result<WriteOutput>>> edit_alike(EditItemInput write, std::vector<ItemRef> seen);
  // Puts of new tasks (`only_new`). kConditionalCheckFailed if another task has the id.
  Async<std::vector<Result<WriteOutput>>> create(std::vector<WriteInput> puts);

 private:
  template <class Input>
  using Call = Async<std::vector<Result<WriteOutput>>> (Tables::*)(std::vector<Input>);
  struct Looked {
    std::vector<size_t> not_done;
    std::vector<size_t> unread;  // The store did not say.
  };
  template <class Input>
  Async<std::vector<Result<WriteOutput>>> write(std::vector<Input> writes, Call<Input> call);
  template <class Input>
  static Looked look(const std::vector<Input>& writes, const std::vector<size_t>& unknown,
                     const std::vector<Result<ReadOutput>>& found, std::vector<Result<WriteOutput>>& answers);
  Async<std::vector<Result<WriteOutput>>> edit_late(std::vector<EditItemInput> writes);
  void remember(const EditItemInput& write, Result<WriteOutput>& answer);

  Tables& tables_;
  Scheduler& scheduler_;
  const bool immediate_;
  // Leases of settlements that ended in kUnknownOutcome: whoever sends one again is told what became of it.
  absl::flat_hash_set<std::string> unknown_;
};

}  // namespace freshet
