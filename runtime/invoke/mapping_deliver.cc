// The delivery of a lane of an event source mapping: batches, retries, batches that are given up, tumbling windows.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/points.h"
#include "runtime/invoke/http_host.h"
#include "runtime/invoke/mapping_batch.h"
#include "runtime/invoke/mapping_lane.h"
#include "streams/shards/named_records.h"

namespace freshet {

namespace {

constexpr milliseconds kFirstRetry{100};
constexpr milliseconds kLongestDeliveryRetry{30'000};
// Records of a window may still be on their way to the disk when it ends by the clock.
constexpr milliseconds kWindowGrace{1000};

nanoseconds retry_wait(int times) {
  const int doublings = std::clamp(times - 1, 0, 20);
  return std::min<nanoseconds>(kFirstRetry * (int64_t{1} << doublings), kLongestDeliveryRetry);
}

std::string number_in(const ChangeRecord& record, const MappingShared& shared) {
  return shared.shards ? number_of(record, *shared.shards) : sequence_number(record.sequence);
}

Payload payload_of(std::vector<ChangeRecord> records, std::string more, const MappingShared& shared) {
  StreamBatch batch{std::move(records), shared.source, std::move(more)};
  if (shared.shards) {
    batch.names = names_of(batch.records, *shared.shards);
    batch.continuity = shared.shards->continuity();
  }
  const MappingDefinition& mapping = shared.definition;
  batch.lanes = shared.position.lanes.size();
  batch.leaves_out = !mapping.filters.empty() || mapping.max_retries || mapping.max_record_age;
  return Payload(std::move(batch));
}

}  // namespace

Async<void> MappingLane::deliver(std::vector<Pending> records) {
  if (FRESHET_PLANTED("fleet-position-before-work")) {
    delivered(records.back());
    co_await save();
  }
  std::deque<Part> parts;
  parts.push_back({std::move(records), 0});
  while (!parts.empty()) {
    if (stop_) co_return;  // The remaining records are read again later.
    Part& part = parts.front();
    co_await drop_old(part);
    if (stop_) co_return;
    if (part.records.empty()) {
      parts.pop_front();
      continue;
    }
    const bool good = co_await try_part(part);
    if (part.records.empty()) {
      parts.pop_front();
    } else if (!good) {
      co_await after_error(parts);
    }
  }
  // Records between the last one and the next were filtered out or are another lane's.
  place().next = next_of_own();
  last_error_.clear();
}

Async<MappingLane::Tried> MappingLane::invoke(std::vector<ChangeRecord> records, std::string more) {
  InvokeWishes wishes{false, parts_.invoker.cause_of(definition().table, records)};
  Payload payload = payload_of(std::move(records), std::move(more), shared_);
  std::string function = definition().function;
  auto outcome = co_await parts_.invoker.invoke_trusted(std::move(function), std::move(payload), std::move(wishes));
  delivered_any_ = true;
  failing_ = !outcome || outcome->error;
  if (!outcome || is_busy(*outcome)) {
    last_error_ = outcome ? outcome->error->message : outcome.error().message;
    co_return Tried{false, true};
  }
  throttles_ = 0;
  if (outcome->error) {
    last_error_ = outcome->error->type + ": " + outcome->error->message;
    co_return Tried{};
  }
  co_return Tried{true, false, std::move(outcome->payload)};
}

// Makes one invocation, and removes the records that succeeded from the part. Returns false after an error of the
// function; returns true, after a wait, if there was no place for it.
Async<bool> MappingLane::try_part(Part& part) {
  std::vector<ChangeRecord> records;
  records.reserve(part.records.size());
  for (const Pending& pending : part.records) records.push_back(pending.record);
  std::string more = windowed() ? window_text(false, false) : std::string();
  const Tried tried = co_await invoke(std::move(records), std::move(more));
  if (tried.throttled) {
    if (!stop_) co_await wait_retry(++throttles_, part);
    co_return true;
  }
  co_return tried.good&& take_answer(part, tried.payload);
}

// Returns false if something of the part has failed.
bool MappingLane::take_answer(Part& part, const std::string& payload) {
  size_t good = part.records.size();
  if (definition().report_item_failures) {
    std::vector<uint64_t> sequences;
    std::vector<std::string> numbers;
    for (const Pending& pending : part.records) {
      sequences.push_back(pending.record.sequence);
      numbers.push_back(number_in(pending.record, shared_));
    }
    good = shared_.shards ? first_failed_of(payload, numbers) : first_failed(payload, sequences);
  }
  if (windowed()) {
    auto state = state_of_response(payload);
    if (!state) {
      last_error_ = "The function's response has no \"state\" object, which a tumbling window needs";
      failing_ = true;
      return false;
    }
    if (good > 0) place().window->state = std::move(*state);
  }
  if (good > 0) delivered(part.records[good - 1]);
  part.records.erase(part.records.begin(), part.records.begin() + static_cast<ptrdiff_t>(good));
  if (part.records.empty()) return true;
  failing_ = true;
  last_error_ =
      fmt::format("The function reported record {} as failed", number_in(part.records.front().record, shared_));
  if (good > 0) part.attempts = 0;
  return false;
}

// Splits the part, gives it up or waits.
Async<void> MappingLane::after_error(std::deque<Part>& parts) {
  Part& part = parts.front();
  if (definition().bisect_on_error && part.records.size() > 1) {
    const auto middle = part.records.begin() + static_cast<ptrdiff_t>(part.records.size() / 2);
    Part second{{std::make_move_iterator(middle), std::make_move_iterator(part.records.end())}, 0};
    part.records.erase(middle, part.records.end());
    part.attempts = 0;
    parts.insert(parts.begin() + 1, std::move(second));
    co_return;
  }
  ++part.attempts;
  if (definition().max_retries && part.attempts > *definition().max_retries) {
    std::vector<Pending> records = std::move(part.records);
    std::string condition = "RetryAttemptsExhausted";
    const bool is_over = co_await give_up(std::move(records), std::move(condition), part.attempts);
    if (is_over) parts.pop_front();
    co_return;
  }
  if (!stop_) co_await wait_retry(part.attempts, part);
}

Async<void> MappingLane::drop_old(Part& part) {
  if (!definition().max_record_age) co_return;
  const BootTime oldest = clock().boot() - *definition().max_record_age;
  const auto young = std::find_if(part.records.begin(), part.records.end(),
                                  [&](const Pending& pending) { return pending.born > oldest; });
  if (young == part.records.begin()) co_return;
  std::vector<Pending> old(std::make_move_iterator(part.records.begin()), std::make_move_iterator(young));
  part.records.erase(part.records.begin(), young);
  std::string condition = "RecordAgeExceeded";
  co_await give_up(std::move(old), std::move(condition), part.attempts);
}

// False if the lane is to stop first: then the records come again, and are given up later.
Async<bool> MappingLane::give_up(std::vector<Pending> records, std::string condition, int attempts) {
  parts_.log.warn("STREAM_RECORDS_DROPPED", {{"mapping", definition().id},
                                             {"function", definition().function},
                                             {"condition", condition},
                                             {"records", records.size()},
                                             {"error", last_error_}});
  if (!definition().on_failure.target.empty()) {
    std::vector<DroppedBatch> batches = descriptions_of(records);
    for (DroppedBatch& dropped : batches) {
      dropped.condition = condition;
      dropped.attempts = attempts;
      std::string document = dropped_batch_document(dropped);
      const bool is_over = co_await send_description(std::move(document));
      if (!is_over) co_return false;
    }
  }
  delivered(records.back());
  co_return true;
}

// One for each shard, because numbers belong to a shard.
std::vector<DroppedBatch> MappingLane::descriptions_of(const std::vector<Pending>& records) const {
  std::vector<DroppedBatch> batches;
  for (const Pending& pending : records) {
    const ShardOrder::Name* name = shared_.shards ? shared_.shards->name(pending.record.sequence) : nullptr;
    const std::string shard(name ? std::string_view(name->shard) : kShardId);
    auto batch = std::find_if(batches.begin(), batches.end(), [&](const auto& one) { return one.shard == shard; });
    if (batch == batches.end()) {
      DroppedBatch first;
      first.at = clock().wall();
      first.function_arn = function_arn(parts_.account, function_name(definition().function));
      first.stream_arn = shared_.source.arn;
      first.shard = shard;
      first.first = number_in(pending.record, shared_);
      first.first_at = pending.record.at;
      first.error = last_error_;
      batches.push_back(std::move(first));
      batch = batches.end() - 1;
    }
    batch->last = number_in(pending.record, shared_);
    batch->last_at = pending.record.at;
    ++batch->size;
  }
  return batches;
}

// False if the lane is to stop before the destination could take it.
Async<bool> MappingLane::send_description(std::string document) {
  for (int tries = 1;; ++tries) {
    std::string target = definition().on_failure.target;
    std::string copy = document;
    auto sent = co_await send_to(parts_.destinations, parts_.tables, std::move(target), std::move(copy));
    if (sent) co_return true;
    parts_.log.error("DESTINATION_FAILED",
                     {{"target", definition().on_failure.target}, {"error", sent.error().message}});
    if (!is_passing(sent.error())) co_return true;
    if (stop_) co_return false;
    co_await rest(retry_wait(tries));
  }
}

Async<void> MappingLane::wait_retry(int times, const Part& part) {
  nanoseconds wait = retry_wait(times);
  if (definition().max_record_age) {
    const BootTime end = part.records.front().born + *definition().max_record_age;
    const nanoseconds left = std::max<nanoseconds>(end - clock().boot(), milliseconds(1));
    wait = std::min(wait, left);
  }
  return rest(wait);
}

int64_t MappingLane::window_start(const ChangeRecord& record) const {
  const int64_t size = definition().tumbling_window.count();
  const int64_t at = epoch_s(record.at);
  return at - at % size;
}

bool MappingLane::state_too_large() {
  return place().window && place().window->state.size() > kMaxWindowState;
}

std::optional<BootTime> MappingLane::window_end() {
  if (!place().window) return std::nullopt;
  const WallTime end = WallTime(seconds(place().window->start) + definition().tumbling_window + kWindowGrace);
  return clock().boot() + std::max<nanoseconds>(end - clock().wall(), nanoseconds(0));
}

bool MappingLane::window_is_over() {
  if (!place().window) return false;
  if (state_too_large()) return true;
  if (!buffer_.empty()) return window_start(buffer_.front().record) > place().window->start;
  return *window_end() <= clock().boot();
}

std::string MappingLane::window_text(bool last, bool early) {
  const TumblingWindow& window = *place().window;
  return window_members({.start = window.start,
                         .end = window.start + definition().tumbling_window.count(),
                         .state = window.state,
                         .stream_arn = shared_.source.arn,
                         .last = last,
                         .early = early});
}

// Nothing else is delivered until the function has accepted the end of the window.
Async<void> MappingLane::finish_window() {
  const bool early = state_too_large();
  for (int tries = 1;; ++tries) {
    std::vector<ChangeRecord> none;
    std::string more = window_text(true, early);
    const Tried tried = co_await invoke(std::move(none), std::move(more));
    if (tried.good) break;
    if (stop_) co_return;
    co_await rest(retry_wait(tries));
  }
  place().window.reset();
  last_error_.clear();
}

}  // namespace freshet
