// Creates tasks, and refuses those that core/admission.h does not admit. Loop thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class Creation : QueuePart {
 public:
  using QueuePart::QueuePart;

  Async<std::vector<Result<CreatedTask>>> create(std::vector<NewTask> tasks);
  // The error if no task can have these members, whatever else it has. Empty: they are valid.
  std::optional<Error> wrong_for_all(const NewTask& members);
  // For KeyedTasks, which writes tasks with a key: the item, the write, and what follows from its answer.
  Result<Item> new_item(NewTask& task, WallTime now);
  PutItemInput put_new(Item item) const;
  void created(const NewTask& task, std::string_view id, WallTime written);

  // Numbers the tasks of one millisecond (layout.h).
  RankSequence& ranks() { return ranks_; }

 private:
  std::vector<Result<CreatedTask>> refuse_wrong(const std::vector<NewTask>& tasks) const;
  void refuse_without_lane(const std::vector<NewTask>& tasks, const Error& why, std::vector<Result<CreatedTask>>& out);
  Async<size_t> create_plain(std::vector<NewTask>& tasks, size_t first, std::vector<Result<CreatedTask>>& out);
  // admission.cc
  std::optional<Error> wrong(const NewTask& task);
  Async<bool> is_there(const NewTask& task);
  Async<TaskRoom> room_taken(const NewTask& task, uint64_t size);
  std::optional<TaskRoom> room_taken_after(const NewTask* before, const NewTask& task, uint64_t size);
  uint64_t stored_size(const NewTask& task);
  Async<TaskRoom> waiting();
  Async<void> refuse_beyond_bound(const std::vector<NewTask>& tasks, std::vector<Result<CreatedTask>>& out);
  Async<uint64_t> waiting_in_lane(std::string lane);
  Async<bool> stands_for(const NewTask& task);
  Async<void> refuse_passed(const std::vector<NewTask>& tasks, std::vector<Result<CreatedTask>>& out);
  Async<Outlook> outlook(const NewTask& task);
  Async<void> refuse_late(const std::vector<NewTask>& tasks, std::vector<Result<CreatedTask>>& out);

  RankSequence ranks_;
};

}  // namespace freshet
