// Gives tasks that clients put what they lack (core/adopter.h): when the stream shows them, or in the background,
// newest first, if they were there before the queue followed its stream or had lanes. Stores the names of lanes, too.
// Loop thread.
#pragma once

#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class Adoption : QueuePart {
 public:
  using QueuePart::QueuePart;

  bool needs_adoption(const ItemRef& task) const;
  // True if some got what they lacked.
  Async<bool> adopt(std::vector<ItemRef> tasks);
  // Goes through all tasks that wait or are held.
  Async<void> adopt_all();
  Async<void> give_times(std::vector<EditItemInput> edits);

  // At the start: reads the names of lanes that were stored.
  Async<Result<void>> load_lanes();
  // Makes the names known before a task uses them. If there is no room for all of them, the first are known all the
  // same, and the answer is an error.
  Async<Result<void>> add_lanes(std::vector<std::string> names);
  // A task became PENDING.
  void lane_filled(const ItemRef& task);
  // Looks at lanes that are thought to be empty, whatever told so: a level, not an edge.
  Async<void> check_lanes();

 private:
  Async<void> adopt_one(ItemRef task);
  std::vector<EditItemInput> times_for_new(const std::vector<ItemRef>& tasks) const;
};

}  // namespace freshet
