// Sends the writes of a queue and finds out what became of each. On a store without immediate answers a timeout is
// neither success nor failure. This class then reads the task (own_write.h), and sends the write again if it was not
// carried out. It also keeps each task in its place (layout.h). On the embedded store it only passes calls on.
//
// Loop thread. The store and the scheduler outlive it, and it outlives every Async that it returned.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"
#include "functions/queue/layout.h"
#include "tables/tables.h"

namespace freshet {

class SureWrites {
 public:
  static constexpr milliseconds kPatience{3000};
  static constexpr milliseconds kHurry{1000};  // For work that blocks other work and is repeated later anyway.

  // `writer` is a name that is unique to this run of the daemon. `layout` has static storage.
  SureWrites(Tables& tables, Scheduler& scheduler, std::string writer, const TaskLayout& layout = sample_layout());
  SureWrites(const SureWrites&) = delete;
  SureWrites& operator=(const SureWrites&) = delete;

  // True if the store never loses an answer; tasks then have no marks.
  bool is_immediate() const { return immediate_; }

  // How each write ends a claim (end_of_claim), by index; may be empty. Static storage.
  using Ends = std::vector<std::string_view>;

  // As Tables::edit_many(). Also kUnknownOutcome, if the task does not tell what became of the write, or the store does
  // not say within `patience` after its first answer (a call that is under way then is still awaited). Such a write may
  // still be carried out later, unless the task changes before.
  Async<std::vector<Result<WriteOutput>>> edit(std::vector<EditItemInput> writes, Ends ends = {},
                                               milliseconds patience = kPatience);
  Async<std::vector<Result<WriteOutput>>> edit_alike(EditItemInput write, std::vector<ItemRef> seen);
  // The claims of a take. Once one of them is known to have succeeded, its lease is running, so the others are awaited
  // for at most kHurry.
  Async<std::vector<Result<WriteOutput>>> claim(std::vector<EditItemInput> writes, milliseconds patience);
  // Puts of new tasks (`only_new`). kConditionalCheckFailed if there is a task with that id already.
  Async<std::vector<Result<WriteOutput>>> create(std::vector<WriteInput> puts);

 private:
  template <class Input>
  using Call = Async<std::vector<Result<WriteOutput>>> (Tables::*)(std::vector<Input>);
  struct Looked {
    std::vector<size_t> not_done;
    std::vector<size_t> unread;  // Those whose tasks could not be read.
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
  const TaskLayout& layout_;
  uint64_t number_ = 0;  // Number of the last token.
};

}  // namespace freshet
