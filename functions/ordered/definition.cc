#include "functions/ordered/definition.h"

#include "functions/definition_file.h"

namespace freshet::ordered {
namespace {

constexpr WordsFor<Type, 3> kKeyTypes = {{{"S", Type::kString}, {"N", Type::kNumber}, {"B", Type::kBinary}}};
constexpr WordsFor<Type, 2> kTokenTypes = {{{"N", Type::kNumber}, {"S", Type::kString}}};
constexpr WordsFor<Unit, 5> kUnits = {{{"seconds", Unit::kSeconds},
                                       {"milliseconds", Unit::kMilliseconds},
                                       {"microseconds", Unit::kMicroseconds},
                                       {"nanoseconds", Unit::kNanoseconds},
                                       {"token", Unit::kToken}}};
constexpr WordsFor<Ties, 2> kTies = {{{"arrival", Ties::kArrival}, {"content", Ties::kContent}}};
constexpr WordsFor<Old, 2> kOld = {{{"refuse", Old::kRefuse}, {"accept", Old::kAccept}}};

// {"name": "PK", "type": "S"}
constexpr Field<KeyAttribute> kKey[] = {
    {"name", text_field<&KeyAttribute::name>},
    {"type", word_field<&KeyAttribute::type, kKeyTypes>},
};

constexpr Field<Names> kNames[] = {
    {"timestamp", text_field<&Names::timestamp>},
    {"deleted", text_field<&Names::deleted>},
    {"ttl", text_field<&Names::ttl>},
    {"update_timestamp", text_field<&Names::update_timestamp>},
    {"tie", text_field<&Names::tie>},
    {"update_tie", text_field<&Names::update_tie>},
};

struct Own : Settings {
  KeySchema keys{{"PK", Type::kString}, {}};
};

constexpr Field<Own> kOwn[] = {
    {"name", text_field<&Settings::name>},
    {"table", text_field<&Settings::table>},
    {"partition_key",
     [](JsonMembers& members, std::string_view name, Own& own) { read_part(members, name, kKey, own.keys.partition); }},
    {"sort_key",
     [](JsonMembers& members, std::string_view name, Own& own) {
       if (members.find(name)) read_part(members, name, kKey, own.keys.sort.emplace());
     }},
    {"attributes", part_field<&Settings::names, kNames>},
    {"unit", word_field<&Settings::unit, kUnits>},
    {"token_type", word_field<&Settings::token_type, kTokenTypes>},
    {"timestamp_path", text_field<&Settings::timestamp_path>},
    {"max_skew_ms", milliseconds_field<&Settings::max_skew, 0, kLongestRetention.count()>},
    {"tombstone_retention_ms", milliseconds_field<&Settings::retention, 1000, kLongestRetention.count()>},
    {"update_attributes",
     [](JsonMembers& members, std::string_view name, Own& own) {
       read_texts(members, name, "an array of names of attributes", own.update_attributes);
     }},
    {"ties", word_field<&Settings::ties, kTies>},
    {"old_timestamps", word_field<&Settings::old, kOld>},
};

Result<Definition> read_one(const JsonView& json) {
  Own own;
  if (auto error = read_fields(json, kOwn, own)) return fail(std::move(*error));
  if (own.name.empty()) own.name = own.table;
  if (auto valid = validate(own); !valid) return fail(valid.error());
  KeySchema keys = std::move(own.keys);
  return Definition{std::move(own), std::move(keys)};
}

}  // namespace

Result<std::vector<Definition>> read_definitions(std::string_view json) {
  JsonDocument document;
  const auto root = document.parse(json);
  if (!root) return fail(root.error());
  return read_one_or_each(*root, "ordered_writes", read_one);
}

}  // namespace freshet::ordered
