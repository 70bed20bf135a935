#include "tests/sim/machine/judge_filtered.h"

#include <algorithm>
#include <utility>

namespace freshet::sim {

void FilteredJudge::member(const std::string& id, std::set<std::string> languages, std::string shift) {
  Member& member = members_[id];
  member.languages = std::move(languages);
  member.shift = std::move(shift);
}

void FilteredJudge::unsure(Member& member) {
  member.queue.clear();
  member.free = false;
}

void FilteredJudge::begin_move(const std::string& id) {
  unsure(members_[id]);
  members_[id].taken = false;
}

void FilteredJudge::life_begins() {
  for (auto& [id, member] : members_) member.murky = false;
  for (auto& [queue, requests] : unsure_) {
    std::erase_if(requests, [](const auto& one) { return !one.second; });
  }
}

void FilteredJudge::queued(const std::string& id, const std::string& queue, const Span& span) {
  Member& member = members_[id];
  if (member.murky || member.taken || !unsure_[queue].empty()) return;
  member.queue = queue;
  member.queue_sent = span.sent;
  member.queue_answered = span.answered;
}

void FilteredJudge::withdrawn(const std::string& id, const Span& span) {
  Member& member = members_[id];
  if (member.murky || member.taken) return;
  member.free = true;
  member.free_since = span.answered;
}

uint64_t FilteredJudge::begin_assign() {
  open_.insert(++last_);
  return last_;
}

bool FilteredJudge::fits(const Member& member, const FilteredWish& wish) const {
  const bool speaks = std::any_of(wish.languages.begin(), wish.languages.end(),
                                  [&](const std::string& one) { return member.languages.contains(one); });
  return (wish.languages.empty() || speaks) && (!wish.shift || *wish.shift == member.shift);
}

void FilteredJudge::assigned(uint64_t number, const FilteredWish& wish, const std::string& id,
                             const std::string& assignment, const std::string& key, const Span& span) {
  const auto found = members_.find(id);
  verdict_.expect(found != members_.end(), "a member is given out that nobody put", id);
  if (found == members_.end()) return;
  Member& member = found->second;
  verdict_.expect(fits(member, wish), "a member is given out that does not match", id + " to " + wish.request);
  const auto [other, is_new] = given_.try_emplace(assignment, Given{wish.queue + wish.request, id, key});
  verdict_.expect(is_new || (other->second.request == wish.queue + wish.request && other->second.member == id),
                  "an assignment is given to two requests", assignment);
  verdict_.expect(other->second.key == key, "a repeated assign is answered otherwise",
                  wish.request + " got " + other->second.key + " and '" + key + "'");
  if (!wish.request.empty()) {
    const auto [before, first] = of_request_.try_emplace(wish.queue + wish.request, id, assignment);
    verdict_.expect(first || before->second == std::pair(id, assignment), "a request gets two answers",
                    wish.request + " got " + before->second.first + " and " + id);
  }
  request_over(wish);
  if (!is_new) return assign_over(number);
  verdict_.expect(member.assignment.empty(), "a member has two assignments", id);
  verdict_.expect(!member.free || member.free_since > span.sent, "a member is given out that does not wait", id);
  if (!member.queue.empty() && member.queue_answered < span.sent && last_disturbance_ < member.queue_sent) {
    Doubt doubt{id, {}, open_};
    doubt.open.erase(number);
    for (const auto& [name, each] : members_) {
      if (each.queue == wish.queue && name != id && each.queue_answered < member.queue_sent && fits(each, wish) &&
          last_disturbance_ < each.queue_sent) {
        doubt.older.insert(name);
      }
    }
    if (!doubt.older.empty()) doubts_.push_back(std::move(doubt));
  }
  unsure(member);
  member.taken = true;
  member.assignment = assignment;
  assign_over(number);
}

// A member that no other request can have got, and that surely still waits, was passed over.
void FilteredJudge::judge_doubts(uint64_t over) {
  for (Doubt& doubt : doubts_) {
    doubt.open.erase(over);
    std::erase_if(doubt.older, [&](const std::string& id) { return members_.at(id).queue.empty(); });
    if (!doubt.open.empty() || doubt.older.empty()) continue;
    verdict_.broken("a member that has waited longer is passed over",
                    *doubt.older.begin() + " waited longer than " + doubt.taken);
  }
  std::erase_if(doubts_, [](const Doubt& doubt) { return doubt.open.empty() || doubt.older.empty(); });
}

void FilteredJudge::assign_over(uint64_t number) {
  open_.erase(number);
  judge_doubts(number);
}

void FilteredJudge::assign_unsure(uint64_t number, const FilteredWish& wish, bool waits) {
  for (auto& [id, member] : members_) {
    if (member.queue == wish.queue) member.queue.clear();
  }
  bool& may_wait = unsure_[wish.queue][wish.request];
  may_wait = may_wait || waits;
  assign_over(number);
}

void FilteredJudge::request_over(const FilteredWish& wish) {
  unsure_[wish.queue].erase(wish.request);
}

void FilteredJudge::begin_release(const std::string& id, const std::string& assignment) {
  Member& member = members_[id];
  if (member.assignment == assignment) member.assignment.clear();
}

void FilteredJudge::release_refused(const std::string& id, const std::string& assignment, bool held) {
  verdict_.expect(!held, "an assignment has ended by itself", id + ", " + assignment);
}

std::set<std::string> FilteredJudge::waiting(const std::string& queue) const {
  std::set<std::string> all;
  for (const auto& [id, member] : members_) {
    if (member.queue == queue) all.insert(id);
  }
  return all;
}

}  // namespace freshet::sim
