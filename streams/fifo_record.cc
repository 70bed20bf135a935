#include "streams/fifo_record.h"

#include <fmt/format.h>

#include "streams/system_table.h"

namespace freshet {

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
  const WallTime until = message.at + kDeduplicationWindow;
  PutItemInput put;
  put.table = kDeduplicationTable;
  put.item = Item{{"message", message.key}};
  put.item.set("messageId", message.published.message_id);
  put.item.set("sequence", message.published.sequence_number);
  put.item.set("sent", Value::number(epoch_ms(message.at)));
  // The sweep works in seconds: it comes after the window, never within it.
  put.item.set("until", Value::number(epoch_s(until) + 1));
  return put;
}

std::optional<Published> answered_before(const Item& sent, std::optional<WallTime> now) {
  const int64_t at = sent.int_or("sent", 0);
  if (now && epoch_ms(*now) - at >= std::chrono::duration_cast<milliseconds>(kDeduplicationWindow).count())
    return std::nullopt;
  return Published{std::string(sent.string_or("messageId")), std::string(sent.string_or("sequence"))};
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
