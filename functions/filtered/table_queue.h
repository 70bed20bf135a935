// A filtered queue over one to three tables (docs/filtered-queue.md). Every change is one transaction with its
// assumptions as conditions, so other programs may write the same items at any time, the sample's scripts too, and the
// store may answer at once or late and out of step. A call that lost against a faster one tries again after a wait with
// jitter.
//
// Nothing here has a lease: a member that a request has got is assigned until somebody releases it, as in the sample,
// however long that takes. `attempt` counts the tries of one call against faster callers, never those of a member; only
// the wait between them is the backoff of a task (functions/queue/policy/backoff.h).
//
// It keeps no state in memory that the store does not have. Loop thread. Outlives every Async that it returned;
// services outlive it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "functions/filtered/actions.h"
#include "functions/filtered/items.h"
#include "functions/filtered/policy/combinations.h"
#include "functions/filtered/settings.h"
#include "runtime/api/filtered_queue.h"
#include "runtime/invoke/function.h"

namespace freshet::filtered {

class TableQueue final : public FilteredQueue {
 public:
  // Makes missing tables and items of queues. kValidation for wrong settings and for tables with other
  // keys.
  static Async<Result<std::unique_ptr<TableQueue>>> open(Services& services, Settings settings);
  TableQueue(const TableQueue&) = delete;
  TableQueue& operator=(const TableQueue&) = delete;

  const std::string& name() const override { return settings_.name; }
  const Settings& settings() const { return settings_; }

  // Matches waiting requests with waiting members; only other programs can cause such pairs. Returns the number of
  // assigned requests, at most one per queue. Returns an error only if none was assigned: that of the first queue with
  // an error.
  Async<Result<size_t>> match_waiting();

  Async<Result<FilteredMember>> put_member(std::string id, Item attributes) override;
  Async<Result<FilteredMember>> get_member(std::string id) override;
  Async<Result<FilteredMember>> delete_member(std::string id) override;
  Async<Result<MemberPage>> list_members(ListMembersInput input) override;
  Async<Result<Enqueued>> enqueue(std::string id) override;
  Async<Result<FilteredMember>> withdraw(std::string id) override;
  Async<Result<Enqueued>> release(ReleaseInput input) override;
  Async<Result<Assigned>> assign(AssignInput input) override;
  Async<Result<FilteredRequest>> get_request(std::string id) override;
  Async<Result<FilteredRequest>> cancel_request(std::string id) override;
  Async<Result<RequestPage>> list_requests(uint32_t limit, std::string cursor) override;
  Async<Result<FilteredStats>> stats() override;
  Async<Result<Recount>> recount() override;

 private:
  // The result of one attempt: empty if another caller was faster.
  template <class T>
  using Attempt = Result<std::optional<T>>;

  struct Head {  // The next entry of a queue.
    ItemRef item;
    EntryFacts facts;
    size_t queue = 0;
    std::optional<std::string> queued_at;  // The time in the member, if it was read; empty if it has none.
  };
  struct Job {  // One assign in progress.
    Alternatives alternatives;
    std::string request;
    bool wait = false;
    bool was_waiting = false;  // True if the request exists, with its entries.
    bool check_members = false;
  };
  using Seen = std::vector<std::pair<size_t, ItemRef>>;  // Items of queues, by queue.

  TableQueue(Services& services, Settings settings, Combinations combinations);

  // table_queue.cc
  Async<Result<void>> provide_queues();
  std::string stamp();
  Actions actions() const { return {settings_, combinations_, items_}; }
  Async<Attempt<bool>> commit(TransactWriteInput transaction);
  Async<Result<void>> again(int attempt, std::string what);
  Async<Result<ItemRef>> read(std::string table, Item key) const;
  Async<Result<FilteredMember>> find_member(std::string id) const;
  Async<Result<RequestFacts>> find_request(std::string id) const;
  Async<Attempt<Seen>> look_at(QueueSet queues) const;
  Result<QueueFacts> facts_in(const Seen& seen, size_t queue, bool must_be_there) const;
  Async<Result<Page>> page_of(std::string table, std::string partition, uint32_t limit, Item start, bool forward,
                              std::string prefix = {}) const;
  tl::unexpected<Error> wrong_state(const FilteredMember& member, const std::string& wanted) const;

  // table_queue_members.cc
  Result<void> check_attributes(const Item& attributes) const;
  Async<Attempt<Enqueued>> try_enqueue(FilteredMember member);
  Async<Attempt<FilteredMember>> try_withdraw(FilteredMember member, bool again);
  Async<Result<bool>> has_request(FilteredMember member) const;
  Async<Result<EntryFacts>> entry_of(FilteredMember member, QueueSet queues) const;

  // table_queue_assign.cc
  Async<Attempt<Assigned>> try_assign(const Job& job);
  Async<Attempt<Assigned>> take(const Job& job, Head head, Seen seen, std::vector<std::string> passed);
  Async<Attempt<Assigned>> begin_waiting(const Job& job, Seen seen);
  Async<Result<Assigned>> assign_until_done(Job job);
  Async<Result<std::optional<Head>>> find_head(const Job& job, std::vector<std::string>* passed) const;
  Async<Result<std::optional<Head>>> head_of(size_t queue, bool check_member, std::vector<std::string>* passed) const;
  Async<Result<std::optional<Head>>> usable(ItemRef item, size_t queue, bool check_member,
                                            std::vector<std::string>* passed) const;
  Async<Result<std::string>> why_not_by(FilteredMember member, EntryFacts entry) const;
  Async<Result<std::vector<ItemRef>>> entries_at(QueueSet queues, std::string at) const;
  bool is_entry_of(const std::string& member, const ItemRef& item, size_t queue) const;
  Async<Result<std::optional<Assigned>>> known_outcome(const Job& job) const;
  std::optional<Assigned> outcome_of(const FilteredRequest& request) const;

  // table_queue_requests.cc
  Async<Result<std::optional<WaitingFacts>>> first_waiting(size_t queue) const;
  Async<Result<std::optional<WaitingFacts>>> oldest_waiting(QueueSet queues) const;
  Async<Result<std::optional<RequestFacts>>> oldest_request(QueueSet queues);
  Async<Attempt<Enqueued>> give_to_waiting(FilteredMember member, RequestFacts waiting);
  Async<Result<QueueSet>> waiting_entries(const RequestFacts& request) const;
  Async<Result<bool>> forget_entry(size_t queue, WaitingFacts entry);
  Async<Result<void>> forget_entries(RequestFacts request);
  Async<Result<bool>> match_queue(size_t queue);

  // table_queue_stats.cc
  Async<Result<uint64_t>> count_entries(size_t queue, Recount& recount) const;
  Async<Result<uint64_t>> count_waiting(size_t queue, Recount& recount) const;
  Async<Result<void>> recount_queue(size_t queue, Recount& recount) const;

  // Constant after construction.
  Services& services_;
  const Settings settings_;
  const Combinations combinations_;
  const Items items_{settings_, combinations_};

  int64_t last_stamp_us_ = 0;
};

}  // namespace freshet::filtered
