#include "functions/queue/creation_elsewhere.h"

#include <algorithm>
#include <utility>

#include "functions/queue/new_item.h"

namespace freshet {

namespace {

bool is_for_owner(const NewTask& task, WallTime now) {
  return !task.key.empty() || (task.deadline && *task.deadline <= now);
}

Error only_by_owner(const std::string& table) {
  return {ErrorCode::kUnavailable,
          "no member of the fleet serves queue '" + table +
              "' at the moment, and no other one may create these tasks (a key, a bound, or a deadline that has "
              "passed): try again",
          nullptr};
}

}  // namespace

Async<Result<std::vector<Result<CreatedTask>>>> CreationElsewhere::create(const std::string& table,
                                                                          const QueueSettings& settings,
                                                                          std::vector<NewTask> tasks) {
  const WallTime now = scheduler_.clock().wall();
  const WallTime from = wall_.latest();
  const TaskLayout& layout = task_layout(settings.layout, store_.traits());
  const bool has_bounds = settings.admission.is_bounded() || settings.admission.refuse_late;
  if (has_bounds) return Result<Created>(fail(only_by_owner(table)));
  Created out;
  std::vector<WriteInput> writes;
  for (NewTask& task : tasks) {
    if (auto ok = check_new_task(task, sure_.is_immediate()); !ok) {
      out.emplace_back(fail(std::move(ok.error())));
      continue;
    }
    set_deadline(task, settings, from);
    if (is_for_owner(task, now)) return Result<Created>(fail(only_by_owner(table)));
    WallTime& newest = newest_[table];
    newest = std::max(newest, now);
    auto item = build_new_item(task, {now, newest, from}, {}, settings, random_);
    if (!item) {
      out.emplace_back(fail(std::move(item.error())));
      continue;
    }
    if (layout.has_places) layout.place(*item, ranks_[table].next(newest));
    out.emplace_back(CreatedTask{task.id});
    writes.emplace_back(put_new_item(table, std::move(*item)));
  }
  return write(std::move(writes), std::move(out));
}

Async<Result<CreationElsewhere::Created>> CreationElsewhere::write(std::vector<WriteInput> writes, Created out) {
  if (writes.empty()) co_return out;
  auto answers = co_await sure_.create(std::move(writes));
  auto answer = answers.begin();
  for (Result<CreatedTask>& one : out) {
    if (!one) continue;
    if (!*answer) refuse_create(one, answer->error());
    ++answer;
  }
  co_return out;
}

}  // namespace freshet
