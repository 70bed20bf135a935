// The table of a queue: checks that it exists and has what a queue needs, and reads its indexes. Clients may delete or
// recreate the table, or drop an index, at any time. Loop thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class QueueTable : QueuePart {
 public:
  struct Prepared {  // A table with everything that a queue needs.
    TableDefinition definition;
    std::string index;
    std::string id;
  };

  QueueTable(QueueBase& base, QueueParts& parts, Prepared prepared);

  // Checks that the table can be a queue and adds what a queue needs. Errors: kResourceNotFound; kValidation, which
  // names what is missing.
  static Async<Result<Prepared>> prepare(Services& services, EventLog log, std::string table, Layout layout);
  // At startup: finds the newest creation time that Freshet gave to a task.
  Async<Result<void>> recover_created();

  // The definition of the current table.
  const TableDefinition& definition() const { return definition_; }
  const std::string& index() const { return index_; }  // The tasks by state and age (layout.h).
  const std::string& id() const { return id_; }
  // The reason why the queue has no table at the moment.
  const std::optional<Error>& gone() const { return gone_; }
  // Describes what the queue needs and its table currently lacks.
  const std::optional<Error>& broken() const { return broken_; }

  // Checks that the table exists, and begins to restore what it lacks. That takes minutes on an engine, so the answer
  // does not wait for it.
  Async<void> look_for_table();
  // Reads a page for one of the queue's own queries. If the store refuses the query as invalid, the index has changed,
  // and is looked for.
  Async<Result<Page>> read_index(QueryInput input);
  // The same, but the tasks may have only those attributes that the index has (queue_index() in table.cc), and no task
  // is read from the table.
  Async<Result<Page>> read_places(QueryInput input);
  // Reads the tasks with these ids; an answer for each, in the same order.
  Async<std::vector<Result<ReadOutput>>> read_tasks(const std::vector<std::string>& ids);
  // A query of the tasks in a state, by age.
  QueryInput in_state(std::string_view status) const;
  // The same for those created at `until` or before, and for those created after it.
  QueryInput created_by(std::string_view status, WallTime until) const;
  QueryInput created_after(std::string_view status, WallTime until) const;
  // Reads a page of a query by in_state() or created_by(). If the index does not have the tasks of that state, it
  // scans: then tasks come in no order, and a page may have more tasks than its limit, or none before the last one.
  Async<Result<Page>> read_state(QueryInput query);
  // Reads tasks of a status from one end of the index; PENDING ones up to created_bound().
  Async<Result<Page>> heads(std::string_view status, uint32_t limit, bool forward, Item start);
  // The same for a take of PENDING tasks. On an engine it may use the page of a take of a moment ago, and then lack
  // what others have put since.
  Async<Result<Page>> next_to_take(uint32_t limit, bool forward, Item start);
  // True for the first takes: the indexes may still show tasks that the queue's former owner has taken at its end, and
  // each of them would be tried once. Their queries set `current_items`. Tasks that it has created or given back at its
  // end may be missed until the indexes show them.
  bool may_follow_another();
  // Tasks that are dated later than this are not served yet.
  WallTime created_bound() const;
  Async<Result<WriteOutput>> edit(EditItemInput input, std::string_view end = {});

 private:
  static Result<std::string> state_index(const TableDefinition& definition, const TaskLayout& layout,
                                         const StoreTraits& traits);
  bool is_narrow(const std::string& index) const;
  void update_core();
  Async<void> mend(TableDescription there);
  Async<void> become_queue_again();
  Async<void> mend_table(TableDescription there);
  Async<Result<TableDescription>> alter(TableDefinition wanted, const std::string& lost);
  Error trouble(const std::string& what) const;
  void cannot_mend(const std::string& what);
  Async<Result<Page>> shared_heads(uint32_t limit, bool forward, Item start);
  Async<void> look_soon();
  Async<Result<Page>> in_place(Async<Result<Page>> reading);
  Async<Result<Page>> scan_state(QueryInput query);
  bool may_place(const ItemRef& task);
  Async<Result<Page>> when_read(Async<Result<Page>> work);
  Result<Page> as_read(Result<Page> page);
  void lose_table(const Error& why);

  TableDefinition definition_;
  std::string index_;
  std::string id_;
  std::optional<Error> gone_;
  std::optional<Error> broken_;
  bool is_mending_ = false;
  bool looks_soon_ = false;
  std::optional<BootTime> first_take_;
  BootTime placing_swept_{};
  std::map<std::string, BootTime> placing_;  // By task: when it may be written again to get its place.
};

}  // namespace freshet
