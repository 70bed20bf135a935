#include "wire/lambda/view_routes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/cursor.h"
#include "base/number_text.h"
#include "streams/arn.h"
#include "streams/pattern.h"
#include "streams/stream_event.h"
#include "wire/api/calls.h"
#include "wire/http/target.h"
#include "wire/service/api_route.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"

namespace freshet {
namespace {

constexpr size_t kMostListed = 100;

// A part of a list that is sorted by name.
struct Part {
  std::string after;  // The last name of the part before; empty for the first part.
  size_t limit = kMostListed;
  std::string function;  // Only what is of this function; empty for all.
  bool wants(std::string_view name) const { return function.empty() || plain_name(name) == function; }
};

// `list`: the member of the answer that has the list, "functions".
Result<Part> part_of(std::string_view list, const HttpRequest& request) {
  auto target = parse_target(request.target);
  if (!target) return fail(std::move(target.error()));
  Part part;
  for (auto& [name, value] : target->query) {
    if (name == "cursor") {
      auto after = place_of_cursor(list, value);
      if (!after) return fail(std::move(after.error()));
      part.after = std::move(*after);
    } else if (name == "function") {
      part.function = std::move(value);
    } else if (name == "limit") {
      if (!read_number_in(value, part.limit) || part.limit < 1 || part.limit > kMostListed) {
        return invalid("'limit' must be a number from 1 to " + std::to_string(kMostListed));
      }
    } else {
      return invalid("'" + name + "' in the query of " + shown_path(request.target) +
                     ": there are limit, cursor and function");
    }
  }
  return part;
}

// {"NAME": [ ... ], "cursor": ...}: `append` writes one, `name_of` gives the name that the list is sorted by.
template <class List, class NameOf, class Append>
std::string list_json(std::string_view member, const List& all, const Part& part, NameOf name_of, Append append) {
  std::string list;
  size_t listed = 0;
  std::string_view last;
  bool more = false;
  for (const auto& one : all) {
    if (name_of(one) <= part.after) continue;
    more = listed == part.limit;
    if (more) break;
    if (listed++ > 0) list += ',';
    append(list, one);
    last = name_of(one);
  }
  std::string out;
  {
    JsonObject json(out);
    json.raw(member) += '[' + list + ']';
    if (more) json.text("cursor", make_cursor(member, last));
  }
  return out;
}

// The counts of a function with those of its versions and aliases.
FunctionStats sum_of(const std::map<std::string, FunctionStats>& all, const std::string& function) {
  FunctionStats sum;
  for (auto at = all.lower_bound(function); at != all.end() && at->first.starts_with(function); ++at) {
    if (plain_name(at->first) != function) continue;
    const FunctionStats& one = at->second;
    sum.invocations += one.invocations;
    sum.errors += one.errors;
    sum.timeouts += one.timeouts;
    sum.throttles += one.throttles;
    sum.events += one.events;
    sum.retries += one.retries;
    sum.dropped += one.dropped;
    sum.running += one.running;
    sum.queued += one.queued;
  }
  return sum;
}

void append_function(std::string& out, const FunctionDefinition& function, const FunctionStats& stats) {
  JsonObject json(out);
  json.text("name", function.name);
  json.text("runtime", function.host == "process" ? function.runtime : function.host);
  json.text("handler", function.handler);
  json.text_if("description", function.description);
  json.number("timeoutMs", function.timeout.count());
  if (function.host == "process") json.number("memoryMiB", function.memory_mib);
  if (function.reserved_concurrency) json.number("reservedConcurrency", *function.reserved_concurrency);
  if (function.modified_ms > 0) json.number("modified", function.modified_ms);
  json.number("running", stats.running);
  json.number("invocations", stats.invocations);
  json.number("errors", stats.errors);
  json.number("timeouts", stats.timeouts);
  json.number("throttles", stats.throttles);
  JsonObject events(json.raw("events"));
  events.number("waiting", stats.queued);
  events.number("accepted", stats.events);
  events.number("retries", stats.retries);
  events.number("dropped", stats.dropped);
  events.number("maxRetries", function.async.max_retries);
  events.number("maxAgeSeconds", function.async.max_event_age.count());
  events.text_if("onSuccess", function.async.on_success.target);
  events.text_if("onFailure", function.async.on_failure.target);
  events.text_if("deadLetter", function.dead_letter.target);
}

// How far a mapping is behind the end of its table's stream.
struct Behind {
  uint64_t records = 0;
  std::optional<WallTime> oldest;  // When the first of them was written.
};

// The kinds of records that the mapping's filters leave out, where they can tell that by the kind alone. The mapping
// does not read those, so its position stands before them while nothing else comes.
StreamSkip left_out(const MappingDefinition& mapping, const Account& account) {
  StreamSkip skip;
  std::vector<Pattern> filters;
  for (const std::string& filter : mapping.filters) {
    auto pattern = Pattern::parse(filter, PatternNumbers::kAlsoInText);
    if (!pattern) return skip;
    for (const char* field : {"dynamodb", "eventID", "eventSourceARN"}) {
      if (pattern->looks_at(field)) return skip;
    }
    filters.push_back(std::move(*pattern));
  }
  if (filters.empty()) return skip;
  for (const auto kind : {ChangeRecord::Kind::kInsert, ChangeRecord::Kind::kModify, ChangeRecord::Kind::kRemove}) {
    for (const bool by_ttl : {false, true}) {
      ChangeRecord record;
      record.kind = kind;
      record.by_ttl = by_ttl;
      const Map value = stream_record_value(record, {account, {}}, false);
      const bool wanted = std::any_of(filters.begin(), filters.end(), [&](const Pattern& filter) {
        MatchWork work(kMaxMatchWork);
        return filter.matches(value, work) || work.spent();
      });
      skip.kinds[StreamSkip::kind_index(kind, by_ttl)] = !wanted;
    }
  }
  return skip;
}

// Empty if it is not known: the table has no stream now, or was made anew and the mapping still reads the old one's.
Async<std::optional<Behind>> behind(Services& services, const MappingState& mapping, StreamSkip skip) {
  Tables& tables = services.tables;
  std::string table = mapping.definition.table;
  auto bounds = co_await tables.stream_bounds(std::move(table));
  if (!bounds || mapping.position == 0 || mapping.position > bounds->next) co_return std::nullopt;
  const uint64_t from = std::max(mapping.position, bounds->oldest);
  Behind out{bounds->next - from, {}};
  if (out.records == 0) co_return out;
  ReadStreamInput read;
  read.table = mapping.definition.table;
  read.from = from;
  read.limit = 1;
  read.skip = skip;
  auto page = co_await tables.read_stream(std::move(read));
  if (!page) co_return out;
  const bool any = !page->records.empty();
  const uint64_t first = any ? page->records.front().sequence : std::max(page->next, from);
  out.records = bounds->next > first ? bounds->next - first : 0;
  if (any) out.oldest = page->records.front().at;
  co_return out;
}

struct MappingView {
  MappingState state;
  std::optional<Behind> behind;
};

void append_mapping(std::string& out, const MappingView& view, WallTime now) {
  const MappingDefinition& definition = view.state.definition;
  JsonObject json(out);
  json.text("id", definition.id);
  json.text("table", definition.table);
  json.text("function", definition.function);
  json.flag("enabled", definition.enabled);
  json.text("state", view.state.state);
  json.text("lastResult", view.state.last_result);
  json.text_if("lastError", view.state.last_error);
  json.number("batchSize", definition.batch_size);
  json.number("lanes", definition.parallelization_factor);
  if (!definition.filters.empty()) json.texts("filters", definition.filters);
  if (!view.behind) return;
  json.number("behind", view.behind->records);
  if (!view.behind->oldest) return;
  json.number("behindMs", std::max<int64_t>(0, (now - *view.behind->oldest).count()));
}

HttpResponse functions_answer(Runtime& runtime, const HttpRequest& request) {
  const auto part = part_of("functions", request);
  if (!part) return tasks::error_answer(part.error());
  const auto stats = runtime.invoker().stats();
  const auto name_of = [](const FunctionDefinition& one) -> std::string_view { return one.name; };
  std::vector<FunctionDefinition> functions = runtime.functions();
  std::erase_if(functions, [&](const FunctionDefinition& one) { return !part->wants(one.name); });
  return tasks::json_answer(list_json(
      "functions", functions, *part, name_of,
      [&](std::string& out, const FunctionDefinition& one) { append_function(out, one, sum_of(stats, one.name)); }));
}

Async<HttpResponse> mappings_answer(Runtime& runtime, const Clock& clock, Result<Part> part) {
  if (!part) co_return tasks::error_answer(part.error());
  std::vector<MappingView> views;
  for (MappingState& state : runtime.mappings()) {
    if (state.definition.id <= part->after || !part->wants(state.definition.function)) continue;
    const bool is_listed = views.size() < part->limit;
    views.push_back({std::move(state), {}});
    if (!is_listed) break;  // Only shows that there are more.
    const StreamSkip skip = left_out(views.back().state.definition, runtime.account());
    auto known = co_await behind(runtime.services(), views.back().state, skip);
    views.back().behind = known;
  }
  const WallTime now = clock.wall();
  const auto id_of = [](const MappingView& one) -> std::string_view { return one.state.definition.id; };
  co_return tasks::json_answer(
      list_json("mappings", views, *part, id_of,
                [now](std::string& out, const MappingView& one) { append_mapping(out, one, now); }));
}

}  // namespace

std::vector<std::unique_ptr<Route>> make_function_view_routes(Runtime& runtime, const Clock& clock) {
  std::vector<std::unique_ptr<Route>> routes;
  routes.push_back(make_api_route(ApiCall::kFunctions, [&runtime](const HttpRequest& request) -> Async<HttpResponse> {
    return functions_answer(runtime, request);
  }));
  routes.push_back(make_api_route(ApiCall::kMappings, [&runtime, &clock](const HttpRequest& request) {
    return mappings_answer(runtime, clock, part_of("mappings", request));
  }));
  return routes;
}

}  // namespace freshet
