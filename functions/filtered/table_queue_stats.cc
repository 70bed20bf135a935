// The counters of the queues, and counting again.
#include "functions/filtered/table_queue.h"

namespace freshet::filtered {
namespace {

constexpr uint32_t kStatsPage = 100;
constexpr size_t kAtOnce = 500;  // Queues made ready for an answer in one turn of the loop.
constexpr size_t kMostDifferences = 100;
constexpr int kMostCounts = 100;  // A queue that changes again and again is counted no more often.

void differs(Recount& recount, std::string what) {
  ++recount.wrong;
  if (recount.differences.size() < kMostDifferences) recount.differences.push_back(std::move(what));
}

}  // namespace

Async<Result<FilteredStats>> TableQueue::stats() {
  FilteredStats out;
  for (const auto& attribute : settings_.attributes) out.attributes.push_back(attribute.name);
  for (size_t queue = 0; queue < combinations_.size(); ++queue) {
    out.queues.push_back({combinations_.key(queue), combinations_.values_of(queue), 0, 0, 0});
    if (queue % kAtOnce == kAtOnce - 1) co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  Item start;
  do {
    auto page = co_await page_of(settings_.queues_in(), settings_.layout.queues, kStatsPage, std::move(start), true);
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      const auto key = item.find(settings_.names.sort);
      const auto queue = key ? combinations_.find(key->bytes()) : std::nullopt;
      if (!queue) continue;  // The id belongs to another definition.
      auto facts = items_.queue(item, *queue, true);
      if (!facts) co_return fail(facts.error());
      out.queues[*queue].version = facts->version;
      out.queues[*queue].depth = facts->depth;
      out.queues[*queue].requests = facts->requests;
    }
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return out;
}

// Each entry must be of a member that waits by it.
Async<Result<uint64_t>> TableQueue::count_entries(size_t queue, Recount& recount) const {
  uint64_t n = 0;
  Item start;
  do {
    auto page = co_await page_of(settings_.table, combinations_.key(queue), kStatsPage, std::move(start), true);
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      std::vector<std::string> passed;
      auto head = co_await usable(item, queue, true, &passed);
      if (!head) co_return fail(head.error());
      if (!*head) differs(recount, std::move(passed.front()));
    }
    n += page->items.size();
    start = std::move(page->last_evaluated_key);
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return n;
}

Async<Result<uint64_t>> TableQueue::count_waiting(size_t queue, Recount& recount) const {
  uint64_t n = 0;
  Item start;
  do {
    auto page = co_await page_of(settings_.table, combinations_.waiting_key(queue), kStatsPage, std::move(start), true);
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      const auto facts = items_.waiting(item);
      std::string id = facts ? facts->id : "";
      auto request = co_await find_request(std::move(id));
      const bool waits =
          facts && request && request->request.status == asked::kWaiting && request->request.asked_at == facts->at;
      if (!waits) differs(recount, items_.name_of(item) + " is not that of a request that waits");
    }
    n += page->items.size();
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return n;
}

// Between two looks at the same versions, so that the counters are those of what was counted.
Async<Result<void>> TableQueue::recount_queue(size_t queue, Recount& recount) const {
  const std::string name = items_.name_of(items_.queue_key(queue));
  for (int attempt = 1;; ++attempt) {
    Recount counted;
    Item key = items_.queue_key(queue);
    auto before = co_await read(settings_.queues_in(), key);
    if (!before) co_return fail(before.error());
    auto entries = co_await count_entries(queue, counted);
    if (!entries) co_return fail(entries.error());
    auto waiting = co_await count_waiting(queue, counted);
    if (!waiting) co_return fail(waiting.error());
    auto after = co_await read(settings_.queues_in(), std::move(key));
    if (!after) co_return fail(after.error());
    const bool changed =
        static_cast<bool>(*before) != static_cast<bool>(*after) || (*before && !before->same_bytes(*after));
    if (changed && attempt < kMostCounts) continue;
    ++recount.queues;
    recount.entries += *entries;
    recount.waiting += *waiting;
    for (auto& one : counted.differences) differs(recount, std::move(one));
    if (changed) differs(recount, name + " changes faster than it can be counted");
    const auto facts = items_.queue(*after, queue, *entries + *waiting > 0);
    if (!facts) {
      differs(recount, facts.error().message);
    } else if (!changed) {
      if (facts->depth != static_cast<int64_t>(*entries)) {
        differs(recount, name + ": " + settings_.names.depth + " is " + std::to_string(facts->depth) +
                             ", but there are " + std::to_string(*entries) + " entries");
      }
      if (facts->requests != static_cast<int64_t>(*waiting)) {
        differs(recount, name + ": " + settings_.names.request_depth + " is " + std::to_string(facts->requests) +
                             ", but " + std::to_string(*waiting) + " requests wait");
      }
    }
    co_return Result<void>();
  }
}

Async<Result<Recount>> TableQueue::recount() {
  Recount out;
  for (size_t queue = 0; queue < combinations_.size(); ++queue) {
    auto counted = co_await recount_queue(queue, out);
    if (!counted) co_return fail(counted.error());
  }
  co_return out;
}

}  // namespace freshet::filtered
