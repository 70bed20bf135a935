#include "streams/fifo_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "streams/system_table.h"

namespace freshet {

namespace {
constexpr int64_t kSmallStep = 60'000;  // Milliseconds: such a step of the wall clock is believed at once.
}  // namespace

Item fifo_item(const std::string& topic, const FifoRecord& record) {
  Item item = system_item(kSequenceKind, topic);
  item.set("incarnation", record.incarnation);
  item.set("last", Value::number(static_cast<int64_t>(record.last)));
  return item;
}

FifoRecord fifo_record_of(const Item& item) {
  return {std::string(item.string_or("incarnation")), static_cast<uint64_t>(item.int_or("last", 0))};
}

// No part contains a blank.
std::string deduplication_key(const std::string& topic, const FifoRecord& record, std::string_view scope,
                              std::string_view id) {
  return fmt::format("{} {} {} {}", topic, record.incarnation, scope, id);
}

GetItemInput get_sent(const std::string& key) {
  GetItemInput get;
  get.table = kDeduplicationTable;
  get.key = Item{{"message", key}};
  return get;
}

PutItemInput put_sent(const SentMessage& message) {
  const WallTime until = std::max(message.at, message.reckoned) + kDeduplicationWindow;
  PutItemInput put;
  put.table = kDeduplicationTable;
  put.item = Item{{"message", message.key}};
  put.item.set("messageId", message.published.message_id);
  put.item.set("sequence", message.published.sequence_number);
  put.item.set("sent", Value::number(epoch_ms(message.at)));
  if (message.reckoned != message.at) put.item.set("reckoned", Value::number(epoch_ms(message.reckoned)));
  // The sweep works in seconds: it comes after the window, never within it.
  put.item.set("until", Value::number(epoch_s(until) + 1));
  return put;
}

SentMessage sent_of(const Item& sent) {
  SentMessage message;
  message.published = {std::string(sent.string_or("messageId")), std::string(sent.string_or("sequence"))};
  message.at = WallTime(milliseconds(sent.int_or("sent", 0)));
  message.reckoned = WallTime(milliseconds(sent.int_or("reckoned", epoch_ms(message.at))));
  return message;
}

std::optional<Published> answered_before(const SentMessage& sent, std::optional<WallTime> now) {
  if (!now) return sent.published;
  const auto age = [&](WallTime of) { return epoch_ms(*now) - epoch_ms(of); };
  const int64_t window = std::chrono::duration_cast<milliseconds>(kDeduplicationWindow).count();
  bool is_open = age(sent.at) < window;
  if (sent.reckoned != sent.at) {
    // One of its times was of a clock that is not believed any more. That one may lie far ahead.
    const auto is_within = [&](int64_t one) { return one > -kSmallStep && one < window; };
    is_open = is_within(age(sent.at)) || is_within(age(sent.reckoned));
  }
  return is_open ? std::optional(sent.published) : std::nullopt;
}

Async<Result<void>> ensure_deduplication_table(Tables& tables) {
  TableDefinition table;
  table.name = kDeduplicationTable;
  table.keys.partition = {"message", Type::kString};
  table.ttl_attribute = "until";
  table.system = true;
  auto created = co_await tables.create_table(std::move(table));
  if (!created && created.error().code != ErrorCode::kResourceInUse) co_return fail(std::move(created.error()));
  co_return Result<void>();
}

}  // namespace freshet
