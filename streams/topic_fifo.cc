// The part of TopicService that publishes to FIFO topics.
#include <optional>
#include <utility>

#include "base/crypto.h"
#include "base/points.h"
#include "streams/system_table.h"
#include "streams/topic_fan_out.h"
#include "streams/topic_service.h"

namespace freshet {

namespace {

constexpr size_t kMaxWaitingPublishes = 1'000;  // The most waiting publishes of one topic.

// The text of a message's number: 20 digits.
std::string shown_number(uint64_t number) {
  constexpr uint64_t kBeforeFirst = 10'000'000'000'000'000'000u;
  return std::to_string(kBeforeFirst + number);
}

Result<void> complete(PublishInput& input, const TopicSettings& settings) {
  if (input.group_id.empty()) {
    return invalid("Invalid parameter: The MessageGroupId parameter is required for FIFO topics");
  }
  if (!input.deduplication_id.empty()) return {};
  if (!settings.attributes.contains("ContentBasedDeduplication")) {
    return invalid(
        "Invalid parameter: The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
        "provided explicitly");
  }
  input.deduplication_id = sha256_hex(input.message);
  return {};
}

bool looks_at_group(const TopicSettings& settings) {
  const auto scope = settings.attributes.find("FifoThroughputScope");
  return scope != settings.attributes.end() && scope->second == "MessageGroup";
}

}  // namespace

void TopicService::become(Topic& topic, TopicSettings settings) {
  topic.settings = std::move(settings);
  if (topic.fifo || !topic.settings.attributes.contains("FifoTopic")) return;
  topic.fifo = std::make_shared<Fifo>();
  topic.fifo->record.incarnation = random_.uuid();
}

std::set<std::string> TopicService::fifo_topics() const {
  std::set<std::string> names;
  for (const auto& [name, topic] : topics_) {
    if (topic.fifo) names.insert(name);
  }
  return names;
}

Async<Result<Published>> TopicService::publish_in_turn(std::shared_ptr<Fifo> fifo, PublishInput input,
                                                       MessageByProtocol by_protocol) {
  if (auto good = validate(input); !good) co_return fail(std::move(good.error()));
  if (fifo->waiting.size() >= kMaxWaitingPublishes) {
    co_return fail(ErrorCode::kTooManyRequests, "Too many publishes to this FIFO topic wait for their turn");
  }
  Promise<Result<Published>> done(scheduler_);
  auto published = done.future();
  fifo->waiting.push_back({std::move(input), std::move(by_protocol), queue_.trace_at_work(), done});
  if (!fifo->at_work) {
    fifo->at_work = true;
    publishing_.spawn(work_off(std::move(fifo)));
  }
  Result<Published> result = co_await published;
  co_return result;
}

Async<void> TopicService::work_off(std::shared_ptr<Fifo> fifo) {
  for (;;) {
    if (fifo->served && std::exchange(fifo->served->wants_claim, false)) {
      auto readying = make_ready(fifo->served->name, fifo);
      static_cast<void>(co_await readying);
    }
    if (fifo->waiting.empty()) break;
    Waiting next = std::move(fifo->waiting.front());
    fifo->waiting.pop_front();
    const Promise<Result<Published>> done = next.done;
    auto publishing =
        fleet_ ? publish_in_fleet(fifo, std::move(next))
               : publish_next(fifo, std::move(next.input), std::move(next.by_protocol), std::move(next.trace_id));
    auto published = co_await publishing;
    done.set(std::move(published));
  }
  fifo->at_work = false;
}

Async<Result<Published>> TopicService::publish_next(std::shared_ptr<Fifo> fifo, PublishInput input,
                                                    MessageByProtocol by_protocol, std::string trace_id) {
  const std::string name = topic_name(input.topic_arn);
  const auto topic = topics_.find(name);
  const auto no_topic = [] { return fail(ErrorCode::kNotFound, "Topic does not exist"); };
  if (topic == topics_.end() || topic->second.fifo != fifo) co_return no_topic();
  if (auto good = complete(input, topic->second.settings); !good) co_return fail(std::move(good.error()));
  const std::string scope = looks_at_group(topic->second.settings) ? input.group_id : std::string();
  SentMessage sent;
  std::optional<SentMessage> known;
  if (fleet_) {
    sent.key = SentLately::key_of(scope, input.deduplication_id);
    if (const SentMessage* there = fifo->served->sent.find(sent.key)) known = *there;
  } else {
    sent.key = deduplication_key(name, fifo->record, scope, input.deduplication_id);
    GetItemInput get = get_sent(sent.key);
    auto item = co_await tables_.get_item(std::move(get));
    if (!item) co_return fail(std::move(item.error()));
    if (*item) known = sent_of(item->decode());
  }
  // While the wall clock is not trusted, nobody knows that the window of a message is over.
  const bool trusted = wall_.trusted() || FRESHET_PLANTED("message-forgotten-by-a-clock-step");
  sent.at = scheduler_.clock().wall();
  sent.reckoned = wall_.reckoned();
  if (known && !FRESHET_PLANTED("message-sent-again-is-new")) {
    if (auto answer = answered_before(*known, trusted ? std::optional(sent.at) : std::nullopt)) {
      ++stats_.repeated;
      co_return std::move(*answer);
    }
  }
  sent.published = {random_.uuid(), shown_number(fifo->record.last + 1)};
  input.topic_arn = topic_arn(account_, name);
  TopicMessage message{sent.published.message_id, sent.at, std::move(input), std::move(by_protocol),
                       sent.published.sequence_number};
  FanOut out(std::move(message), std::move(trace_id));
  std::shared_ptr<Fifo> of = fifo;
  auto done = co_await fan_out_all(out, std::move(of));
  if (!done) co_return fail(std::move(done.error()));
  const size_t count = out.events.size();
  Published published = sent.published;
  std::string of_topic = name;
  auto writing = fleet_ ? write_in_fleet(std::move(fifo), std::move(of_topic), std::move(out.events), std::move(sent))
                        : write_in_turn(std::move(fifo), std::move(of_topic), std::move(out.events), std::move(sent));
  auto written = co_await writing;
  if (!written) co_return fail(std::move(written.error()));
  ++stats_.published;
  stats_.deliveries += count;
  co_return published;
}

// Writes the number first, so that no other message gets it, and the record of the message last, so that after a
// crash in between some subscribers get it twice, but none misses it.
Async<Result<void>> TopicService::write_in_turn(std::shared_ptr<Fifo> fifo, std::string name,
                                                std::vector<PreparedEvent> events, SentMessage sent) {
  if (!FRESHET_PLANTED("number-given-twice")) ++fifo->record.last;
  std::vector<WriteInput> before{put_system_item(fifo_item(name, fifo->record))};
  std::vector<WriteInput> after{put_sent(sent)};
  return write(std::move(events), std::move(before), std::move(after));
}

}  // namespace freshet
