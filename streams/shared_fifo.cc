#include "streams/shared_fifo.h"

#include <algorithm>

#include "base/points.h"
#include "streams/system_table.h"
#include "tables/lease/events_table.h"

namespace freshet {

namespace {

constexpr std::string_view kTopics = "topic";   // The kind of the records; the id is the topic's name.
constexpr const char* kSentOf = "topic-sent/";  // Begins the kind of a topic's messages.
constexpr uint32_t kPage = 1000;

// The end of its window, by whichever of its times is later.
WallTime end_of(const SentMessage& message) {
  return std::max(message.at, message.reckoned) + kDeduplicationWindow;
}

}  // namespace

GetItemInput get_claim(const std::string& topic) {
  GetItemInput get = get_system_item(kTopics, topic);
  get.table = kOwnEventsTable;
  get.consistent = true;
  return get;
}

FifoClaim claim_of(const Item& record) {
  return {std::string(record.string_or("owner")), static_cast<uint64_t>(record.int_or("last", 0)),
          static_cast<uint64_t>(record.int_or("parts", 0))};
}

PutItemInput put_claim(const std::string& topic, const FifoClaim& next, const FifoClaim& seen) {
  PutItemInput put = put_system_item(system_item(kTopics, topic));
  put.table = kOwnEventsTable;
  put.item.set("owner", Value(next.owner));
  put.item.set("last", Value::number(static_cast<int64_t>(next.last)));
  put.item.set("parts", Value::number(static_cast<int64_t>(next.parts)));
  put.cause = Cause::kQueue;
  if (FRESHET_PLANTED("fleet-topic-claim-unconditional")) return put;
  if (seen.owner.empty()) {
    put.only_new = true;
    return put;
  }
  put.condition = "#owner = :owner AND #last = :last AND #parts = :parts";
  put.placeholders.names = {{"#owner", "owner"}, {"#last", "last"}, {"#parts", "parts"}};
  put.placeholders.values.set(":owner", Value(seen.owner));
  put.placeholders.values.set(":last", Value::number(static_cast<int64_t>(seen.last)));
  put.placeholders.values.set(":parts", Value::number(static_cast<int64_t>(seen.parts)));
  return put;
}

QueryInput SentLately::page(const std::string& topic, Item start) {
  QueryInput query;
  query.table = kOwnEventsTable;
  query.key_condition = "#kind = :kind";
  query.placeholders.names = {{"#kind", "kind"}};
  query.placeholders.values.set(":kind", Value(kSentOf + topic));
  query.limit = kPage;
  query.consistent = true;
  query.exclusive_start_key = std::move(start);
  return query;
}

// Neither part contains a blank.
std::string SentLately::key_of(std::string_view scope, std::string_view id) {
  return std::string(scope) + " " + std::string(id);
}

void SentLately::clear() {
  messages_.clear();
  ends_.clear();
}

void SentLately::add(SentMessage message) {
  remove(message.key);
  ends_.emplace(end_of(message), message.key);
  std::string key = message.key;
  messages_.emplace(std::move(key), std::move(message));
}

void SentLately::add(const Item& item) {
  SentMessage message = sent_of(item);
  message.key = item.string_or("id");
  add(std::move(message));
}

const SentMessage* SentLately::find(const std::string& key) const {
  const auto found = messages_.find(key);
  return found == messages_.end() ? nullptr : &found->second;
}

PutItemInput SentLately::put(const std::string& topic, const SentMessage& message) const {
  PutItemInput put = put_sent(message);
  put.table = kOwnEventsTable;
  put.item.erase("message");
  put.item.erase("until");
  put.item.set("kind", Value(kSentOf + topic));
  put.item.set("id", Value(message.key));
  put.cause = Cause::kQueue;
  return put;
}

std::vector<std::string> SentLately::over(WallTime now, size_t most) const {
  std::vector<std::string> keys;
  for (auto at = ends_.begin(); at != ends_.end() && at->first < now && keys.size() < most; ++at) {
    keys.push_back(at->second);
  }
  return keys;
}

DeleteItemInput SentLately::removal_of(const std::string& topic, const std::string& key) {
  DeleteItemInput gone = delete_system_item(kSentOf + topic, key);
  gone.table = kOwnEventsTable;
  gone.cause = Cause::kQueue;
  return gone;
}

void SentLately::remove(const std::string& key) {
  const auto found = messages_.find(key);
  if (found == messages_.end()) return;
  ends_.erase({end_of(found->second), key});
  messages_.erase(found);
}

}  // namespace freshet
