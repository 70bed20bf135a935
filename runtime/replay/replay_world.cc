#include "runtime/replay/replay_world.h"

#include "tables/value/json.h"
#include "tables/value/json_reader.h"

namespace freshet {
namespace {

// Describes an event on one short line: the changes of a stream event, the message of a notification, or all of
// it.
void add_event(Journal::Line& line, const std::string& event) {
  JsonDocument document;
  auto json = document.parse(event);
  auto records = json ? json->find("Records") : std::nullopt;
  if (!records || records->size() == 0) return void(line.json("event", event));
  std::string changes;
  for (JsonView record : *records) {
    if (auto sns = record.find("Sns")) {
      line.text("message", sns->string_or("Message").value_or(""));
      return;
    }
    auto change = record.find("dynamodb");
    auto keys = change ? change->find("Keys") : std::nullopt;
    auto item = keys ? item_of(*keys) : Result<Item>(Item{});
    changes += changes.empty() ? "[{" : ",{";
    append_json_string(changes, record.string_or("eventName").value_or(""));
    changes += ':';
    append_item_json(changes, item ? *item : Item{});
    changes += '}';
  }
  line.json("changes", changes + "]");
}

// Writes the line at the end of an invocation, even of one that is destroyed at its deadline.
class InvocationEnd {
 public:
  InvocationEnd(Journal& journal, std::string function, int64_t number)
      : journal_(journal), function_(std::move(function)), number_(number) {}
  InvocationEnd(const InvocationEnd&) = delete;
  InvocationEnd& operator=(const InvocationEnd&) = delete;
  ~InvocationEnd() {
    if (!done_) journal_.line("cut", function_).number("run", number_);
  }
  void done(const Result<std::string>& result) {
    done_ = true;
    Journal::Line line = journal_.line("return", function_);
    line.number("run", number_);
    if (result) {
      line.json("result", *result);
    } else {
      line.text("error", error_name(result.error().code)).text("message", result.error().message);
    }
  }

 private:
  Journal& journal_;
  const std::string function_;
  const int64_t number_;
  bool done_ = false;
};

}  // namespace

Async<Result<std::string>> InvocationRecorder::run(const NativeHandler& handler, Context& context) {
  Context seen{services_, context.function, context.invocation};
  const int64_t number = ++count_;
  {
    Journal::Line line = journal_.line("invoke", seen.function.name);
    line.number("run", number);
    if (whole_events_) {
      line.json("event", seen.invocation.payload.text());
    } else {
      add_event(line, seen.invocation.payload.text());
    }
  }
  InvocationEnd end(journal_, seen.function.name, number);
  auto result = co_await handler(seen);
  end.done(result);
  co_return result;
}

void InvocationRecorder::add(NativeRegistry& out, const NativeRegistry& inner) {
  for (const std::string& name : inner.names()) {
    const NativeHandler* handler = inner.find(name);
    // Not a coroutine: it passes references to objects that outlive it.
    out.add(name, [this, handler](Context& context) { return run(*handler, context); });
  }
}

Async<Result<HttpResponse>> ReplayHttp::send(std::string url, HttpRequest request, milliseconds timeout) {
  journal_.line("http", url).text("method", request.method).json("body", request.body);
  bool late = options_.answer_after >= timeout;
  const nanoseconds delay = late ? timeout : options_.answer_after;
  co_await sleep_for(scheduler_, delay);
  if (late) co_return fail(ErrorCode::kTimeout, "no answer from " + url);
  HttpResponse response;
  response.status = options_.http_status;
  response.body = "{}";
  co_return response;
}

Async<Result<ProcessResult>> ReplaySpawner::run(ProcessSpec spec) {
  std::string command;
  for (const std::string& part : spec.argv) command += (command.empty() ? "" : " ") + part;
  journal_.line("exec", command).json("input", spec.input);
  bool late = spec.timeout.count() > 0 && options_.answer_after >= spec.timeout;
  const nanoseconds delay = late ? spec.timeout : options_.answer_after;
  co_await sleep_for(scheduler_, delay);
  ProcessResult result;
  result.timed_out = late;
  if (late) {
    result.signal = 9;
  } else {
    result.exit_status = 0;
  }
  co_return result;
}

Async<Result<std::string>> RecordedPublisher::publish(PublishInput input) {
  std::string topic = input.topic_arn;
  std::string message = input.message;
  auto id = co_await publisher_.publish(std::move(input));
  Journal::Line line = journal_.line("publish", topic);
  line.text("message", message);
  if (!id) line.text("error", error_name(id.error().code));
  co_return id;
}

void ExpiryWatch::watch(std::string table, std::string status) {
  table_ = std::move(table);
  status_ = std::move(status);
  std::string name = table_;
  auto bounds = tables_.stream_bounds(std::move(name));
  if (!bounds.is_ready()) return;
  auto answer = bounds.take();
  if (answer) next_ = answer->next;
}

void ExpiryWatch::commit() {
  if (table_.empty()) return;
  ReadStreamInput read;
  read.table = table_;
  read.from = next_;
  auto page = tables_.read_stream(std::move(read));
  if (!page.is_ready()) return;
  auto answer = page.take();
  if (!answer) return;
  next_ = answer->next;
  for (const ChangeRecord& record : answer->records) {
    if (!record.by_ttl) continue;
    Journal::Line line = journal_.line("expired", table_);
    line.item("keys", record.keys);
    if (status_.empty() || !record.before) continue;
    auto status = record.before.find(status_);
    if (status && status->type() == Type::kString) line.text("was", status->bytes());
  }
}

}  // namespace freshet
