#include <algorithm>

#include "functions/functions.h"
#include "streams/topics.h"
#include "tables/value/json_reader.h"

namespace freshet {

namespace {

struct Seen {
  bool notification = false;
  size_t inserts = 0;
  std::string table;  // The table of the stream.
};

// "arn:aws:dynamodb:REGION:ACCOUNT:table/NAME/stream/LABEL" -> NAME.
std::string table_of(std::string_view arn) {
  auto from = arn.find(":table/");
  if (from == std::string_view::npos) return {};
  auto name = arn.substr(from + 7);
  return std::string(name.substr(0, name.find('/')));
}

std::string_view text_at(const JsonView& record, std::string_view name) {
  const auto member = record.find(name);
  return member && member->is(JsonKind::kString) ? member->text() : std::string_view{};
}

// Looks only at what decides; a batch may hold thousands of records.
Seen look_at(const JsonView& event) {
  Seen seen;
  const auto records = event.find("Records");
  if (!records) return seen;
  for (const JsonView record : *records) {
    if (text_at(record, "EventSource") == "aws:sns") seen.notification = true;
    if (text_at(record, "eventName") != "INSERT") continue;
    ++seen.inserts;
    if (seen.table.empty()) seen.table = table_of(text_at(record, "eventSourceARN"));
  }
  return seen;
}

Seen look_at(const StreamBatch& batch) {
  Seen seen;
  for (const auto& record : batch.records) seen.inserts += record.kind == ChangeRecord::Kind::kInsert;
  if (seen.inserts > 0) seen.table = table_of(batch.source.arn);
  return seen;
}

Result<Seen> look_at(const Payload& event) {
  if (event.stream() != nullptr) return look_at(*event.stream());
  JsonDocument document;
  const auto root = document.parse(event.text());
  if (!root) return fail(root.error());
  return look_at(*root);
}

}  // namespace

Async<Result<std::string>> trigger(Context& context, Queues& queues, const EventLog& log) {
  const auto& environment = context.function.environment;
  auto topic = environment.find("PROCESS_TASKS_TOPIC_ARN");
  if (topic == environment.end() || topic->second.empty()) {
    co_return invalid("PROCESS_TASKS_TOPIC_ARN is not set: it must be the ARN of the topic that starts process_tasks");
  }
  const auto seen = look_at(context.invocation.payload);
  if (!seen) co_return fail(seen.error());
  const auto queue = queues.find_queue(seen->table);
  const char* vain = seen->inserts == 0                        ? "nothing was inserted"
                     : queue && queue->has_processor()         ? "a processor is at work"
                     : queue && queue->is_pulled()             ? "workers pull from this queue"
                     : !queue && !queues.may_open(seen->table) ? "another daemon serves the queue"
                                                               : nullptr;
  if (!seen->notification && vain) {
    log.debug("TRIGGER_SKIP_PROCESS_TASKS", {{"function", context.function.name}, {"reason", vain}});
    co_return std::string("null");
  }
  PublishInput input{topic->second, "Start", "", {}};
  auto published = co_await context.services.topics.publish(std::move(input));
  if (!published) co_return fail(published.error());
  log.debug("TRIGGER_PROCESS_TASKS",
            {{"function", context.function.name}, {"messageId", *published}, {"inserts", seen->inserts}});
  co_return std::string("null");
}

}  // namespace freshet
