// Assign: a snapshot of the queues, a consistent query for the next member, one transaction under the versions seen.
#include <algorithm>
#include <utility>

#include "base/points.h"
#include "functions/filtered/table_queue.h"

namespace freshet::filtered {
namespace {

// Up to so many queues all are looked at, as the sample does; of more only those that a look ahead names, at the price
// of a second query.
constexpr size_t kWholeSnapshot = 16;
constexpr size_t kMostPassed = 100;
constexpr uint32_t kWaitingPage = 25;

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

std::optional<Assigned> TableQueue::outcome_of(const FilteredRequest& request) const {
  Assigned out;
  out.request = request.id;
  if (request.status == asked::kWaiting) {
    out.outcome = AssignOutcome::kWaiting;
    return out;
  }
  out.outcome = AssignOutcome::kAssigned;
  if (!FRESHET_PLANTED("repeated-assign-forgets")) out.queue = request.queue;
  out.member.id = request.member;
  out.member.status = settings_.states.assigned;
  out.member.assignment = request.assignment;
  out.member.request = request.id;
  out.member.item = request.entry;
  return out;
}

// The result of the request, if it is over. That it waits is a result only for a request that does not wait yet.
Async<Result<std::optional<Assigned>>> TableQueue::known_outcome(const Job& job) const {
  std::string id = job.request;
  auto known = co_await find_request(std::move(id));
  if (known && job.was_waiting && known->request.status == asked::kWaiting) co_return std::optional<Assigned>();
  if (known) co_return outcome_of(known->request);
  if (known.error().code != ErrorCode::kNotFound) co_return fail(known.error());
  if (!job.was_waiting) co_return std::optional<Assigned>();
  Assigned cancelled;
  cancelled.request = job.request;
  co_return std::optional(std::move(cancelled));
}

Async<Result<Assigned>> TableQueue::assign(AssignInput input) {
  auto alternatives = combinations_.of_match(input.match);
  if (!alternatives) co_return fail(alternatives.error());
  if (input.wait && input.request.empty()) co_return invalid("a request that waits needs an id: set 'request'");
  if (!input.request.empty()) {
    if (auto right = items_.check_id(input.request, "request"); !right) co_return fail(right.error());
  }
  Job job{std::move(*alternatives), std::move(input.request), input.wait, false, false};
  co_return co_await assign_until_done(std::move(job));
}

Async<Result<Assigned>> TableQueue::assign_until_done(Job job) {
  std::string what = "assign";
  if (!job.request.empty()) what = "request '" + job.request + "'";
  for (int attempt = 1;;) {
    // The waiting request was read a moment ago; after a lost attempt it may have a member by now, or be cancelled.
    if (!job.request.empty() && (!job.was_waiting || job.check_members)) {
      auto known = co_await known_outcome(job);
      if (!known) co_return fail(known.error());
      if (*known) co_return std::move(**known);
    }
    auto tried = co_await try_assign(job);
    if (!tried) co_return fail(tried.error());
    if (*tried) co_return std::move(**tried);
    // The first try believes every entry. If it met one that is nobody's, nobody was faster: that costs no attempt.
    const bool looked = std::exchange(job.check_members, true);
    if (!looked && !FRESHET_PLANTED("stale-entry-costs-the-attempt")) continue;
    auto go_on = co_await again(attempt++, what);
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
    actions.leave(queue, head.facts, &*facts);
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
  actions.assign_member(head.facts, head.queued_at, out.member.assignment, job.request);
  if (job.was_waiting) {
    actions.give_request(job.request, out.member.id, out.member.assignment);
  } else if (!job.request.empty()) {
    FilteredRequest request;
    request.id = job.request;
    request.status = asked::kAssigned;
    request.asked_at = stamp();
    request.member = out.member.id;
    request.assignment = out.member.assignment;
    request.queue = out.queue;
    request.entry = out.member.item;
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

// Finds the member that waits longest, or shortest, of the first alternative that has one.
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
    if (limit == kWaitingPage && !start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
    limit = kWaitingPage;
  } while (!start.empty());
  co_return std::optional<Head>();
}

// The entries of one time in these queues; null where there is none.
Async<Result<std::vector<ItemRef>>> TableQueue::entries_at(QueueSet queues, std::string at) const {
  std::vector<GetItemInput> gets(queues.size());
  for (size_t i = 0; i < queues.size(); ++i) {
    gets[i].table = settings_.table;
    gets[i].key = items_.entry_key(queues[i], at);
  }
  auto read = co_await services_.tables.read_many(std::move(gets));
  std::vector<ItemRef> out;
  for (auto& one : read) {
    if (!one) co_return fail(one.error());
    out.push_back(std::move(one->item));
  }
  co_return out;
}

bool TableQueue::is_entry_of(const std::string& member, const ItemRef& item, size_t queue) const {
  if (!item) return false;
  const auto facts = items_.entry(item, queue);
  return facts && facts->id == member;
}

// The reason why a queued member does not wait by this entry; empty if it does. The member names the time since when
// it waits. If it has no entry of that time, others queued it since and left the time of an earlier stay.
Async<Result<std::string>> TableQueue::why_not_by(FilteredMember member, EntryFacts entry) const {
  if (!member.queued_at.empty() && member.queued_at != entry.at) {
    QueueSet queues = entry.queues;
    if (const auto now = combinations_.of_item(member.item, "")) add_all(queues, *now);
    const QueueSet looked_at = queues;
    auto others = co_await entries_at(std::move(queues), member.queued_at);
    if (!others) co_return fail(others.error());
    for (size_t i = 0; i < others->size(); ++i) {
      if (is_entry_of(member.id, (*others)[i], looked_at[i])) {
        co_return items_.name_of(member.item) + " does not wait by it, but since '" + member.queued_at + "'";
      }
    }
  }
  // A writer that queues a member puts all of its entries at once.
  QueueSet queues = entry.queues;
  auto all = co_await entries_at(std::move(queues), entry.at);
  if (!all) co_return fail(all.error());
  for (size_t i = 0; i < all->size(); ++i) {
    if (is_entry_of(member.id, (*all)[i], entry.queues[i])) continue;
    co_return items_.name_of(member.item) + " has no entry of that time in '" + combinations_.key(entry.queues[i]) +
        "'";
  }
  co_return std::string();
}

Async<Result<std::optional<TableQueue::Head>>> TableQueue::usable(ItemRef item, size_t queue, bool check_member,
                                                                  std::vector<std::string>* passed) const {
  auto facts = items_.entry(item, queue);
  std::string why = facts ? "" : facts.error().message;
  std::optional<std::string> queued_at;
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
    } else {
      queued_at = member->queued_at;
      EntryFacts entry = *facts;
      if (FRESHET_PLANTED("stale-entry-believed")) co_return std::optional(Head{std::move(item), *facts, queue, {}});
      auto stray = co_await why_not_by(std::move(*member), std::move(entry));
      if (!stray) co_return fail(stray.error());
      if (!stray->empty()) why = items_.name_of(item) + ": " + *stray;
    }
  }
  if (why.empty()) co_return std::optional(Head{std::move(item), std::move(*facts), queue, std::move(queued_at)});
  if (passed != nullptr && passed->size() < kMostPassed) passed->push_back(std::move(why));
  co_return std::optional<Head>();
}

}  // namespace freshet::filtered
