#include "runtime/invoke/event_source_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/invoke/http_host.h"
#include "runtime/invoke/mapping_batch.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

constexpr std::string_view kPositionKind = "mapping-position";
constexpr milliseconds kSaveEvery{50};
constexpr milliseconds kSaveSkipped{1000};
constexpr uint32_t kRecordsPerRead = 1000;
constexpr size_t kMaxBatchBytes = 5u << 20;  // Of keys and images; below what an invocation may carry.
constexpr milliseconds kFirstRetry{100};
constexpr milliseconds kLongestRetry{30'000};
constexpr milliseconds kAttachRetry{1000};
constexpr milliseconds kEarlyAnswer{20};

// Lets the rest of the loop have a turn between two batches.
Async<void> yield(Scheduler& scheduler) {
  Promise<bool> next(scheduler);
  scheduler.post([next] { next.set(true); });
  co_await next.future();
}

size_t size_of(const ChangeRecord& record) {
  size_t size = 256;
  if (record.before) size += record.before.encoded().size();
  if (record.after) size += record.after.encoded().size();
  return size;
}

nanoseconds retry_wait(int times) {
  const int doublings = std::clamp(times - 1, 0, 20);
  return std::min<nanoseconds>(kFirstRetry * (int64_t{1} << doublings), kLongestRetry);
}

}  // namespace

Result<void> EventSourceMapping::check(const MappingDefinition& d) {
  const auto bad = [&](std::string_view what) {
    return invalid(fmt::format("Event source mapping {} to {}: {}", d.table, d.function, what));
  };
  if (d.batch_size < 1 || d.batch_size > 10'000) return bad("the batch size must be 1 to 10000");
  if (d.batching_window < milliseconds(0) || d.batching_window > seconds(300)) {
    return bad("the batching window must be 0 to 300 s");
  }
  if (d.max_record_age && *d.max_record_age < seconds(1)) return bad("the maximum record age must be at least 1 s");
  if (d.max_retries && (*d.max_retries < 0 || *d.max_retries > 10'000)) {
    return bad("the number of retries must be 0 to 10000");
  }
  for (const std::string& filter : d.filters) {
    if (auto pattern = Pattern::parse(filter); !pattern) return bad("filter: " + pattern.error().message);
  }
  return {};
}

Item EventSourceMapping::position_item(const std::string& mapping_id, const Position& position) {
  Item item = system_item(kPositionKind, mapping_id);
  item.set("label", Value(position.label));
  item.set("next", Value::number(static_cast<int64_t>(position.next)));
  return item;
}

std::optional<EventSourceMapping::Position> EventSourceMapping::position_of(const Item& item) {
  const int64_t next = item.int_or("next", 0);
  if (next <= 0) return std::nullopt;
  return Position{std::string(item.string_or("label")), static_cast<uint64_t>(next)};
}

EventSourceMapping::EventSourceMapping(Parts parts, MappingDefinition definition, std::optional<Position> position)
    : parts_(std::move(parts)), definition_(std::move(definition)), position_(position), saved_(std::move(position)) {
  for (const std::string& filter : definition_.filters) {
    auto pattern = Pattern::parse(filter);
    if (!pattern) continue;  // check() has refused it.
    filters_see_items_ = filters_see_items_ || pattern->looks_at("dynamodb") || pattern->looks_at("eventID");
    filters_.push_back(std::move(*pattern));
  }
}

void EventSourceMapping::start() {
  if (definition_.enabled) work_.spawn(run());
}

Async<void> EventSourceMapping::run() {
  co_await attach();
  while (!paused_) {
    const bool some = co_await fill();
    if (paused_) break;
    if (!some) {
      co_await attach();
      continue;
    }
    std::vector<Pending> batch = cut_batch();
    if (!batch.empty()) co_await deliver(std::move(batch));
    if (buffer_.empty() || parts_.scheduler.clock().boot() - saved_at_ >= kSaveEvery) co_await save();
    co_await yield(parts_.scheduler);
  }
  co_await save();
}

// Finds the stream and the place to go on from; waits until there is one.
Async<void> EventSourceMapping::attach() {
  for (int tries = 1;; ++tries) {
    auto stream = co_await parts_.streams.stream_of(definition_.table);
    if (!stream) {
      last_error_ = stream.error().message;
      co_await sleep_for(parts_.scheduler, std::min<nanoseconds>(kAttachRetry * tries, kLongestRetry));
      continue;
    }
    last_error_.clear();
    source_ = stream->source;
    passing_.fill(std::nullopt);
    const StreamBounds& bounds = stream->bounds;
    buffer_.clear();
    if (!position_) {
      const bool latest = definition_.starting_position == StartingPosition::kLatest;
      position_ = Position{stream->label, latest ? bounds.next : bounds.oldest};
    } else if (position_->label != stream->label || position_->next < bounds.oldest) {
      if (position_->label == stream->label) {
        parts_.log.warn(
            "STREAM_RECORDS_LOST",
            {{"table", definition_.table}, {"mapping", definition_.id}, {"records", bounds.oldest - position_->next}});
      }
      position_ = Position{stream->label, bounds.oldest};
    }
    read_from_ = position_->next;
    co_await save();
    co_return;
  }
}

// Reads until a batch can be cut. False if the stream has to be looked for again.
Async<bool> EventSourceMapping::fill() {
  const Clock& clock = parts_.scheduler.clock();
  while (!paused_) {
    if (buffer_.size() >= definition_.batch_size) co_return true;
    BootTime wait_until{};  // Do not wait: take what is there.
    if (buffer_.empty()) {
      const bool unsaved = saved_ != position_;
      wait_until = unsaved ? saved_at_ + kSaveSkipped : BootTime::max();
    } else if (buffer_since_ + definition_.batching_window > clock.boot()) {
      wait_until = buffer_since_ + definition_.batching_window;
    }
    const uint64_t before = read_from_;
    const bool good = co_await read_page(wait_until);
    if (!good) co_return false;
    if (read_from_ == before && clock.boot() < wait_until) {
      // A store may answer early, and one that has failed always does.
      co_await sleep_for(parts_.scheduler, kEarlyAnswer);
    }
    const bool over = buffer_since_ + definition_.batching_window <= clock.boot();
    const bool drained = read_from_ - before < kRecordsPerRead;
    if (!buffer_.empty() && over && drained) co_return true;
    if (buffer_.empty() && saved_ != position_ && saved_at_ + kSaveSkipped <= clock.boot()) co_await save();
    if (!drained) co_await yield(parts_.scheduler);
  }
  co_return true;
}

Async<bool> EventSourceMapping::read_page(BootTime wait_until) {
  ReadStreamInput read;
  read.table = definition_.table;
  read.from = read_from_;
  read.limit = kRecordsPerRead;
  read.wait_until = wait_until;
  for (size_t kind = 0; kind < passing_.size(); ++kind) read.skip.kinds[kind] = passing_[kind] == false;
  auto page = co_await parts_.tables.read_stream(std::move(read));
  if (!page) {
    last_error_ = page.error().message;
    if (page.error().code != ErrorCode::kTrimmedDataAccess) co_await sleep_for(parts_.scheduler, kAttachRetry);
    co_return false;
  }
  take(std::move(*page));
  co_return true;
}

void EventSourceMapping::take(StreamPage page) {
  const Clock& clock = parts_.scheduler.clock();
  const BootTime now = clock.boot();
  const WallTime wall = clock.wall();
  for (ChangeRecord& record : page.records) {
    if (!passes(record)) continue;
    if (buffer_.empty()) buffer_since_ = now;
    const nanoseconds age = std::max<nanoseconds>(wall - record.at, nanoseconds(0));
    buffer_.push_back({std::move(record), now - age});
  }
  read_from_ = std::max(read_from_, page.next);
  if (buffer_.empty()) position_->next = read_from_;
}

bool EventSourceMapping::passes(const ChangeRecord& record) {
  if (filters_.empty()) return true;
  const auto evaluate = [&] {
    const Map value = stream_record_value(record, source_, filters_see_items_);
    return std::any_of(filters_.begin(), filters_.end(), [&](const Pattern& filter) { return filter.matches(value); });
  };
  if (filters_see_items_) return evaluate();
  // All records of a kind look the same to such filters.
  std::optional<bool>& known = passing_[StreamSkip::kind_index(record.kind, record.by_ttl)];
  if (!known) known = evaluate();
  return *known;
}

std::vector<EventSourceMapping::Pending> EventSourceMapping::cut_batch() {
  std::vector<Pending> batch;
  size_t bytes = 0;
  while (!buffer_.empty() && batch.size() < definition_.batch_size) {
    bytes += size_of(buffer_.front().record);
    if (!batch.empty() && bytes > kMaxBatchBytes) break;
    batch.push_back(std::move(buffer_.front()));
    buffer_.pop_front();
  }
  if (!buffer_.empty()) buffer_since_ = parts_.scheduler.clock().boot();
  return batch;
}

void EventSourceMapping::delivered(const Pending& last) {
  position_->next = last.record.sequence + 1;
}

Async<void> EventSourceMapping::deliver(std::vector<Pending> records) {
  std::deque<Part> parts;
  parts.push_back({std::move(records), 0});
  while (!parts.empty()) {
    if (paused_) co_return;  // What is left is read again later.
    Part& part = parts.front();
    co_await drop_old(part);
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
  // What stands behind the last record was filtered out: it is done as well.
  if (buffer_.empty()) position_->next = read_from_;
  last_error_.clear();
}

// One invocation; takes what succeeded off the part. False after an error of the function; true also when there was no
// place for it, after a wait.
Async<bool> EventSourceMapping::try_part(Part& part) {
  StreamBatch batch{{}, source_};
  batch.records.reserve(part.records.size());
  for (const Pending& pending : part.records) batch.records.push_back(pending.record);
  Payload payload(std::move(batch));
  std::string function = definition_.function;
  InvokeWishes none;
  delivering_ = true;
  auto outcome = co_await parts_.invoker.invoke_trusted(std::move(function), payload, std::move(none));
  delivering_ = false;
  if (!outcome || is_busy(*outcome)) {
    last_error_ = outcome ? outcome->error->message : outcome.error().message;
    co_await wait_retry(++throttles_, part);
    co_return true;
  }
  throttles_ = 0;
  if (outcome->error) {
    last_error_ = outcome->error->type + ": " + outcome->error->message;
    co_return false;
  }
  const size_t failed = definition_.report_item_failures ? first_failed(outcome->payload, payload.stream()->records)
                                                         : part.records.size();
  if (failed > 0) delivered(part.records[failed - 1]);
  part.records.erase(part.records.begin(), part.records.begin() + static_cast<ptrdiff_t>(failed));
  if (part.records.empty()) co_return true;
  last_error_ =
      fmt::format("The function reported record {} as failed", sequence_number(part.records.front().record.sequence));
  if (failed > 0) part.attempts = 0;
  co_return false;
}

// Splits, gives up or waits.
Async<void> EventSourceMapping::after_error(std::deque<Part>& parts) {
  Part& part = parts.front();
  if (definition_.bisect_on_error && part.records.size() > 1) {
    const auto middle = part.records.begin() + static_cast<ptrdiff_t>(part.records.size() / 2);
    Part second{{std::make_move_iterator(middle), std::make_move_iterator(part.records.end())}, 0};
    part.records.erase(middle, part.records.end());
    part.attempts = 0;
    parts.insert(parts.begin() + 1, std::move(second));
    co_return;
  }
  ++part.attempts;
  if (definition_.max_retries && part.attempts > *definition_.max_retries) {
    std::vector<Pending> records = std::move(part.records);
    const int attempts = part.attempts;
    parts.pop_front();
    std::string condition = "RetryAttemptsExhausted";
    co_await give_up(std::move(records), std::move(condition), attempts);
    co_return;
  }
  if (!paused_) co_await wait_retry(part.attempts, part);
}

Async<void> EventSourceMapping::drop_old(Part& part) {
  if (!definition_.max_record_age) co_return;
  const BootTime oldest = parts_.scheduler.clock().boot() - *definition_.max_record_age;
  const auto young = std::find_if(part.records.begin(), part.records.end(),
                                  [&](const Pending& pending) { return pending.born > oldest; });
  if (young == part.records.begin()) co_return;
  std::vector<Pending> old(std::make_move_iterator(part.records.begin()), std::make_move_iterator(young));
  part.records.erase(part.records.begin(), young);
  std::string condition = "RecordAgeExceeded";
  co_await give_up(std::move(old), std::move(condition), part.attempts);
}

Async<void> EventSourceMapping::give_up(std::vector<Pending> records, std::string condition, int attempts) {
  parts_.log.warn("STREAM_RECORDS_DROPPED", {{"mapping", definition_.id},
                                             {"function", definition_.function},
                                             {"condition", condition},
                                             {"records", records.size()},
                                             {"error", last_error_}});
  if (!definition_.on_failure.target.empty()) {
    DroppedBatch dropped{.at = parts_.scheduler.clock().wall(),
                         .condition = std::move(condition),
                         .function_arn = function_arn(parts_.account, function_name(definition_.function)),
                         .attempts = attempts,
                         .stream_arn = source_.arn,
                         .first = records.front().record.sequence,
                         .last = records.back().record.sequence,
                         .first_at = records.front().record.at,
                         .last_at = records.back().record.at,
                         .size = records.size(),
                         .error = last_error_};
    const std::string document = dropped_batch_document(dropped);
    for (int tries = 1;; ++tries) {
      std::string target = definition_.on_failure.target;
      std::string copy = document;
      auto sent = co_await send_to(parts_.destinations, parts_.tables, std::move(target), std::move(copy));
      if (sent) break;
      parts_.log.error("DESTINATION_FAILED",
                       {{"target", definition_.on_failure.target}, {"error", sent.error().message}});
      if (!is_passing(sent.error())) break;
      co_await sleep_for(parts_.scheduler, retry_wait(tries));
    }
  }
  delivered(records.back());
}

Async<void> EventSourceMapping::wait_retry(int times, const Part& part) {
  nanoseconds wait = retry_wait(times);
  if (definition_.max_record_age) {
    const BootTime end = part.records.front().born + *definition_.max_record_age;
    const nanoseconds left = std::max<nanoseconds>(end - parts_.scheduler.clock().boot(), milliseconds(1));
    wait = std::min(wait, left);
  }
  return sleep_for(parts_.scheduler, wait);
}

Async<void> EventSourceMapping::save() {
  // One write at a time: of two under way the older might be the last to arrive.
  if (saving_ || !position_) co_return;
  saving_ = true;
  while (saved_ != position_) {
    saved_at_ = parts_.scheduler.clock().boot();
    const Position position = *position_;
    PutItemInput put = put_system_item(position_item(definition_.id, position));
    auto written = co_await parts_.tables.put_item(std::move(put));
    if (!written) break;
    saved_ = position;
  }
  saving_ = false;
}

}  // namespace freshet
