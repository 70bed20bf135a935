// Judges filtered queues by their promises (docs/filtered-queue.md): a request gets a member that matches, and the same
// one however often it asks; no member has two assignments; the member that has waited longest goes first; an
// assignment ends only by its own release; a withdrawn member is not assigned; a recount finds no difference.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/machine/judge_tasks.h"

namespace freshet::sim {

struct FilteredWish {
  std::string queue;
  std::string request;
  std::set<std::string> languages;  // The member must have one of them.
  std::optional<std::string> shift;
};

class FilteredJudge {
 public:
  explicit FilteredJudge(Verdict& verdict) : verdict_(verdict) {}
  // The wall clock was set, or a life ended. The order cannot be judged across that, because it is by times of that
  // clock.
  void disturbed(BootTime now) { last_disturbance_ = now; }
  // A new daemon starts, so calls to the one before that got no answer have been carried out, or never will be.
  void life_begins();

  void member(const std::string& id, std::set<std::string> languages, std::string shift);
  // A call that moves the member is about to be sent.
  void begin_move(const std::string& id);
  void queued(const std::string& id, const std::string& queue, const Span& span);
  void withdrawn(const std::string& id, const Span& span);
  void move_unknown(const std::string& id) { members_[id].murky = true; }

  // A request to assign is about to be sent. Returns a number for it.
  uint64_t begin_assign();
  // `key`: that of the queue from which the member came, if the answer has it.
  void assigned(uint64_t number, const FilteredWish& wish, const std::string& member, const std::string& assignment,
                const std::string& key, const Span& span);
  // The request got another answer.
  void assign_over(uint64_t number);
  // The request waits, or may have been carried out: from now on it may get any member of its queue.
  void assign_unsure(uint64_t number, const FilteredWish& wish, bool waits);
  // The request will get no member any more.
  void request_over(const FilteredWish& wish);
  void begin_release(const std::string& member, const std::string& assignment);
  // `held`: the assignment was certainly valid when the request was sent.
  void release_refused(const std::string& member, const std::string& assignment, bool held);
  // The members that certainly wait.
  std::set<std::string> waiting(const std::string& queue) const;

 private:
  struct Member {
    std::set<std::string> languages;
    std::string shift;
    std::string queue;  // The queue in which it certainly waits; "" if that is not certain.
    BootTime queue_sent{};
    BootTime queue_answered{};
    bool free = false;   // It certainly waits nowhere.
    bool murky = false;  // Calls without an answer may still move it.
    bool taken = false;  // Assigned by somebody since the last call that moves it was sent.
    BootTime free_since{};
    std::string assignment;  // The assignment that is certainly valid; "" if there is none.
  };
  struct Given {
    std::string request;
    std::string member;
    std::string key;
  };
  // `older` members waited longer than `taken`. The `open` requests may have got them meanwhile.
  struct Doubt {
    std::string taken;
    std::set<std::string> older;
    std::set<uint64_t> open;
  };
  bool fits(const Member& member, const FilteredWish& wish) const;
  void unsure(Member& member);
  void judge_doubts(uint64_t over);

  Verdict& verdict_;
  std::map<std::string, Member> members_;
  std::map<std::string, Given> given_;                                     // By assignment.
  std::map<std::string, std::pair<std::string, std::string>> of_request_;  // Queue and id: member, assignment.
  std::map<std::string, std::map<std::string, bool>> unsure_;  // By queue: requests, and whether they may wait.
  std::set<uint64_t> open_;
  uint64_t last_ = 0;
  std::vector<Doubt> doubts_;
  BootTime last_disturbance_{};
};

}  // namespace freshet::sim
