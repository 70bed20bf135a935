// Judges filtered queues by their promises (docs/filtered-queue.md): a request gets a member that matches, and the same
// one however often it asks; no member has two assignments; the one that has waited longest goes first; an assignment
// ends only by its own release; what is withdrawn is not given out; counting again finds no difference.
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
  std::set<std::string> languages;  // One of them will do.
  std::optional<std::string> shift;
};

class FilteredJudge {
 public:
  explicit FilteredJudge(Verdict& verdict) : verdict_(verdict) {}
  // The wall clock was set, or a life ended: places in the order are times of that clock.
  void disturbed(BootTime now) { last_disturbance_ = now; }
  // The work of the daemon before is gone: calls without an answer are done, or never will be.
  void life_begins();

  void member(const std::string& id, std::set<std::string> languages, std::string shift);
  // A call that moves the member is about to be sent.
  void begin_move(const std::string& id);
  void queued(const std::string& id, const std::string& queue, const Span& span);
  void withdrawn(const std::string& id, const Span& span);
  void move_unknown(const std::string& id) { members_[id].murky = true; }

  // Requests to assign have numbers of their own.
  uint64_t begin_assign();
  // `key`: of the queue in which the member stood, if the answer says it.
  void assigned(uint64_t number, const FilteredWish& wish, const std::string& member, const std::string& assignment,
                const std::string& key, const Span& span);
  // It was answered otherwise.
  void assign_over(uint64_t number);
  // It waits, or may have been carried out: from now on it may be given any member of its queue.
  void assign_unsure(uint64_t number, const FilteredWish& wish, bool waits);
  // It will be given nobody any more.
  void request_over(const FilteredWish& wish);
  void begin_release(const std::string& member, const std::string& assignment);
  // `held`: the caller was sure to hold it when the request was sent.
  void release_refused(const std::string& member, const std::string& assignment, bool held);
  // Members that wait for sure.
  std::set<std::string> waiting(const std::string& queue) const;

 private:
  struct Member {
    std::set<std::string> languages;
    std::string shift;
    std::string queue;  // In which it waits for sure; "" if that is not sure.
    BootTime queue_sent{};
    BootTime queue_answered{};
    bool free = false;   // It waits nowhere, for sure.
    bool murky = false;  // Calls without an answer may move it yet.
    bool taken = false;  // By somebody, since the last call that moves it was sent.
    BootTime free_since{};
    std::string assignment;  // That is valid for sure; "" if none is.
  };
  struct Given {
    std::string request;
    std::string member;
    std::string key;
  };
  // Members that waited longer, and the requests that may have got them meanwhile.
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
