// Executes the steps of jobs that change many tasks at once (bulk_jobs.h). Loop thread.
#pragma once

#include <string>
#include <vector>

#include "functions/queue/bulk_jobs.h"
#include "functions/queue/shell/part.h"

namespace freshet {

class BulkWork : QueuePart {
 public:
  using QueuePart::QueuePart;

  Async<Result<BulkJob>> start_job(BulkInput input, Actor actor);
  BulkJobs& jobs() { return jobs_; }

 private:
  BulkJobs::Desk desk();
  Async<Result<Page>> bulk_page(std::string status, WallTime until, Item start, uint32_t limit);
  Async<Result<std::vector<ItemRef>>> bulk_read(std::vector<std::string> ids);
  Async<std::vector<BulkResult>> bulk_change(const BulkInput& input, std::vector<ItemRef> tasks);
  Async<std::vector<BulkResult>> bulk_edit(BulkInput::Action action, std::vector<ItemRef> tasks);
  Async<std::vector<BulkResult>> bulk_purge(std::vector<ItemRef> tasks);
  Async<std::vector<BulkResult>> bulk_run(std::vector<ItemRef> tasks);
  Async<std::vector<BulkResult>> bulk_duplicate(const BulkInput& input, std::vector<ItemRef> tasks);

  BulkJobs jobs_{services_, log_, table_, desk()};
};

}  // namespace freshet
