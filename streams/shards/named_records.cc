#include "streams/shards/named_records.h"

#include <fmt/format.h>

#include "streams/shards/sharded_stream.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

// Replaces the text after `before`, up to the next quotation mark. Names have no characters that JSON escapes.
void replace_text(std::string& json, std::string_view before, size_t at, const std::string& by) {
  if (at == std::string::npos) return;
  const size_t from = at + before.size();
  json.replace(from, json.find('"', from) - from, by);
}

bool is_plain(const std::string& text) {
  return !text.empty() && text.find_first_of("\"\\") == std::string::npos;
}

}  // namespace

std::vector<RecordName> names_of(std::span<const ChangeRecord> records, const ShardedStream& stream) {
  std::vector<RecordName> names;
  names.reserve(records.size());
  for (const ChangeRecord& record : records) {
    const RecordName* name = stream.name(record.sequence);
    names.push_back(name ? *name : RecordName());
  }
  return names;
}

void append_named_record(std::string& out, const ChangeRecord& record, const StreamSource& source,
                         const RecordName& name) {
  std::string json;
  append_stream_record(json, record, source);
  if (is_plain(name.number)) {
    // Behind the images, so that the last one is the record's own.
    const std::string_view before = R"(,"SequenceNumber":")";
    const std::string whole = fmt::format(R"({}{}","SizeBytes":)", before, sequence_number(record.sequence));
    replace_text(json, before, json.rfind(whole), name.number);
  }
  if (is_plain(name.event_id)) {
    const std::string_view before = R"({"eventID":")";
    replace_text(json, before, json.find(before), name.event_id);
  }
  out += json;
}

std::string named_stream_event(std::span<const ChangeRecord> records, const StreamSource& source,
                               std::span<const RecordName> names) {
  std::string out = R"({"Records":[)";
  for (size_t i = 0; i < records.size(); ++i) {
    if (i > 0) out += ',';
    append_named_record(out, records[i], source, names[i]);
  }
  out += "]}";
  return out;
}

Map named_record_value(const ChangeRecord& record, const StreamSource& source, bool with_dynamodb,
                       const ShardedStream& stream) {
  Map value = stream_record_value(record, source, with_dynamodb);
  const RecordName* name = stream.name(record.sequence);
  if (!name) return value;
  if (!name->event_id.empty()) value.set("eventID", Value(name->event_id));
  const Value* change = value.find("dynamodb");
  if (const Map* members = change ? change->get_if<Map>() : nullptr) {
    Map named = *members;
    named.set("SequenceNumber", Value(name->number));
    value.set("dynamodb", Value(std::move(named)));
  }
  return value;
}

std::string number_of(const ChangeRecord& record, const ShardedStream& stream) {
  const RecordName* name = stream.name(record.sequence);
  return name ? name->number : std::string();
}

}  // namespace freshet
