#include "runtime/invoke/destinations.h"

#include <fmt/format.h>

#include <iterator>

#include "base/limits.h"
#include "base/log.h"
#include "runtime/invoke/outcome.h"
#include "streams/arn.h"
#include "streams/system_table.h"
#include "tables/value/json.h"

namespace freshet {

namespace {
constexpr size_t kMaxErrorMessage = 1024;

// An event that the runtime itself sends may be as large as an event can be: it must not be lost because of the bound
// on clients' requests.
constexpr size_t kMaxOwnMessage = limits::kMaxItemBytes;

// At most that many bytes, ending with a whole character.
std::string cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace

Async<Result<std::vector<PreparedEvent>>> Destinations::prepare_message(PublishInput input) {
  MessageByProtocol none;
  auto prepared = co_await topics_.prepare(std::move(input), std::move(none), kMaxOwnMessage);
  if (!prepared) co_return fail(std::move(prepared.error()));
  co_return std::move(prepared->events);
}

Async<Result<std::vector<PreparedEvent>>> Destinations::prepare(std::string target, std::string document) {
  const auto arn = parse_arn(target);
  if (arn && arn->service == "sns") {
    PublishInput input;
    input.topic_arn = std::move(target);
    input.message = std::move(document);
    return prepare_message(std::move(input));
  }
  using Events = Result<std::vector<PreparedEvent>>;
  auto event = queue_.prepare({std::move(target), std::move(document)});
  if (!event) return Events(fail(std::move(event.error())));
  std::vector<PreparedEvent> events;
  events.push_back(std::move(*event));
  return Events(std::move(events));
}

Async<Result<std::vector<PreparedEvent>>> Destinations::prepare_dead_letter(std::string topic, DeadLetter letter) {
  PublishInput input;
  input.topic_arn = std::move(topic);
  input.message = std::move(letter.event);
  input.attributes["RequestID"] = {"String", letter.request_id};
  input.attributes["ErrorCode"] = {"Number", std::to_string(letter.error_code)};
  if (!letter.error_message.empty()) {
    input.attributes["ErrorMessage"] = {"String", cut(letter.error_message, kMaxErrorMessage)};
  }
  return prepare_message(std::move(input));
}

Async<Result<void>> send_to(Destinations& destinations, Tables& tables, std::string target, std::string document) {
  auto events = co_await destinations.prepare(std::move(target), std::move(document));
  if (!events) co_return fail(std::move(events.error()));
  std::vector<WriteInput> writes;
  for (PreparedEvent& event : *events) writes.push_back(std::move(event.write));
  auto written = co_await write_together(tables, std::move(writes));
  if (!written) co_return written;
  for (const PreparedEvent& event : *events) event.logged();
  co_return Result<void>();
}

std::string destination_document(const InvocationRecord& record) {
  std::string out;
  const auto text = [&out](std::string_view value) { append_json_string(out, value); };
  fmt::format_to(std::back_inserter(out), R"({{"version":"1.0","timestamp":"{}","requestContext":{{"requestId":)",
                 iso8601(record.at));
  text(record.request_id);
  out += R"(,"functionArn":)";
  const auto function = parse_function(record.function_arn);
  text(function && !function->qualifier.empty() ? record.function_arn : record.function_arn + ":$LATEST");
  out += R"(,"condition":)";
  text(record.condition);
  fmt::format_to(std::back_inserter(out), R"(,"approximateInvokeCount":{}}},"requestPayload":{})", record.invocations,
                 record.request_payload.empty() ? "null" : record.request_payload);
  if (record.outcome) {
    const std::string& version = record.outcome->version;
    out += R"(,"responseContext":{"statusCode":200,"executedVersion":)";
    text(version.empty() ? kLatestVersion : std::string_view(version));
    if (record.outcome->error) {
      fmt::format_to(std::back_inserter(out), R"(,"functionError":"{}")", kind_of(*record.outcome->error));
    }
    out += R"(},"responsePayload":)";
    out += record.outcome->payload;
  }
  out += '}';
  return out;
}

}  // namespace freshet
