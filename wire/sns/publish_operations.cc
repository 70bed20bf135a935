#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "streams/topic_message.h"
#include "streams/topic_service.h"
#include "tables/value/json.h"
#include "tables/value/text.h"
#include "wire/sns/operation.h"

namespace freshet::sns {

namespace {

constexpr size_t kMaxBatch = 10;  // Entries.

// The value of an attribute, from the field that its type wants.
Result<MessageAttribute> read_attribute(const QueryForm& form, const std::string& entry, const std::string& name) {
  const std::string type = form.text(entry + ".Value.DataType");
  const std::string* text = form.find(entry + ".Value.StringValue");
  const std::string* binary = form.find(entry + ".Value.BinaryValue");
  const auto wrong = [&](std::string_view what) {
    return named("ParameterValueInvalid", fmt::format("The message attribute '{}' {}", name.substr(0, 256), what));
  };
  if (type.empty()) return wrong("must contain non-empty message attribute type.");
  const bool is_binary = type == "Binary" || type.starts_with("Binary.");
  if (is_binary ? text || !binary : binary || !text) {
    return wrong(
        fmt::format("with type '{}' must use field '{}'.", type.substr(0, 100), is_binary ? "Binary" : "String"));
  }
  std::string bytes;
  if (is_binary && !append_from_base64(bytes, *binary).empty()) return wrong("is not base64.");
  return MessageAttribute{type, is_binary ? *binary : *text};
}

struct Message {
  PublishInput input;
  MessageByProtocol by_protocol;
};

// {"default": ..., "lambda": ...}: each protocol its own message.
Result<void> spread_by_protocol(Message& message) {
  const auto parsed = parse_plain_json(message.input.message);
  const Map* map = parsed ? parsed->get_if<Map>() : nullptr;
  if (!map) return invalid("Invalid parameter: Message Structure - JSON message body failed to parse");
  const Value* fallback = map->find("default");
  if (!fallback || !fallback->is(Type::kString)) {
    return invalid("Invalid parameter: Message Structure - No default entry in JSON message body");
  }
  for (const char* protocol : {"lambda", "http", "https"}) {
    const Value* own = map->find(protocol);
    if (!own) continue;
    const auto* text = own->get_if<std::string>();
    if (!text) return invalid(fmt::format("Invalid parameter: Message Structure - {} is not a string", protocol));
    message.by_protocol[protocol] = *text;
  }
  message.input.message = *fallback->get_if<std::string>();
  return {};
}

// `before` is "" or the entry of a batch with a '.' behind it.
Result<Message> read_message(const QueryForm& form, const std::string& before) {
  Message message;
  PublishInput& input = message.input;
  for (const auto& [name, id] :
       {std::pair("MessageGroupId", &input.group_id), std::pair("MessageDeduplicationId", &input.deduplication_id)}) {
    const std::string* given = form.find(before + name);
    if (!given) continue;
    if (given->empty()) return invalid(fmt::format("Invalid parameter: {} Reason: it is empty", name));
    *id = *given;
  }
  input.message = form.text(before + "Message");
  input.subject = form.text(before + "Subject");
  for (const std::string& entry : form.entries(before + "MessageAttributes.entry")) {
    const std::string name = form.text(entry + ".Name");
    auto attribute = read_attribute(form, entry, name);
    if (!attribute) return fail(std::move(attribute.error()));
    input.attributes[name] = std::move(*attribute);
  }
  if (auto good = validate(input); !good) return fail(std::move(good.error()));
  const std::string structure = form.text(before + "MessageStructure");
  if (structure == "json") {
    if (auto spread = spread_by_protocol(message); !spread) return fail(std::move(spread.error()));
  } else if (!structure.empty()) {
    return invalid("Invalid parameter: MessageStructure Reason: there is json");
  }
  return message;
}

void write_published(XmlWriter& xml, const Published& published) {
  xml.element("MessageId", published.message_id);
  if (!published.sequence_number.empty()) xml.element("SequenceNumber", published.sequence_number);
}

class Publish final : public Operation {
 public:
  Publish(const ServerAddress& place, Message message) : Operation(place), message_(std::move(message)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    auto published =
        co_await runtime.topic_service().publish(std::move(message_.input), std::move(message_.by_protocol));
    if (!published) co_return fail(std::move(published.error()));
    published_ = std::move(*published);
    co_return Result<void>();
  }
  void write(XmlWriter& xml) const override { write_published(xml, published_); }

 private:
  Message message_;
  Published published_;
};

// One entry of a batch: what it says, then what became of it.
struct Entry {
  std::string id;
  Result<Message> message;
  Result<Published> published;
};

class PublishBatch final : public Operation {
 public:
  PublishBatch(const ServerAddress& place, std::string topic, std::vector<Entry> entries)
      : Operation(place), topic_(std::move(topic)), entries_(std::move(entries)) {}
  // In order. An entry that fails does not keep the others back.
  Async<Result<void>> run(Runtime& runtime) override {
    if (!runtime.topic_service().has_topic(topic_)) co_return fail(ErrorCode::kNotFound, "Topic does not exist");
    for (Entry& entry : entries_) {
      if (!entry.message) {
        entry.published = fail(entry.message.error());
        continue;
      }
      Message message = std::move(*entry.message);
      message.input.topic_arn = topic_;
      auto published =
          co_await runtime.topic_service().publish(std::move(message.input), std::move(message.by_protocol));
      entry.published = std::move(published);
    }
    co_return Result<void>();
  }
  void write(XmlWriter& xml) const override {
    xml.open("Successful");
    for (const Entry& entry : entries_) {
      if (!entry.published) continue;
      xml.open("member");
      xml.element("Id", entry.id);
      write_published(xml, *entry.published);
      xml.close("member");
    }
    xml.close("Successful");
    xml.open("Failed");
    for (const Entry& entry : entries_) {
      if (entry.published) continue;
      const ErrorForm form = form_of(entry.published.error());
      xml.open("member");
      xml.element("Id", entry.id);
      xml.element("Code", form.name);
      xml.element("Message", entry.published.error().message);
      xml.element("SenderFault", form.status < 500 && form.status != 429 ? "true" : "false");
      xml.close("member");
    }
    xml.close("Failed");
  }

 private:
  const std::string topic_;
  std::vector<Entry> entries_;
};

bool is_entry_id(std::string_view id) {
  return !id.empty() && id.size() <= 80 &&
         id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
             std::string_view::npos;
}

size_t size_of(const Message& message) {
  size_t size = message.input.message.size();
  for (const auto& [protocol, text] : message.by_protocol) size += text.size();
  for (const auto& [name, attribute] : message.input.attributes) {
    size += name.size() + attribute.type.size() + attribute.value.size();
  }
  return size;
}

// The faults that refuse a batch as a whole.
Result<void> check_batch(const std::vector<Entry>& entries) {
  if (entries.empty()) return named("EmptyBatchRequest", "The batch request doesn't contain any entries.");
  if (entries.size() > kMaxBatch) {
    return named("TooManyEntriesInBatchRequest", "The batch request contains more entries than permissible.");
  }
  std::set<std::string_view> ids;
  size_t size = 0;
  for (const Entry& entry : entries) {
    if (!is_entry_id(entry.id)) {
      return named("InvalidBatchEntryId",
                   "The Id of a batch entry in a batch request doesn't abide by the specification.");
    }
    if (!ids.insert(entry.id).second) {
      return named("BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id.");
    }
    if (entry.message) size += size_of(*entry.message);
  }
  if (size <= limits::kMaxMessageBytes) return {};
  return named("BatchRequestTooLong",
               fmt::format("The length of all the batch messages put together is {} bytes; {} is "
                           "the limit.",
                           size, limits::kMaxMessageBytes));
}

}  // namespace

Parsed parse_publish(const QueryForm& form, const ServerAddress& place) {
  if (form.find("PhoneNumber")) {
    return invalid("Invalid parameter: PhoneNumber Reason: there are no text messages here; name a TopicArn");
  }
  auto topic = topic_in(form, place, form.find("TargetArn") ? "TargetArn" : "TopicArn");
  if (!topic) return fail(std::move(topic.error()));
  auto message = read_message(form, "");
  if (!message) return fail(std::move(message.error()));
  message->input.topic_arn = std::move(*topic);
  return std::make_unique<Publish>(place, std::move(*message));
}

Parsed parse_publish_batch(const QueryForm& form, const ServerAddress& place) {
  auto topic = topic_in(form, place);
  if (!topic) return fail(std::move(topic.error()));
  std::vector<Entry> entries;
  for (const std::string& entry : form.entries("PublishBatchRequestEntries.member")) {
    entries.push_back({form.text(entry + ".Id"), read_message(form, entry + "."), Published()});
  }
  if (auto good = check_batch(entries); !good) return fail(std::move(good.error()));
  return std::make_unique<PublishBatch>(place, std::move(*topic), std::move(entries));
}

}  // namespace freshet::sns
