#include "functions/filtered/definition.h"

#include "functions/definition_file.h"
#include "functions/filtered/policy/combinations.h"

namespace freshet::filtered {
namespace {

constexpr int64_t kMaxMs = JsonMembers::kMaxMilliseconds;

void read_attributes(JsonMembers& whole, std::vector<FilterAttribute>& into) {
  const auto json = whole.find("attributes");
  if (!json) return;
  if (!json->is(JsonKind::kArray)) return whole.refuse(*json, "must be an array");
  for (const JsonView one : *json) {
    JsonMembers members(one, {"name", "set", "values", "max_values"});
    FilterAttribute attribute;
    members.text("name", attribute.name);
    members.boolean("set", attribute.set);
    read_texts(members, "values", "an array of strings", attribute.values);
    members.integer("max_values", 1, 1'000'000, attribute.max_values);
    if (members.error()) whole.fail_with(*members.error());
    into.push_back(std::move(attribute));
  }
}

void read_names(JsonMembers& whole, Names& names) {
  read_part(whole, "names",
            {"partition", "sort", "id", "status", "version", "depth", "queued_at", "assignment", "request",
             "request_version", "request_depth"},
            [&](JsonMembers& members) {
              members.text("partition", names.partition);
              members.text("sort", names.sort);
              members.text("id", names.id);
              members.text("status", names.status);
              members.text("version", names.version);
              members.text("depth", names.depth);
              members.text("queued_at", names.queued_at);
              members.text("assignment", names.assignment);
              members.text("request", names.request);
              members.text("request_version", names.request_version);
              members.text("request_depth", names.request_depth);
            });
}

void read_layout(JsonMembers& whole, Layout& layout) {
  read_part(whole, "layout",
            {"members", "member_prefix", "queues", "queue_prefix", "requests", "request_prefix", "waiting_prefix"},
            [&](JsonMembers& members) {
              members.text("members", layout.members);
              members.text("member_prefix", layout.member_prefix);
              members.text("queues", layout.queues);
              members.text("queue_prefix", layout.queue_prefix);
              members.text("requests", layout.requests);
              members.text("request_prefix", layout.request_prefix);
              members.text("waiting_prefix", layout.waiting_prefix);
            });
}

void read_states(JsonMembers& whole, States& states) {
  read_part(whole, "states", {"available", "queued", "assigned"}, [&](JsonMembers& members) {
    members.text("available", states.available);
    members.text("queued", states.queued);
    members.text("assigned", states.assigned);
  });
}

void read_retry(JsonMembers& whole, Retry& retry) {
  read_part(whole, "retry", {"attempts", "base_ms", "max_ms"}, [&](JsonMembers& members) {
    members.integer("attempts", 1, 1000, retry.attempts);
    read_milliseconds(members, "base_ms", 0, kMaxMs, retry.backoff.base);
    read_milliseconds(members, "max_ms", 0, kMaxMs, retry.backoff.max);
  });
}

constexpr WordsFor<Keys, 2> kKeys = {{{"text", Keys::kText}, {"bitmask", Keys::kBitmask}}};

Result<Settings> read_one(const JsonView& json) {
  Settings settings;
  JsonMembers members(json, {"name", "table", "members_table", "queues_table", "attributes", "copied", "keys",
                             "newest_first", "names", "layout", "states", "retry", "matching_ms"});
  members.text("name", settings.name);
  members.text("table", settings.table);
  if (settings.name.empty()) settings.name = settings.table;
  members.text("members_table", settings.members_table);
  members.text("queues_table", settings.queues_table);
  read_attributes(members, settings.attributes);
  read_texts(members, "copied", "an array of strings", settings.copied);
  read_word(members, "keys", kKeys, settings.keys);
  members.boolean("newest_first", settings.newest_first);
  read_names(members, settings.names);
  read_layout(members, settings.layout);
  read_states(members, settings.states);
  read_retry(members, settings.retry);
  read_milliseconds(members, "matching_ms", 0, kMaxMs, settings.matching);
  if (members.error()) return fail(*members.error());
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
