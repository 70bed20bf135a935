#include "tests/sim/machine/judge_priority.h"

namespace freshet::sim {

void PriorityJudge::peeked(const std::string& id, const std::string& receipt, milliseconds visibility,
                           const Span& span) {
  const auto found = records_.find(id);
  verdict_.expect(found != records_.end(), "a record appears that nobody has enqueued", id);
  if (found == records_.end()) return;
  Record& record = found->second;
  verdict_.expect(!record.removed || record.may_come_again, "a removed record is given out again", id);
  verdict_.expect(receipt != record.receipt, "a receipt is given out twice", id);
  // Times are those of the wall clock, in whole milliseconds.
  const bool over = span.answered + milliseconds(2) >= record.sure_until || last_disturbance_ >= record.peek_sent;
  verdict_.expect(over, "a record is given out before its timeout is over", id);
  verdict_.expect(record.completed >= span.sent, "a completed record is given out", id);
  for (const auto& [other, each] : records_) {
    const bool in_flight = strict_ && other != id && each.peeked < span.sent && last_disturbance_ < each.peek_sent &&
                           span.answered + milliseconds(2) < each.sure_until;
    verdict_.expect(!in_flight, "a strict queue has two records in flight", other + " and " + id);
  }
  record.receipt = receipt;
  record.peek_sent = span.sent;
  record.peeked = span.answered;
  record.sure_until = span.sent + visibility;
}

void PriorityJudge::begin_settle(const std::string& id) {
  records_[id].sure_until = {};
}

void PriorityJudge::removed(const std::string& id, const std::string& receipt, const Span& span) {
  Record& record = records_[id];
  verdict_.expect(record.receipt == receipt || record.peeked >= span.sent, "a stale receipt removes a record", id);
  record.removed = true;
}

void PriorityJudge::at_rest(const std::string& id, const std::string& place) {
  verdict_.expect(place == "outside" || place == "dead", "a record is never done", id + " is " + place);
  const Record& record = records_[id];
  verdict_.expect(!record.enqueued || place == "dead" || !record.receipt.empty(), "an enqueued record is lost", id);
}

}  // namespace freshet::sim
