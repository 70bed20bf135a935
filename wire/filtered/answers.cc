#include "wire/filtered/answers.h"

#include "tables/value/json.h"
#include "wire/tasks/json_object.h"

namespace freshet::filtered {
namespace {

void add_member(JsonObject& object, const FilteredMember& member) {
  object.text("member", member.id);
  object.text_if("status", member.status);
  object.text_if("queuedAt", member.queued_at);
  object.text_if("assignment", member.assignment);
  object.text_if("request", member.request);
  if (member.item) append_plain_json(object.raw("item"), member.item);
}

void add_request(JsonObject& object, const FilteredRequest& request) {
  object.text("request", request.id);
  object.text("status", request.status);
  object.text("askedAt", request.asked_at);
  object.text_if("member", request.member);
  object.text_if("assignment", request.assignment);
  object.texts("queues", request.queues);
}

// {NAME: [...], "cursor": "..."}
template <class T>
std::string page_json(const char* name, const std::vector<T>& all, const std::string& cursor,
                      void (*add)(JsonObject&, const T&)) {
  std::string out;
  {
    JsonObject page(out);
    page.raw(name) += '[';
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out += ',';
      JsonObject one(out);
      add(one, all[i]);
    }
    out += ']';
    page.text_if("cursor", cursor);
  }
  return out;
}

std::string_view outcome_name(AssignOutcome outcome) {
  switch (outcome) {
    case AssignOutcome::kAssigned:
      return "assigned";
    case AssignOutcome::kWaiting:
      return "waiting";
    case AssignOutcome::kNoMatch:
      break;
  }
  return "no-match";
}

}  // namespace

std::string member_json(const FilteredMember& member) {
  std::string out;
  {
    JsonObject object(out);
    add_member(object, member);
  }
  return out;
}

std::string members_json(const MemberPage& page) {
  return page_json("members", page.members, page.cursor, add_member);
}

std::string enqueued_json(const Enqueued& enqueued) {
  std::string out;
  {
    JsonObject object(out);
    add_member(object, enqueued.member);
    if (!enqueued.queues.empty()) object.texts("queues", enqueued.queues);
  }
  return out;
}

std::string assigned_json(const Assigned& assigned) {
  std::string out;
  {
    JsonObject object(out);
    object.text("outcome", outcome_name(assigned.outcome));
    object.text_if("request", assigned.request);
    if (assigned.outcome == AssignOutcome::kAssigned) {
      object.text("member", assigned.member.id);
      object.text("assignment", assigned.member.assignment);
      object.text_if("queue", assigned.queue);
      if (assigned.member.item) append_plain_json(object.raw("entry"), assigned.member.item);
    }
    if (!assigned.passed.empty()) object.texts("passed", assigned.passed);
  }
  return out;
}

std::string request_json(const FilteredRequest& request) {
  std::string out;
  {
    JsonObject object(out);
    add_request(object, request);
  }
  return out;
}

std::string requests_json(const RequestPage& page) {
  return page_json("requests", page.requests, page.cursor, add_request);
}

std::string stats_json(const FilteredStats& stats) {
  std::string out;
  {
    JsonObject object(out);
    object.raw("queues") += '[';
    for (size_t i = 0; i < stats.queues.size(); ++i) {
      const auto& queue = stats.queues[i];
      if (i > 0) out += ',';
      JsonObject one(out);
      one.text("queue", queue.key);
      {
        JsonObject values(one.raw("values"));
        for (size_t a = 0; a < stats.attributes.size(); ++a) values.text(stats.attributes[a], queue.values[a]);
      }
      one.number("version", queue.version);
      one.number("depth", queue.depth);
      one.number("requests", queue.requests);
    }
    out += ']';
  }
  return out;
}

std::string recount_json(const Recount& recount) {
  std::string out;
  {
    JsonObject object(out);
    object.flag("right", recount.wrong == 0);
    object.number("queues", recount.queues);
    object.number("entries", recount.entries);
    object.number("waiting", recount.waiting);
    object.number("wrong", recount.wrong);
    object.texts("differences", recount.differences);
  }
  return out;
}

}  // namespace freshet::filtered
