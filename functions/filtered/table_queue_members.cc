// Members: put, list, into the queues, out of them, free again.
#include <algorithm>

#include "base/cursor.h"
#include "functions/filtered/table_queue.h"

namespace freshet::filtered {
namespace {

constexpr std::string_view kMembersList = "filtered members";

// Lists of strings become sets where the queue filters by sets: plain JSON has none.
void make_sets(const Settings& settings, Item& attributes) {
  for (const auto& attribute : settings.attributes) {
    Value* value = attributes.find(attribute.name);
    const List* list = value != nullptr && attribute.set ? value->get_if<List>() : nullptr;
    if (list == nullptr) continue;
    StringSet set;
    for (const auto& element : list->elements) {
      const auto* text = element.get_if<std::string>();
      if (text == nullptr) break;
      set.members.push_back(*text);
    }
    if (set.members.size() == list->elements.size()) *value = Value(std::move(set));
  }
}

}  // namespace

Result<void> TableQueue::check_attributes(const Item& attributes) const {
  const Names& n = settings_.names;
  for (const auto& name : {n.partition, n.sort, n.status, n.queued_at, n.assignment, n.request}) {
    if (attributes.contains(name)) return invalid("attribute '" + name + "' is kept by the queue: leave it out");
  }
  return {};
}

Async<Result<FilteredMember>> TableQueue::put_member(std::string id, Item attributes) {
  if (auto right = items_.check_id(id, "member"); !right) co_return fail(right.error());
  if (auto right = check_attributes(attributes); !right) co_return fail(right.error());
  make_sets(settings_, attributes);
  PutItemInput put;
  put.table = settings_.members_in();
  put.item = std::move(attributes);
  if (!put.item.contains(settings_.names.id)) put.item.set(settings_.names.id, Value(id));
  const Item key = items_.member_key(id);
  for (const auto& [name, value] : key) put.item.set(name, value);
  for (auto& [name, value] : put.item.entries()) {
    if (auto right = normalize(value, name); !right) co_return fail(right.error());
  }
  put.item.set(settings_.names.status, Value(settings_.states.available));
  const ItemRef stored = ItemRef::encode(put.item);
  if (auto queues = combinations_.of_item(stored, "member '" + id + "'"); !queues) co_return fail(queues.error());
  put.condition = "attribute_not_exists(#pk) OR #s = :available";
  put.placeholders.names = {{"#pk", settings_.names.partition}, {"#s", settings_.names.status}};
  put.placeholders.values.set(":available", Value(settings_.states.available));
  put.cause = Cause::kQueue;
  auto written = co_await services_.tables.put_item(std::move(put));
  if (written) co_return items_.member(stored);
  if (written.error().code != ErrorCode::kConditionalCheckFailed) co_return fail(written.error());
  co_return fail(ErrorCode::kConflict,
                 "member '" + id + "' is there and not '" + settings_.states.available + "': withdraw or release it");
}

Async<Result<FilteredMember>> TableQueue::get_member(std::string id) {
  return find_member(std::move(id));
}

Async<Result<FilteredMember>> TableQueue::delete_member(std::string id) {
  auto member = co_await find_member(id);
  if (!member) co_return fail(member.error());
  DeleteItemInput input;
  input.table = settings_.members_in();
  input.key = items_.member_key(id);
  input.condition = "#s = :available";
  input.placeholders.names = {{"#s", settings_.names.status}};
  input.placeholders.values.set(":available", Value(settings_.states.available));
  input.cause = Cause::kQueue;
  auto gone = co_await services_.tables.delete_item(std::move(input));
  if (gone) co_return std::move(*member);
  if (gone.error().code != ErrorCode::kConditionalCheckFailed) co_return fail(gone.error());
  co_return fail(ErrorCode::kConflict,
                 "member '" + id + "' is not '" + settings_.states.available + "': withdraw or release it first");
}

Async<Result<MemberPage>> TableQueue::list_members(ListMembersInput input) {
  const auto& states = settings_.states;
  if (!input.status.empty() && input.status != states.available && input.status != states.queued &&
      input.status != states.assigned) {
    co_return invalid("no member has the status '" + input.status + "'; there are " + states.available + ", " +
                      states.queued + ", " + states.assigned);
  }
  MemberPage out;
  const auto place = place_of_cursor(kMembersList, input.cursor);
  if (!place) co_return fail(place.error());
  Item start = place->empty() ? Item() : items_.member_key(*place);
  const uint32_t limit = std::clamp<uint32_t>(input.limit, 1, 1000);
  const std::string& prefix = settings_.layout.member_prefix;
  auto page = co_await page_of(settings_.members_in(), settings_.layout.members, limit, std::move(start), true, prefix);
  if (!page) co_return fail(page.error());
  for (const auto& item : page->items) {
    auto member = items_.member(item);
    // An item that is no member is not listed; get says what is wrong with it.
    if (member && (input.status.empty() || member->status == input.status)) out.members.push_back(std::move(*member));
  }
  const std::string_view last = page->last_evaluated_key.string_or(settings_.names.sort);
  if (!last.empty()) out.cursor = make_cursor(kMembersList, last.substr(prefix.size()));
  co_return out;
}

Async<Result<Enqueued>> TableQueue::enqueue(std::string id) {
  const std::string what = "member '" + id + "'";
  for (int attempt = 1;; ++attempt) {
    auto member = co_await find_member(id);
    if (!member) co_return fail(member.error());
    if (member->status != settings_.states.available) co_return wrong_state(*member, settings_.states.available);
    auto tried = co_await try_enqueue(std::move(*member));
    if (!tried) co_return fail(tried.error());
    if (*tried) co_return std::move(**tried);
    auto go_on = co_await again(attempt, what);
    if (!go_on) co_return fail(go_on.error());
  }
}

Async<TableQueue::Attempt<Enqueued>> TableQueue::try_enqueue(FilteredMember member) {
  auto queues = combinations_.of_item(member.item, items_.name_of(member.item));
  if (!queues) co_return fail(ErrorCode::kConflict, queues.error().message);
  auto seen = co_await look_at(*queues);
  if (!seen) co_return fail(seen.error());
  if (!*seen) co_return std::optional<Enqueued>();
  Actions actions = this->actions();
  const std::string at = stamp();
  const Item copy = items_.copy_of(member.item, member.id);
  bool requests = false;
  for (const size_t queue : *queues) {
    auto facts = facts_in(**seen, queue, false);
    if (!facts) co_return fail(facts.error());
    requests = requests || facts->requests > 0;
    actions.enter(queue, at, copy, *facts);
  }
  if (requests) {
    auto waiting = co_await oldest_request(*queues);
    if (!waiting) co_return fail(waiting.error());
    if (*waiting) co_return co_await give_to_waiting(std::move(member), std::move(**waiting));
  }
  actions.queue_member(member, at);
  auto done = co_await commit(std::move(actions).finish());
  if (!done) co_return fail(done.error());
  if (!*done) co_return std::optional<Enqueued>();
  Enqueued out{std::move(member), {}};
  out.member.status = settings_.states.queued;
  out.member.queued_at = at;
  out.member.item = ItemRef();
  for (const size_t queue : *queues) out.queues.push_back(combinations_.key(queue));
  co_return std::optional(std::move(out));
}

// The entry by which the member waits. For a member that the sample queued, only the entry has the time; the time at
// the member may be from an earlier stay.
Async<Result<EntryFacts>> TableQueue::entry_of(FilteredMember member, QueueSet queues) const {
  if (!member.queued_at.empty()) {
    auto entries = co_await entries_at(queues, member.queued_at);
    if (!entries) co_return fail(entries.error());
    // An entry of another member is not taken away.
    for (size_t i = 0; i < entries->size(); ++i) {
      if (is_entry_of(member.id, (*entries)[i], queues[i])) co_return items_.entry((*entries)[i], queues[i]);
    }
    // An entry that cannot be read is an error.
    if (entries->front()) {
      auto facts = items_.entry(entries->front(), queues.front());
      if (!facts) co_return facts;
    }
  }
  Item start;
  do {
    auto page = co_await page_of(settings_.table, combinations_.key(queues.front()), 250, std::move(start), true);
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      auto facts = items_.entry(item, queues.front());
      if (facts && facts->id == member.id) co_return facts;
    }
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return fail(ErrorCode::kConflict, "'" + combinations_.key(queues.front()) + "' has no entry of " +
                                           items_.name_of(member.item) + ", though it is queued");
}

// `again`: an attempt was lost, perhaps because some entries of the member are missing. Then removes the existing ones.
Async<TableQueue::Attempt<FilteredMember>> TableQueue::try_withdraw(FilteredMember member, bool again) {
  auto queues = combinations_.of_item(member.item, items_.name_of(member.item));
  if (!queues) co_return fail(ErrorCode::kConflict, queues.error().message);
  // The entry, not the member, says which queues it was put into.
  auto facts = co_await entry_of(member, std::move(*queues));
  if (!facts) co_return fail(facts.error());
  Actions actions = this->actions();
  QueueSet there = facts->queues;
  if (again) {
    auto all = co_await entries_at(facts->queues, facts->at);
    if (!all) co_return fail(all.error());
    there.clear();
    for (size_t i = 0; i < all->size(); ++i) {
      if (is_entry_of(member.id, (*all)[i], facts->queues[i])) there.push_back(facts->queues[i]);
    }
    if (there.empty()) co_return std::optional<FilteredMember>();
    auto seen = co_await look_at(there);
    if (!seen) co_return fail(seen.error());
    if (!*seen) co_return std::optional<FilteredMember>();
    for (const size_t queue : there) {
      if (const auto counted = facts_in(**seen, queue, true); !counted) co_return fail(counted.error());
    }
  }
  for (const size_t queue : there) actions.leave(queue, *facts, nullptr);
  actions.withdraw_member(member);
  auto done = co_await commit(std::move(actions).finish());
  if (!done) co_return fail(done.error());
  if (!*done) co_return std::optional<FilteredMember>();
  member.status = settings_.states.available;
  member.queued_at.clear();
  member.item = ItemRef();
  co_return std::optional(std::move(member));
}

Async<Result<FilteredMember>> TableQueue::withdraw(std::string id) {
  const std::string what = "member '" + id + "'";
  for (int attempt = 1;; ++attempt) {
    auto member = co_await find_member(id);
    if (!member) co_return fail(member.error());
    if (member->status != settings_.states.queued) co_return wrong_state(*member, settings_.states.queued);
    auto tried = co_await try_withdraw(*member, attempt > 1);
    if (tried && *tried) co_return std::move(**tried);
    // An entry that is missing may have been taken behind the read: then the member says so.
    const bool missing = !tried && tried.error().code == ErrorCode::kConflict && attempt == 1;
    if (!tried && !missing) co_return fail(tried.error());
    auto go_on = co_await again(attempt, what);
    if (!go_on) co_return fail(go_on.error());
  }
}

// True if the request that the member names is its own: then both are over at once. A request that is gone, or that no
// queue wrote, keeps nobody assigned.
Async<Result<bool>> TableQueue::has_request(FilteredMember member) const {
  if (member.request.empty()) co_return false;
  auto request = co_await find_request(member.request);
  if (request) co_return request->request.status == asked::kAssigned && request->request.member == member.id;
  const ErrorCode code = request.error().code;
  const bool none = code == ErrorCode::kNotFound || code == ErrorCode::kConflict || code == ErrorCode::kValidation;
  if (!none) co_return fail(request.error());
  co_return false;
}

Async<Result<Enqueued>> TableQueue::release(ReleaseInput input) {
  const std::string what = "member '" + input.id + "'";
  for (int attempt = 1;; ++attempt) {
    auto member = co_await find_member(input.id);
    if (!member) co_return fail(member.error());
    if (member->status != settings_.states.assigned) co_return wrong_state(*member, settings_.states.assigned);
    if (!input.assignment.empty() && input.assignment != member->assignment) {
      co_return fail(ErrorCode::kConflict, "member '" + input.id + "' is assigned, but not under the assignment '" +
                                               input.assignment.substr(0, 100) + "': that one is over");
    }
    auto with_request = co_await has_request(*member);
    if (!with_request) co_return fail(with_request.error());
    Actions actions = this->actions();
    actions.release_member(*member);
    if (*with_request) actions.drop_request(member->request, asked::kAssigned);
    auto done = co_await commit(std::move(actions).finish());
    if (!done) co_return fail(done.error());
    if (*done) {
      if (input.enqueue) {
        auto enqueued = co_await enqueue(input.id);
        if (enqueued) co_return enqueued;
        co_return fail(enqueued.error().code,
                       "member '" + input.id + "' is released, but not queued: " + enqueued.error().message);
      }
      Enqueued out{std::move(*member), {}};
      out.member.status = settings_.states.available;
      out.member.assignment.clear();
      out.member.request.clear();
      out.member.item = ItemRef();
      co_return out;
    }
    auto go_on = co_await again(attempt, what);
    if (!go_on) co_return fail(go_on.error());
  }
}

}  // namespace freshet::filtered
