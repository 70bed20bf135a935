#include "functions/filtered/definition.h"

#include "functions/filtered/policy/combinations.h"
#include "runtime/json_members.h"

namespace freshet::filtered {
namespace {

constexpr int64_t kMaxMs = JsonMembers::kMaxMilliseconds;

// The first error of a part, told to the whole.
void check(JsonMembers& whole, const JsonMembers& part) {
  if (part.error()) whole.fail_with(*part.error());
}

void read_texts(JsonMembers& members, std::string_view name, std::vector<std::string>& into) {
  const auto json = members.find(name);
  if (!json) return;
  if (!json->is(JsonKind::kArray)) return members.refuse(*json, "must be an array of strings");
  for (const JsonView one : *json) {
    const auto text = text_in(one);
    if (!text) return members.fail_with(text.error());
    into.emplace_back(*text);
  }
}

void read_attributes(JsonMembers& whole, std::vector<FilterAttribute>& into) {
  const auto json = whole.find("attributes");
  if (!json) return;
  if (!json->is(JsonKind::kArray)) return whole.refuse(*json, "must be an array");
  for (const JsonView one : *json) {
    JsonMembers members(one, {"name", "set", "values", "max_values"});
    FilterAttribute attribute;
    members.text("name", attribute.name);
    members.boolean("set", attribute.set);
    read_texts(members, "values", attribute.values);
    members.integer("max_values", 1, 1'000'000, attribute.max_values);
    check(whole, members);
    into.push_back(std::move(attribute));
  }
}

void read_names(JsonMembers& whole, Names& names) {
  const auto json = whole.find("names");
  if (!json) return;
  JsonMembers members(*json, {"partition", "sort", "id", "status", "version", "depth", "queued_at", "assignment",
                              "request", "request_version", "request_depth"});
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
  check(whole, members);
}

void read_layout(JsonMembers& whole, Layout& layout) {
  const auto json = whole.find("layout");
  if (!json) return;
  JsonMembers members(
      *json, {"members", "member_prefix", "queues", "queue_prefix", "requests", "request_prefix", "waiting_prefix"});
  members.text("members", layout.members);
  members.text("member_prefix", layout.member_prefix);
  members.text("queues", layout.queues);
  members.text("queue_prefix", layout.queue_prefix);
  members.text("requests", layout.requests);
  members.text("request_prefix", layout.request_prefix);
  members.text("waiting_prefix", layout.waiting_prefix);
  check(whole, members);
}

void read_states(JsonMembers& whole, States& states) {
  const auto json = whole.find("states");
  if (!json) return;
  JsonMembers members(*json, {"available", "queued", "assigned"});
  members.text("available", states.available);
  members.text("queued", states.queued);
  members.text("assigned", states.assigned);
  check(whole, members);
}

void read_milliseconds(JsonMembers& members, std::string_view name, milliseconds& into) {
  std::optional<milliseconds> time;
  members.duration(name, 0, kMaxMs, time);
  if (time) into = *time;
}

void read_retry(JsonMembers& whole, Retry& retry) {
  const auto json = whole.find("retry");
  if (!json) return;
  JsonMembers members(*json, {"attempts", "base_ms", "max_ms"});
  members.integer("attempts", 1, 1000, retry.attempts);
  read_milliseconds(members, "base_ms", retry.backoff.base);
  read_milliseconds(members, "max_ms", retry.backoff.max);
  check(whole, members);
}

void read_keys(JsonMembers& members, Keys& keys) {
  std::string form = "text";
  members.text("keys", form);
  if (form == "bitmask") {
    keys = Keys::kBitmask;
  } else if (const auto json = members.find("keys"); json && form != "text") {
    members.refuse(*json, "must be text or bitmask");
  }
}

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
  read_texts(members, "copied", settings.copied);
  read_keys(members, settings.keys);
  members.boolean("newest_first", settings.newest_first);
  read_names(members, settings.names);
  read_layout(members, settings.layout);
  read_states(members, settings.states);
  read_retry(members, settings.retry);
  read_milliseconds(members, "matching_ms", settings.matching);
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
  std::vector<Settings> out;
  const auto queues = root->find("queues");
  if (!queues) {
    auto one = read_one(*root);
    if (!one) return fail(one.error());
    out.push_back(std::move(*one));
    return out;
  }
  // Keys beside these would apply to none of them.
  const JsonMembers file(*root, {"queues"});
  if (file.error()) return fail(*file.error());
  if (!queues->is(JsonKind::kArray) || queues->size() == 0) {
    return invalid("'" + queues->path() + "' must be an array with at least one element");
  }
  for (const JsonView one : *queues) {
    auto settings = read_one(one);
    if (!settings) return fail(settings.error());
    out.push_back(std::move(*settings));
  }
  return out;
}

}  // namespace freshet::filtered
