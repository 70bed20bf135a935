// Out of the dead-letter queue and back into the regular one: some, those that a filter takes, or all; at a rate.
#include <algorithm>
#include <cmath>

#include "functions/priority/table_queue.h"

namespace freshet::priority {
namespace {

constexpr uint32_t kDeadPage = 100;
constexpr size_t kMostRefused = 100;
constexpr double kLargestRate = 1'000'000;
constexpr double kLongestPace = 366.0 * 24 * 3600;  // Seconds.

// One after the other at an even pace.
class Pace {
 public:
  Pace(Scheduler& scheduler, double rate) : scheduler_(scheduler), begun_(scheduler.clock().boot()), rate_(rate) {}
  Async<void> next() {
    // At a very small rate: more nanoseconds than the type can hold.
    const double due = std::min(static_cast<double>(n_++) / rate_, kLongestPace);
    return sleep_until(scheduler_,
                       begun_ + std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(due)));
  }

 private:
  Scheduler& scheduler_;
  const BootTime begun_;
  const double rate_;
  uint64_t n_ = 0;
};

bool enough(const RedriveRecordsInput& input, const RedriveRecordsOutput& out) {
  return input.limit > 0 && out.moved >= input.limit;
}

}  // namespace

void TableQueue::note(RedriveRecordsOutput& out, PriorityResult result) {
  if (result.ok()) {
    ++out.moved;
  } else if (out.refused.size() < kMostRefused) {
    out.refused.push_back(std::move(result));
  }
}

Async<PriorityResult> TableQueue::redrive_one(std::string id) {
  RecordCall call;
  call.id = std::move(id);
  return change(std::move(call), [this](const RecordFacts& facts) -> Decision {
    if (facts.place != RecordPlace::kDead) {
      return Refusal{PriorityCode::kIllegalState, "record '" + facts.id + "' is not in the dead-letter queue of '" +
                                                      settings_.name + "': it is " +
                                                      std::string(place_name(facts.place))};
    }
    if (auto no = may_restore(facts, settings_, true, over_by_ms())) return std::move(*no);
    return std::optional(returned(facts, after_restore(settings_, facts.failures, false, {}, 0)));
  });
}

// Those that were dead by `until`, the oldest first; what dies again while it lasts is not taken twice.
Async<Result<Page>> TableQueue::dead_page(const RedriveRecordsInput& input, std::string until, Item start) const {
  QueryInput query;
  query.table = settings_.states_in();
  query.index = settings_.dead_index;
  query.placeholders = input.placeholders;
  query.filter = input.filter;
  query.key_condition = "#freshet_dead = :freshet_dead";
  query.placeholders.names.emplace_back("#freshet_dead", settings_.names.dead);
  query.placeholders.values.set(":freshet_dead", Value::number(settings_.numbers.dead));
  if (!until.empty()) {
    query.key_condition += " AND #freshet_at <= :freshet_at";
    query.placeholders.names.emplace_back("#freshet_at", settings_.names.last_updated);
    query.placeholders.values.set(":freshet_at", Value(std::move(until)));
  }
  query.limit = kDeadPage;
  query.exclusive_start_key = std::move(start);
  return read_index(std::move(query));
}

Async<Result<void>> TableQueue::redrive_pages(RedriveRecordsInput input, std::shared_ptr<RedriveRecordsOutput> out) {
  Pace pace(services_.scheduler, input.rate > 0 ? input.rate : 1);
  const std::string until = stamp();
  Item start;
  do {
    auto page = co_await dead_page(input, until, std::move(start));
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      if (enough(input, *out)) co_return Result<void>();
      if (input.rate > 0) co_await pace.next();
      std::string id = id_of(item, keys_, settings_.key_separator);
      PriorityResult result;
      // Attributes that no queue wrote stay; but its id must not name another item.
      if (const auto facts = facts_of(item)) {
        result = co_await redrive_one(std::move(id));
      } else {
        result = failed(PriorityCode::kIllegalState, std::move(id), facts.error().message);
      }
      note(*out, std::move(result));
    }
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return Result<void>();
}

void TableQueue::give_up() {
  scope_.clear();
  if (redrive_) redrive_->going_on = false;
}

Async<void> TableQueue::redrive_slowly(RedriveRecordsInput input, std::shared_ptr<RedriveRecordsOutput> out) {
  auto done = co_await redrive_pages(std::move(input), out);
  if (!done) {
    PriorityResult result = failed({}, done.error());
    note(*out, std::move(result));
  }
  out->going_on = false;
}

Async<Result<RedriveRecordsOutput>> TableQueue::redrive(RedriveRecordsInput input) {
  if (input.rate < 0 || input.rate > kLargestRate || std::isnan(input.rate)) {
    co_return invalid("'rate' must be from 0 (at once) to 1000000 records a second");
  }
  if (!input.ids.empty() && (!input.filter.empty() || input.rate > 0 || input.limit > 0)) {
    co_return invalid("'ids' goes alone: without 'filter', 'rate' and 'limit'");
  }
  if (input.ids.size() > 1000) co_return invalid("'ids' has more than 1000 elements");
  auto out = std::make_shared<RedriveRecordsOutput>();
  if (!input.ids.empty()) {
    for (size_t i = 0; i < input.ids.size(); ++i) {
      PriorityResult result = co_await redrive_one(input.ids[i]);
      note(*out, std::move(result));
      if (i % kDeadPage == kDeadPage - 1) co_await sleep_for(services_.scheduler, nanoseconds(0));
    }
    co_return *out;
  }
  if (redrive_ && redrive_->going_on) {
    co_return fail(ErrorCode::kConflict, "a redrive of '" + settings_.name + "' is going on: it has moved " +
                                             std::to_string(redrive_->moved) + " so far");
  }
  // A filter that is wrong is refused at once.
  Item start;
  std::string until;
  auto first = co_await dead_page(input, std::move(until), std::move(start));
  if (!first) co_return fail(first.error());
  if (input.rate > 0) {
    out->going_on = true;
    redrive_ = out;
    scope_.spawn(redrive_slowly(std::move(input), out));
    co_return *out;
  }
  auto done = co_await redrive_pages(std::move(input), out);
  if (!done && out->moved > 0) {
    co_return fail(done.error().code,
                   done.error().message + " (" + std::to_string(out->moved) + " had been moved before that)");
  }
  if (!done) co_return fail(done.error());
  co_return *out;
}

}  // namespace freshet::priority
