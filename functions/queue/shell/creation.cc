#include "functions/queue/shell/creation.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/hand_over.h"
#include "functions/queue/new_item.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

Result<Item> Creation::new_item(NewTask& task, WallTime now) {
  if (auto ok = check_new_task(task, sure_.is_immediate()); !ok) return fail(ok.error());
  const bool is_delayed = task.delay && task.delay->count() > 0;
  std::string lane = core_.lanes.empty() || is_delayed ? std::string() : core_.lanes.of_new(task);
  const NewItemTimes times{now, core_.times.create(now), counted_from()};
  auto item = build_new_item(task, times, std::move(lane), settings_, services_.random);
  if (item && layout_.has_places) layout_.place(*item, ranks_.next(times.created));
  return item;
}

PutItemInput Creation::put_new(Item item) const {
  return put_new_item(table_, std::move(item));
}

// This check comes before all others, so that a client does not come back later with a task that is wrong anyway.
std::vector<Result<CreatedTask>> Creation::refuse_wrong(const std::vector<NewTask>& tasks) const {
  std::vector<Result<CreatedTask>> out;
  out.reserve(tasks.size());
  for (const auto& task : tasks) {
    if (auto ok = check_new_task(task, sure_.is_immediate()); ok) {
      out.emplace_back(CreatedTask{});
    } else {
      out.emplace_back(fail(std::move(ok.error())));
    }
  }
  return out;
}

// The rest of the checks, which need the whole item.
std::optional<Error> Creation::wrong(const NewTask& task) {
  NewTask copy = task;
  auto item = new_item(copy, wall());
  if (item) return std::nullopt;
  return std::move(item.error());
}

std::optional<Error> Creation::wrong_for_all(const NewTask& members) {
  if (auto error = wrong(members)) return error;
  if (!members.deadline || *members.deadline > wall_guard_.earliest()) return std::nullopt;
  return Error{ErrorCode::kValidation, passed_deadline(epoch_ms(*members.deadline), epoch_ms(wall())), nullptr};
}

// In the order of the batch, as that is the order of arrival.
Async<std::vector<Result<CreatedTask>>> Creation::create(std::vector<NewTask> tasks) {
  if (parts_.table.gone()) co_return std::vector<Result<CreatedTask>>(tasks.size(), fail(*parts_.table.gone()));
  std::vector<Result<CreatedTask>> out = refuse_wrong(tasks);
  bool any_passed = false;
  const WallTime from = counted_from();
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (out[i]) set_deadline(tasks[i], settings_, from);
    any_passed = any_passed || (tasks[i].deadline && *tasks[i].deadline <= wall());
  }
  if (any_passed) co_await refuse_passed(tasks, out);
  const bool had_lanes = !core_.lanes.empty();
  auto lanes = core_.lanes.needed_by(tasks, out);  // The queue must know a lane before it has a task in it.
  if (!lanes.empty()) {
    auto known = co_await parts_.adoption.add_lanes(std::move(lanes));
    if (!known) refuse_without_lane(tasks, known.error(), out);
  }
  if (settings_.admission.refuse_late) co_await refuse_late(tasks, out);
  if (settings_.admission.is_bounded()) co_await refuse_beyond_bound(tasks, out);
  for (size_t next = 0; next < tasks.size();) {
    if (tasks[next].key.empty()) {
      next = co_await create_plain(tasks, next, out);
      continue;
    }
    if (out[next]) {
      // A client that hangs up before its turn has created nothing. After that, it must not leave a task behind that
      // has not replaced the others yet.
      std::string key = tasks[next].key;
      co_await parts_.keyed.wait_for_key(std::move(key));
      auto work = parts_.keyed.create_keyed(std::move(tasks[next]));
      if (work.is_ready()) {
        out[next] = work.take();
      } else {
        Promise<Result<CreatedTask>> done(services_.scheduler);
        base_.lasting.spawn(hand_over(std::move(work), done));
        auto result = co_await done.future();
        out[next] = std::move(result);
      }
    }
    ++next;
  }
  // A put that was in progress when the queue got its first lane has no lane, and adopt_all() may have missed it.
  if (!had_lanes && !core_.lanes.empty()) core_.adopter.try_again();
  parts_.takes.wake();
  co_return out;
}

// Refuses the tasks for whose lane there was no room; the others of the batch go on.
void Creation::refuse_without_lane(const std::vector<NewTask>& tasks, const Error& why,
                                   std::vector<Result<CreatedTask>>& out) {
  std::vector<ShedLine> lines;
  for (size_t i = 0; i < tasks.size(); ++i) {
    bool asks = tasks[i].priority != 0 || !tasks[i].group.empty();
    if (!out[i] || !asks || core_.lanes.contains(lane_name(tasks[i].priority, tasks[i].group))) continue;
    if (auto error = wrong(tasks[i])) {
      out[i] = fail(std::move(*error));
      continue;
    }
    out[i] = fail(why);
    // The log has only refusals at the bound, not those because the store refused the new names.
    if (why.code == ErrorCode::kLimitExceeded)
      lines.push_back(parts_.sheds.refused_line(tasks[i], "lanes", "max-lanes"));
  }
  core_.admission.refused(&Refusals::lanes, lines.size());
  if (!lines.empty()) parts_.sheds.log_beside(std::move(lines));
}

// Puts the tasks from `first` up to the next one with a key, and returns the index of that one. Both vectors outlive
// it.
Async<size_t> Creation::create_plain(std::vector<NewTask>& tasks, size_t first, std::vector<Result<CreatedTask>>& out) {
  std::vector<WriteInput> writes;
  std::vector<size_t> places;
  const WallTime now = wall();
  size_t next = first;
  for (; next < tasks.size() && tasks[next].key.empty(); ++next) {
    if (!out[next]) continue;
    auto item = new_item(tasks[next], now);
    if (!item) {
      out[next] = fail(std::move(item.error()));
      continue;
    }
    out[next]->id = std::move(tasks[next].id);
    writes.emplace_back(put_new(std::move(*item)));
    places.push_back(next);
  }
  if (writes.empty()) co_return next;
  auto answers = co_await sure_.create(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) {
      refuse_create(out[places[i]], answers[i].error());
    } else {
      created(tasks[places[i]], out[places[i]]->id, now);
    }
  }
  co_return next;
}

void Creation::created(const NewTask& task, std::string_view id, WallTime written) {
  if (task.delay && task.delay->count() > 0) {
    parts_.promotion.delayed(id, written, epoch_ms(written + *task.delay));
    return;
  }
  if (task.deadline) parts_.shedding.due_by(epoch_ms(*task.deadline));
  if (!core_.lanes.empty()) {
    const int64_t deadline = task.deadline ? epoch_ms(*task.deadline) : 0;
    core_.lanes.filled_by_new(core_.lanes.of_new(task),
                              core_.lanes.place(epoch_ms(core_.times.newest_created()), deadline));
  }
  // The stream calls the trigger function at once. This covers a lost call, and tables whose stream is not read.
  const bool by_stream = Follower::can_follow(services_.tables.traits());
  if (!core_.agenda.has_processor()) parts_.timer.start_soon(by_stream ? settings_.start_retry : milliseconds(0));
}

}  // namespace freshet
