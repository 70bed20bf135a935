#include "wire/priority/priority_route.h"

#include <functional>
#include <utility>

#include "base/number_text.h"
#include "runtime/api/json_members.h"
#include "tables/value/json.h"
#include "wire/api/calls.h"
#include "wire/http/target.h"
#include "wire/priority/answers.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/queue_exchange.h"

namespace freshet {
namespace {

using priority::Shape;

constexpr int64_t kMaxMs = JsonMembers::kMaxMilliseconds;

using PriorityExchange = QueueExchange<PriorityQueues>;
using Asked = PriorityExchange::Asked;

Async<void> answer(Async<PriorityResult> work, PriorityExchange& self, Shape shape) {
  auto result = co_await work;
  self.status = priority::status_of(result);
  self.write = [result = std::move(result), shape] {
    std::string out;
    priority::append_result(out, result, shape);
    return out;
  };
}

Async<void> answer_peek(Async<std::vector<PriorityResult>> work, PriorityExchange& self) {
  auto results = co_await work;
  self.status = priority::status_of(results.front());
  self.write = [results = std::move(results)] { return priority::peeked_json(results); };
}

// Members that every call on one record has.
RecordCall read_call(JsonMembers& members) {
  RecordCall call;
  members.text("id", call.id);
  members.text("receipt", call.receipt);
  if (members.find("version")) {
    int64_t version = 0;
    members.integer("version", 0, INT64_MAX, version);
    call.version = version;
  }
  return call;
}

Asked asked(const JsonMembers& members, PriorityExchange::Call call) {
  return {members.error(), std::move(call)};
}

Asked read_put(const JsonView& body, bool keep_version) {
  JsonMembers members(body, {"id", "status", "data", "attributes"});
  PutRecordInput input;
  members.text("id", input.id);
  members.text("status", input.status);
  if (const auto json = members.find("attributes")) {
    Value value;
    members.value("attributes", value);
    if (auto* map = value.get_if<Map>()) {
      input.attributes = std::move(*map);
    } else {
      members.refuse(*json, "must be an object");
    }
  }
  if (members.find("data")) {
    Value data;
    members.value("data", data);
    input.attributes.set("data", std::move(data));
  }
  return asked(members, [input, keep_version](PriorityQueue& queue, PriorityExchange& self) {
    return answer(keep_version ? queue.upsert(input) : queue.put(input), self, Shape::kRecord);
  });
}

Asked read_enqueue(const JsonView& body) {
  JsonMembers members(body, {"id", "receipt", "version", "delayMs", "priority"});
  EnqueueInput input;
  input.call = read_call(members);
  members.duration("delayMs", 0, kMaxMs, input.delay);
  if (members.find("priority")) {
    int64_t priority = 0;
    members.integer("priority", -1'000'000'000, 1'000'000'000, priority);
    input.priority = priority;
  }
  return asked(members, [input](PriorityQueue& queue, PriorityExchange& self) {
    return answer(queue.enqueue(input), self, Shape::kRecord);
  });
}

Asked read_peek(const JsonView& body) {
  JsonMembers members(body, {"max", "visibilityMs"});
  PeekInput input;
  members.integer("max", 1, 100, input.max);
  members.duration("visibilityMs", 1, kMaxMs, input.visibility);
  return asked(members,
               [input](PriorityQueue& queue, PriorityExchange& self) { return answer_peek(queue.peek(input), self); });
}

Asked read_restore(const JsonView& body) {
  JsonMembers members(body, {"id", "receipt", "version", "delayMs", "failed"});
  RestoreInput input;
  input.call = read_call(members);
  members.duration("delayMs", 0, kMaxMs, input.delay);
  members.boolean("failed", input.failed);
  return asked(members, [input](PriorityQueue& queue, PriorityExchange& self) {
    return answer(queue.restore(input), self, Shape::kResult);
  });
}

Asked read_extend(const JsonView& body) {
  JsonMembers members(body, {"id", "receipt", "version", "visibilityMs"});
  const RecordCall call = read_call(members);
  std::optional<milliseconds> visibility;
  members.duration("visibilityMs", 1, kMaxMs, visibility);
  return asked(members, [call, visibility](PriorityQueue& queue, PriorityExchange& self) {
    return answer(queue.extend(call, visibility), self, Shape::kResult);
  });
}

Asked read_status(const JsonView& body) {
  JsonMembers members(body, {"id", "receipt", "version", "status"});
  const RecordCall call = read_call(members);
  std::string status;
  members.text("status", status);
  return asked(members, [call, status](PriorityQueue& queue, PriorityExchange& self) {
    return answer(queue.update_status(call, status), self, Shape::kResult);
  });
}

Asked read_priority(const JsonView& body) {
  JsonMembers members(body, {"id", "receipt", "version", "priority"});
  const RecordCall call = read_call(members);
  int64_t priority = 0;
  if (!members.find("priority")) members.refuse(body, "needs 'priority'");
  members.integer("priority", -1'000'000'000, 1'000'000'000, priority);
  return asked(members, [call, priority](PriorityQueue& queue, PriorityExchange& self) {
    return answer(queue.set_priority(call, priority), self, Shape::kResult);
  });
}

Asked read_delete(const JsonView& body) {
  JsonMembers members(body, {"id"});
  std::string id;
  members.text("id", id);
  return asked(members, [id](PriorityQueue& queue, PriorityExchange& self) {
    return answer(queue.erase(id), self, Shape::kResult);
  });
}

void read_names(JsonMembers& members, Placeholders& into) {
  const auto json = members.find("names");
  if (!json) return;
  if (!json->is(JsonKind::kObject)) return members.refuse(*json, "must be an object");
  for (const JsonView one : *json) {
    const auto name = text_in(one);
    if (!name) return members.fail_with(name.error());
    into.names.emplace_back(one.name(), *name);
  }
}

void read_ids(JsonMembers& members, std::vector<std::string>& into) {
  const auto json = members.find("ids");
  if (!json) return;
  if (!json->is(JsonKind::kArray) || json->size() == 0) {
    return members.refuse(*json, "must be an array of ids; leave it out to redrive all");
  }
  for (const JsonView one : *json) {
    const auto id = text_in(one);
    if (!id) return members.fail_with(id.error());
    into.emplace_back(*id);
  }
}

Asked read_redrive(const JsonView& body) {
  JsonMembers members(body, {"ids", "filter", "names", "values", "rate", "limit"});
  RedriveRecordsInput input;
  members.text("filter", input.filter);
  members.real("rate", 0, 1'000'000, input.rate);
  members.integer("limit", 1, 1'000'000'000, input.limit);
  Value values(Map{});
  members.value("values", values);
  if (const auto* map = values.get_if<Map>()) {
    input.placeholders.values = *map;
  } else {
    members.refuse(*body.find("values"), "must be an object");
  }
  read_names(members, input.placeholders);
  read_ids(members, input.ids);
  return asked(members, [input](PriorityQueue& queue, PriorityExchange& self) {
    return answer_with<RedriveRecordsOutput>(queue.redrive(input), self, priority::redrive_json);
  });
}

using RecordMethod = Async<PriorityResult> (PriorityQueue::*)(RecordCall);
Asked read_record_call(const JsonView& body, RecordMethod method) {
  JsonMembers members(body, {"id", "receipt", "version"});
  const RecordCall call = read_call(members);
  return asked(members, [call, method](PriorityQueue& queue, PriorityExchange& self) {
    return answer((queue.*method)(call), self, Shape::kResult);
  });
}

Asked read_dequeue(const JsonView& body) {
  const JsonMembers members(body, {});
  return asked(members, [](PriorityQueue& queue, PriorityExchange& self) {
    return answer(queue.dequeue(), self, Shape::kDequeue);
  });
}

Asked read_change(ApiCall call, const JsonView& body) {
  switch (call) {
    case ApiCall::kPriorityPut:
      return read_put(body, false);
    case ApiCall::kPriorityUpsert:
      return read_put(body, true);
    case ApiCall::kPriorityStatus:
      return read_status(body);
    case ApiCall::kPriorityEnqueue:
      return read_enqueue(body);
    case ApiCall::kPriorityPeek:
      return read_peek(body);
    case ApiCall::kPriorityDequeue:
      return read_dequeue(body);
    case ApiCall::kPriorityRemove:
      return read_record_call(body, &PriorityQueue::remove);
    case ApiCall::kPriorityRestore:
      return read_restore(body);
    case ApiCall::kPriorityTouch:
      return read_record_call(body, &PriorityQueue::touch);
    case ApiCall::kPrioritySendToDlq:
      return read_record_call(body, &PriorityQueue::send_to_dlq);
    case ApiCall::kPriorityExtend:
      return read_extend(body);
    case ApiCall::kPrioritySetPriority:
      return read_priority(body);
    case ApiCall::kPriorityCancel:
      return read_record_call(body, &PriorityQueue::cancel);
    case ApiCall::kPriorityDelete:
      return read_delete(body);
    case ApiCall::kPriorityRedrive:
      return read_redrive(body);
    default:
      return {not_implemented(call), {}};
  }
}

Asked list(Target& target) {
  ListRecordsInput input;
  for (const auto& [name, value] : target.query) {
    if (name == "cursor") {
      input.cursor = value;
    } else if (name == "limit") {
      if (!read_number_in(value, input.limit) || input.limit < 1 || input.limit > 1000) {
        return {Error{ErrorCode::kValidation, "'limit' must be a number from 1 to 1000", nullptr}, {}};
      }
    } else if (!is_signature_member(name)) {
      return {Error{ErrorCode::kValidation, "'" + name + "': there are limit and cursor", nullptr}, {}};
    }
  }
  return {{}, [input](PriorityQueue& queue, PriorityExchange& self) {
            return answer_with<RecordPage>(queue.list(input), self, priority::page_json);
          }};
}

Asked read_look(ApiCall call, Target& target) {
  if (call == ApiCall::kPriorityRecords) return list(target);
  if (call == ApiCall::kPriorityRecord) {
    return Asked{{}, [id = target.segments[3]](PriorityQueue& queue, PriorityExchange& self) {
                   return answer(queue.get(id), self, Shape::kRecord);
                 }};
  }
  if (call == ApiCall::kPriorityStats) {
    return Asked{{}, [](PriorityQueue& queue, PriorityExchange& self) {
                   return answer_with<PriorityStats>(queue.stats(), self, priority::stats_json);
                 }};
  }
  if (call != ApiCall::kPriorityDeadLetters) return {not_implemented(call), {}};
  return Asked{{}, [](PriorityQueue& queue, PriorityExchange& self) {
                 return answer_with<DeadStats>(queue.dlq_stats(), self, priority::dead_json);
               }};
}

}  // namespace

std::unique_ptr<Route> make_priority_route(PriorityQueues& queues) {
  return make_queue_route(queues, {"/priority", "priority queue", "--priority-queue", "docs/priority-queue.md"},
                          read_look, read_change);
}

}  // namespace freshet
