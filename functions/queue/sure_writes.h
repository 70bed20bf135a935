// Sends the writes of a queue and finds out what became of each. On a store without immediate answers a timeout is
// neither success nor failure: this reads the task then (own_write.h), and sends the write again if it was not carried
// out. On the embedded store it only passes calls on.
//
// Loop thread. The store and the scheduler outlive it, and it outlives every Async that it returned.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"
#include "tables/tables.h"

namespace freshet {

class SureWrites {
 public:
  static constexpr milliseconds kPatience{3000};
  static constexpr milliseconds kHurry{1000};  // For work that others wait behind, and that comes again anyway.

  // `writer` names this life of the daemon: no other has ever had that name.
  SureWrites(Tables& tables, Scheduler& scheduler, std::string writer);
  SureWrites(const SureWrites&) = delete;
  SureWrites& operator=(const SureWrites&) = delete;

  // True if the store loses no answer: then there are no marks in its tasks.
  bool is_immediate() const { return immediate_; }

  // How the writes end claims (end_of_claim), by their places; may be empty. Static storage.
  using Ends = std::vector<std::string_view>;

  // As Tables::edit_many(), and kUnknownOutcome if the task does not tell what became of the write, or if the store has
  // not said so within `patience` after its first answer. A call that is under way at that time is waited for. Such a
  // write may still be carried out, as long as nothing else happens to the task.
  Async<std::vector<Result<WriteOutput>>> edit(std::vector<EditItemInput> writes, Ends ends = {},
                                               milliseconds patience = kPatience);
  Async<std::vector<Result<WriteOutput>>> edit_alike(EditItemInput write, std::vector<ItemRef> seen);
  // The claims of a take. Once one is known to be done, it looks for the others for kHurry at most: the lease of that
  // one has begun.
  Async<std::vector<Result<WriteOutput>>> claim(std::vector<EditItemInput> writes, milliseconds patience);
  // Puts of new tasks (`only_new`). kConditionalCheckFailed if there is a task with that id already.
  Async<std::vector<Result<WriteOutput>>> create(std::vector<WriteInput> puts);

 private:
  template <class Input>
  using Call = Async<std::vector<Result<WriteOutput>>> (Tables::*)(std::vector<Input>);
  struct Looked {
    std::vector<size_t> not_done;
    std::vector<size_t> unread;  // The store did not say.
  };
  struct Limits {
    milliseconds patience;
    bool hurries_once_one_is_done = false;
  };
  template <class Input>
  Async<std::vector<Result<WriteOutput>>> write(std::vector<Input> writes, Call<Input> call, Limits limits);
  template <class Input>
  static Looked look(const std::vector<Input>& writes, const std::vector<size_t>& unknown,
                     const std::vector<Result<ReadOutput>>& found, std::vector<Result<WriteOutput>>& answers);
  Async<std::vector<Result<WriteOutput>>> edit_late(std::vector<EditItemInput> writes, Ends ends, Limits limits);
  std::string token() { return writer_ + std::to_string(++number_); }

  Tables& tables_;
  Scheduler& scheduler_;
  const bool immediate_;
  const std::string writer_;
  uint64_t number_ = 0;  // Number of the last token.
};

}  // namespace freshet
