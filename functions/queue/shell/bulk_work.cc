#include "functions/queue/shell/bulk_work.h"

#include <fmt/format.h>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/copies.h"
#include "functions/queue/served_elsewhere.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

BulkResult result_of(const Result<WriteOutput>& answer) {
  if (answer) return {};
  if (answer.error().code == ErrorCode::kConditionalCheckFailed) return {BulkResult::What::kMoved, {}};
  return {BulkResult::What::kFailed, answer.error().message};
}

// On a store without immediate answers the delete can be late. It must not delete a task that has moved since then
// (own_write.h).
void unless_written(DeleteItemInput& gone, const ItemRef& task) {
  for (const auto& [name, place] : {std::pair(attribute::kLastWrite, ":w"), std::pair(attribute::kBorn, ":b")}) {
    const auto mark = task.find(name);
    gone.condition +=
        mark ? fmt::format(" AND {} = {}", name, place) : fmt::format(" AND attribute_not_exists({})", name);
    if (mark) gone.placeholders.values.set(place, mark->decode());
  }
}

}  // namespace

BulkJobs::Desk BulkWork::desk() {
  return {[this](std::string status, WallTime until, Item start, uint32_t limit) {
            return bulk_page(std::move(status), until, std::move(start), limit);
          },
          [this](std::vector<std::string> ids) { return bulk_read(std::move(ids)); },
          [this](const BulkInput& input, std::vector<ItemRef> tasks) { return bulk_change(input, std::move(tasks)); }};
}

Async<Result<BulkJob>> BulkWork::start_job(BulkInput input, Actor actor) {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
  if (core_.agenda.given_up()) co_return fail(served_elsewhere(table_));
  if (core_.agenda.draining())
    co_return fail(ErrorCode::kUnavailable, "queue '" + table_ + "': the daemon is stopping");
  if (!input.changes.members.empty()) {
    if (auto wrong = parts_.creation.wrong_for_all(input.changes.to)) co_return fail(std::move(*wrong));
  }
  auto begun = co_await jobs_.start(std::move(input), std::move(actor));
  co_return begun;
}

Async<Result<Page>> BulkWork::bulk_page(std::string status, WallTime until, Item start, uint32_t limit) {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
  QueryInput query = parts_.table.created_by(status, until);
  query.limit = limit;
  query.exclusive_start_key = std::move(start);
  auto page = co_await parts_.table.read_state(std::move(query));
  co_return page;
}

Async<Result<std::vector<ItemRef>>> BulkWork::bulk_read(std::vector<std::string> ids) {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
  auto answers = co_await parts_.table.read_tasks(ids);
  std::vector<ItemRef> out;
  for (auto& answer : answers) {
    if (!answer) co_return fail(answer.error());
    if (answer->item) out.push_back(std::move(answer->item));
  }
  co_return out;
}

Async<std::vector<BulkResult>> BulkWork::bulk_change(const BulkInput& input, std::vector<ItemRef> tasks) {
  switch (input.action) {
    case BulkInput::Action::kPurge:
      co_return co_await bulk_purge(std::move(tasks));
    case BulkInput::Action::kRun:
      co_return co_await bulk_run(std::move(tasks));
    case BulkInput::Action::kDuplicate:
      co_return co_await bulk_duplicate(input, std::move(tasks));
    case BulkInput::Action::kCancel:
    case BulkInput::Action::kRedrive:
      break;
  }
  co_return co_await bulk_edit(input.action, std::move(tasks));
}

Async<std::vector<BulkResult>> BulkWork::bulk_run(std::vector<ItemRef> tasks) {
  const auto answers = co_await parts_.promotion.make_due(std::move(tasks), SureWrites::kPatience);
  std::vector<BulkResult> out;
  for (const auto& answer : answers) {
    if (answer) FRESHET_REACHED("a delayed task run by a job");
    out.push_back(result_of(answer));
  }
  co_return out;
}

// A copy is a new task in every respect, so it is admitted or refused like one.
Async<std::vector<BulkResult>> BulkWork::bulk_duplicate(const BulkInput& input, std::vector<ItemRef> tasks) {
  std::vector<NewTask> copies;
  copies.reserve(tasks.size());
  for (const auto& task : tasks) copies.push_back(copy_of(task, input.batch, input.changes, !sure_.is_immediate()));
  const auto created = co_await parts_.creation.create(std::move(copies));
  std::vector<BulkResult> out;
  for (const auto& one : created) {
    if (!one) {
      out.push_back({BulkResult::What::kFailed, one.error().message});
    } else {
      out.push_back({one->created ? BulkResult::What::kChanged : BulkResult::What::kCopied, {}});
    }
  }
  co_return out;
}

Async<std::vector<BulkResult>> BulkWork::bulk_edit(BulkInput::Action action, std::vector<ItemRef> tasks) {
  std::vector<EditItemInput> writes;
  writes.reserve(tasks.size());
  for (const auto& task : tasks) {
    if (action == BulkInput::Action::kRedrive) {
      parts_.keyed.redrives(task);
      writes.emplace_back(freshet::redrive(parts_.table.definition(), task, core_.lanes.of_pending(task),
                                           settings_.default_ttl, wall(), counted_from()));
    } else if (text_of(task, attribute::kStatus) == state::kTaken) {
      writes.emplace_back(request_cancel(table_, task, wall()));
    } else {
      writes.emplace_back(
          kept(end_waiting(table_, task, state::kCancelled, {}, {}, wall()), settings_.keep, counted_from()));
    }
  }
  auto answers = co_await sure_.edit(std::move(writes));
  std::vector<BulkResult> out;
  for (size_t i = 0; i < answers.size(); ++i) {
    out.push_back(result_of(answers[i]));
    if (!answers[i]) continue;
    const ItemRef& task = answers[i]->attributes;
    if (action == BulkInput::Action::kRedrive) {
      parts_.counts.redriven(tasks[i], task);
    } else {
      core_.claims.saw_written(task);
    }
  }
  co_return out;
}

// Makes the write that deletes the task if it is in the state that was seen. The books count it as the queue's own
// transition from that state to outside.
Async<std::vector<BulkResult>> BulkWork::bulk_purge(std::vector<ItemRef> tasks) {
  std::vector<WriteInput> writes;
  writes.reserve(tasks.size());
  for (const auto& task : tasks) {
    DeleteItemInput gone;
    gone.table = table_;
    gone.key.set(attribute::kId, Value(text_of(task, attribute::kId)));
    // A task that a client has since put under this id is another task.
    gone.condition = "taskStatus = :s AND taskCreated = :c";
    gone.placeholders.values.set(":s", Value(text_of(task, attribute::kStatus)));
    const auto created =
        task.find(attribute::kCreated);  // It is always set: the index is sorted by it, and a scan filters by it.
    gone.placeholders.values.set(":c", created ? created->decode() : Value::number(int64_t{0}));
    if (!sure_.is_immediate()) unless_written(gone, task);
    gone.cause = Cause::kQueue;
    writes.emplace_back(std::move(gone));
  }
  auto answers = co_await services_.tables.write_many(std::move(writes));
  std::vector<BulkResult> out;
  for (const auto& answer : answers) out.push_back(result_of(answer));
  co_return out;
}

}  // namespace freshet
