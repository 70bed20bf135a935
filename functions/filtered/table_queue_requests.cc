// Requests that wait: who gets a member that becomes free, and out of the queues again.
#include <algorithm>

#include "base/cursor.h"
#include "base/points.h"
#include "functions/filtered/table_queue.h"

namespace freshet::filtered {
namespace {

constexpr std::string_view kRequestsList = "filtered requests";

}  // namespace

// Goes past what is no entry of a request.
Async<Result<std::optional<WaitingFacts>>> TableQueue::first_waiting(size_t queue) const {
  Item start;
  uint32_t limit = 1;
  do {
    auto page = co_await page_of(settings_.table, combinations_.waiting_key(queue), limit, std::move(start), true);
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      auto facts = items_.waiting(item);
      if (facts) co_return std::optional(std::move(*facts));
      if (FRESHET_PLANTED("bad-request-keeps-others-out")) co_return std::optional<WaitingFacts>();
    }
    start = std::move(page->last_evaluated_key);
    if (limit > 1 && !start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
    limit = 25;
  } while (!start.empty());
  co_return std::optional<WaitingFacts>();
}

Async<Result<std::optional<WaitingFacts>>> TableQueue::oldest_waiting(QueueSet queues) const {
  std::vector<Async<Result<std::optional<WaitingFacts>>>> looks;
  looks.reserve(queues.size());
  for (const size_t queue : queues) looks.push_back(first_waiting(queue));
  std::optional<WaitingFacts> oldest;
  for (auto& look : looks) {
    auto facts = co_await look;
    if (!facts) co_return fail(facts.error());
    if (*facts && (!oldest || (*facts)->at < oldest->at)) oldest = std::move(**facts);
  }
  co_return oldest;
}

// Removes all entries on the way to it that no request waits by any more. A crash between two transactions, or another
// client, left them behind.
Async<Result<std::optional<RequestFacts>>> TableQueue::oldest_request(QueueSet queues) {
  for (int lost = 0;;) {
    auto entry = co_await oldest_waiting(queues);
    if (!entry) co_return fail(entry.error());
    if (!*entry) co_return std::optional<RequestFacts>();
    auto request = co_await find_request((*entry)->id);
    if (!request && request.error().code != ErrorCode::kNotFound) co_return fail(request.error());
    if (request && request->request.status == asked::kWaiting && request->request.asked_at == (*entry)->at) {
      co_return std::optional(std::move(*request));
    }
    bool gone = false;
    for (const size_t queue : queues) {
      WaitingFacts one = **entry;
      auto forgotten = co_await forget_entry(queue, std::move(one));
      if (!forgotten) co_return fail(forgotten.error());
      gone = gone || *forgotten;
    }
    if (!gone && ++lost >= settings_.retry.attempts) {
      co_return fail(ErrorCode::kConflict, "the entry of request '" + (*entry)->id + "' at '" + (*entry)->at +
                                               "' is that of no request, and cannot be taken away: one of its queues "
                                               "has no '" +
                                               settings_.names.request_version + "'");
    }
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
}

// One transaction: out of all queues that it waits in, and the member is its.
Async<TableQueue::Attempt<Enqueued>> TableQueue::give_to_waiting(FilteredMember member, RequestFacts waiting) {
  const std::string id = waiting.request.id;
  const std::string at = waiting.request.asked_at;
  auto entries = co_await waiting_entries(waiting);
  if (!entries) co_return fail(entries.error());
  Actions actions = this->actions();
  for (const size_t queue : *entries) actions.stop_waiting(queue, at, id);
  const std::string assignment = services_.random.uuid();
  actions.give_request(id, member.id, assignment);
  actions.give_member(member, assignment, id);
  auto done = co_await commit(std::move(actions).finish());
  if (!done) co_return fail(done.error());
  if (!*done) co_return std::optional<Enqueued>();
  member.status = settings_.states.assigned;
  member.assignment = assignment;
  member.request = id;
  member.item = ItemRef();
  co_return std::optional(Enqueued{std::move(member), {}});
}

// Those of its queues where its entry is still there.
Async<Result<QueueSet>> TableQueue::waiting_entries(const RequestFacts& request) const {
  const QueueSet queues = flatten(request.alternatives);
  std::vector<GetItemInput> gets(queues.size());
  for (size_t i = 0; i < queues.size(); ++i) {
    gets[i].table = settings_.table;
    gets[i].key = items_.waiting_key(queues[i], request.request.asked_at);
  }
  auto read = co_await services_.tables.read_many(std::move(gets));
  QueueSet out;
  for (size_t i = 0; i < queues.size(); ++i) {
    if (!read[i]) co_return fail(read[i].error());
    const auto entry = read[i]->item ? items_.waiting(read[i]->item) : WaitingFacts();
    if (entry && entry->id == request.request.id) out.push_back(queues[i]);
  }
  co_return out;
}

// If it is there: whether it was. False also if somebody else was faster.
Async<Result<bool>> TableQueue::forget_entry(size_t queue, WaitingFacts entry) {
  Actions actions = this->actions();
  actions.stop_waiting(queue, entry.at, entry.id);
  auto done = co_await commit(std::move(actions).finish());
  if (!done) co_return fail(done.error());
  co_return done->has_value();
}

Async<Result<void>> TableQueue::forget_entries(RequestFacts request) {
  auto queues = co_await waiting_entries(request);
  if (!queues) co_return fail(queues.error());
  for (const size_t queue : *queues) {
    WaitingFacts entry{request.request.id, request.request.asked_at};
    auto gone = co_await forget_entry(queue, std::move(entry));
    if (!gone) co_return fail(gone.error());
  }
  co_return Result<void>();
}

Async<Result<FilteredRequest>> TableQueue::get_request(std::string id) {
  auto request = co_await find_request(std::move(id));
  if (!request) co_return fail(request.error());
  co_return std::move(request->request);
}

Async<Result<FilteredRequest>> TableQueue::cancel_request(std::string id) {
  const std::string what = "request '" + id + "'";
  for (int attempt = 1;; ++attempt) {
    auto request = co_await find_request(id);
    if (!request) co_return fail(request.error());
    if (request->request.status != asked::kWaiting) {
      co_return fail(ErrorCode::kConflict,
                     "request '" + id + "' has the member '" + request->request.member + "': release it instead");
    }
    auto queues = co_await waiting_entries(*request);
    if (!queues) co_return fail(queues.error());
    Actions actions = this->actions();
    for (const size_t queue : *queues) actions.stop_waiting(queue, request->request.asked_at, id);
    actions.drop_request(id, asked::kWaiting);
    auto done = co_await commit(std::move(actions).finish());
    if (!done) co_return fail(done.error());
    if (*done) co_return std::move(request->request);
    auto go_on = co_await again(attempt, what);
    if (!go_on) co_return fail(go_on.error());
  }
}

Async<Result<RequestPage>> TableQueue::list_requests(uint32_t limit, std::string cursor) {
  RequestPage out;
  const auto place = place_of_cursor(kRequestsList, cursor);
  if (!place) co_return fail(place.error());
  Item start = place->empty() ? Item() : items_.request_key(*place);
  const uint32_t most = std::clamp<uint32_t>(limit, 1, 1000);
  const std::string& prefix = settings_.layout.request_prefix;
  auto page = co_await page_of(settings_.table, settings_.layout.requests, most, std::move(start), true, prefix);
  if (!page) co_return fail(page.error());
  for (const auto& item : page->items) {
    auto facts = items_.request(item);
    if (facts) out.requests.push_back(std::move(facts->request));
  }
  const std::string_view last = page->last_evaluated_key.string_or(settings_.names.sort);
  if (!last.empty()) out.cursor = make_cursor(kRequestsList, last.substr(prefix.size()));
  co_return out;
}

// The oldest request that waits for this queue, where a member waits too: it takes one by its own preferences.
Async<Result<bool>> TableQueue::match_queue(size_t queue) {
  QueueSet one{queue};
  auto request = co_await oldest_request(std::move(one));
  if (!request) co_return fail(request.error());
  if (!*request) co_return false;
  const std::string id = (*request)->request.id;
  Job job{(*request)->alternatives, id, true, true, true};
  auto assigned = co_await assign_until_done(std::move(job));
  if (!assigned) co_return fail(assigned.error());
  if (assigned->outcome != AssignOutcome::kAssigned) co_return false;
  // A transaction of its own: both together could be more than one holds. What is left behind by a crash in between is
  // found by whoever meets it.
  auto gone = co_await forget_entries(std::move(**request));
  if (!gone) co_return fail(gone.error());
  co_return true;
}

Async<Result<size_t>> TableQueue::match_waiting() {
  size_t matched = 0;
  std::optional<Error> first_error;  // One queue's error keeps no other one from its turn.
  Item start;
  do {
    auto page = co_await page_of(settings_.queues_in(), settings_.layout.queues, 100, std::move(start), true);
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      const auto key = item.find(settings_.names.sort);
      const auto queue = key ? combinations_.find(key->bytes()) : std::nullopt;
      if (!queue) continue;
      const auto facts = items_.queue(item, *queue, true);
      if (!facts || facts->requests <= 0 || facts->depth <= 0) continue;
      auto done = co_await match_queue(*queue);
      if (!done && !first_error) first_error = std::move(done.error());
      if (done && *done) ++matched;
    }
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  if (first_error && matched == 0) co_return fail(std::move(*first_error));
  co_return matched;
}

}  // namespace freshet::filtered
