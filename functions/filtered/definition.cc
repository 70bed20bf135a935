#include "functions/filtered/definition.h"

#include "functions/definition_file.h"
#include "functions/filtered/policy/combinations.h"

namespace freshet::filtered {
namespace {

constexpr int64_t kMaxMs = JsonMembers::kMaxMilliseconds;

constexpr Field<FilterAttribute> kAttribute[] = {
    {"name", text_field<&FilterAttribute::name>},
    {"set", boolean_field<&FilterAttribute::set>},
    {"values", texts_field<&FilterAttribute::values>},
    {"max_values", integer_field<&FilterAttribute::max_values, 1, 1'000'000>},
};

void read_attributes(JsonMembers& whole, std::string_view name, Settings& settings) {
  const auto json = whole.find(name);
  if (!json) return;
  if (!json->is(JsonKind::kArray)) return whole.refuse(*json, "must be an array");
  for (const JsonView one : *json) {
    FilterAttribute attribute;
    if (auto error = read_fields(one, kAttribute, attribute)) whole.fail_with(std::move(*error));
    settings.attributes.push_back(std::move(attribute));
  }
}

constexpr Field<Names> kNames[] = {
    {"partition", text_field<&Names::partition>},
    {"sort", text_field<&Names::sort>},
    {"id", text_field<&Names::id>},
    {"status", text_field<&Names::status>},
    {"version", text_field<&Names::version>},
    {"depth", text_field<&Names::depth>},
    {"queued_at", text_field<&Names::queued_at>},
    {"assignment", text_field<&Names::assignment>},
    {"request", text_field<&Names::request>},
    {"request_version", text_field<&Names::request_version>},
    {"request_depth", text_field<&Names::request_depth>},
};

constexpr Field<Layout> kLayout[] = {
    {"members", text_field<&Layout::members>},
    {"member_prefix", text_field<&Layout::member_prefix>},
    {"queues", text_field<&Layout::queues>},
    {"queue_prefix", text_field<&Layout::queue_prefix>},
    {"requests", text_field<&Layout::requests>},
    {"request_prefix", text_field<&Layout::request_prefix>},
    {"waiting_prefix", text_field<&Layout::waiting_prefix>},
};

constexpr Field<States> kStates[] = {
    {"available", text_field<&States::available>},
    {"queued", text_field<&States::queued>},
    {"assigned", text_field<&States::assigned>},
};

constexpr Field<Retry> kRetry[] = {
    {"attempts", integer_field<&Retry::attempts, 1, 1000>},
    {"base_ms", [](JsonMembers& members, std::string_view name,
                   Retry& retry) { read_milliseconds(members, name, 0, kMaxMs, retry.backoff.base); }},
    {"max_ms", [](JsonMembers& members, std::string_view name,
                  Retry& retry) { read_milliseconds(members, name, 0, kMaxMs, retry.backoff.max); }},
};

constexpr WordsFor<Keys, 2> kKeys = {{{"text", Keys::kText}, {"bitmask", Keys::kBitmask}}};

constexpr Field<Settings> kQueue[] = {
    {"name", text_field<&Settings::name>},
    {"table", text_field<&Settings::table>},
    {"members_table", text_field<&Settings::members_table>},
    {"queues_table", text_field<&Settings::queues_table>},
    {"attributes", read_attributes},
    {"copied", texts_field<&Settings::copied>},
    {"keys", word_field<&Settings::keys, kKeys>},
    {"newest_first", boolean_field<&Settings::newest_first>},
    {"names", part_field<&Settings::names, kNames>},
    {"layout", part_field<&Settings::layout, kLayout>},
    {"states", part_field<&Settings::states, kStates>},
    {"retry", part_field<&Settings::retry, kRetry>},
    {"matching_ms", milliseconds_field<&Settings::matching, 0, kMaxMs>},
};

Result<Settings> read_one(const JsonView& json) {
  Settings settings;
  if (auto error = read_fields(json, kQueue, settings)) return fail(std::move(*error));
  if (settings.name.empty()) settings.name = settings.table;
  if (auto valid = validate(settings); !valid) return fail(valid.error());
  if (auto fits = Combinations::make(settings); !fits) return fail(fits.error());
  return settings;
}

}  // namespace

Result<std::vector<Settings>> read_definitions(std::string_view json) {
  JsonDocument document;
  const auto root = document.parse(json);
  if (!root) return fail(root.error());
  return read_one_or_each(*root, "queues", read_one);
}

}  // namespace freshet::filtered
