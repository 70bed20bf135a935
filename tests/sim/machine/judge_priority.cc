#include "tests/sim/machine/judge_priority.h"

#include <algorithm>

namespace freshet::sim {

PriorityJudge::Hidden PriorityJudge::hide(milliseconds time, const Span& span) const {
  return {span.sent, span.answered, wall_.earliest(span.sent, span.answered) + time};
}

bool PriorityJudge::is_hidden(const Record& record, const Span& span) const {
  if (!record.hidden || record.hidden->answered > span.sent) return false;
  return wall_.latest(record.hidden->sent, span.answered) < record.hidden->until;
}

void PriorityJudge::enqueued(const std::string& id, milliseconds delay, const Span& span) {
  Record& record = records_[id];
  record.enqueued = true;
  // A try before may arrive after this one, with another delay.
  if (!record.may_come_again && record.peeked < span.sent) record.hidden = hide(delay, span);
}

void PriorityJudge::peeked(const std::string& id, const std::string& receipt, milliseconds visibility,
                           const Span& span) {
  const auto found = records_.find(id);
  verdict_.expect(found != records_.end(), "a record appears that nobody has enqueued", id);
  if (found == records_.end()) return;
  Record& record = found->second;
  verdict_.expect(!record.removed || record.may_come_again, "a removed record is given out again", id);
  verdict_.expect(!record.receipts.contains(receipt), "a receipt is given out twice", id);
  verdict_.expect(!is_hidden(record, span),
                  record.in_flight ? "a record is given out before its timeout is over"
                                   : "a record is given out before its delay is over",
                  id);
  verdict_.expect(record.completed >= span.sent, "a completed record is given out", id);
  for (const auto& [other, each] : records_) {
    const bool both = strict_ && other != id && each.in_flight && is_hidden(each, span);
    verdict_.expect(!both, "a strict queue has two records in flight", other + " and " + id);
  }
  const bool in_order = record.peeked < span.sent;
  if (in_order) record.receipts.clear();
  record.receipts.insert(receipt);
  record.peeked = std::max(record.peeked, span.answered);
  record.in_flight = in_order;
  record.hidden.reset();
  if (in_order) record.hidden = hide(visibility, span);
}

void PriorityJudge::begin_settle(const std::string& id, const std::optional<std::string>& receipt) {
  Record& record = records_[id];
  if (receipt && !record.receipts.contains(*receipt)) return;
  record.hidden.reset();
  record.in_flight = false;
}

void PriorityJudge::check_receipt(const Record& record, const std::string& receipt, const Span& span,
                                  const char* promise, const std::string& id) {
  verdict_.expect(record.receipts.contains(receipt) || record.peeked >= span.sent, promise, id);
}

void PriorityJudge::removed(const std::string& id, const std::string& receipt, const Span& span) {
  Record& record = records_[id];
  check_receipt(record, receipt, span, "a stale receipt removes a record", id);
  record.removed = true;
}

void PriorityJudge::restored(const std::string& id, const std::string& receipt, milliseconds delay, const Span& span) {
  Record& record = records_[id];
  check_receipt(record, receipt, span, "a stale receipt restores a record", id);
  if (!record.may_come_again && record.peeked < span.sent) record.hidden = hide(delay, span);
}

void PriorityJudge::at_rest(const std::string& id, const std::string& place) {
  verdict_.expect(place == "outside" || place == "dead", "a record is never done", id + " is " + place);
  const Record& record = records_[id];
  verdict_.expect(!record.enqueued || place == "dead" || !record.receipts.empty(), "an enqueued record is lost", id);
}

}  // namespace freshet::sim
