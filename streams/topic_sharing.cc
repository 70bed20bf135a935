// The part of TopicService for FIFO topics of a fleet. The daemon that serves a topic claims its record
// (shared_fifo.h), reads the messages of the last minutes and those that wait for delivery, and only then publishes.
// Each publish is one transaction, on the condition that the record is as this daemon knows it. After a publish whose
// outcome is not certain, it begins anew with a claim: what was on its way until then fails.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/let_others_in.h"
#include "base/limits.h"
#include "base/points.h"
#include "streams/system_table.h"
#include "streams/topic_fan_out.h"
#include "streams/topic_service.h"

namespace freshet {

namespace {

constexpr seconds kLookAgain{1};
constexpr seconds kReadAgain{300};
constexpr int kMostTries = 4;
constexpr size_t kForgottenAtOnce = 4;  // The most messages that a publish forgets, so that none pile up.
constexpr size_t kBytesBesideEvents = 16u << 10;

auto not_served(const std::string& topic) {
  return fail(ErrorCode::kUnavailable, "no member of the fleet serves topic '" + topic + "' at the moment: try again");
}

bool is_refused(const Error& error) {
  return error.code == ErrorCode::kTransactionCanceled || error.code == ErrorCode::kConditionalCheckFailed;
}

// The next write of the record: the first one of a message has the message's number.
FifoClaim after(const FifoClaim& now, bool is_first) {
  FifoClaim next = now;
  if (is_first) ++next.last;
  next.parts = is_first ? 1 : now.parts + 1;
  return next;
}

}  // namespace

void TopicService::serve(const std::string& name, bool is_mine) {
  const auto topic = topics_.find(name);
  std::shared_ptr<Fifo> fifo = topic == topics_.end() ? nullptr : topic->second.fifo;
  if (is_mine) {
    serving_.insert(name);
    if (fifo) begin_to_serve(name, fifo);
    return;
  }
  serving_.erase(name);
  queue_.leave_topic(name);
  if (!fifo || !fifo->served) return;
  ++fifo->served->turn;
  fifo->served->is_ready = false;
  fifo->served->sent.clear();
}

bool TopicService::is_busy(const std::string& name) const {
  const auto topic = topics_.find(name);
  const bool publishes = topic != topics_.end() && topic->second.fifo && topic->second.fifo->at_work;
  return publishes || queue_.is_delivering(name);
}

void TopicService::begin_to_serve(const std::string& name, const std::shared_ptr<Fifo>& fifo) {
  if (!fifo->served) fifo->served = std::make_unique<Served>();
  fifo->served->name = name;
  fifo->served->is_ready = false;
  publishing_.spawn(keep_ready(name, fifo, ++fifo->served->turn));
}

// False once this daemon must not act for the topic as of that turn.
bool TopicService::is_mine(const std::string& name, const Fifo& fifo, uint64_t turn) const {
  const auto topic = topics_.find(name);
  const bool is_there = topic != topics_.end() && topic->second.fifo.get() == &fifo;
  return is_there && fifo.served->turn == turn && serving_.contains(name) && fleet_->may_serve(name);
}

// Also reads the deliveries again now and then: one that could not be settled is tried again.
Async<void> TopicService::keep_ready(std::string name, std::shared_ptr<Fifo> fifo, uint64_t turn) {
  BootTime read_at = scheduler_.clock().boot();
  const auto is_there = [&] {
    const auto topic = topics_.find(name);
    return topic != topics_.end() && topic->second.fifo == fifo;
  };
  while (fifo->served->turn == turn && is_there()) {
    if (!fifo->served->is_ready) {
      read_at = scheduler_.clock().boot();
      fifo->served->wants_claim = true;
      if (!fifo->at_work) {
        fifo->at_work = true;
        publishing_.spawn(work_off(fifo));
      }
    } else if (scheduler_.clock().boot() >= read_at + kReadAgain) {
      read_at = scheduler_.clock().boot();
      auto reading = queue_.load_topic(name);
      static_cast<void>(co_await reading);
    }
    co_await sleep_for(scheduler_, kLookAgain);
  }
}

Async<Result<void>> TopicService::make_ready(std::string name, std::shared_ptr<Fifo> fifo) {
  if (!fifo->served || !is_mine(name, *fifo, fifo->served->turn)) co_return not_served(name);
  Served& served = *fifo->served;
  if (served.is_ready) co_return Result<void>();
  const uint64_t turn = served.turn;
  auto claiming = claim(name, fifo, turn);
  auto done = co_await claiming;
  if (done) {
    auto reading = read_sent(name, fifo, turn);
    done = co_await reading;
  }
  if (done && !FRESHET_PLANTED("fleet-waiting-messages-left")) {
    auto loading = queue_.load_topic(name);
    done = co_await loading;
  }
  if (!done) co_return done;
  if (!is_mine(name, *fifo, turn)) co_return not_served(name);
  served.is_ready = true;
  co_return Result<void>();
}

// Looks who may serve the topic between the read and the write: another daemon that has it meanwhile has written a
// claim, or will read this one.
Async<Result<void>> TopicService::claim(std::string name, std::shared_ptr<Fifo> fifo, uint64_t turn) {
  Result<void> last;
  for (int tries = 0; tries < kMostTries; ++tries) {
    GetItemInput get = get_claim(name);
    auto record = co_await tables_.get_item(std::move(get));
    if (!record) co_return fail(std::move(record.error()));
    if (!is_mine(name, *fifo, turn)) co_return not_served(name);
    const FifoClaim seen = *record ? claim_of(record->decode()) : FifoClaim{};
    // The daemon may have served the topic before it was in a fleet.
    FifoClaim next{random_.uuid(), std::max(seen.last, fifo->record.last), 0};
    if (FRESHET_PLANTED("fleet-numbers-begin-anew")) next.last = fifo->record.last;
    PutItemInput put = put_claim(name, next, seen);
    auto written = co_await tables_.put_item(std::move(put));
    if (written) {
      fifo->served->claim = next;
      fifo->record.last = next.last;
      co_return Result<void>();
    }
    last = fail(std::move(written.error()));
    if (!is_refused(last.error()) && last.error().code != ErrorCode::kUnknownOutcome) break;
  }
  co_return last;
}

Async<Result<void>> TopicService::read_sent(std::string name, std::shared_ptr<Fifo> fifo, uint64_t turn) {
  if (FRESHET_PLANTED("fleet-sent-unread")) co_return Result<void>();
  SentLately sent;
  Item start;
  do {
    QueryInput query = SentLately::page(name, std::move(start));
    auto page = co_await tables_.query(std::move(query));
    if (!page) co_return fail(std::move(page.error()));
    for (const ItemRef& item : page->items) sent.add(item.decode());
    start = std::move(page->last_evaluated_key);
  } while (!start.empty());
  if (!is_mine(name, *fifo, turn)) co_return not_served(name);
  fifo->served->sent = std::move(sent);
  co_return Result<void>();
}

// Tries again where a failed publish is known not to count, or is found among the sent messages.
Async<Result<Published>> TopicService::publish_in_fleet(std::shared_ptr<Fifo> fifo, Waiting publish) {
  const std::string name = topic_name(publish.input.topic_arn);
  for (int tries = 1;; ++tries) {
    auto readying = make_ready(name, fifo);
    auto ready = co_await readying;
    if (!ready) co_return fail(std::move(ready.error()));
    fifo->served->may_try_again = false;
    PublishInput input = publish.input;
    MessageByProtocol by_protocol = publish.by_protocol;
    auto publishing = publish_next(fifo, std::move(input), std::move(by_protocol), publish.trace_id);
    auto published = co_await publishing;
    if (published || !fifo->served->may_try_again || tries == kMostTries) co_return published;
  }
}

// A large message takes several transactions. Only the last one makes it known as sent: if this daemon dies before
// that, the publisher tries again, and some subscribers get the message twice.
Async<Result<void>> TopicService::write_in_fleet(std::shared_ptr<Fifo> fifo, std::string name,
                                                 std::vector<PreparedEvent> events, SentMessage sent) {
  Served& served = *fifo->served;
  if (!served.is_ready || !is_mine(name, *fifo, served.turn)) co_return not_served(name);
  std::vector<std::string> over;
  if (wall_.trusted()) over = served.sent.over(scheduler_.clock().wall(), kForgottenAtOnce);
  std::erase(over, sent.key);
  const size_t most = limits::kMaxTransactionActions - 2 - over.size();
  const size_t most_bytes = limits::kMaxTransactionBytes - kBytesBesideEvents;
  size_t first = 0;
  for (size_t last = 0;; first = last) {
    const FifoClaim next = after(served.claim, first == 0);
    TransactWriteInput transaction;
    transaction.actions.emplace_back(put_claim(name, next, served.claim));
    last = take_events(events, first, most, most_bytes, transaction.actions);
    const bool is_whole = last == events.size();
    if (is_whole) {
      transaction.actions.emplace_back(served.sent.put(name, sent));
      for (const std::string& key : over) transaction.actions.emplace_back(SentLately::removal_of(name, key));
    }
    const uint64_t turn = served.turn;
    auto written = co_await tables_.transact_write(std::move(transaction));
    const bool is_still_mine = served.turn == turn;
    if (!written) {
      const bool is_unknown = written.error().code == ErrorCode::kUnknownOutcome;
      const bool is_doubtful = is_unknown || is_refused(written.error());
      if (is_doubtful || first > 0) served.is_ready = false;  // After all other errors nothing has changed.
      served.may_try_again = first == 0 && is_whole && is_doubtful;
      co_return fail(std::move(written.error()));
    }
    for (size_t i = first; i < last; ++i) events[i].logged();
    if (is_still_mine) {
      served.claim = next;
      fifo->record.last = next.last;
    } else if (!is_whole) {
      co_return not_served(name);
    }
    if (is_whole) break;
    co_await let_others_in(scheduler_);
  }
  for (const std::string& key : over) served.sent.remove(key);
  served.sent.add(std::move(sent));
  co_return Result<void>();
}

}  // namespace freshet
