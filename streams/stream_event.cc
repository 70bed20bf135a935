#include "streams/stream_event.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "base/number_text.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

constexpr std::string_view kServicePrincipal = "dynamodb.amazonaws.com";

bool wants_new(StreamView view) {
  return view == StreamView::kNewImage || view == StreamView::kNewAndOldImages;
}
bool wants_old(StreamView view) {
  return view == StreamView::kOldImage || view == StreamView::kNewAndOldImages;
}

const ItemRef* new_image(const ChangeRecord& record, StreamView view) {
  return wants_new(view) && record.after ? &record.after : nullptr;
}
const ItemRef* old_image(const ChangeRecord& record, StreamView view) {
  return wants_old(view) && record.before ? &record.before : nullptr;
}

size_t size_bytes(const ChangeRecord& record, StreamView view) {
  size_t size = billed_size(record.keys);
  if (const ItemRef* image = new_image(record, view)) size += billed_size(image->decode());
  if (const ItemRef* image = old_image(record, view)) size += billed_size(image->decode());
  return size;
}

std::string event_id(const ChangeRecord& record, const StreamSource& source) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(source.arn.data(), source.arn.size(), record.sequence);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// {"S": "x"} as plain data, at any depth.
Value attribute_tree(const Value& value);

Map item_tree(const Map& item) {
  Map tree;
  for (const auto& [name, value] : item) tree.append_sorted(name, attribute_tree(value));
  return tree;
}

template <class Members, class Make>
List list_of(const Members& members, Make make) {
  List list;
  list.elements.reserve(members.size());
  for (const auto& member : members) list.elements.push_back(make(member));
  return list;
}

std::string base64_json(const std::string& bytes) {
  std::string quoted;
  append_plain_json(quoted, Value(Binary{bytes}));
  return quoted.substr(1, quoted.size() - 2);
}

Value attribute_content(const Value& value) {
  switch (value.type()) {
    case Type::kNumber:
      return Value(value.get_if<Decimal>()->to_string());
    case Type::kBinary:
      return Value(base64_json(value.get_if<Binary>()->bytes));
    case Type::kNull:
      return Value::boolean(true);
    case Type::kMap:
      return Value(item_tree(*value.get_if<Map>()));
    case Type::kList:
      return Value(list_of(value.get_if<List>()->elements, attribute_tree));
    case Type::kStringSet:
      return Value(list_of(value.get_if<StringSet>()->members, [](const std::string& s) { return Value(s); }));
    case Type::kNumberSet:
      return Value(list_of(value.get_if<NumberSet>()->members, [](const Decimal& n) { return Value(n.to_string()); }));
    case Type::kBinarySet:
      return Value(
          list_of(value.get_if<BinarySet>()->members, [](const std::string& b) { return Value(base64_json(b)); }));
    case Type::kString:
    case Type::kBool:
      break;
  }
  return value;
}

Value attribute_tree(const Value& value) {
  Map tree;
  tree.append_sorted(std::string(type_name(value.type())), attribute_content(value));
  return Value(std::move(tree));
}

}  // namespace

std::string_view stream_view_name(StreamView view) {
  switch (view) {
    case StreamView::kKeysOnly:
      return "KEYS_ONLY";
    case StreamView::kNewImage:
      return "NEW_IMAGE";
    case StreamView::kOldImage:
      return "OLD_IMAGE";
    case StreamView::kNewAndOldImages:
      break;
  }
  return "NEW_AND_OLD_IMAGES";
}

std::optional<StreamView> parse_stream_view(std::string_view name) {
  for (const StreamView view :
       {StreamView::kKeysOnly, StreamView::kNewImage, StreamView::kOldImage, StreamView::kNewAndOldImages}) {
    if (stream_view_name(view) == name) return view;
  }
  return std::nullopt;
}

std::string_view event_name(ChangeRecord::Kind kind) {
  switch (kind) {
    case ChangeRecord::Kind::kInsert:
      return "INSERT";
    case ChangeRecord::Kind::kModify:
      return "MODIFY";
    case ChangeRecord::Kind::kRemove:
      break;
  }
  return "REMOVE";
}

std::string sequence_number(uint64_t sequence) {
  return fmt::format("1{:020}", sequence);
}

std::optional<uint64_t> parse_sequence_number(std::string_view text) {
  if (text.size() == 21 && text.front() == '1') text.remove_prefix(1);
  if (text.empty() || text.size() > 20) return std::nullopt;
  uint64_t sequence = 0;
  if (!read_number_in(text, sequence)) return std::nullopt;
  return sequence;
}

void append_stream_record(std::string& out, const ChangeRecord& record, const StreamSource& source, RecordStyle style) {
  const bool protocol = style == RecordStyle::kProtocol;
  fmt::format_to(std::back_inserter(out),
                 R"({{"eventID":"{}","eventName":"{}","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":)",
                 event_id(record, source), event_name(record.kind));
  append_json_string(out, source.account.region);
  fmt::format_to(std::back_inserter(out), R"(,"dynamodb":{{"ApproximateCreationDateTime":{},"Keys":)",
                 epoch_s(record.at));
  append_item_json(out, record.keys);
  if (const ItemRef* image = new_image(record, source.view)) {
    out += R"(,"NewImage":)";
    append_item_json(out, *image);
  }
  if (const ItemRef* image = old_image(record, source.view)) {
    out += R"(,"OldImage":)";
    append_item_json(out, *image);
  }
  fmt::format_to(std::back_inserter(out), R"(,"SequenceNumber":"{}","SizeBytes":{},"StreamViewType":"{}"}})",
                 sequence_number(record.sequence), size_bytes(record, source.view), stream_view_name(source.view));
  if (record.by_ttl) {
    fmt::format_to(std::back_inserter(out), R"(,"userIdentity":{{"{}":"{}","{}":"Service"}})",
                   protocol ? "PrincipalId" : "principalId", kServicePrincipal, protocol ? "Type" : "type");
  }
  if (!protocol) {
    out += R"(,"eventSourceARN":)";
    append_json_string(out, source.arn);
  }
  out += '}';
}

std::string stream_event(std::span<const ChangeRecord> records, const StreamSource& source) {
  std::string out = R"({"Records":[)";
  for (const ChangeRecord& record : records) {
    if (&record != records.data()) out += ',';
    append_stream_record(out, record, source);
  }
  out += "]}";
  return out;
}

Map stream_record_value(const ChangeRecord& record, const StreamSource& source, bool with_dynamodb) {
  Map value{
      {"eventID", event_id(record, source)}, {"eventName", event_name(record.kind)}, {"eventVersion", "1.1"},
      {"eventSource", "aws:dynamodb"},       {"awsRegion", source.account.region},   {"eventSourceARN", source.arn}};
  if (record.by_ttl) {
    value.set("userIdentity", Map{{"type", "Service"}, {"principalId", kServicePrincipal}});
  }
  if (!with_dynamodb) return value;
  Map dynamodb{{"ApproximateCreationDateTime", Value::number(epoch_s(record.at))},
               {"Keys", item_tree(record.keys)},
               {"SequenceNumber", sequence_number(record.sequence)},
               {"SizeBytes", Value::number(static_cast<int64_t>(size_bytes(record, source.view)))},
               {"StreamViewType", stream_view_name(source.view)}};
  if (const ItemRef* image = new_image(record, source.view)) dynamodb.set("NewImage", item_tree(image->decode()));
  if (const ItemRef* image = old_image(record, source.view)) dynamodb.set("OldImage", item_tree(image->decode()));
  value.set("dynamodb", std::move(dynamodb));
  return value;
}

}  // namespace freshet
