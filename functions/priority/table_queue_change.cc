#include "functions/priority/policy/order.h"
#include "functions/priority/table_queue.h"

namespace freshet::priority {
namespace {

Refusal bad_argument(const std::string& why) {
  return {PriorityCode::kIllegalState, why};
}

Verdict bad_delay(const std::optional<milliseconds>& time, std::string_view what, milliseconds least) {
  if (!time || (*time >= least && *time <= kLongestTimeout)) return {};
  return bad_argument("'" + std::string(what) + "' must be from " + std::to_string(least.count()) + " ms to 366 days");
}

}  // namespace

Result<void> TableQueue::check_priority(const RecordFacts& facts, int64_t priority) const {
  if (priority >= -kLargestPriority && priority <= kLargestPriority) return {};
  return invalid(settings_.names.priority + " of item '" + facts.id + "' is " + std::to_string(priority) +
                 "; it must be from " + std::to_string(-kLargestPriority) + " to " + std::to_string(kLargestPriority));
}

// To the end of those that wait (of its priority), or among the delayed.
void TableQueue::into_queue(RecordUpdate& update, const RecordFacts& facts, std::optional<int64_t> priority,
                            milliseconds delay, const std::string& now) {
  const Names& names = settings_.names;
  const bool delayed = delay.count() > 0;
  out_of_dlq(update, facts);
  if (delayed) {
    update.set(names.visible_at, Value::number(now_ms() + delay.count()));
  } else {
    update.remove(names.visible_at);
  }
  update.set(names.queued, Value::number(delayed ? settings_.numbers.delayed : settings_.numbers.ready));
  update.set_info(info::kQueued, Value::number(1));
  update.set_info(info::kSelected, Value::boolean(false));
  update.stamp(now, true);
  if (settings_.states.used) update.set_info(info::kStatus, Value(settings_.states.ready));
  if (settings_.order == Order::kTimestamp && !priority) return;
  const int64_t rank = priority.value_or(facts.priority.value_or(0));
  update.set(names.priority, Value::number(rank));
  if (settings_.order == Order::kBoth) update.set(names.order, Value(order_text(settings_, rank, now)));
}

// The only place that removes `DLQ`. A record that leaves the dead-letter queue begins a new life, whichever call
// takes it out: the cause of its failures was mended.
void TableQueue::out_of_dlq(RecordUpdate& update, const RecordFacts& facts) const {
  update.remove(settings_.names.dead);
  if (facts.place == RecordPlace::kDead) begin_life(update, facts);
}

void TableQueue::begin_life(RecordUpdate& update, const RecordFacts& facts) {
  if (facts.peeks > 0) update.set_info(info::kPeeks, Value::number(0));
  if (facts.failures > 0) update.set_info(info::kFailures, Value::number(0));
}

void TableQueue::out_of_queue(RecordUpdate& update) const {
  update.remove(settings_.names.queued).remove(settings_.names.visible_at);
  update.set_info(info::kQueued, Value::number(0));
  update.set_info(info::kSelected, Value::boolean(false));
}

void TableQueue::into_dlq(RecordUpdate& update, const std::string& now) const {
  out_of_queue(update);
  update.remove_info(info::kReceipt);
  update.set(settings_.names.dead, Value::number(settings_.numbers.dead));
  update.stamp(now, true);
  update.set_info(info::kDead, Value(now));
  if (settings_.states.used) update.set_info(info::kStatus, Value(settings_.states.dead));
}

// Back by its consumer.
RecordUpdate TableQueue::returned(const RecordFacts& facts, const Return& to) {
  RecordUpdate update(facts, settings_);
  const std::string now = stamp();
  if (to.to == RecordPlace::kDead) {
    into_dlq(update, now);
  } else {
    into_queue(update, facts, {}, to.delay, now);
    update.set_info(info::kAdded, Value(now));
    update.remove_info(info::kReceipt);
  }
  if (to.failures != facts.failures) update.set_info(info::kFailures, Value::number(to.failures));
  return update;
}

Async<PriorityResult> TableQueue::update_status(RecordCall call, std::string status) {
  if (status.empty() || status.size() > 256) {
    return failed(PriorityCode::kIllegalState, call.id, "the new status must have 1 to 256 bytes");
  }
  return change(std::move(call), [this, status = std::move(status)](const RecordFacts& facts) -> Decision {
    if (auto no = may_update_status(facts, settings_, status)) return std::move(*no);
    if (facts.has_info && facts.status == status) return std::optional<RecordUpdate>();
    RecordUpdate update(facts, settings_);
    // A record in flight keeps its place in the order and returns to it when its timeout is over.
    update.set_info(info::kStatus, Value(status)).stamp(stamp(), facts.place != RecordPlace::kInFlight);
    return std::optional(std::move(update));
  });
}

Async<PriorityResult> TableQueue::touch(RecordCall call) {
  return change(std::move(call), [this](const RecordFacts& facts) -> Decision {
    if (auto no = may_touch(facts, settings_)) return std::move(*no);
    RecordUpdate update(facts, settings_);
    const std::string now = stamp();
    update.stamp(now, true);
    if (settings_.order == Order::kBoth && facts.priority) {
      update.set(settings_.names.order, Value(order_text(settings_, *facts.priority, now)));
    }
    return std::optional(std::move(update));
  });
}

Async<PriorityResult> TableQueue::remove(RecordCall call) {
  const bool held = !call.receipt.empty();
  return change(std::move(call), [this, held](const RecordFacts& facts) -> Decision {
    if (auto no = may_remove(facts, settings_, held, over_by_ms())) return std::move(*no);
    RecordUpdate update(facts, settings_);
    const std::string now = stamp();
    out_of_queue(update);
    out_of_dlq(update, facts);
    update.remove_info(info::kPeekedMs).remove_info(info::kReceipt);
    update.stamp(now, true).set_info(info::kRemoved, Value(now));
    return std::optional(std::move(update));
  });
}

Async<PriorityResult> TableQueue::cancel(RecordCall call) {
  return change(std::move(call), [this](const RecordFacts& facts) -> Decision {
    if (auto no = may_cancel(facts, settings_)) return std::move(*no);
    RecordUpdate update(facts, settings_);
    const std::string now = stamp();
    out_of_queue(update);
    update.remove_info(info::kPeekedMs).remove_info(info::kReceipt);
    update.stamp(now, true).set_info(info::kRemoved, Value(now));
    return std::optional(std::move(update));
  });
}

Async<PriorityResult> TableQueue::restore(RestoreInput input) {
  const bool held = !input.call.receipt.empty();
  if (auto no = bad_delay(input.delay, "delay", milliseconds(0))) return failed(no->code, input.call.id, no->why);
  RecordCall call = std::move(input.call);
  return change(
      std::move(call), [this, held, delay = input.delay, failed = input.failed](const RecordFacts& facts) -> Decision {
        if (auto no = may_restore(facts, settings_, held, over_by_ms())) return std::move(*no);
        const bool counts = failed && facts.place == RecordPlace::kInFlight;
        return std::optional(
            returned(facts, after_restore(settings_, facts.failures, counts, delay, services_.random.unit())));
      });
}

Async<PriorityResult> TableQueue::send_to_dlq(RecordCall call) {
  const bool held = !call.receipt.empty();
  return change(std::move(call), [this, held](const RecordFacts& facts) -> Decision {
    if (auto no = may_send_to_dlq(facts, settings_, held, over_by_ms())) return std::move(*no);
    RecordUpdate update(facts, settings_);
    into_dlq(update, stamp());
    return std::optional(std::move(update));
  });
}

Async<PriorityResult> TableQueue::extend(RecordCall call, std::optional<milliseconds> visibility) {
  if (auto no = bad_delay(visibility, "visibility", milliseconds(1))) co_return failed(no->code, call.id, no->why);
  const bool held = !call.receipt.empty();
  const std::string receipt = call.receipt;
  const milliseconds time = visibility.value_or(settings_.visibility);
  Decide decide = [this, held, time](const RecordFacts& facts) -> Decision {
    if (auto no = may_extend(facts, settings_, held, over_by_ms())) return std::move(*no);
    RecordUpdate update(facts, settings_);
    update.set(settings_.names.visible_at, Value::number(now_ms() + time.count())).stamp(stamp(), false);
    return std::optional(std::move(update));
  };
  auto result = co_await change(std::move(call), std::move(decide));
  if (result.ok()) result.receipt = receipt;
  co_return result;
}

Async<PriorityResult> TableQueue::set_priority(RecordCall call, int64_t priority) {
  return change(std::move(call), [this, priority](const RecordFacts& facts) -> Decision {
    if (auto no = may_set_priority(facts, settings_)) return std::move(*no);
    if (auto right = check_priority(facts, priority); !right) return bad_argument(right.error().message);
    RecordUpdate update(facts, settings_);
    const std::string now = stamp();
    update.set(settings_.names.priority, Value::number(priority)).stamp(now, false);
    // Behind those that have that priority already.
    if (settings_.order == Order::kBoth) update.set(settings_.names.order, Value(order_text(settings_, priority, now)));
    return std::optional(std::move(update));
  });
}

Async<PriorityResult> TableQueue::dequeue() {
  PeekInput one;
  auto peeked = co_await peek(std::move(one));
  if (!peeked.front().ok()) co_return std::move(peeked.front());
  PriorityResult record = std::move(peeked.front());
  RecordCall call;
  call.id = record.id;
  call.receipt = record.receipt;
  PriorityResult result = co_await remove(std::move(call));
  result.peeked_ms = record.peeked_ms;
  result.passed = std::move(record.passed);
  if (result.ok() && !settings_.state_table.empty()) result = co_await whole(std::move(result));
  co_return result;
}

Async<PriorityResult> TableQueue::enqueue(EnqueueInput input) {
  if (auto no = bad_delay(input.delay, "delay", milliseconds(0))) return failed(no->code, input.call.id, no->why);
  RecordCall call = std::move(input.call);
  const milliseconds delay = input.delay.value_or(settings_.delay);
  return change(std::move(call), [this, delay, priority = input.priority](const RecordFacts& facts) -> Decision {
    if (auto no = may_enqueue(facts, settings_)) return std::move(*no);
    if (auto right = check_priority(facts, priority.value_or(facts.priority.value_or(0))); !right) {
      return bad_argument(right.error().message);
    }
    RecordUpdate update(facts, settings_);
    const std::string now = stamp();
    into_queue(update, facts, priority, delay, now);
    update.set_info(info::kEnqueued, Value(now));
    if (facts.place == RecordPlace::kOutside) begin_life(update, facts);
    return std::optional(std::move(update));
  });
}

}  // namespace freshet::priority
