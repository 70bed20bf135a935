#include "streams/fixture.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/log.h"
#include "streams/stream_event.h"
#include "tables/value/json.h"
#include "tables/value/json_reader.h"

namespace freshet {
namespace {

constexpr std::string_view kFormat = "fixture";
constexpr std::string_view kTimeMember = "\"ApproximateCreationDateTime\":";

std::string milliseconds_as_seconds(WallTime at) {
  int64_t ms = epoch_ms(at);
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(epoch_s(at)),
                static_cast<long long>(ms - epoch_s(at) * 1000));
  std::string out = text;
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

void append_key(std::string& out, const KeyAttribute& key) {
  out += "{\"name\":";
  append_json_string(out, key.name);
  out += ",\"type\":\"" + std::string(type_name(key.type)) + "\"}";
}

// As a member of an object.
void append_policy(std::string& out, const std::map<std::string, std::string>& policy) {
  out += "\"policy\":{";
  for (const auto& [name, value] : policy) {
    if (out.back() != '{') out += ',';
    append_json_string(out, name);
    out += ':';
    append_json_string(out, value);
  }
  out += '}';
}

// "2026-11-21T00:08:52.709Z"; the fraction may be missing.
std::optional<WallTime> parse_time(std::string_view text) {
  static constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kForm.size() + 1 || text.back() != 'Z') return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  auto number = [&](size_t at, size_t size) {
    int value = 0;
    for (char c : text.substr(at, size)) value = value * 10 + (c - '0');
    return value;
  };
  using namespace std::chrono;
  year_month_day date{year(number(0, 4)), month(static_cast<unsigned>(number(5, 2))),
                      day(static_cast<unsigned>(number(8, 2)))};
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59) return std::nullopt;
  WallTime at = sys_days(date) + hours(number(11, 2)) + minutes(number(14, 2)) + seconds(number(17, 2));
  std::string_view rest = text.substr(kForm.size(), text.size() - kForm.size() - 1);
  if (rest.empty()) return at;
  if (rest.size() != 4 || rest[0] != '.' || rest.substr(1).find_first_not_of("0123456789") != rest.npos) {
    return std::nullopt;
  }
  return at + milliseconds(number(kForm.size() + 1, 3));
}

Result<KeyAttribute> read_key(const JsonView& json, std::string_view where) {
  auto name = json.string_or("name");
  if (!name) return fail(name.error());
  auto type = json.string_or("type");
  if (!type) return fail(type.error());
  KeyAttribute key{std::string(*name), Type::kString};
  if (*type == "N") key.type = Type::kNumber;
  if (*type == "B") key.type = Type::kBinary;
  if (name->empty() || *type != type_name(key.type)) {
    return invalid(std::string(where) + " must be {\"name\":...,\"type\":\"S\", \"N\" or \"B\"}");
  }
  return key;
}

// Empty if the line has none.
Result<std::map<std::string, std::string>> read_policy(const JsonView& line) {
  std::map<std::string, std::string> out;
  auto policy = line.find("policy");
  if (!policy) return out;
  if (!policy->is(JsonKind::kObject)) return invalid("policy must be an object of settings, like {\"ORDER\":\"lifo\"}");
  for (const JsonView setting : *policy) {
    auto value = setting.as_string();
    if (!value) return invalid("policy: the value of " + std::string(setting.name()) + " must be a string");
    out[std::string(setting.name())] = std::string(*value);
  }
  return out;
}

Result<FixtureHeader> read_header(const JsonView& line) {
  auto format = line.string_or("freshet");
  if (!format || *format != kFormat) {
    return invalid(
        "the first line must be a fixture's header: {\"freshet\":\"fixture\",\"version\":1,...}; freshet "
        "record and freshet recording save write such files");
  }
  auto version = line.int_or("version", 0);
  if (!version) return fail(version.error());
  if (*version > kFixtureVersion) {
    return fail(ErrorCode::kUnsupportedFormat, "the fixture has version " + std::to_string(*version) +
                                                   "; this program reads up to " + std::to_string(kFixtureVersion));
  }
  if (*version < 1) return invalid("version is missing");
  FixtureHeader header;
  auto table = line.string_or("table");
  auto view = line.string_or("view", "KEYS_ONLY");
  auto start = line.string_or("start");
  auto note = line.string_or("note");
  for (const auto* text : {&table, &view, &start, &note}) {
    if (!*text) return fail(text->error());
  }
  if (table->empty()) return invalid("table is missing");
  header.table = std::string(*table);
  header.note = std::string(*note);
  auto parsed_view = parse_stream_view(*view);
  if (!parsed_view) return invalid("the view '" + std::string(*view) + "' is unknown");
  header.view = *parsed_view;
  auto policy = read_policy(line);
  if (!policy) return fail(policy.error());
  header.policy = std::move(*policy);
  auto time = parse_time(*start);
  if (!time) return invalid("start must be a time such as 2026-11-21T00:08:52.709Z");
  header.start = *time;
  auto partition = line.find("partitionKey");
  if (!partition) return invalid("partitionKey is missing");
  auto partition_key = read_key(*partition, "partitionKey");
  if (!partition_key) return fail(partition_key.error());
  header.keys.partition = *partition_key;
  if (auto sort = line.find("sortKey")) {
    auto sort_key = read_key(*sort, "sortKey");
    if (!sort_key) return fail(sort_key.error());
    header.keys.sort = *sort_key;
  }
  return header;
}

// The key attributes of an item.
Result<Item> keys_of(const Item& item, const KeySchema& schema, std::string_view what) {
  Item keys;
  auto copy = [&](const KeyAttribute& key) -> Result<void> {
    const Value* value = item.find(key.name);
    if (!value || !value->is(key.type)) {
      return invalid(std::string(what) + " needs the key attribute " + key.name + " of type " +
                     std::string(type_name(key.type)));
    }
    keys.set(key.name, *value);
    return {};
  };
  if (auto ok = copy(schema.partition); !ok) return fail(ok.error());
  if (schema.sort) {
    if (auto ok = copy(*schema.sort); !ok) return fail(ok.error());
  }
  return keys;
}

Result<WallTime> read_record_time(const JsonView& change) {
  auto member = change.find("ApproximateCreationDateTime");
  if (!member || !member->is(JsonKind::kNumber)) {
    return invalid("dynamodb.ApproximateCreationDateTime must be a number of seconds");
  }
  auto time = Decimal::parse(member->text());
  if (!time) return fail(time.error());
  // To whole milliseconds without leaving exact decimals: seconds, then what is left of them.
  int64_t whole = time->floor_int64();
  auto rest = Decimal::subtract(*time, Decimal(whole));
  constexpr int64_t kMaxSeconds = 253'402'300'799;  // The end of the year 9999.
  if (!rest || whole < 0 || whole > kMaxSeconds) {
    return invalid("dynamodb.ApproximateCreationDateTime is out of range; it is in seconds since 1970");
  }
  std::string fraction = rest->to_string();  // "0" or "0.123".
  int64_t ms = 0;
  for (size_t i = 2; i < 5; ++i) ms = ms * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  return WallTime(milliseconds(whole * 1000 + ms));
}

Result<ItemRef> read_image(const JsonView& change, std::string_view name) {
  auto member = change.find(name);
  if (!member) return ItemRef();
  auto item = item_of(*member);
  if (!item) return fail(item.error());
  return ItemRef::encode(*item);
}

Result<ChangeRecord::Kind> read_kind(const JsonView& line) {
  auto name = line.string_or("eventName");
  if (!name) return fail(name.error());
  for (auto kind : {ChangeRecord::Kind::kInsert, ChangeRecord::Kind::kModify, ChangeRecord::Kind::kRemove}) {
    if (*name == event_name(kind)) return kind;
  }
  return invalid("eventName must be INSERT, MODIFY or REMOVE, not '" + std::string(*name) + "'");
}

Result<Item> read_record_keys(const JsonView& change, const ChangeRecord& record, const KeySchema& schema) {
  const ItemRef& image = record.after ? record.after : record.before;
  Result<Item> from_image = Item{};
  if (image) {
    from_image = keys_of(image.decode(), schema, "the image");
    if (!from_image) return from_image;
  }
  auto given = change.find("Keys");
  if (!given) {
    if (!image) return invalid("dynamodb.Keys is missing");
    return from_image;
  }
  auto item = item_of(*given);
  if (!item) return item;
  auto keys = keys_of(*item, schema, "dynamodb.Keys");
  if (keys && keys->size() != item->size()) return invalid("dynamodb.Keys has more than the key attributes");
  if (keys && image && !(*keys == *from_image)) return invalid("dynamodb.Keys and the image name different items");
  return keys;
}

Result<ChangeRecord> read_record(const JsonView& line, const FixtureHeader& header, uint64_t number) {
  ChangeRecord record;
  auto kind = read_kind(line);
  if (!kind) return fail(kind.error());
  record.kind = *kind;
  auto change = line.find("dynamodb");
  if (!change || !change->is(JsonKind::kObject)) return invalid("dynamodb is missing");
  auto at = read_record_time(*change);
  if (!at) return fail(at.error());
  record.at = *at;
  auto after = read_image(*change, "NewImage");
  auto before = read_image(*change, "OldImage");
  if (!after) return fail(after.error());
  if (!before) return fail(before.error());
  record.after = *after;
  record.before = *before;
  bool removes = record.kind == ChangeRecord::Kind::kRemove;
  if (removes == static_cast<bool>(record.after)) {
    return invalid(removes ? "a REMOVE has no NewImage"
                           : std::string(event_name(record.kind)) +
                                 " needs NewImage: record with `freshet record`, which keeps both images");
  }
  if (record.kind == ChangeRecord::Kind::kInsert && record.before) return invalid("an INSERT has no OldImage");
  auto keys = read_record_keys(*change, record, header.keys);
  if (!keys) return fail(keys.error());
  record.keys = std::move(*keys);
  auto sequence = change->string_or("SequenceNumber");
  if (!sequence) return fail(sequence.error());
  auto parsed = sequence->empty() ? std::optional(number) : parse_sequence_number(*sequence);
  if (!parsed) return invalid("SequenceNumber '" + std::string(*sequence) + "' is no sequence number");
  record.sequence = *parsed;
  if (auto identity = line.find("userIdentity")) {
    auto type = identity->string_or("type");
    if (!type) return fail(type.error());
    record.by_ttl = *type == "Service";
  }
  return record;
}

Result<void> read_policy_change(const JsonView& line, Fixture& fixture) {
  if (fixture.header.policy.empty()) return invalid("the policy changes, but the header does not say what it was");
  FixturePolicy change;
  auto policy = read_policy(line);
  if (!policy) return fail(policy.error());
  auto at = line.string_or("at");
  const auto time = at ? parse_time(*at) : std::nullopt;
  if (!time) return invalid("the 'at' of a policy must be a time such as \"2026-11-21T00:08:52.709Z\"");
  fixture.policy_changes.push_back({*time, std::move(*policy)});
  return {};
}

Result<void> read_pause(const JsonView& line, const JsonView& of, bool paused, Fixture& fixture) {
  const auto at = line.string_or("at");
  const auto time = at ? parse_time(*at) : std::nullopt;
  if (!time) return invalid("the 'at' of a pause must be a time such as \"2026-11-21T00:08:52.709Z\"");
  const auto kind = of.as_string();
  const auto name = line.string_or("name");
  if (!kind || !name || (*kind != "queue" && *kind != "group" && *kind != "key") ||
      (*kind == "queue") != name->empty()) {
    return invalid(std::string("'") + (paused ? "paused" : "resumed") +
                   "' must be \"queue\", or \"group\" or \"key\" with its 'name'");
  }
  fixture.pauses.push_back({*time, paused, std::string(*kind), std::string(*name)});
  return {};
}

Result<void> read_line(const JsonView& line, int number, Fixture& fixture) {
  if (auto item = line.find("snapshot")) {
    if (!fixture.records.empty()) return invalid("a snapshot line after the first record");
    auto parsed = item_of(*item);
    if (!parsed) return fail(parsed.error());
    auto keys = keys_of(*parsed, fixture.header.keys, "the item");
    if (!keys) return fail(keys.error());
    fixture.snapshot.push_back(std::move(*parsed));
    fixture.snapshot_lines.push_back(number);
    return {};
  }
  if (line.find("policy")) return read_policy_change(line, fixture);
  for (const bool paused : {true, false}) {
    if (auto of = line.find(paused ? "paused" : "resumed")) return read_pause(line, *of, paused, fixture);
  }
  auto record = read_record(line, fixture.header, fixture.records.size() + 1);
  if (!record) return fail(record.error());
  fixture.records.push_back(std::move(*record));
  fixture.record_lines.push_back(number);
  return {};
}

}  // namespace

std::string Fixture::place_of_item(size_t index) const {
  if (index < snapshot_lines.size()) return file + ":" + std::to_string(snapshot_lines[index]);
  return "item " + std::to_string(index + 1) + " of the snapshot";
}

std::string Fixture::place_of_record(size_t index) const {
  if (index < record_lines.size()) return file + ":" + std::to_string(record_lines[index]);
  return "record " + std::to_string(index + 1);
}

Error Fixture::in_file(Error error) const {
  if (!file.empty() && !error.message.starts_with(file + ":")) error.message = file + ": " + error.message;
  return error;
}

std::string header_line(const FixtureHeader& header) {
  const int version = header.has_pauses ? kFixtureVersion : header.policy.empty() ? 1 : 2;
  std::string out = "{\"freshet\":\"fixture\",\"version\":" + std::to_string(version) + ",\"table\":";
  append_json_string(out, header.table);
  out += ",\"partitionKey\":";
  append_key(out, header.keys.partition);
  if (header.keys.sort) {
    out += ",\"sortKey\":";
    append_key(out, *header.keys.sort);
  }
  out += ",\"view\":\"" + std::string(stream_view_name(header.view)) + "\",\"start\":\"" + iso8601(header.start) + '"';
  if (!header.note.empty()) {
    out += ",\"note\":";
    append_json_string(out, header.note);
  }
  if (!header.policy.empty()) {
    out += ',';
    append_policy(out, header.policy);
  }
  return out + "}\n";
}

std::string snapshot_line(const ItemRef& item) {
  std::string out = "{\"snapshot\":";
  append_item_json(out, item);
  return out + "}\n";
}

std::string record_line(const ChangeRecord& record, const std::string& table, const Account& account) {
  // `latest` for the label: a fixture does not depend on when its table was made.
  StreamSource source{account, stream_arn(account, table, "latest"), StreamView::kNewAndOldImages};
  std::string out;
  append_stream_record(out, record, source);
  // Events have whole seconds; replay wants the milliseconds.
  size_t from = out.find(kTimeMember) + kTimeMember.size();
  out.replace(from, out.find(',', from) - from, milliseconds_as_seconds(record.at));
  return out + '\n';
}

std::string policy_line(const FixturePolicy& change) {
  std::string out = "{\"at\":\"" + iso8601(change.at) + "\",";
  append_policy(out, change.policy);
  return out + "}\n";
}

std::string pause_line(const FixturePause& pause) {
  std::string out =
      "{\"at\":\"" + iso8601(pause.at) + "\",\"" + (pause.paused ? "paused" : "resumed") + "\":\"" + pause.of + '"';
  if (!pause.name.empty()) {
    out += ",\"name\":";
    append_json_string(out, pause.name);
  }
  return out + "}\n";
}

// A change of the policy is written before the first record after it.
std::string write_fixture(const Fixture& fixture, const Account& account) {
  FixtureHeader header = fixture.header;
  header.has_pauses = !fixture.pauses.empty();
  std::string out = header_line(header);
  for (const FixturePause& pause : fixture.pauses) out += pause_line(pause);
  for (const Item& item : fixture.snapshot) out += snapshot_line(ItemRef::encode(item));
  auto change = fixture.policy_changes.begin();
  for (const ChangeRecord& record : fixture.records) {
    for (; change != fixture.policy_changes.end() && change->at <= record.at; ++change) out += policy_line(*change);
    out += record_line(record, fixture.header.table, account);
  }
  for (; change != fixture.policy_changes.end(); ++change) out += policy_line(*change);
  return out;
}

// Each line is a document of its own: the file's line stands before the message, and only the column is left to tell.
static std::string within_line(std::string message) {
  constexpr std::string_view kOffset = " at offset ", kColumn = "(line 1, column ";
  const size_t from = message.find(kOffset);
  const size_t column = message.find(kColumn);
  const size_t end = message.find("):", column);
  if (from == message.npos || column == message.npos || end == message.npos) return message;
  const std::string number = message.substr(column + kColumn.size(), end - column - kColumn.size());
  return message.replace(from, end + 1 - from, " at column " + number);
}

Result<Fixture> read_fixture(std::string_view text, const std::string& file) {
  Fixture fixture;
  fixture.file = file;
  JsonDocument document;
  bool has_header = false;
  int number = 0;
  auto at = [&](Error error) {
    error.message = file + ":" + std::to_string(number) + ": " + error.message;
    if (error.code != ErrorCode::kUnsupportedFormat) error.code = ErrorCode::kValidation;
    return fail(std::move(error));
  };
  while (!text.empty()) {
    ++number;
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    size_t first = line.find_first_not_of(" \t\r");
    if (first == line.npos || line[first] == '#') continue;
    if (line.size() > kMaxFixtureLine) return at({ErrorCode::kValidation, "the line is longer than 4 MiB", {}});
    auto json = document.parse(line);
    const std::string what_it_is =
        has_header ? "" : "; a fixture is JSON Lines, a header first, as freshet record writes it";
    if (!json) return at({json.error().code, within_line(json.error().message) + what_it_is, {}});
    if (!json->is(JsonKind::kObject)) return at({ErrorCode::kValidation, "expected a JSON object" + what_it_is, {}});
    if (!has_header) {
      auto header = read_header(*json);
      if (!header) return at(header.error());
      fixture.header = std::move(*header);
      has_header = true;
    } else if (auto ok = read_line(*json, number, fixture); !ok) {
      return at(ok.error());
    }
  }
  if (!has_header) return invalid(file + ":1: the file is empty; expected a fixture's header");
  std::stable_sort(fixture.policy_changes.begin(), fixture.policy_changes.end(),
                   [](const FixturePolicy& a, const FixturePolicy& b) { return a.at < b.at; });
  std::stable_sort(fixture.pauses.begin(), fixture.pauses.end(),
                   [](const FixturePause& a, const FixturePause& b) { return a.at < b.at; });
  fixture.header.has_pauses = !fixture.pauses.empty();
  return fixture;
}

}  // namespace freshet
