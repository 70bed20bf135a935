// Finds the tasks that a take may choose: reads the pages that core/take_choice.h asks for. Loop thread.
#pragma once

#include <string>
#include <vector>

#include "functions/queue/core/take_choice.h"
#include "functions/queue/shell/part.h"

namespace freshet {

class TaskFinder : QueuePart {
 public:
  static constexpr std::string_view kLaneIndex = "freshet-lane-index";

  using QueuePart::QueuePart;

  // The next tasks to take, at most `wanted`. `urgent`: the order was ORDER=deadline when the take began. `start`:
  // FoundTasks::next of the previous call.
  Async<Result<FoundTasks>> candidates(size_t wanted, bool urgent, TaskWalk start,
                                       TakeChoice::Purpose purpose = TakeChoice::Purpose::kTake);
  // True if a take would find something now, expired tasks included.
  Async<Result<bool>> has_work();
  // Reports to the core what the take found. `hungry`: it would have taken more.
  void report_found(const FoundTasks& found, bool hungry);
  // The reason why the task must not be started any more; empty if it may be.
  std::string_view stale(const ItemRef& task) const;

  nanoseconds deadline_margin(bool newest_first, bool last) const;
  // For ORDER=deadline. more_urgent(): the tasks of the lane that come before this one. with_deadline(): those that
  // have a deadline.
  QueryInput more_urgent(const ItemRef& task);
  QueryInput with_deadline(std::string_view lane);
  Async<Result<Page>> lane_heads(std::string lane, uint32_t limit, bool newest_first, Item start);

 private:
  Async<Result<Page>> read(PageAsk ask, bool to_take);
  QueryInput lane_query(std::string lane, uint32_t limit, bool newest_first, Item start) const;
  QueryInput urgent_query(std::string_view lane, const TaskWalk& walk) const;
};

}  // namespace freshet
