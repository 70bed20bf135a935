// Gives tasks that clients put what they lack (core/adopter.h): when the stream shows them. Older tasks, from before
// the queue followed its stream or had lanes, are adopted in the background, newest first. Also stores the names of
// lanes. Loop thread.
#pragma once

#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class Adoption : QueuePart {
 public:
  using QueuePart::QueuePart;

  bool needs_adoption(const ItemRef& task) const;
  // True if there is more to take now.
  Async<bool> adopt(std::vector<ItemRef> tasks);
  // Goes through all waiting and held tasks.
  Async<void> adopt_all();
  // Goes through the whole table for tasks that are in no index, in a wrong place of it, or have their ttl under the
  // wrong name (layout.h). Such tasks were written by clients, or are from before the queue had this layout. Sheds the
  // waiting tasks whose ttl has passed.
  // True if it shed any, or if one can be taken now.
  Async<bool> adopt_misplaced();
  Async<void> search_again();  // The same.
  // Puts tasks that are in a wrong place, or in none, into theirs (layout.h).
  Async<void> place(std::vector<ItemRef> tasks);
  Async<void> give_times(std::vector<EditItemInput> edits);

  // At the start: reads the names of lanes that were stored.
  Async<Result<void>> load_lanes();
  // Stores the names before a task uses them. If there is not room for all, the first ones are stored, and the answer
  // is an error.
  Async<Result<void>> add_lanes(std::vector<std::string> names);
  // A task became PENDING.
  void lane_filled(const ItemRef& task);
  // Checks lanes that seem empty, in case an event was missed.
  Async<void> check_lanes();

 private:
  Async<bool> give_places(std::vector<ItemRef> tasks);
  Async<void> adopt_one(ItemRef task);
  std::vector<EditItemInput> times_for_new(const std::vector<ItemRef>& tasks) const;
};

}  // namespace freshet
