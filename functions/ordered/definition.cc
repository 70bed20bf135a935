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
void read_key(JsonMembers& whole, std::string_view member, KeyAttribute& key) {
  read_part(whole, member, {"name", "type"}, [&](JsonMembers& members) {
    members.text("name", key.name);
    read_word(members, "type", kKeyTypes, key.type);
  });
}

void read_names(JsonMembers& whole, Names& names) {
  read_part(whole, "attributes", {"timestamp", "deleted", "ttl", "update_timestamp", "tie", "update_tie"},
            [&](JsonMembers& members) {
              members.text("timestamp", names.timestamp);
              members.text("deleted", names.deleted);
              members.text("ttl", names.ttl);
              members.text("update_timestamp", names.update_timestamp);
              members.text("tie", names.tie);
              members.text("update_tie", names.update_tie);
            });
}

void read_times(JsonMembers& members, Settings& settings) {
  read_word(members, "unit", kUnits, settings.unit);
  read_word(members, "token_type", kTokenTypes, settings.token_type);
  members.text("timestamp_path", settings.timestamp_path);
  std::optional<milliseconds> skew;
  std::optional<milliseconds> retention;
  members.duration("max_skew_ms", 0, kLongestRetention.count(), skew);
  members.duration("tombstone_retention_ms", 1000, kLongestRetention.count(), retention);
  if (skew) settings.max_skew = *skew;
  if (retention) settings.retention = *retention;
}

Result<Definition> read_one(const JsonView& json) {
  Definition definition{{}, {{"PK", Type::kString}, {}}};
  Settings& settings = definition.settings;
  JsonMembers members(
      json, {"name", "table", "partition_key", "sort_key", "attributes", "unit", "token_type", "timestamp_path",
             "max_skew_ms", "tombstone_retention_ms", "update_attributes", "ties", "old_timestamps"});
  members.text("name", settings.name);
  members.text("table", settings.table);
  if (settings.name.empty()) settings.name = settings.table;
  read_names(members, settings.names);
  read_times(members, settings);
  read_texts(members, "update_attributes", "an array of names of attributes", settings.update_attributes);
  read_word(members, "ties", kTies, settings.ties);
  read_word(members, "old_timestamps", kOld, settings.old);
  read_key(members, "partition_key", definition.keys.partition);
  if (members.find("sort_key")) {
    definition.keys.sort.emplace();
    read_key(members, "sort_key", *definition.keys.sort);
  }
  if (members.error()) return fail(*members.error());
  if (auto valid = validate(settings); !valid) return fail(valid.error());
  return definition;
}

}  // namespace

Result<std::vector<Definition>> read_definitions(std::string_view json) {
  JsonDocument document;
  const auto root = document.parse(json);
  if (!root) return fail(root.error());
  return read_one_or_each(*root, "ordered_writes", read_one);
}

}  // namespace freshet::ordered
