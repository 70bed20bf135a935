// Tasks with a key: deduplication, and replacement by the latest. docs/lifecycle.md, "Keys".
//
// If tasks of a key replace each other, at most one of them is in work. Meanwhile takes pass over the one that waits.
// The one in work is marked as replaced, so that a failure ends it instead of running it again after the newer one.
// core/keys.h knows which keys wait. Loop thread.
#pragma once

#include <string>
#include <vector>

#include "functions/queue/named_turns.h"
#include "functions/queue/shell/part.h"

namespace freshet {

class KeyedTasks : QueuePart {
 public:
  struct Living {
    ItemRef task;                 // The newest task with the key; null if there is none.
    std::vector<ItemRef> doomed;  // Newer ones that wait but will never start.
  };

  using QueuePart::QueuePart;

  Async<Result<CreatedTask>> create_keyed(NewTask task);
  Async<Result<Living>> living_task(std::string key);
  // Waits until nobody works on the key.
  Async<void> wait_for_key(std::string key) { return turns_.wait(std::move(key)); }
  // Looks again at tasks that the store refused to end.
  Async<void> replace_again();
  // True if the task is in work and a newer one of its key waits for it.
  Async<Result<bool>> must_make_room(ItemRef task);
  // How a claim ends, in the words of the history and of own_write.h. Constants.
  struct EndOfClaim {
    std::string_view history;
    std::string_view end;
  };
  Async<Result<WriteOutput>> end_replaced(ItemRef task, Outcome outcome, EndOfClaim how, std::string error);
  // A take found tasks that were marked as replaced. True if one of them does not end.
  Async<bool> end_marked(std::vector<ItemRef> tasks);
  // Call it before an ended task is redriven: the task is no longer to be replaced, even if that was still pending.
  void redrives(const ItemRef& task);
  // Work on the key is over: a task of it may be taken.
  void key_freed(std::string_view key);

 private:
  class KeyGuard;

  Async<Result<Page>> living_page(std::string key, Item start);
  std::string_view doom_of(const ItemRef& task);
  Async<void> shed_doomed(std::vector<ItemRef> tasks);
  Async<void> replace_waiting(std::string key, std::string by, bool again);
  Async<Replaced> replace_page(Page page, Unreplaced& left);
  Async<Result<bool>> is_left(std::string id);

  NamedTurns turns_{services_.scheduler};  // Only one coroutine at a time works on a key.
};

}  // namespace freshet
