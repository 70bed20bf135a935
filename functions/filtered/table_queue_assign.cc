// Assign: a snapshot of the queues, a consistent query for the next member, one transaction under the versions seen.
#include <algorithm>

#include "functions/filtered/table_queue.h"

namespace freshet::filtered {
namespace {

// Up to so many queues all are looked at, as the sample does; of more only those that a look ahead names, at the price
// of a second query.
constexpr size_t kWholeSnapshot = 16;
constexpr size_t kMostPassed = 100;
constexpr uint32_t kPage = 25;

QueueSet all_of(size_t n) {
  QueueSet out(n);
  for (size_t i = 0; i < n; ++i) out[i] = i;
  return out;
}

void add_all(QueueSet& into, const QueueSet& queues) {
  for (const size_t queue : queues) {
    if (std::find(into.begin(), into.end(), queue) == into.end()) into.push_back(queue);
  }
}

}  // namespace

std::optional<Assigned> TableQueue::outcome_of(const FilteredRequest& request) {
  Assigned out;
  out.request = request.id;
  out.outcome = request.status == asked::kWaiting ? AssignOutcome::kWaiting : AssignOutcome::kAssigned;
  out.member.id = request.member;
  out.member.assignment = request.assignment;
  return out;
}

Async<Result<Assigned>> TableQueue::assign(AssignInput input) {
  auto alternatives = combinations_.of_match(input.match);
  if (!alternatives) co_return fail(alternatives.error());
  if (input.wait && input.request.empty()) co_return invalid("a request that waits needs an id");
  if (!input.request.empty()) {
    if (auto right = items_.check_id(input.request, "request"); !right) co_return fail(right.error());
  }
  Job job{std::move(*alternatives), std::move(input.request), input.wait, false, false};
  co_return co_await assign_until_done(std::move(job));
}

Async<Result<Assigned>> TableQueue::assign_until_done(Job job) {
  std::string what = "assign";
  if (!job.request.empty()) what = "request '" + job.request + "'";
  for (int attempt = 1;; ++attempt) {
    if (!job.request.empty() && !job.was_waiting) {
      auto known = co_await find_request(job.request);
      if (known) co_return *outcome_of(known->request);
      if (known.error().code != ErrorCode::kNotFound) co_return fail(known.error());
    }
    auto tried = co_await try_assign(job);
    if (!tried) co_return fail(tried.error());
    if (*tried) co_return std::move(**tried);
    job.check_members = true;
    auto go_on = co_await again(attempt, what);
    if (!go_on) co_return fail(go_on.error());
  }
}

Async<TableQueue::Attempt<Assigned>> TableQueue::try_assign(const Job& job) {
  QueueSet wanted = all_of(combinations_.size());
  if (wanted.size() > kWholeSnapshot) {
    wanted = flatten(job.alternatives);
    auto hint = co_await find_head(job, nullptr);
    if (!hint) co_return fail(hint.error());
    if (*hint) add_all(wanted, (*hint)->facts.queues);
  }
  auto seen = co_await look_at(wanted);
  if (!seen) co_return fail(seen.error());
  if (!*seen) co_return std::optional<Assigned>();
  std::vector<std::string> passed;
  auto head = co_await find_head(job, &passed);
  if (!head) co_return fail(head.error());
  if (*head) {
    for (const size_t queue : (*head)->facts.queues) {
      // Another one than a moment ago.
      if (std::find(wanted.begin(), wanted.end(), queue) == wanted.end()) co_return std::optional<Assigned>();
    }
    Seen snapshot = std::move(**seen);
    co_return co_await take(job, std::move(**head), std::move(snapshot), std::move(passed));
  }
  if (job.wait && !job.was_waiting) {
    Seen snapshot = std::move(**seen);
    co_return co_await begin_waiting(job, std::move(snapshot));
  }
  Assigned none;
  none.request = job.request;
  none.passed = std::move(passed);
  if (job.was_waiting) none.outcome = AssignOutcome::kWaiting;
  co_return std::optional(std::move(none));
}

Async<TableQueue::Attempt<Assigned>> TableQueue::take(const Job& job, Head head, Seen seen,
                                                      std::vector<std::string> passed) {
  Actions actions = this->actions();
  for (const size_t queue : head.facts.queues) {
    auto facts = facts_in(seen, queue, true);
    if (!facts) co_return fail(facts.error());
    actions.leave(queue, head.facts.at, &*facts);
  }
  Assigned out;
  out.outcome = AssignOutcome::kAssigned;
  out.request = job.request;
  out.queue = combinations_.key(head.queue);
  out.passed = std::move(passed);
  out.member.id = head.facts.id;
  out.member.status = settings_.states.assigned;
  out.member.assignment = services_.random.uuid();
  out.member.request = job.request;
  out.member.item = std::move(head.item);
  actions.assign_member(out.member.id, out.member.assignment, job.request);
  if (job.was_waiting) {
    actions.give_request(job.request, out.member.id, out.member.assignment);
  } else if (!job.request.empty()) {
    FilteredRequest request;
    request.id = job.request;
    request.status = asked::kAssigned;
    request.asked_at = stamp();
    request.member = out.member.id;
    request.assignment = out.member.assignment;
    actions.put_request(request, job.alternatives);
  }
  auto done = co_await commit(std::move(actions).finish());
  if (!done) co_return fail(done.error());
  if (!*done) co_return std::optional<Assigned>();
  co_return std::optional(std::move(out));
}

// An entry for each queue that it accepts, unless a member has come into one of them meanwhile.
Async<TableQueue::Attempt<Assigned>> TableQueue::begin_waiting(const Job& job, Seen seen) {
  Actions actions = this->actions();
  FilteredRequest request;
  request.id = job.request;
  request.status = asked::kWaiting;
  request.asked_at = stamp();
  for (const size_t queue : flatten(job.alternatives)) {
    auto facts = facts_in(seen, queue, true);
    if (!facts) co_return fail(facts.error());
    actions.wait(queue, request.asked_at, request.id, *facts);
  }
  actions.put_request(request, job.alternatives);
  auto done = co_await commit(std::move(actions).finish());
  if (!done) co_return fail(done.error());
  if (!*done) co_return std::optional<Assigned>();
  co_return outcome_of(request);
}

// Of the first alternative that has one: the member that waits longest, or shortest.
Async<Result<std::optional<TableQueue::Head>>> TableQueue::find_head(const Job& job,
                                                                     std::vector<std::string>* passed) const {
  for (const auto& queues : job.alternatives) {
    std::vector<Async<Result<std::optional<Head>>>> looks;
    looks.reserve(queues.size());
    for (const size_t queue : queues) looks.push_back(head_of(queue, job.check_members, passed));
    std::optional<Head> best;
    for (auto& look : looks) {
      auto head = co_await look;
      if (!head) co_return fail(head.error());
      if (!*head) continue;
      const bool before =
          !best || (settings_.newest_first ? (*head)->facts.at > best->facts.at : (*head)->facts.at < best->facts.at);
      if (before) best = std::move(**head);
    }
    if (best) co_return best;
  }
  co_return std::optional<Head>();
}

// Goes past what is nothing that the queue can use, and names it.
Async<Result<std::optional<TableQueue::Head>>> TableQueue::head_of(size_t queue, bool check_member,
                                                                   std::vector<std::string>* passed) const {
  Item start;
  uint32_t limit = 1;
  do {
    auto page =
        co_await page_of(settings_.table, combinations_.key(queue), limit, std::move(start), !settings_.newest_first);
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      auto head = co_await usable(item, queue, check_member, passed);
      if (!head || *head) co_return head;
    }
    start = std::move(page->last_evaluated_key);
    if (limit == kPage && !start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
    limit = kPage;
  } while (!start.empty());
  co_return std::optional<Head>();
}

Async<Result<std::optional<TableQueue::Head>>> TableQueue::usable(ItemRef item, size_t queue, bool check_member,
                                                                  std::vector<std::string>* passed) const {
  auto facts = items_.entry(item, queue);
  std::string why = facts ? "" : facts.error().message;
  if (facts && check_member) {
    auto member = co_await find_member(facts->id);
    const bool unusable =
        !member && (member.error().code == ErrorCode::kNotFound || member.error().code == ErrorCode::kConflict ||
                    member.error().code == ErrorCode::kValidation);
    if (!member && !unusable) co_return fail(member.error());
    if (!member) {
      why = items_.name_of(item) + ": " + member.error().message;
    } else if (member->status != settings_.states.queued) {
      why = items_.name_of(item) + ": " + items_.name_of(member->item) + " is '" + member->status + "'";
    }
  }
  if (why.empty()) co_return std::optional(Head{std::move(item), std::move(*facts), queue});
  if (passed != nullptr && passed->size() < kMostPassed) passed->push_back(std::move(why));
  co_return std::optional<Head>();
}

}  // namespace freshet::filtered
