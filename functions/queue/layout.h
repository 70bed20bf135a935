// How a queue finds its tasks by state in the indexes of its table (LAYOUT; docs/lifecycle.md, "Layouts"). Pure.
//
// kSample: an index on (taskStatus, taskCreated), which the sample application has, too. Each task is in it, whatever
// its state.
// kFleet: an index on two attributes of Freshet's own. `taskPlace` is the state, and absent once the task is SUCCESS,
// so that the index holds only tasks that may still move: an engine bills each entry that comes or goes. `taskRank` is
// `taskCreated` with a fraction that rises within the millisecond, so tasks of one millisecond have an order, too.
// While a task waits or is held, its `ttl` is in `taskTtl`, which the engine does not know: an engine removes what has
// passed its `ttl` in any state, so a task in work would vanish. Only ended tasks have a `ttl`. A store with prompt TTL
// is Freshet's own, which leaves tasks in work alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "functions/settings.h"
#include "tables/tables.h"
#include "tables/traits.h"

namespace freshet {

// The words of a layout in definitions and queries. In conditions :s is a state, and :t a time in ms.
struct TaskLayout {
  std::string_view partition;
  std::string_view sort;
  std::string_view index;           // The name that a new index gets.
  std::string_view deadline_index;  // Waiting tasks by deadline.
  std::string_view in_state;        // Key condition.
  std::string_view created_by;      // Key condition: in the state, and created at `t` or before.
  std::string_view created_after;   // Key condition: in the state, and created after `t`.
  int64_t bound = 0;                // :t of the last two is the time plus this.
  bool has_places = false;          // True: writes must set `taskPlace`.
  bool hides_ttl = false;           // True: the `ttl` of a task that waits or is held is in `taskTtl`.

  // False if tasks of that state are in no index: only a scan finds them.
  bool indexes(std::string_view status) const;
  // `taskPlace` for that state; empty: none.
  std::string_view place_of(std::string_view status) const;
  // True if the task is not in the place where its state and time belong. A client may have written it.
  bool is_misplaced(const ItemRef& task) const;
  // True if its `taskPlace` is that of its state.
  bool has_its_place(const ItemRef& task) const;
  // True if its rank is not within the millisecond of its `taskCreated`. A task without a time has no rank.
  static bool is_misranked(const ItemRef& task);
  // The name of the ttl of tasks in that state: `ttl` or `taskTtl`.
  std::string_view ttl_name(std::string_view status) const;
  // True if the task's ttl has the name that its state does not have. A client, or a queue of the other layout, wrote
  // it.
  bool has_wrong_ttl(const ItemRef& task) const;
  bool needs_correction(const ItemRef& task) const { return is_misplaced(task) || has_wrong_ttl(task); }
  // Adds the place of a new task, and puts its ttl where it belongs. `number`: see RankSequence.
  void place(Item& task, uint32_t number) const;
  // Adds to a write that changes the state what follows from the new one: the place, the rank if the task has none, and
  // the name of the ttl. A write that sets aside a task without a place gets neither place nor rank, as the task may
  // have no room for them.
  EditItemInput placed(EditItemInput write) const;

 private:
  EditItemInput with_ttl(EditItemInput write, std::string_view to) const;
  EditItemInput with_place(EditItemInput write, std::string_view to) const;
};

// The embedded store has no use for kFleet: an index costs little there, and orders tasks of one millisecond by itself.
// So `wanted` matters only on a store without immediate answers. Static storage.
const TaskLayout& task_layout(Layout wanted, const StoreTraits& traits);
const TaskLayout& sample_layout();

// Numbers the tasks that one writer creates within a millisecond.
class RankSequence {
 public:
  static constexpr uint32_t kMost = 999'999;
  // `created` must not be before that of an earlier call.
  uint32_t next(WallTime created);
  // A task of an earlier run of this writer, or of another one: tasks of the same millisecond come after it.
  void recovered(const ItemRef& task);

 private:
  WallTime last_{};
  uint32_t number_ = 0;
};

}  // namespace freshet
