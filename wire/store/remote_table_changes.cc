// Creates, alters, drops and describes tables. An engine works on after its answer, so this code waits for the end of
// each change.
#include <algorithm>
#include <optional>
#include <utility>

#include "wire/store/answers.h"
#include "wire/store/merge.h"
#include "wire/store/remote_tables.h"
#include "wire/store/requests.h"

namespace freshet::remote {

namespace {

constexpr seconds kLongestChange{600};
constexpr seconds kReportedEach{60};
constexpr seconds kLongestUnseen{30};  // The longest time for which an engine shows an old description.
constexpr int kSendings = 2;  // An engine may lose a change that it accepted: DynamoDB Local does when it is busy.
constexpr seconds kLongestDoubt{10};  // The longest wait for the table to show a change that got no answer.
// A description that contradicts itself is requested again, for this time: DynamoDB Local gives one in the middle of a
// change.
constexpr seconds kLongestContradiction{2};
constexpr int kMostRefusals = 30;  // The most refusals of a change because of another one: about a minute.
constexpr milliseconds kFirstLook{20};
constexpr milliseconds kLongestLook{2'000};

tl::unexpected<Error> not_in_time(const std::string& table, const std::string& what) {
  return fail(ErrorCode::kTimeout, "table '" + table + "' " + what);
}

Result<void> can_be_made(const TableDefinition& definition) {
  if (definition.books) return invalid("table '" + definition.name + "' cannot have books: a remote store keeps none");
  if (definition.settings.point_in_time_recovery) {
    return invalid("table '" + definition.name + "': point-in-time recovery is switched on at the engine itself");
  }
  if (!definition.ttl_attribute || !definition.ttl_in_milliseconds) return {};
  return invalid("table '" + definition.name + "' cannot have a ttl in milliseconds: a remote store reads seconds");
}

Result<void> can_be_altered(const TableDefinition& definition) {
  if (definition.settings.tags.empty()) return can_be_made(definition);
  return invalid("table '" + definition.name + "': its tags are changed at the engine itself");
}

// Amazon DynamoDB refuses a second change of a ttl within an hour, whatever it shows meanwhile.
Error refusal_of_ttl(const std::string& table, Error error) {
  constexpr std::string_view kTooSoon = "modified multiple times within a fixed interval";
  if (error.code != ErrorCode::kValidation || error.message.find(kTooSoon) == std::string::npos) return error;
  return {ErrorCode::kLimitExceeded,
          "the ttl of table '" + table + "' was changed within the last hour, and the store changes it once an hour (" +
              error.message + ")",
          nullptr};
}

// Amazon DynamoDB makes one index at a time, and refuses a second one so.
Error refusal_of_index(Error error) {
  if (error.code == ErrorCode::kLimitExceeded) error.code = ErrorCode::kResourceInUse;
  return error;
}

// True for the errors of an engine that may answer again soon. The Caller has retried the request before.
bool may_pass(const Error& error) {
  return is_passing(error) || error.code == ErrorCode::kInternal;
}

}  // namespace

// Reports only whether the change was accepted, because nobody needs the answer itself.
//
// kUnknownOutcome if no attempt was answered, and also if the engine refuses an attempt after one without an answer:
// the earlier one may have been carried out, which may be the reason.
Async<Result<void>> RemoteTables::change(const char* operation, std::string body) {
  std::string name = operation;
  auto answer = co_await caller_.call(std::move(name), std::move(body), Caller::Kind::kWrite);
  if (!answer) co_return fail(answer.error());
  co_return Result<void>();
}

Async<Result<TableDescription>> RemoteTables::describe_table(std::string table) {
  auto described = co_await describe(std::move(table));
  if (described) seen_[described->definition.name] = described->definition;
  co_return described;
}

Async<Result<TableDescription>> RemoteTables::describe(std::string table) {
  Scheduler& scheduler = caller_.scheduler();
  const BootTime end = scheduler.clock().boot() + kLongestContradiction;
  for (milliseconds look = kFirstLook;; look *= 2) {
    auto request = table_request(table);
    auto answer = co_await caller_.call("DescribeTable", std::move(request), Caller::Kind::kRead);
    if (!answer) {
      if (answer.error().code == ErrorCode::kResourceNotFound) forget(table);
      co_return fail(answer.error());
    }
    auto described = description_of(*answer);
    if (described) co_return co_await with_ttl(std::move(described->table));
    if (scheduler.clock().boot() >= end) co_return fail(described.error());
    co_await sleep_for(scheduler, look);
  }
}

Async<Result<TableDescription>> RemoteTables::with_ttl(TableDescription table) {
  auto request = table_request(table.definition.name);
  auto answer = co_await caller_.call("DescribeTimeToLive", std::move(request), Caller::Kind::kRead);
  // Some engines have no ttl.
  if (!answer && answer.error().code != ErrorCode::kUnknownOperation) co_return fail(answer.error());
  if (answer) {
    auto ttl = ttl_of(*answer);
    if (!ttl) co_return fail(ttl.error());
    table.definition.ttl_attribute = std::move(*ttl);
  }
  keys_.know(table.definition);
  co_return table;
}

// Sends a change and waits until the table shows it: an engine may answer before that, and describe the table as it was
// for a while. If the outcome is unknown, the change was made if the table shows it soon. A change that was accepted
// and is never shown is sent again.
Async<Result<TableDescription>> RemoteTables::change_table(const char* operation, std::string body, std::string table,
                                                           Shown shown) {
  std::optional<Error> refused;
  for (int sent = 1;; ++sent) {
    std::string request = body;
    auto changed = co_await change(operation, std::move(request));
    const bool unknown = !changed && changed.error().code == ErrorCode::kUnknownOutcome;
    // An engine that has made the change by now refuses to make it again.
    if (!changed && !unknown) refused = changed.error();
    if (refused && sent == 1) co_return fail(*refused);
    Shown wanted = shown;
    auto described = co_await when(table, std::move(wanted), unknown ? kLongestDoubt : kLongestUnseen);
    const bool is_late = !described && described.error().code == ErrorCode::kTimeout;
    if (unknown && (is_late || (described && !*described))) co_return fail(changed.error());
    if (!described) co_return fail(described.error());
    if (*described) co_return std::move(**described);
    if (sent == kSendings && refused) co_return fail(*refused);
    if (sent == kSendings) co_return not_in_time(table, "does not show a change that was accepted");
  }
}

// Waits until the table is active and `shown` holds, and returns it. Empty if for `patience` the table does not exist,
// or is active without `shown`. kTimeout if it takes too long in all.
Async<Result<std::optional<TableDescription>>> RemoteTables::when(std::string table, Shown shown,
                                                                  nanoseconds patience) {
  Scheduler& scheduler = caller_.scheduler();
  BootTime end = scheduler.clock().boot() + kLongestChange;
  BootTime reported = scheduler.clock().boot();
  std::optional<BootTime> still_since, failing_since;
  for (milliseconds look = kFirstLook;; look = std::min(look * 2, kLongestLook)) {
    auto request = table_request(table);
    auto answer = co_await caller_.call("DescribeTable", std::move(request), Caller::Kind::kRead);
    std::optional<Error> error;
    if (!answer) error = answer.error();
    bool still = false;
    bool is_building = false;
    if (answer) {
      auto seen = description_of(*answer);
      if (!seen) error = seen.error();
      is_building = seen && !seen->indexes_ready;
      still = seen && seen->status == "ACTIVE" && seen->indexes_ready;
      if (still) {
        auto described = co_await with_ttl(std::move(seen->table));
        if (described && shown(described->definition)) co_return std::move(*described);
        if (!described) error = described.error();
      }
    }
    const BootTime now = scheduler.clock().boot();
    // A table that has just been made may not be known everywhere.
    const bool unknown = error && error->code == ErrorCode::kResourceNotFound;
    const bool failed = error && !unknown;
    if (!failed) failing_since.reset();
    if (failed && !failing_since) failing_since = now;
    if (failed && (!may_pass(*error) || now >= *failing_since + kLongestUnseen)) co_return fail(*error);
    if (error) still = unknown;
    // A large table's index takes hours.
    if (is_building) end = now + kLongestChange;
    if (is_building && options_.on_building && now - reported >= kReportedEach) {
      reported = now;
      options_.on_building(table);
    }
    if (!still) still_since.reset();
    if (still && !still_since) still_since = now;
    if (now >= end) co_return not_in_time(table, "is still not active after ten minutes");
    if (still && now >= *still_since + patience) co_return std::nullopt;
    co_await sleep_for(scheduler, look);
  }
}

Async<Result<TableDescription>> RemoteTables::create_table(TableDefinition definition) {
  if (auto ok = can_be_made(definition); !ok) co_return fail(ok.error());
  auto request = create_request(definition);
  Shown made = [keys = definition.keys](const TableDefinition& there) { return there.keys == keys; };
  auto created = co_await change_table("CreateTable", std::move(request), definition.name, std::move(made));
  if (!created || !definition.ttl_attribute) co_return created;
  auto with_ttl = co_await set_ttl(definition.name, {}, definition.ttl_attribute);
  if (!with_ttl) co_return fail(with_ttl.error());
  auto described = co_await describe_table(definition.name);
  co_return described;
}

Async<Result<TableDescription>> RemoteTables::delete_table(std::string table) {
  auto described = co_await describe_table(table);
  if (!described) co_return described;
  auto request = table_request(table);
  auto deleted = co_await change("DeleteTable", std::move(request));
  if (!deleted && deleted.error().code != ErrorCode::kUnknownOutcome) co_return fail(deleted.error());
  forget(table);
  Scheduler& scheduler = caller_.scheduler();
  const BootTime end = scheduler.clock().boot() + kLongestChange;
  std::optional<BootTime> failing_since;
  for (milliseconds look = kFirstLook;; look = std::min(look * 2, kLongestLook)) {
    auto question = table_request(table);
    const auto answer = co_await caller_.call("DescribeTable", std::move(question), Caller::Kind::kRead);
    const BootTime now = scheduler.clock().boot();
    if (answer) failing_since.reset();
    if (!answer && answer.error().code == ErrorCode::kResourceNotFound) break;
    if (!answer && !failing_since) failing_since = now;
    const bool has_failed = failing_since && now >= *failing_since + kLongestUnseen;
    if (!answer && (!may_pass(answer.error()) || has_failed)) co_return fail(answer.error());
    if (now >= end) co_return not_in_time(table, "is not gone after ten minutes");
    co_await sleep_for(scheduler, look);
  }
  co_return described;
}

Async<Result<void>> RemoteTables::set_ttl(std::string table, std::optional<std::string> now,
                                          std::optional<std::string> wanted) {
  if (now == wanted) co_return Result<void>();
  if (now) {
    auto request = ttl_request(table, *now, false);
    Shown off = [](const TableDefinition& there) { return !there.ttl_attribute; };
    auto done = co_await change_ttl(std::move(request), table, std::move(off));
    if (!done) co_return done;
  }
  if (!wanted) co_return Result<void>();
  auto request = ttl_request(table, *wanted, true);
  Shown on = [wanted](const TableDefinition& there) { return there.ttl_attribute == wanted; };
  co_return co_await change_ttl(std::move(request), table, std::move(on));
}

// A change that is refused because another daemon has just made it is made.
Async<Result<void>> RemoteTables::change_ttl(std::string request, std::string table, Shown shown) {
  Shown wanted = shown;
  auto done = co_await change_table("UpdateTimeToLive", std::move(request), table, std::move(wanted));
  if (done) co_return Result<void>();
  const auto there = co_await describe(table);
  if (there && shown(there->definition)) co_return Result<void>();
  co_return fail(refusal_of_ttl(table, done.error()));
}

Async<Result<void>> RemoteTables::set_stream(std::string table, std::optional<StreamView> now,
                                             std::optional<StreamView> wanted) {
  if (now == wanted) co_return Result<void>();
  std::vector<std::optional<StreamView>> steps{wanted};
  if (now && wanted) steps.insert(steps.begin(), std::nullopt);  // A stream has one view.
  for (auto& step : steps) {
    auto request = stream_request(table, step);
    Shown shown = [step](const TableDefinition& there) { return there.stream == step; };
    auto done = co_await change_table("UpdateTable", std::move(request), table, std::move(shown));
    if (!done) co_return fail(done.error());
  }
  co_return Result<void>();
}

// One kind of setting in each UpdateTable.
Async<Result<void>> RemoteTables::set_settings(TableDefinition now, TableDefinition wanted) {
  struct Step {
    std::string request;
    Shown shown;
  };
  std::vector<Step> steps;
  if (!is_same_capacity(now, wanted)) {
    steps.push_back({throughput_request(now, wanted),
                     [wanted](const TableDefinition& there) { return is_same_capacity(there, wanted); }});
  }
  if (class_of(now) != class_of(wanted)) {
    steps.push_back({class_request(wanted),
                     [wanted](const TableDefinition& there) { return class_of(there) == class_of(wanted); }});
  }
  if (now.settings.deletion_protection != wanted.settings.deletion_protection) {
    steps.push_back({protection_request(wanted), [wanted](const TableDefinition& there) {
                       return there.settings.deletion_protection == wanted.settings.deletion_protection;
                     }});
  }
  for (Step& step : steps) {
    auto done = co_await change_table("UpdateTable", std::move(step.request), wanted.name, std::move(step.shown));
    if (!done) co_return fail(done.error());
  }
  co_return Result<void>();
}

// One index in each UpdateTable: the protocol takes no more.
Async<Result<void>> RemoteTables::set_indexes(TableDefinition now, TableDefinition wanted) {
  for (const IndexDefinition& index : now.indexes) {
    if (has_same_index(wanted, index)) continue;
    auto request = drop_index_request(now.name, index.name);
    Shown gone = [name = index.name](const TableDefinition& there) { return there.index(name) == nullptr; };
    auto done = co_await change_table("UpdateTable", std::move(request), now.name, std::move(gone));
    if (!done) co_return fail(done.error());
  }
  for (const IndexDefinition& index : wanted.indexes) {
    if (has_same_index(now, index)) continue;
    auto request = add_index_request(wanted, index);
    // Another daemon may make another index of this name meanwhile.
    Shown made = [index](const TableDefinition& there) { return has_same_index(there, index); };
    auto done = co_await change_table("UpdateTable", std::move(request), wanted.name, std::move(made));
    if (!done) co_return fail(refusal_of_index(done.error()));
  }
  co_return Result<void>();
}

// Changes a table from `now` to `wanted`, one change after the other.
Async<Result<void>> RemoteTables::make_changes(TableDefinition now, TableDefinition wanted) {
  auto settings = co_await set_settings(now, wanted);
  if (!settings) co_return settings;
  auto stream = co_await set_stream(now.name, now.stream, wanted.stream);
  if (!stream) co_return stream;
  auto indexes = co_await set_indexes(now, wanted);
  if (!indexes) co_return indexes;
  co_return co_await set_ttl(now.name, now.ttl_attribute, wanted.ttl_attribute);
}

Async<Result<TableDescription>> RemoteTables::alter_table(TableDefinition definition) {
  if (auto ok = can_be_altered(definition); !ok) co_return fail(ok.error());
  std::optional<TableDefinition> seen, refused;
  if (const auto found = seen_.find(definition.name); found != seen_.end()) seen = found->second;
  auto known = co_await describe(definition.name);
  if (!known) co_return known;
  milliseconds pause = kFirstLook;
  for (int refusals = 0;; ++refusals) {
    Shown any = [](const TableDefinition&) { return true; };
    auto described = co_await when(definition.name, std::move(any), kLongestChange);  // Somebody may just have made it.
    if (!described) co_return fail(described.error());
    if (!*described) co_return fail(ErrorCode::kResourceNotFound, "table '" + definition.name + "' does not exist");
    const TableDefinition& now = (*described)->definition;
    if (!seen) seen = now;
    TableDefinition wanted = merged(*seen, definition, now);
    auto made = co_await make_changes(now, std::move(wanted));
    if (made) co_return co_await describe_table(definition.name);
    // Another daemon is making the same change, or has made it: then the table has changed meanwhile.
    const bool in_use = made.error().code == ErrorCode::kResourceInUse;
    const bool is_changed = made.error().code == ErrorCode::kValidation && (!refused || *refused != now);
    if ((!in_use && !is_changed) || refusals == kMostRefusals) co_return fail(made.error());
    refused = now;
    co_await sleep_for(caller_.scheduler(), pause);
    pause = std::min(pause * 2, kLongestLook);
  }
}

void RemoteTables::forget(const std::string& table) {
  keys_.forget(table);
  seen_.erase(table);
}

Async<Result<std::vector<std::string>>> RemoteTables::list_tables() {
  std::vector<std::string> out;
  std::string after;
  do {
    auto request = list_request(after);
    auto answer = co_await caller_.call("ListTables", std::move(request), Caller::Kind::kRead);
    if (!answer) co_return fail(answer.error());
    auto page = table_names_of(*answer);
    if (!page) co_return fail(page.error());
    out.insert(out.end(), page->names.begin(), page->names.end());
    after = std::move(page->last);
  } while (!after.empty());
  std::sort(out.begin(), out.end());
  co_return out;
}

}  // namespace freshet::remote
