// Creates events of the queue as items that the caller writes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/event_queue.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

// An event's item has fewer bytes than this besides its payload.
constexpr size_t kEventOverhead = 4096;
// A larger payload is read again when the event starts: otherwise each of a thousand endpoints would keep several in
// memory.
constexpr size_t kKeptPayload = 4u << 10;

}  // namespace

Result<PreparedEvent> EventQueue::prepare(const FunctionPtr& function, Delivery delivery, std::string trace_id) {
  if (waiting(function->name) + unread_ + logged_.size() >= parts_.options.max_queued_events) {
    return fail(ErrorCode::kTooManyRequests, fmt::format("{} events wait for function {} already; try again later",
                                                         parts_.options.max_queued_events, function->name));
  }
  const size_t bytes = delivery.late_payload ? delivery.late_bytes : delivery.payload.size();
  if (bytes + kEventOverhead > limits::kMaxItemBytes) {
    return fail(ErrorCode::kRequestTooLarge, fmt::format("An event of {} bytes is too large", bytes));
  }
  const Clock& clock = parts_.scheduler.clock();
  // Rises with time, so that a restart handles the events in their order.
  last_id_ = std::max(last_id_ + 1, static_cast<uint64_t>(epoch_ms(clock.wall())) << 20);
  auto event = std::make_shared<EventPtr>(std::make_unique<Event>());
  Event& e = **event;
  e.id = fmt::format("{:020}-{}", last_id_, delivery.request_id);
  e.request_id = delivery.request_id;
  e.born = e.due = clock.boot();
  if (delivery.topic) e.shelf = &shelf_of(*delivery.topic);
  Item item = system_item(kind(e.shelf), e.id);
  item.set("created", Value::number(epoch_ms(parts_.wall.latest())));
  item.set("function", Value(function->name));
  if (!delivery.group.empty()) item.set("group", Value(delivery.group));
  if (!delivery.late_payload) item.set("payload", Value(delivery.payload));
  item.set("requestId", Value(std::move(delivery.request_id)));
  if (!trace_id.empty()) item.set("traceId", Value(trace_id));
  e.trace_id = std::move(trace_id);
  e.group = std::move(delivery.group);
  if (bytes <= kKeptPayload) e.payload = std::move(delivery.payload);
  PutItemInput put = put_system_item(std::move(item));
  put.table = table();
  PreparedEvent prepared{std::move(put), nullptr};
  if (delivery.late_payload) {
    prepared.put_payload = [make = std::move(delivery.late_payload)](WriteInput& write) {
      std::get<PutItemInput>(write).item.set("payload", Value(make()));
    };
  }
  prepared.logged = [this, event, name = function->name] {
    if (*event) accept_logged(name, std::move(*event));
  };
  return prepared;
}

}  // namespace freshet
