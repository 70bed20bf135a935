#include "tests/sim/machine/judge_priority.h"

#include <algorithm>
#include <utility>

namespace freshet::sim {

namespace {
constexpr size_t kLatelyEnqueued = 20;
}  // namespace

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
  enqueued_lately_.push_back(id);
  if (enqueued_lately_.size() > kLatelyEnqueued) enqueued_lately_.pop_front();
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
  const bool comes_back = record.may_come_again || record.may_be_restored || span.sent <= record.cancelled;
  verdict_.expect(comes_back, "a cancelled record is given out", id);
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
  if (!receipt) record.may_be_completed = true;
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

void PriorityJudge::restored(const std::string& id, const std::string& receipt, milliseconds delay, bool is_dead,
                             const Span& span) {
  Record& record = records_[id];
  check_receipt(record, receipt, span, "a stale receipt restores a record", id);
  if (record.enqueues > 0 || record.may_come_again || is_dead || record.peeked >= span.sent) return;
  record.hidden = hide(delay, span);
}

std::optional<PriorityJudge::Hidden> PriorityJudge::begin_extend(const std::string& id, const std::string& receipt) {
  Record& record = records_[id];
  if (!record.receipts.contains(receipt)) return std::nullopt;
  const bool is_only = record.receipts.size() == 1 && record.in_flight;
  const auto before = std::exchange(record.hidden, std::nullopt);
  return is_only ? before : std::nullopt;
}

void PriorityJudge::extend_refused(const std::string& id, const std::optional<Hidden>& before, const Span& span) {
  const bool held = before && records_[id].in_flight && !records_[id].may_be_completed &&
                    before->answered <= span.sent && wall_.latest(before->sent, span.answered) < before->until;
  verdict_.expect(!held, "a holder may not extend its timeout", id);
}

void PriorityJudge::extended(const std::string& id, const std::string& receipt, milliseconds visibility,
                             const Span& span) {
  Record& record = records_[id];
  check_receipt(record, receipt, span, "a stale receipt extends a timeout", id);
  if (record.in_flight && record.peeked < span.sent) record.hidden = hide(visibility, span);
}

void PriorityJudge::cancelled(const std::string& id, const Span& span) {
  Record& record = records_[id];
  const bool held =
      record.in_flight && record.hidden && record.hidden->answered <= span.sent && is_hidden(record, span);
  verdict_.expect(!held, "a record in flight is cancelled", id);
  record.cancelled = std::min(record.cancelled, span.answered);
}

void PriorityJudge::at_rest(const std::string& id, const std::string& place) {
  verdict_.expect(place == "outside" || place == "dead", "a record is never done", id + " is " + place);
  const Record& record = records_[id];
  const bool may_be_outside = !record.receipts.empty() || record.may_be_cancelled;
  verdict_.expect(!record.enqueued || place == "dead" || may_be_outside, "an enqueued record is lost", id);
}

}  // namespace freshet::sim
