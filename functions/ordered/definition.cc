#include "functions/ordered/definition.h"

#include <array>

#include "runtime/json_members.h"

namespace freshet::ordered {
namespace {

// The first error of a part, told to the whole.
void check(JsonMembers& whole, const JsonMembers& part) {
  if (part.error()) whole.fail_with(*part.error());
}

// The value that the word of a member stands for; an error that lists the words otherwise.
template <class T, size_t n>
void choose(JsonMembers& members, std::string_view name, const std::array<std::pair<std::string_view, T>, n>& words,
            T& into) {
  const auto json = members.find(name);
  std::string text;
  members.text(name, text);
  if (!json || members.error()) return;
  std::string all;
  for (const auto& [word, value] : words) {
    if (text == word) {
      into = value;
      return;
    }
    all += (all.empty() ? "" : ", ") + std::string(word);
  }
  members.refuse(*json, "must be one of " + all);
}

constexpr std::array<std::pair<std::string_view, Type>, 3> kKeyTypes = {
    {{"S", Type::kString}, {"N", Type::kNumber}, {"B", Type::kBinary}}};
constexpr std::array<std::pair<std::string_view, Type>, 2> kTokenTypes = {{{"N", Type::kNumber}, {"S", Type::kString}}};
constexpr std::array<std::pair<std::string_view, Unit>, 5> kUnits = {{{"seconds", Unit::kSeconds},
                                                                      {"milliseconds", Unit::kMilliseconds},
                                                                      {"microseconds", Unit::kMicroseconds},
                                                                      {"nanoseconds", Unit::kNanoseconds},
                                                                      {"token", Unit::kToken}}};
constexpr std::array<std::pair<std::string_view, Ties>, 2> kTies = {
    {{"arrival", Ties::kArrival}, {"content", Ties::kContent}}};
constexpr std::array<std::pair<std::string_view, Old>, 2> kOld = {{{"refuse", Old::kRefuse}, {"accept", Old::kAccept}}};

// {"name": "PK", "type": "S"}
void read_key(JsonMembers& whole, std::string_view member, KeyAttribute& key) {
  const auto json = whole.find(member);
  if (!json) return;
  JsonMembers members(*json, {"name", "type"});
  members.text("name", key.name);
  choose(members, "type", kKeyTypes, key.type);
  check(whole, members);
}

void read_names(JsonMembers& whole, Names& names) {
  const auto json = whole.find("attributes");
  if (!json) return;
  JsonMembers members(*json, {"timestamp", "deleted", "ttl", "update_timestamp", "tie", "update_tie"});
  members.text("timestamp", names.timestamp);
  members.text("deleted", names.deleted);
  members.text("ttl", names.ttl);
  members.text("update_timestamp", names.update_timestamp);
  members.text("tie", names.tie);
  members.text("update_tie", names.update_tie);
  check(whole, members);
}

void read_updates(JsonMembers& members, std::vector<std::string>& into) {
  const auto json = members.find("update_attributes");
  if (!json) return;
  if (!json->is(JsonKind::kArray)) return members.refuse(*json, "must be an array of names of attributes");
  for (const JsonView one : *json) {
    const auto name = text_in(one);
    if (!name) return members.fail_with(name.error());
    into.emplace_back(*name);
  }
}

void read_times(JsonMembers& members, Settings& settings) {
  choose(members, "unit", kUnits, settings.unit);
  choose(members, "token_type", kTokenTypes, settings.token_type);
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
  read_updates(members, settings.update_attributes);
  choose(members, "ties", kTies, settings.ties);
  choose(members, "old_timestamps", kOld, settings.old);
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
  std::vector<Definition> out;
  const auto add = [&](const JsonView& one) -> Result<void> {
    auto definition = read_one(one);
    if (!definition) return fail(definition.error());
    out.push_back(std::move(*definition));
    return {};
  };
  const auto all = root->find("ordered_writes");
  if (!all) {
    if (auto added = add(*root); !added) return fail(added.error());
    return out;
  }
  // Keys beside these would apply to none of them.
  const JsonMembers file(*root, {"ordered_writes"});
  if (file.error()) return fail(*file.error());
  if (!all->is(JsonKind::kArray) || all->size() == 0) {
    return invalid("'ordered_writes' must be an array with at least one element");
  }
  for (const JsonView one : *all) {
    if (auto added = add(one); !added) return fail(added.error());
  }
  return out;
}

}  // namespace freshet::ordered
