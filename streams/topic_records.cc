#include "streams/topic_records.h"

#include <map>
#include <utility>

#include "streams/system_table.h"

namespace freshet {

namespace {

using Texts = std::map<std::string, std::string>;

void set_texts(Item& item, std::string_view name, const Texts& texts) {
  if (texts.empty()) return;
  Map map;
  for (const auto& [key, text] : texts) map.set(key, Value(text));
  item.set(name, Value(std::move(map)));
}

Texts texts_of(const Item& item, std::string_view name) {
  Texts texts;
  const Value* value = item.find(name);
  const Map* map = value ? value->get_if<Map>() : nullptr;
  if (!map) return texts;
  for (const auto& [key, one] : *map) {
    if (const auto* text = one.get_if<std::string>()) texts.emplace(key, *text);
  }
  return texts;
}

}  // namespace

Item topic_item(const std::string& name, const TopicSettings& settings) {
  Item item = system_item(kTopicKind, name);
  set_texts(item, "attributes", settings.attributes);
  set_texts(item, "tags", settings.tags);
  if (settings.deleted > 0) item.set("deleted", Value::number(static_cast<int64_t>(settings.deleted)));
  return item;
}

TopicSettings topic_settings_of(const Item& item) {
  return {texts_of(item, "attributes"), texts_of(item, "tags"), static_cast<uint64_t>(item.int_or("deleted", 0))};
}

Item subscription_item(const SubscriptionDefinition& s, const SubscriptionSettings& settings, const std::string& arn) {
  Item item = system_item(kSubscriptionKind, arn);
  item.set("subscription", s.id);
  item.set("topic", s.topic);
  item.set("protocol", s.protocol);
  item.set("endpoint", s.endpoint);
  if (!s.filter_policy.empty()) item.set("filterPolicy", s.filter_policy);
  if (s.filter_on_body) item.set("filterOnBody", Value::boolean(true));
  if (s.raw_delivery) item.set("rawDelivery", Value::boolean(true));
  if (settings.pending) item.set("pending", Value::boolean(true));
  if (!settings.token.empty()) item.set("token", settings.token);
  if (!settings.server.empty()) item.set("server", settings.server);
  if (settings.authenticated) item.set("authenticated", Value::boolean(true));
  if (!settings.delivery_policy.empty()) item.set("deliveryPolicy", settings.delivery_policy);
  return item;
}

SubscriptionDefinition subscription_of(const Item& item) {
  SubscriptionDefinition s;
  s.id = item.string_or("subscription");
  s.topic = item.string_or("topic");
  s.protocol = item.string_or("protocol");
  s.endpoint = item.string_or("endpoint");
  s.filter_policy = item.string_or("filterPolicy");
  s.filter_on_body = item.contains("filterOnBody");
  s.raw_delivery = item.contains("rawDelivery");
  return s;
}

SubscriptionSettings subscription_settings_of(const Item& item) {
  SubscriptionSettings settings;
  settings.pending = item.contains("pending");
  settings.token = item.string_or("token");
  settings.server = item.string_or("server");
  settings.authenticated = item.contains("authenticated");
  settings.delivery_policy = item.string_or("deliveryPolicy");
  return settings;
}

}  // namespace freshet
