#include "wire/filtered/filtered_route.h"

#include <utility>

#include "base/number_text.h"
#include "runtime/api/json_members.h"
#include "wire/api/calls.h"
#include "wire/filtered/answers.h"
#include "wire/tasks/queue_exchange.h"

namespace freshet {
namespace {

using FilteredExchange = QueueExchange<FilteredQueues>;
using Asked = FilteredExchange::Asked;

Asked asked(const JsonMembers& members, FilteredExchange::Call call) {
  return {members.error(), std::move(call)};
}

// A text, or several.
void read_values(JsonMembers& members, const JsonView& json, std::vector<std::string>& into) {
  if (json.is(JsonKind::kArray)) {
    for (const JsonView one : json) {
      const auto text = text_in(one);
      if (!text) return members.fail_with(text.error());
      into.emplace_back(*text);
    }
    return;
  }
  if (!json.is(JsonKind::kString)) return members.refuse(json, "must be a string or an array of strings");
  into.emplace_back(json.text());
}

// The key of a queue, or {"Languages": "Spanish", "Gender": ["F", "T"]}.
void read_alternative(JsonMembers& members, const JsonView& json, Match& into) {
  into.emplace_back();
  if (json.is(JsonKind::kString)) {
    into.back().queue = json.text();
    if (into.back().queue.empty()) members.refuse(json, "must be the key of a queue");
    return;
  }
  if (!json.is(JsonKind::kObject)) return members.refuse(json, "must be the key of a queue, or attributes with values");
  for (const JsonView one : json) {
    if (members.error()) return;
    into.back().values.emplace_back(one.name(), std::vector<std::string>());
    read_values(members, one, into.back().values.back().second);
  }
}

void read_match(JsonMembers& members, Match& into) {
  const auto json = members.find("match");
  if (!json) return;
  if (!json->is(JsonKind::kArray)) return read_alternative(members, *json, into);
  for (const JsonView one : *json) {
    if (members.error()) return;
    read_alternative(members, one, into);
  }
}

Asked read_put(const JsonView& body) {
  JsonMembers members(body, {"id", "attributes"});
  std::string id;
  members.text("id", id);
  Value attributes(Map{});
  members.value("attributes", attributes);
  Item item;
  if (auto* map = attributes.get_if<Map>()) {
    item = std::move(*map);
  } else {
    members.refuse(*body.find("attributes"), "must be an object");
  }
  return asked(members, [id, item](FilteredQueue& queue, FilteredExchange& self) {
    return answer_with<FilteredMember>(queue.put_member(id, item), self, filtered::member_json);
  });
}

Asked read_assign(const JsonView& body) {
  JsonMembers members(body, {"match", "request", "wait"});
  AssignInput input;
  read_match(members, input.match);
  members.text("request", input.request);
  members.boolean("wait", input.wait);
  return asked(members, [input](FilteredQueue& queue, FilteredExchange& self) {
    return answer_with<Assigned>(queue.assign(input), self, filtered::assigned_json);
  });
}

Asked read_release(const JsonView& body) {
  JsonMembers members(body, {"id", "assignment", "enqueue"});
  ReleaseInput input;
  members.text("id", input.id);
  members.text("assignment", input.assignment);
  members.boolean("enqueue", input.enqueue);
  return asked(members, [input](FilteredQueue& queue, FilteredExchange& self) {
    return answer_with<Enqueued>(queue.release(input), self, filtered::enqueued_json);
  });
}

// A call on the member or request of that id alone.
template <class T>
Asked read_call(const JsonView& body, Async<Result<T>> (FilteredQueue::*method)(std::string),
                std::string (*json)(const T&)) {
  JsonMembers members(body, {"id"});
  std::string id;
  members.text("id", id);
  return asked(members, [id, method, json](FilteredQueue& queue, FilteredExchange& self) {
    return answer_with<T>((queue.*method)(id), self, json);
  });
}

Asked read_change(ApiCall call, const JsonView& body) {
  switch (call) {
    case ApiCall::kFilteredPut:
      return read_put(body);
    case ApiCall::kFilteredDelete:
      return read_call(body, &FilteredQueue::delete_member, filtered::member_json);
    case ApiCall::kFilteredEnqueue:
      return read_call(body, &FilteredQueue::enqueue, filtered::enqueued_json);
    case ApiCall::kFilteredWithdraw:
      return read_call(body, &FilteredQueue::withdraw, filtered::member_json);
    case ApiCall::kFilteredRelease:
      return read_release(body);
    case ApiCall::kFilteredAssign:
      return read_assign(body);
    case ApiCall::kFilteredCancel:
      return read_call(body, &FilteredQueue::cancel_request, filtered::request_json);
    default:
      return {not_implemented(call), {}};
  }
}

// limit, cursor and, of members, status.
std::optional<Error> read_page(const Target& target, bool with_status, ListMembersInput& into) {
  for (const auto& [name, value] : target.query) {
    if (name == "cursor") {
      into.cursor = value;
    } else if (name == "status" && with_status) {
      into.status = value;
    } else if (name == "limit") {
      if (!read_number_in(value, into.limit) || into.limit < 1 || into.limit > 1000) {
        return Error{ErrorCode::kValidation, "'limit' must be a number from 1 to 1000", nullptr};
      }
    } else if (!is_signature_member(name)) {
      const std::string names = with_status ? "limit, cursor and status" : "limit and cursor";
      return Error{ErrorCode::kValidation, "'" + name + "': there are " + names, nullptr};
    }
  }
  return {};
}

template <class T>
Asked look(Async<Result<T>> (FilteredQueue::*method)(std::string), std::string (*json)(const T&), std::string id) {
  return {{}, [method, json, id = std::move(id)](FilteredQueue& queue, FilteredExchange& self) {
            return answer_with<T>((queue.*method)(id), self, json);
          }};
}

Asked read_look(ApiCall call, Target& target) {
  ListMembersInput page;
  switch (call) {
    case ApiCall::kFilteredMember:
      return look(&FilteredQueue::get_member, filtered::member_json, target.segments[3]);
    case ApiCall::kFilteredRequest:
      return look(&FilteredQueue::get_request, filtered::request_json, target.segments[3]);
    case ApiCall::kFilteredMembers: {
      auto error = read_page(target, true, page);
      return Asked{std::move(error), [page](FilteredQueue& queue, FilteredExchange& self) {
                     return answer_with<MemberPage>(queue.list_members(page), self, filtered::members_json);
                   }};
    }
    case ApiCall::kFilteredRequests: {
      auto error = read_page(target, false, page);
      return Asked{std::move(error), [page](FilteredQueue& queue, FilteredExchange& self) {
                     return answer_with<RequestPage>(queue.list_requests(page.limit, page.cursor), self,
                                                     filtered::requests_json);
                   }};
    }
    case ApiCall::kFilteredStats:
      return Asked{{}, [](FilteredQueue& queue, FilteredExchange& self) {
                     return answer_with<FilteredStats>(queue.stats(), self, filtered::stats_json);
                   }};
    case ApiCall::kFilteredRecount:
      return Asked{{}, [](FilteredQueue& queue, FilteredExchange& self) {
                     return answer_with<Recount>(queue.recount(), self, filtered::recount_json);
                   }};
    default:
      return {not_implemented(call), {}};
  }
}

}  // namespace

std::unique_ptr<Route> make_filtered_route(FilteredQueues& queues) {
  return make_queue_route(queues, {"/filtered", "filtered queue", "--filtered-queue", "docs/filtered-queue.md"},
                          read_look, read_change);
}

}  // namespace freshet
