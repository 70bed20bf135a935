// The table of a queue: whether it is there and has what a queue needs, and how its indexes are read. Clients may
// delete the table, drop an index or make the table again, at any time. Loop thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class QueueTable : QueuePart {
 public:
  struct Prepared {  // A table that has all that a queue needs.
    TableDefinition definition;
    std::string index;
    std::string id;
  };

  QueueTable(QueueBase& base, QueueParts& parts, Prepared prepared);

  // Checks that the table can be a queue and adds what a queue needs. kResourceNotFound; kValidation naming what is
  // missing.
  static Async<Result<Prepared>> prepare(Services& services, std::string table);
  // At the start: finds the newest time that Freshet itself has given out.
  Async<Result<void>> recover_created();

  // The table as it is since it was created last.
  const TableDefinition& definition() const { return definition_; }
  const std::string& index() const { return index_; }  // (taskStatus, taskCreated).
  const std::string& id() const { return id_; }
  // The reason why the queue has no table at the moment.
  const std::optional<Error>& gone() const { return gone_; }
  // Describes what the queue needs and its table lacks at the moment.
  const std::optional<Error>& broken() const { return broken_; }

  // Finds out whether the table is there, and begins to make again what it lacks. That takes minutes on an engine, so
  // the answer does not wait for it.
  Async<void> look_for_table();
  // Reads a page of the table or an index for a query of the queue's own. If the store finds the query wrong, the index
  // has changed, and it is looked for.
  Async<Result<Page>> read_index(QueryInput input);
  // The tasks with these ids, an answer for each, in their order.
  Async<std::vector<Result<ReadOutput>>> read_tasks(const std::vector<std::string>& ids);
  // Tasks of a status from one end of the index; PENDING ones up to created_bound().
  Async<Result<Page>> heads(std::string_view status, uint32_t limit, bool forward, Item start);
  // Tasks that are dated later are not served yet.
  WallTime created_bound() const;
  Async<Result<WriteOutput>> edit(EditItemInput input, std::string_view end = {});

 private:
  static Result<std::string> status_index(const TableDefinition& definition);
  void tell_core();
  Async<void> mend(TableDescription there);
  Async<void> become_queue_again();
  Async<void> mend_table(TableDescription there);
  Async<Result<TableDescription>> alter(TableDefinition wanted, const std::string& lost);
  Error trouble(const std::string& what) const;
  void cannot_mend(const std::string& what);
  Async<Result<Page>> when_read(Async<Result<Page>> work);
  Result<Page> as_read(Result<Page> page);
  void lose_table(const Error& why);

  TableDefinition definition_;
  std::string index_;
  std::string id_;
  std::optional<Error> gone_;
  std::optional<Error> broken_;
  bool is_mending_ = false;
};

}  // namespace freshet
